"""The daemon verifies claimed SHA-256 in the background by reading the files: each claim once, fairly by owner, despite restarts and damage."""

import hashlib
import json
import os
import signal
import subprocess

import cairn
import pytest
import xet

RATE = "1G"


def digest(content):
    return hashlib.sha256(content).hexdigest()


class Store:
    """A daemon that verifies nothing until it is told to, and tokens of several people."""

    def __init__(self, start, issuer, config):
        self.config = config
        self.config.write_text("proof_rate = 0\n")
        self.server = start(token_key=issuer.folder, config=config, variables={"CAIRN_PROOF_RATE": None})
        self.tokens = {who: issuer.token(repo=f"{who}/one") for who in ("ann", "bob", "mallory")}
        self.admin = issuer.token("admin")

    def prove(self, rate=RATE):
        self.config.write_text(f"proof_rate = {rate}\n")
        self.server.process.send_signal(signal.SIGHUP)

    def upload(self, who, xorb, sha256):
        file = xet.File([(xorb, 0, len(xorb.nodes))], sha256 and xet.raw(sha256))
        assert self.server.put_xorb(xorb, token=self.tokens[who]).status == 200
        reply = self.server.post("/v1/shards", xet.shard([file], [xorb]), token=self.tokens[who])
        assert reply.status == 200, reply
        return xet.text(file.hash())

    def found(self, who, sha256):
        """Looks for a file by its SHA-256 with this person's token. @return the file, and whether the claim is proved; or None"""
        reply = self.server.get(f"/v1/files/by-sha256/{sha256}", token=self.tokens[who])
        return (reply.json()["hash"], reply.json()["sha256_proved"]) if reply.status == 200 else None

    def count(self, name):
        return self.server.metrics().get(f"cairn_{name}", 0)

    def wait(self, name, n):
        cairn.wait_until(f"{name} = {n}", lambda: self.count(name) == n)

    def stats(self):
        reply = self.server.get("/v1/stats", token=self.admin).json()
        return reply["unproved_claims"], reply["unproved_bytes"], reply["false_claims"]


@pytest.fixture
def store(start, issuer, tmp_path):
    return Store(start, issuer, tmp_path / "cairnd.conf")


def test_true_and_false(store, make):
    """Both claims count until they are verified. Then the true one is proved. The false one finds nothing, also after a restart and when it is claimed
    again."""
    xorb = make([9000, 10000], 1)
    true, false = digest(b"".join(xorb.data)), digest(b"what Ann wants to upload one day")
    file = store.upload("mallory", xorb, false)
    assert store.upload("ann", xorb, true) == file
    assert store.found("ann", true) == store.found("mallory", false) == (file, False)
    assert store.stats() == (2, 38000, 0) and store.count("claims_proved_total") == 0
    store.prove()
    store.wait("claims_proved_total", 1)
    store.wait("claims_false_total", 1)
    assert store.found("ann", true) == (file, True) and store.found("mallory", false) is None
    assert store.stats() == (0, 0, 1)
    store.wait("claims_false", 1)
    assert store.count("claims_unproved") == store.count("claims_unproved_bytes") == 0
    [event] = store.server.events("claim_false")
    assert (event["level"], event["file"], event["owner"], event["said"], event["sha256"]) == ("warning", file, "models/mallory/one", false, true)
    for who, sha256, proved in (("mallory", None, False), ("ann", true, True)):
        [row] = store.server.get("/v1/files", token=store.tokens[who]).json()["files"]
        assert (row["hash"], row["sha256"], row["sha256_proved"]) == (file, sha256, proved)
    store.upload("mallory", xorb, false)
    store.server.stop()
    store.server.start()
    assert store.found("mallory", false) is None and store.stats() == (0, 0, 1)
    assert store.upload("mallory", xorb, true) == file and store.found("mallory", true) == (file, False)
    store.wait("claims_proved_total", 1)
    assert store.found("mallory", true) == (file, True)
    assert store.server.events("claim_false") == []


