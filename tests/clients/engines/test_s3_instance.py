"""Access keys that another service hands out: the one of a container, or the one of a cloud machine. The store is real, and so are its session keys. A
server of this test hands them out, because none of those services runs here."""

import datetime
import http.server
import json
import re
import signal
import threading
import urllib.parse

import cairn
import ledger
import plans
import pytest
import s3
import xet

pytestmark = pytest.mark.skipif(not cairn.ENGINE, reason="there is no S3 service; tests/engines/s3.sh starts one")
NONE = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "CAIRN_PROVE_READS": "no"}
FAILED = '{"Code": "Failed", "AccessKeyId": "a", "SecretAccessKey": "b"}'
ROLES = "/latest/meta-data/iam/security-credentials/"


class Service:
    """The service that hands out keys: a function of the request to (status, body) for each path."""

    def __init__(self):
        self.answers, self.asked = {}, []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                service.asked.append(f"{self.command} {self.path}")
                status, body = service.answers.get((self.command, self.path), lambda request: (404, ""))(self)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_PUT = answer

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def hand_out(self, path, key, **demanded):
        """Hands out this key. demanded: headers without which the request is refused."""
        said = lambda request: all(request.headers.get(name.replace("_", "-")) == value for name, value in demanded.items())
        self.answers[("GET", path)] = lambda request: (200, key) if said(request) else (401, "")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def service():
    one = Service()
    yield one
    one.close()


@pytest.fixture
def begin(tmp_path):
    daemons = []

    def start(**variables):
        server = cairn.Daemon(tmp_path / "server", variables=NONE | variables, store=cairn.s3_url(tmp_path), fetch_from_store=True, fetch_ttl="1m")
        daemons.append(server)
        return server.start()

    yield start
    for daemon in daemons:
        daemon.stop()


def session(tmp_path, life_s=None):
    """@return a key in the format of such services, and its session token"""
    text = s3.Bucket(cairn.s3_url(tmp_path)).session()
    id_, secret, token = (re.search(f"{name} = (.*)", text)[1] for name in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token"))
    key = {"AccessKeyId": id_, "SecretAccessKey": secret, "Token": token}
    if life_s is not None:
        ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=life_s)
        key["Expiration"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps(key), token


def token_of(server, file):
    """The session token in the addresses of a plan. None: the plan leads to the daemon."""
    plan = server.get(f"/v2/reconstructions/{ledger.name(file)}").json()
    ((url, _),) = plans.fetches_of(plan)[xet.text(file.terms[0][0].hash)]
    return urllib.parse.parse_qs(urllib.parse.urlsplit(url).query).get("X-Amz-Security-Token", [None])[0]


@s3.needs_sessions
def test_keys_of_a_container(tmp_path, service, begin):
    """The daemon gets a new key before the old one expires, without a restart and without a refused request. It reads the authorization file each time."""
    first, token = session(tmp_path, life_s=2)
    proof = tmp_path / "proof"
    proof.write_text("one\n")
    service.hand_out("/keys?of=me", first, Authorization="one")
    server = begin(CAIRN_STORE_CREDENTIALS=f"{service.url}/keys?of=me", AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(proof))
    file, book = ledger.new_file(21), ledger.Ledger()
    almost, ending = session(tmp_path, life_s=45)
    second, other = session(tmp_path, life_s=600)
    service.hand_out("/keys?of=me", almost, Authorization="two")
    proof.write_text("two\n")
    assert book.upload(server, file).status == 200
    # An address expires with the key that signed it. So none is made with a key that expires before fetch_ttl is over.
    assert token_of(server, file) is None
    service.hand_out("/keys?of=me", second, Authorization="two")
    cairn.wait_until("another key", lambda: token_of(server, file) == other)
    n = len(service.asked)
    assert book.upload(server, ledger.new_file(22)).status == 200
    assert token_of(server, file) == other and len(service.asked) == n
    # When a key is refused or not handed out, the daemon goes on with the one it has.
    proof.write_text("three\n")
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the reload", lambda: server.events("reload_failed"))
    assert "answered 401" in server.events("reload_failed")[0]["cause"]
    assert book.upload(server, ledger.new_file(23)).status == 200
    server.stop()
    assert token not in server.log() and ending not in server.log() and other not in server.log() and "three" not in server.log()


@s3.needs_sessions
def test_keys_of_a_container_by_the_environment(tmp_path, service, begin):
    key, token = session(tmp_path)
    service.hand_out("/v2/keys", key, Authorization="Basic abc")
    server = begin(AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{service.url}/v2/keys", AWS_CONTAINER_AUTHORIZATION_TOKEN="Basic abc")
    file, book = ledger.new_file(24), ledger.Ledger()
    assert book.upload(server, file).status == 200
    assert token_of(server, file) == token


@s3.needs_sessions
def test_keys_of_the_machine(tmp_path, service, begin):
    """The daemon uses only version 2 of the service, in which each request needs a token."""
    key, token = session(tmp_path, life_s=600)
    key = json.dumps({"Code": "Success", "Type": "AWS-HMAC"} | json.loads(key))
    lives = lambda request: request.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "0") > "0"
    service.answers[("PUT", "/latest/api/token")] = lambda request: (200, "shown=") if lives(request) else (400, "")
    service.hand_out(ROLES, "cairn-role\nanother", X_aws_ec2_metadata_token="shown=")
    service.hand_out(f"{ROLES}cairn-role", key, X_aws_ec2_metadata_token="shown=")
    server = begin(CAIRN_STORE_CREDENTIALS="instance", AWS_EC2_METADATA_SERVICE_ENDPOINT=f"{service.url}/")
    file, book = ledger.new_file(25), ledger.Ledger()
    assert book.upload(server, file).status == 200
    assert token_of(server, file) == token
    assert service.asked == ["PUT /latest/api/token", f"GET {ROLES}", f"GET {ROLES}cairn-role"]


def test_without_a_key(tmp_path, service):
    """The start fails with the cause and the address that was asked."""
    common = ["--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--store", cairn.s3_url(tmp_path)]
    common += ["--store-credentials", f"{service.url}/keys"]
    assert f"{service.url}/keys answered 404" in cairn.refused(tmp_path, *common, env=NONE)
    for body in ("", "{}", "not JSON", '{"AccessKeyId": "a"}', '{"AccessKeyId": "a", "SecretAccessKey": "b c"}', FAILED):
        service.hand_out("/keys", body)
        assert "answered no access key" in cairn.refused(tmp_path, *common, env=NONE), body
    service.hand_out("/keys", json.dumps({"AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "soon"}))
    assert "answered no access key" in cairn.refused(tmp_path, *common, env=NONE)
    service.hand_out("/keys", "x" * 20000)
    assert "more than an access key" in cairn.refused(tmp_path, *common, env=NONE)
    common[-1] = "http://127.0.0.1:1/keys"
    assert "does not answer" in cairn.refused(tmp_path, *common, env=NONE)
    common[-1] = "http://keys.example/"
    assert "use https" in cairn.refused(tmp_path, *common, env=NONE, code=64)
