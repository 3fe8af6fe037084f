"""Bytes of a long file that are stored here in other files are not fetched from the mirrored hub again."""

import contextlib
import json
import os
import re
import subprocess
from http.client import IncompleteRead

import cairn
import pytest
from people import publish
from test_mirror_long import MB, check_each_byte_once, fetch, ranges_of
from upstream import SHA, Gates, Repo, Upstream, answer

NEXT = "f" * 40
OLD = os.urandom(40 * MB + 12345)
CHANGED = 30 * MB  # where NEW differs
NEW = OLD[:CHANGED] + os.urandom(400_000) + OLD[CHANGED + 400_000 :]
OLD_PATH, NEW_PATH = f"/far/model/resolve/{SHA}/weights.bin", f"/far/model/resolve/{NEXT}/weights.bin"
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"


def cut(folder, content):
    """The file's hash, and its chunks: [(hash, length)]."""
    at = folder / "to_cut"
    at.write_bytes(content)
    found = json.loads(subprocess.run([cairn.CAIRN, "hash", "--chunks", "--json", at], capture_output=True, check=True).stdout)["files"][0]
    return found["hash"], [(chunk["hash"], chunk["bytes"]) for chunk in found["chunks"]]


class Plans:
    """The store of a hub, which has each chunk once, in two xorbs."""

    def __init__(self, folder, *contents):
        self.places, self.files, self.said = {}, {}, {}
        for number, content in enumerate(contents):
            name, chunks = cut(folder, content)
            for chunk, length in chunks:
                self.places.setdefault(chunk, (f"{number:064x}", sum(place[0] == f"{number:064x}" for place in self.places.values()), length))
            self.files[name] = chunks
            self.said[content] = name

    def terms(self, name, first, end):
        """Terms of one chunk each, as far as a range reaches."""
        at = 0
        for chunk, length in self.files[name]:
            xorb, place, _ = self.places[chunk]
            if first <= at < end:
                yield {"hash": xorb, "unpacked_length": length, "range": {"start": place, "end": place + 1}}
            at += length

    def plan(self, name, head):
        first, end = ranges_of([head])[0]
        return {"offset_into_first_range": 0, "terms": list(self.terms(name, first, end)), "xorbs": {}}


class Planned(Gates):
    """A hub that gives plans."""

    def __init__(self, plans, **more):
        older = Repo({"weights.bin": OLD}, stored={"weights.bin"}, **more.pop("info", {}))
        newer = Repo({"weights.bin": NEW}, stored={"weights.bin"}, sha=NEXT, **older.info)
        newer.older = [older]
        super().__init__(TOKEN, repos={"far/model": older}, **more)
        self.plans, self.newer, self.cas = plans, newer, None

    def answer(self, path, head):
        found = re.fullmatch(r"/v2/reconstructions/([0-9a-f]{64})", path)
        if found:
            return answer(200, json.dumps(self.plans.plan(found[1], head)).encode())
        if "/xet-read-token/" in path:
            return answer(200, json.dumps({"accessToken": "for-the-store", "exp": 2**31, "casUrl": self.cas or self.url}).encode())
        reply = super().answer(path, head)
        if "/resolve/" not in path:
            return reply
        content = NEW if NEXT in path else OLD
        return reply.replace(b"\r\n", f"\r\nX-Xet-Hash: {self.plans.said[content]}\r\n".encode(), 1)

    def commit(self):
        self.repos["far/model"] = self.newer

    def fetched(self, part):
        return ranges_of(head for head in self.asked if part in head.split(b"\r\n")[0].decode())


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    return Plans(tmp_path_factory.mktemp("cut"), OLD, NEW)


def look_for_new(server, token=None):
    assert server.get(f"/api/models/far/model/revision/{NEXT}", token=token).status == 200


