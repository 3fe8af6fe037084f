"""Requests of Git LFS, and the real git."""

import hashlib
import subprocess

import hf_client

TYPE = "application/vnd.git-lfs+json"


def oid(data):
    return hashlib.sha256(data).hexdigest()


def batch(people, repo, operation, *datas, who="ann", **more):
    objects = [{"oid": oid(data), "size": len(data)} for data in datas]
    body = {"operation": operation, "transfers": ["basic"], "objects": objects} | more
    return people.ask("POST", f"/{repo}.git/info/lfs/objects/batch", who, body, **{"Content-Type": TYPE, "Accept": TYPE})


def place(people, reply, n=0):
    """Returns the path at which a client uploads or downloads the n-th object of an answer."""
    assert reply.status == 200 and reply.headers["Content-Type"] == TYPE, reply
    (action,) = reply.json()["objects"][n]["actions"].values()
    assert action["href"].startswith(people.server.url + "/")
    return action["href"].removeprefix(people.server.url)


def put(people, repo, data, who="ann"):
    assert people.server.request("PUT", place(people, batch(people, repo, "upload", data, who=who)), body=data).status == 200


def get(people, repo, data, who="ann", **headers):
    return people.server.request("GET", place(people, batch(people, repo, "download", data, who=who)), headers=headers)


class Git:
    """A forge that is a plain bare repository, and people's clones of it. Objects go where lfs.url says."""

    def __init__(self, folder, **env):
        self.folder = folder
        folder.mkdir()
        self.env = hf_client.environment(folder) | {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"} | env
        (folder / "cache").mkdir()
        for name, value in (("user.name", "Ann"), ("user.email", "ann@example.com"), ("init.defaultBranch", "main")):
            self.run("config", "--global", name, value, at=folder)
        self.run("lfs", "install", "--skip-repo", at=folder)
        self.run("init", "--bare", "forge", at=folder)

    def run(self, *words, at, fails=False):
        done = subprocess.run(["git", *map(str, words)], cwd=at, env=self.env, capture_output=True, text=True, timeout=120)
        assert (done.returncode != 0) == fails, (words, done.stdout, done.stderr[-3000:])
        return done.stdout + done.stderr

    def begin(self, url):
        work = self.folder / "work"
        self.run("clone", "forge", "work", at=self.folder)
        self.run("config", "-f", ".lfsconfig", "lfs.url", url, at=work)
        self.run("lfs", "track", "*.bin", at=work)
        return work

    def push(self, work, fails=False, **files):
        for name, data in files.items():
            (work / f"{name}.bin").write_bytes(data)
        self.run("add", ".", at=work)
        self.run("commit", "-m", "files", at=work)
        return self.run("push", "origin", "HEAD:main", at=work, fails=fails)

    def clone(self, name):
        self.run("clone", "-b", "main", "forge", name, at=self.folder)
        return self.folder / name


def helper(git, people, key):
    (git.folder / "keys").write_text(people.server.url.replace("://", f"://ann:{key}@") + "\n")
    git.run("config", "--global", "credential.helper", f"store --file={git.folder / 'keys'}", at=git.folder)
