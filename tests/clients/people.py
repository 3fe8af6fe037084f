"""Accounts of a hub with their keys, and the requests that they send."""

import json
import subprocess

import hf_client
import xet
from hub_calls import HF, ZEROS, account, add, make_key, member, token_of
from huggingface_hub import HfApi


def publish(upstream, repo, files, **kind):
    """Makes a repository of a new organisation at a daemon without keys, and commits each (path, content). @return the commits"""
    account(upstream, None, repo.split("/")[0], "organisation")
    api = HfApi(endpoint=upstream.url, token=False)
    api.create_repo(repo, **kind)
    return [api.upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=repo, **kind).oid for path, content in files]


class People:
    """ann, bob and a team in which ann writes, rita reads and adam is admin. Has their keys {name: key}, and sends requests in their
    names."""

    def __init__(self, server, admin, folder):
        self.server, self.folder, self.keys = server, folder, {}
        account(server, admin, "team", "organisation")
        for name, role in (("ann", "write"), ("bob", None), ("rita", "read"), ("adam", "admin")):
            account(server, admin, name)
            if role:
                assert member(server, admin, "team", name, role).status == 200
            self.keys[name] = make_key(server, admin, account=name, scope="write")["key"]
        self.keys["reading ann"] = make_key(server, admin, account="ann", scope="read")["key"]
        self.keys["operator"] = make_key(server, admin, scope="write")["key"]
        self.keys["nobody"] = None

    def api(self, who="ann"):
        return HfApi(endpoint=self.server.url, token=self.keys[who] or False)

    def ask(self, method, path, who="ann", body=None, **headers):
        key = self.keys[who]
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return self.server.request(method, path, body=body, headers=headers)

    def hf(self, *words, who="ann", fails=False, cwd=None):
        env = hf_client.hub_environment(self.folder, self.server, self.keys[who]) | {"NO_COLOR": "1"}
        done = subprocess.run([*HF, *map(str, words)], env=env, cwd=cwd, capture_output=True, text=True, timeout=120)
        assert (done.returncode != 0) == fails, (words, done.stdout, done.stderr[-3000:])
        return done.stdout + done.stderr

    def upload(self, bucket, data, who="ann"):
        """Uploads the bytes of one file to the store, as a client does. @return its hash"""
        token = token_of(self.ask("GET", f"/api/buckets/{bucket}/xet-write-token", who))
        xorb = xet.Xorb([data])
        file = xet.File([(xorb, 0, 1)])
        assert self.server.put_xorb(xorb, token=token).status == 200
        assert self.server.post("/v1/shards", xet.shard([file], [xorb]), token=token).status == 200
        return xet.text(file.hash())

    def batch(self, bucket, *lines, who="ann"):
        return self.ask("POST", f"/api/buckets/{bucket}/batch", who, b"\n".join(json.dumps(line).encode() for line in lines))

    def make(self, bucket, who="ann", private=False):
        assert self.ask("POST", f"/api/buckets/{bucket}", who, {"private": private}).status == 200
        return bucket

    def put(self, bucket, path, data, who="ann", **more):
        hash_ = self.upload(bucket, data, who) if data else ZEROS
        reply = self.batch(bucket, add(path, hash_, **more), who=who)
        assert reply.status == 200 and reply.json()["success"], reply
        return hash_

    def paths(self, bucket, prefix="", query="", who="ann"):
        reply = self.ask("GET", f"/api/buckets/{bucket}/tree{prefix}{query}", who)
        assert reply.status == 200, reply
        return [e["path"] + ("/" if e["type"] == "directory" else "") for e in reply.json()]