def have_old(server, upstream):
    """Fetches the first version, and gives the upstream the second one."""
    assert fetch(server, OLD_PATH).body == OLD
    cairn.wait_until("the plan", lambda: upstream.paths("/v2/reconstructions/"))
    upstream.commit()
    look_for_new(server)


def size_of(ranges):
    return sum(end - first for first, end in ranges)


def test_a_changed_part_is_fetched_alone(start, plans):
    with Planned(plans) as upstream:
        server = start(mirror=upstream.url)
        have_old(server, upstream)
        before = server.metrics()['cairn_mirror_fetched_bytes_total{source="plain"}']
        assert fetch(server, NEW_PATH).body == NEW
        asked = sorted(upstream.fetched(NEXT))
        assert all(one[1] <= other[0] for one, other in zip(asked, asked[1:], strict=False)), asked
        assert 400_000 < size_of(asked) < 0.03 * len(NEW), asked
        metrics = server.metrics()
        assert metrics["cairn_mirror_spared_bytes_total"] == len(NEW) - size_of(asked)
        assert metrics['cairn_mirror_fetched_bytes_total{source="plain"}'] - before < 0.03 * len(NEW) + 100_000  # the plan has a term for each chunk
        for head in upstream.asked:
            if b"/v2/" in head:
                assert b"Authorization: Bearer for-the-store\r\n" in head
            else:
                assert b"for-the-store" not in head


def test_a_changed_part_of_a_file_of_another_daemon(start):
    upstream = start("upstream")
    commits = publish(upstream, "team/one", [("weights.bin", OLD), ("weights.bin", NEW)])
    here = start(mirror=upstream.url)
    assert fetch(here, f"/team/one/resolve/{commits[0]}/weights.bin").body == OLD
    before = here.metrics()['cairn_mirror_fetched_bytes_total{source="plain"}']
    assert fetch(here, f"/team/one/resolve/{commits[1]}/weights.bin").body == NEW
    assert here.metrics()['cairn_mirror_fetched_bytes_total{source="plain"}'] - before < 0.03 * len(NEW)


def changed(change):
    """Returns a function that answers a request for a plan with change(the true plan)."""
    return lambda connection, head, plans: connection.sendall(answer(200, json.dumps(change(plans.plan(head.decode().split()[1].rsplit("/", 1)[1], head))).encode()))


def lacks_last(plan):
    return plan | {"terms": plan["terms"][:-1]}


def lengthened(plan):
    return plan | {"terms": [*plan["terms"], plan["terms"][-1]]}


def endless(connection, _head, _plans):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"[" * 65536)


def token(**answered):
    said = {"accessToken": "for-the-store", "exp": 2**31, "casUrl": "{url}"} | answered
    return lambda hub: answer(200, json.dumps(said).replace("{url}", hub.url).replace("{port}", str(hub.port)).encode())


TOKENS = {
    "refused": lambda _hub: answer(403, b"{}"),
    "failed": lambda _hub: answer(500),
    "inward": token(casUrl="http://127.0.0.2:{port}"),
    "inward_by_name": token(casUrl="http://localhost:{port}"),
    "other_port": token(casUrl="http://127.0.0.1:1"),
}
PLANS = {
    "refused": lambda connection, _head, _plans: connection.sendall(answer(403, b"{}")),
    "no_json": lambda connection, _head, _plans: connection.sendall(answer(200, b"{")),
    "elsewhere": lambda connection, _head, _plans: connection.sendall(answer(302, Location="/v2/other")),
    "endless": endless,
    "shorter": changed(lacks_last),
    "longer": changed(lengthened),
}


def check_all_is_fetched(start, upstream, spoil):
    server = start(mirror=upstream.url)
    have_old(server, upstream)
    spoil()
    assert fetch(server, NEW_PATH).body == NEW
    check_each_byte_once(upstream.fetched(NEXT), len(NEW))
    assert server.metrics()["cairn_mirror_spared_bytes_total"] == 0
    assert server.get("/far/model/resolve/main/weights.bin").status in (200, 404)