@pytest.mark.files
def test_a_file_is_read_once(store, make):
    """The second owner's claim is decided without reading the file, but is charged to the rate as if it was read. So the time reveals nothing."""
    xorb = make([100_000] * 3, 1)
    true = digest(b"".join(xorb.data))
    store.upload("ann", xorb, true)
    store.prove()
    store.wait("claims_proved_total", 1)
    assert store.count("proof_read_bytes_total") == 300_000
    store.upload("bob", xorb, true)
    store.server.object_of(xet.text(xorb.hash)).rename(store.config.with_name("away"))
    store.wait("claims_proved_total", 2)
    assert store.count("proof_read_bytes_total") == 600_000 and store.count("claims_unread_total") == 0


@pytest.mark.files
def test_an_unreadable_file_puts_its_claim_off(store, make):
    """The claim is put off, not called false. Other claims are verified meanwhile, and the next daemon tries this one again."""
    lost, sound = make([9000], 1), make([9000], 2)
    said = digest(b"".join(lost.data))
    file = store.upload("ann", lost, said)
    store.upload("ann", sound, digest(b"".join(sound.data)))
    store.server.object_of(xet.text(lost.hash)).unlink()
    store.prove()
    store.wait("claims_unread_total", 1)
    store.wait("claims_proved_total", 1)
    assert store.found("ann", said) == (file, False) and store.stats() == (1, 9000, 0)
    assert store.server.events("claim_false") == []


@pytest.mark.files
def test_killed_in_the_middle(store, make):
    """The next daemon verifies the claims whose outcome was not recorded."""
    large, small = make([100_000] * 20, 1), make([9000], 2)
    said = [digest(b"".join(xorb.data)) for xorb in (large, small)]
    file = store.upload("ann", large, said[0])
    store.upload("bob", small, digest(b"a lie"))
    store.prove("100K")
    cairn.wait_until("the verification to read", lambda: store.count("proof_read_bytes_total") > 0)
    store.server.kill()
    store.config.write_text(f"proof_rate = {RATE}\n")
    store.server.start()
    store.wait("claims_proved_total", 1)
    store.wait("claims_false_total", 1)
    assert store.found("ann", said[0]) == (file, True) and store.stats() == (0, 0, 1)
    assert store.count("proof_read_bytes_total") == 2_009_000


def test_nobody_waits_for_it(store, make):
    """At the configured rate the verification would take minutes. A stop, or switching the verification off, ends it at once."""
    xorb = make([100_000] * 20, 1)
    store.upload("ann", xorb, digest(b"".join(xorb.data)))
    store.prove("10K")
    cairn.wait_until("the verification to read", lambda: store.count("proof_read_bytes_total") > 0)
    assert store.count("proof_read_bytes_total") <= 200_000, "the rate allows a second ahead, and a chunk"
    store.server.stop()  # stop() fails after a minute


def test_a_huge_file_keeps_nobody_waiting(store, make):
    """A shard of a few KiB can claim the SHA-256 of gigabytes. An owner's turn ends before such a file does, and the next turn continues it."""
    xorb, small = make([100_000] * 20, 1), make([9000], 2)
    assert store.server.put_xorb(xorb, token=store.tokens["mallory"]).status == 200
    huge = xet.File([(xorb, 0, 20)] * 2000, xet.raw(digest(b"of 4 GB")))
    long = xet.File([(xorb, 0, 20)] * 80, xet.raw(digest(b"".join(xorb.data) * 80)))
    for who, file in (("mallory", huge), ("bob", long)):
        assert store.server.post("/v1/shards", xet.shard([file], [xorb]), token=store.tokens[who]).status == 200
    store.upload("ann", small, digest(b"".join(small.data)))
    store.prove("200M")
    store.wait("claims_proved_total", 1)
    assert store.count("proof_read_bytes_total") < 300_000_000, "before ann's turn, others read at most a turn each"
    store.prove(0)
    store.prove("200M")
    store.wait("claims_proved_total", 2)
    sha256 = digest(b"".join(xorb.data) * 80)
    assert store.found("bob", sha256) == (xet.text(long.hash()), True), "the claim is proved in three turns"
    before = store.count("proof_read_bytes_total")
    assert store.server.post("/v1/shards", xet.shard([long], [xorb]), token=store.tokens["ann"]).status == 200
    store.wait("claims_proved_total", 3)
    assert store.found("ann", sha256)[1] and store.count("proof_read_bytes_total") >= before + 160_000_000, "the claim is charged as if the file was read"
    assert store.count("claims_false_total") == 0 and store.stats()[0] == 1


