"""S3 requests to the tests' engine, signed by other code than the daemon's."""

import contextlib
import dataclasses
import datetime
import hashlib
import hmac
import http.client
import json
import os
import re
import secrets
import subprocess
import time
import urllib.parse

import cairn
import pytest
import xet

REGION = "us-east-1"


@dataclasses.dataclass
class Service:
    """How one S3 service differs from others; docs/scale.md has the table of all that were tried."""

    expired: int  # status for an expired address
    unsigned: int  # status when a signed header is missing
    sessions: bool  # it can make session keys
    policies: bool  # it supports bucket policies, which say who may do what
    lists_late: bool  # a list may still contain a deleted object for a moment


SERVICES = {"ceph": Service(expired=403, unsigned=403, sessions=True, policies=True, lists_late=False), "garage": Service(expired=400, unsigned=400, sessions=False, policies=False, lists_late=True)}
NAME = os.environ.get("CAIRN_S3_SERVICE", "ceph")  # the script in tests/engines that started it
SERVICE = SERVICES[NAME]
NODES = os.environ.get("CAIRN_TEST_S3_NODES", "").split(",")
needs_sessions = pytest.mark.skipif(not SERVICE.sessions, reason=f"{NAME} has no keys of a session")
needs_policies = pytest.mark.skipif(not SERVICE.policies, reason=f"{NAME} has no policies of buckets")


def administer(*command):
    """Runs a command of the service's script. @return its output"""
    verb, *more = command
    script = [cairn.ROOT / "tests/engines" / f"{NAME}.sh", verb, os.environ["CAIRN_TEST_S3_FOLDER"], *more]
    return subprocess.run(script, check=True, capture_output=True, text=True, timeout=60).stdout


def signature(request, date, secret):
    """The signature of a canonical request, in hexadecimal digits."""
    scope = f"{date[:8]}/{REGION}/s3/aws4_request"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    return hmac.digest(key, text.encode(), "sha256").hex()


def copy_name(xorb, age_s):
    """The name of a copy of a xorb that was made this long ago and that belongs to no daemon."""
    digits = xet.text(xorb.hash)
    return f"x/{digits[:2]}/{digits}.{int((time.time() - age_s) * 1000):012x}7{secrets.token_hex(10)[:19]}"


class Bucket:
    """The objects of one daemon in the engine."""

    def __init__(self, store):
        parts = urllib.parse.urlsplit(store)
        self.path = f"/{parts.netloc}"
        self.prefix = parts.path.strip("/") + "/"
        self.host = urllib.parse.urlsplit(cairn.ENGINE).netloc
        self.id, self.secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]

    def request(self, method, name="", query="", body=b"", timeout=30, path=None, host=None):
        """Sends a request. name: of the object, below the prefix. @return (status, body)"""
        host = host or self.host
        path = path or (f"{self.path}/{self.prefix}{name}" if name else self.path)
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        names = "host;x-amz-content-sha256;x-amz-date"
        text = f"{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{date}\n\n{names}\n{digest}"
        authorization = f"AWS4-HMAC-SHA256 Credential={self.id}/{date[:8]}/{REGION}/s3/aws4_request,SignedHeaders={names},"
        authorization += f"Signature={signature(text, date, self.secret)}"
        connection = http.client.HTTPConnection(host, timeout=timeout)
        headers = {"Authorization": authorization, "x-amz-content-sha256": digest, "x-amz-date": date}
        connection.request(method, path + (f"?{query}" if query else ""), body, headers)
        reply = connection.getresponse()
        out = reply.status, reply.read()
        connection.close()
        return out

    def session(self):
        """A file with session credentials, which expire by themselves."""
        everything = urllib.parse.quote('{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}', safe="")
        policy = f"Action=PutUserPolicy&PolicyDocument={everything}&PolicyName=all&UserName=cairn&Version=2010-05-08"
        for query in (policy, "Action=GetSessionToken&DurationSeconds=900&Version=2011-06-15"):
            status, body = self.request("POST", path="/", body=query.encode())
            assert status == 200, body
        id_, secret, token = (re.search(f"<{name}>([^<]*)</{name}>", body.decode())[1] for name in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
        return f"[default]\naws_access_key_id = {id_}\naws_secret_access_key = {secret}\naws_session_token = {token}\n"

    @contextlib.contextmanager
    def keeping(self, *names):
        """with keeping(name, ...): the service refuses to delete these objects (403); a * at the end stands for anything."""
        resources = [f"arn:aws:s3:::{self.path[1:]}/{self.prefix}{name}" for name in names]
        deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject", "Resource": resources}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]}).encode()
        status, body = self.request("PUT", query="policy=", body=policy)
        assert status in (200, 204), body
        try:
            yield
        finally:
            assert self.request("DELETE", query="policy=")[0] in (200, 204)

    def listed(self, host):
        status, body = self.request("GET", query=f"list-type=2&max-keys=1000&prefix={urllib.parse.quote(self.prefix, safe='')}", host=host)
        assert status == 200, body
        return [name[len(self.prefix) :] for name in re.findall("<Key>([^<]*)</Key>", body.decode())]

    def names(self):
        """All names below the prefix; a test has few. Where lists are late, waits until the lists of all nodes name exactly the objects that can be read."""
        if not SERVICE.lists_late:
            return self.listed(self.host)
        lists = []

        def true():
            lists[:] = [self.listed(host) for host in NODES]
            return all(self.request("HEAD", name)[0] == 200 for name in set().union(*lists))

        cairn.wait_until("lists without what is deleted", true)
        return lists[0]

    def objects(self):
        return [name for name in self.names() if name.startswith("x/")]