@pytest.mark.parametrize("how", TOKENS)
def test_an_upstream_gives_no_token_for_plans(start, plans, how):
    """If the upstream gives no token for plans, the whole file is fetched, and no other machine is connected to."""
    with Planned(plans) as upstream, Upstream(answer(200), host="127.0.0.2", port=upstream.port) as inner:
        refused = lambda connection: connection.sendall(TOKENS[how](upstream))
        check_all_is_fetched(start, upstream, lambda: upstream.instead.update({"/xet-read-token/": refused}))
        assert not inner.connections


@pytest.mark.parametrize("how", PLANS)
def test_an_upstream_gives_no_plan(start, plans, how):
    with Planned(plans) as upstream:
        check_all_is_fetched(start, upstream, lambda: upstream.ranged.update({"/v2/": lambda connection, head: PLANS[how](connection, head, plans)}))


def test_a_false_plan_is_found(start, plans):
    """The plan says that a file with one other byte consists of the old file's chunks. No client gets that file whole; the next fetch copies nothing from files that are here."""
    false = Plans.__new__(Plans)
    false.__dict__ = {**plans.__dict__, "files": {**plans.files, plans.said[NEW]: plans.files[plans.said[OLD]]}}
    with Planned(plans) as upstream:
        server = start(mirror=upstream.url)
        have_old(server, upstream)
        upstream.plans = false
        with pytest.raises(IncompleteRead) as cut_off:
            server.get(NEW_PATH)
        assert len(cut_off.value.partial) <= len(NEW) - 65536
        reply = server.get(NEW_PATH)
        assert (reply.status, reply.json()["code"]) == (502, "mirror.plan"), reply
        upstream.asked.clear()
        cairn.wait_until("another fetch", lambda: server.get(NEW_PATH, headers={"Range": "bytes=0-0"}).status == 206, 60)
        assert fetch(server, NEW_PATH).body == NEW
        check_each_byte_once(upstream.fetched(NEXT), len(NEW))
        assert not upstream.paths("/xet-read-token/")


def test_the_store_of_plans_is_on_another_host(start, issuer, plans):
    """The other host gets the token that the mirrored hub gave for it, and no other token."""
    with Planned(plans, info={"gated": "auto"}) as upstream, Planned(plans, host="127.0.0.2", port=upstream.port) as store:
        upstream.cas = store.url
        server = start(mirror=upstream.url, mirror_hosts="127.0.0.2", token_key=issuer.folder)
        assert fetch(server, OLD_PATH, token=TOKEN).body == OLD
        cairn.wait_until("the plan", lambda: store.paths("/v2/"))
        assert upstream.sent(TOKEN) and upstream.sent("for-the-store") == []
        assert store.sent(TOKEN) == [] and len(store.sent("for-the-store")) == len(store.asked) > 0


def test_a_gated_repository_shares_with_itself_alone(start, issuer, plans):
    """Bytes of a public repository are fetched again for a gated one, and the other way round. A later version of the gated repository's own file is not fetched whole."""
    with Planned(plans) as upstream:
        upstream.repos["far/open"] = Repo({"weights.bin": NEW}, stored={"weights.bin"}, sha=NEXT)
        upstream.repos["far/model"].info["gated"] = upstream.newer.info["gated"] = "auto"
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert fetch(server, OLD_PATH, token=TOKEN).body == OLD
        cairn.wait_until("the plan", lambda: upstream.paths("/v2/"))
        assert fetch(server, f"/far/open/resolve/{NEXT}/weights.bin").body == NEW
        check_each_byte_once(upstream.fetched("/far/open/"), len(NEW))
        upstream.commit()
        look_for_new(server, TOKEN)
        assert fetch(server, NEW_PATH, token=TOKEN).body == NEW
        assert size_of(upstream.fetched(f"/far/model/resolve/{NEXT}")) < 0.03 * len(NEW)