def test_false_claims_are_listed(store, make):
    """The operator lists false claims by command, in pages: the owner, the claimed SHA-256 and the true one."""
    said = {}
    for i in range(5):
        xorb = make([9000 + i], i)
        file = store.upload("mallory", xorb, digest(b"%d" % i))
        said[file] = {"file": file, "repo": "models/mallory/one", "said": digest(b"%d" % i), "sha256": digest(b"".join(xorb.data))}
    assert store.upload("bob", xorb, digest(b"else")) == file
    store.upload("ann", xorb, digest(b"".join(xorb.data)))
    store.prove()
    store.wait("claims_false_total", 6)
    bobs = said[file] | {"repo": "models/bob/one", "said": digest(b"else")}
    told = [bobs, *reversed(said.values())]

    def run(*words):
        command = [cairn.CAIRN, "claims", "--server", store.server.url, *words]
        return subprocess.run(command, env=os.environ | {"CAIRN_TOKEN": store.admin}, capture_output=True, text=True, timeout=60)

    assert run().stdout == "".join(f"{c['file']} {c['said']} {c['sha256']} {c['repo']}\n" for c in told)
    assert json.loads(run("--json").stdout) == {"claims": told, "more": False}
    assert json.loads(run("--json", "--limit", "2").stdout) == {"claims": told[:2], "more": True}
    rows, after = [], ""
    while after is not None:
        page = store.server.get(f"/v1/false-claims?limit=1{after and '&after=' + after}", token=store.admin).json()
        rows, after = rows + page["claims"], page["next"]
    assert rows == told
    for query in ("limit=0", "after=x", "after=1:x:y", f"after=1:{digest(b'')}", f"after=-1:{digest(b'')}:", f"after={1 << 63}:{digest(b'')}:", f"after=1:{digest(b'')}:{'x' * 300}"):
        cairn.is_error(store.server.get(f"/v1/false-claims?{query}", token=store.admin), 400, "claims.argument")
    assert store.server.get("/v1/false-claims", token=store.tokens["mallory"]).status == 403
    assert run("x").returncode == 64 and run("--limit", "0").returncode == 64


@pytest.mark.files
def test_put_off_while_the_clock_was_ahead(start, make, clock, tmp_path):
    """A claim is put off for an hour while the clock is ten years ahead. Once the clock is right, the claim is verified again, not ten years later."""
    config = tmp_path / "cairnd.conf"
    config.write_text("proof_rate = 0\n")
    server = start(config=config, test_clock=clock.path, variables={"CAIRN_PROOF_RATE": None})
    xorb = make([9000], 1)
    file = xet.File([(xorb, 0, 1)], xet.raw(digest(xorb.data[0])))
    assert server.put_xorb(xorb).status == server.post("/v1/shards", xet.shard([file], [xorb])).status == 200
    server.object_of(xet.text(xorb.hash)).unlink()
    clock.move(10 * 365 * 86400)
    config.write_text(f"proof_rate = {RATE}\n")
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the claim to be put off", lambda: server.metrics()["cairn_claims_unread_total"] == 1)
    assert server.put_xorb(xorb).status == 200, "the xorb was lost"
    clock.move(0)
    cairn.wait_until("the claim to be proved", lambda: server.metrics()["cairn_claims_proved_total"] == 1)
