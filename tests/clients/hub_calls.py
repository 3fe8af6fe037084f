"""Requests to the hub, as its clients make them, and the lines of a commit."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import cairn
import hf_client
import xet

READ, WRITE = "xet-read-token", "xet-write-token"
ZEROS = "0" * 64
HF = [sys.executable, "-c", "from huggingface_hub.cli.hf import main; main()"]
# Names that Windows refuses, or that are longer than file systems allow.
LEADS_OUT = ("C:\\x", "C:/x", "D:x", "\\\\host\\x", "\\x", "a\\..\\..\\x", "a:b", "folder/..\\..\\..\\file", "d/C:x", "d/\\x", "x" * 256)
PULLS = "/api/models/ann/one/discussions"


def make_key(server, token, **body):
    reply = server.post("/v1/keys", json.dumps({"name": "test", **body}).encode(), token=token)
    assert reply.status == 200, reply
    assert "no-store" in reply.headers["Cache-Control"]
    return reply.json()


def ask(server, key, repo="models/alice/one", kind=READ, revision="main"):
    return server.get(f"/api/{repo}/{kind}/{revision}", headers={"Authorization": f"Bearer {key}"} if key else {})


def token_of(reply):
    assert reply.status == 200, reply
    return reply.json()["accessToken"]


def post(server, path, body, token):
    return server.post(path, json.dumps(body).encode(), token=token)


def account(server, admin, name, kind="user", **more):
    reply = post(server, "/v1/accounts", {"kind": kind, "name": name, **more}, admin)
    assert reply.status == 200, reply
    return reply.json()["id"]


def member(server, admin, organisation, user, role):
    return post(server, f"/v1/accounts/{organisation}/members", {"user": user, "role": role}, admin)


def run(server, admin, *args, code=0):
    done = subprocess.run([cairn.CAIRN, *args, "--server", server.url], capture_output=True, text=True, env={"CAIRN_TOKEN": admin})
    assert done.returncode == code, done
    return done.stdout


def add(path, hash_, **more):
    return {"type": "addFile", "path": path, "xetHash": hash_, **more}


def delete(path):
    return {"type": "deleteFile", "path": path}


def make(people, repo="ann/one", who="ann", type="model", **more):
    organization, name = repo.split("/")
    reply = people.ask("POST", "/api/repos/create", who, {"name": name, "organization": organization, "type": type} | more)
    assert reply.status == 200, reply
    return repo


def lines(*operations, **header):
    head = {"key": "header", "value": {"summary": "a commit"} | header}
    return b"\n".join(json.dumps(line).encode() for line in (head, *operations))


def text(path, content):
    return {"key": "file", "value": {"path": path, "content": content, "encoding": "utf-8"}}


def stored(path, sha256, size):
    return {"key": "lfsFile", "value": {"path": path, "algo": "sha256", "oid": sha256, "size": size}}


def deleted(path, kind="deletedFile"):
    return {"key": kind, "value": {"path": path}}


def commit(people, *operations, repo="models/ann/one", revision="main", who="ann", **header):
    return people.ask("POST", f"/api/{repo}/commit/{revision}", who, lines(*operations, **header))


def done(reply):
    assert reply.status == 200, (reply, reply.body)
    return reply.json()["commitOid"]


def upload(people, data, repo="models/ann/one", who="ann"):
    """Uploads the bytes with their SHA-256 to the store, as a client does. @return both hashes"""
    token = token_of(people.ask("GET", f"/api/{repo}/xet-write-token/main", who))
    xorb = xet.Xorb([data])
    sha256 = hashlib.sha256(data)
    file = xet.File([(xorb, 0, 1)], xet.raw(sha256.hexdigest()))
    assert people.server.put_xorb(xorb, token=token).status == 200
    assert people.server.post("/v1/shards", xet.shard([file], [xorb]), token=token).status == 200
    return sha256.hexdigest(), xet.text(file.hash())


def tree(people, repo="models/ann/one", place="main", query="?recursive=true", who="ann"):
    reply = people.ask("GET", f"/api/{repo}/tree/{place}{query}", who)
    assert reply.status == 200, (reply, reply.body)
    return reply.json()


def paths(people, **more):
    return [e["path"] for e in tree(people, **more) if e["type"] == "file" and e["path"] != ".gitattributes"]


def keeps_conditions(ask, body, etag):
    """Checks If-Match and If-None-Match as RFC 9110 (13.1) defines them, also for HEAD."""
    assert ask("HEAD").headers["ETag"] == etag
    for method in ("GET", "HEAD"):
        for match in (etag, "*", f'"other", {etag}', f'W/{etag}, {etag}'):
            held = ask(method, **{"If-Match": match})
            assert (held.status, held.body) == (200, body if method == "GET" else b""), match
        for match in ('"other"', f"W/{etag}", etag.strip('"'), ""):
            lost = ask(method, **{"If-Match": match, "If-None-Match": etag})
            assert lost.status == 412 and (method == "HEAD" or b"etag.other" in lost.body), (match, lost)
        known = ask(method, **{"If-Match": etag, "If-None-Match": f'"other", W/{etag}'})
        assert (known.status, known.body, known.headers["ETag"]) == (304, b"", etag)
    assert ask("GET", **{"If-Match": '"other"', "Range": "bytes=0-0"}).status == 412, "a part of another version is refused"


def collect(people, admin):
    assert people.server.post("/v1/gc", token=admin).status == 200


def older(people, folder, code, who="ann", version="1.33.0", **settings):
    """Runs code, which has a variable api, with another release of the library. @return what it prints, as JSON"""
    start = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from huggingface_hub import HfApi, __version__\n"
        "assert __version__ == sys.argv[2], __version__\n"
        "api = HfApi()\n"
    )
    env = hf_client.hub_environment(folder, people.server, people.keys[who]) | settings
    at = Path(sys.prefix) / "older" / version
    run = subprocess.run([sys.executable, "-c", start + code, at, version], env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)


def begin(server, method, path, n_bytes, key=None):
    """Sends the head of a request, whose body is still to come."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {n_bytes}\r\n"
    head += f"Authorization: Bearer {key}\r\n" if key else ""
    s = server.socket()
    s.sendall(head.encode() + b"\r\n")
    return s
