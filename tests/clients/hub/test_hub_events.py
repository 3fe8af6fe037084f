"""The changes of a bucket, as HfFileSystem follows them: what an answer contains, where the next one continues, and who may ask."""

import json

import cairn
import pytest
from hub_calls import ZEROS, add, delete, post
from huggingface_hub import HfFileSystem

KEPT = 32  # CAIRN_INDEX_FEED_BATCHES
PAGE = 16  # CAIRN_HUB_FEED_BATCHES_MAX


def follow(people, query="", who="ann", bucket="ann/one"):  # noqa: F811
    """@return the events: [(name, data)]"""
    reply = people.ask("GET", f"/api/buckets/{bucket}/events{query}", who)
    assert reply.status == 200 and reply.headers["Content-Type"] == "text/event-stream", reply
    events = [e.split("\n") for e in reply.body.decode().split("\n\n") if e]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]


def changes(events):
    return [[(c["op"], c["path"]) for c in data["changes"]] for name, data in events if name == "changes"]


def updated(people):  # noqa: F811
    return people.ask("GET", "/api/buckets/ann/one").json()["updatedAt"]


def cursor(events):
    assert events[-1][0] == "reconnect", events
    return events[-1][1]["cursor"]


def test_changes_of_a_bucket_are_sent_as_events(people):  # noqa: F811
    people.make("ann/one")
    people.make("ann/two")
    events = follow(people, f"?since={updated(people)}")
    assert [e[0] for e in events] == ["ready", "reconnect"] and all("cursor" not in data for _, data in events), events
    begun = updated(people)
    people.put("ann/one", "a/b.bin", b"1" * 90_000)
    people.put("ann/two", "of another bucket", b"")
    assert people.batch("ann/one", add("a/b.bin", ZEROS), add('c "d" é', ZEROS), delete("none")).status == 200
    events = follow(people, f"?since={begun}")
    assert changes(events) == [[("add", "a/b.bin")], [("update", "a/b.bin"), ("add", 'c "d" é')]]
    assert [e[0] for e in events] == ["changes", "changes", "ready", "reconnect"]
    assert events[0][1]["changes"][0]["uploadedAt"] >= begun
    at = cursor(events)
    # Nothing is new; then a deletion is reported, once.
    assert [e[0] for e in follow(people, f"?cursor={at}")] == ["ready", "reconnect"] and cursor(follow(people, f"?cursor={at}")) == at
    assert people.batch("ann/one", delete("a/b.bin"), delete("never was")).status == 200
    events = follow(people, f"?cursor={at}")
    assert changes(events) == [[("delete", "a/b.bin")]] and cursor(events) > at
    assert changes(follow(people, f"?cursor={cursor(events)}")) == []
    # Without a place to continue from, only later changes are reported.
    live = follow(people)
    assert changes(live) == [] and cursor(live) == cursor(events)
    # A batch that changes nothing is not reported.
    assert people.batch("ann/one", delete("never was")).status == 200
    assert changes(follow(people, f"?cursor={cursor(events)}")) == []


def test_changes_before_the_kept_ones_restart_the_listing(people):  # noqa: F811
    people.make("ann/one")
    people.put("ann/one", "first", b"")
    first = cursor(follow(people))
    for i in range(KEPT - 1):
        people.put("ann/one", f"f{i}", b"")
    # A long history comes in pieces. Each piece says where the next begins.
    events = follow(people, f"?cursor={first}")
    assert [e[0] for e in events] == ["changes"] * PAGE + ["reconnect"]
    rest = follow(people, f"?cursor={cursor(events)}")
    assert changes(events) + changes(rest) == [[("add", f"f{i}")] for i in range(KEPT - 1)]
    assert [e[0] for e in rest][-2:] == ["ready", "reconnect"]
    people.put("ann/one", "one more", b"")
    for place in (f"cursor={int(first) - 1}", "since=2020-01-01T00:00:00.000Z", f"cursor={int(cursor(rest)) * 2}"):
        assert follow(people, "?" + place)[-1] == ("reset", {"reason": "changes before these are not kept"}), place
    assert [e[0] for e in follow(people, f"?since={updated(people)}")][-2:] == ["ready", "reconnect"]
    # For a batch of more paths than are kept, the answer is to list the bucket anew.
    at = cursor(follow(people))
    assert people.batch("ann/one", *(add(f"{i}/" + "x" * 200, ZEROS) for i in range(400))).status == 200
    assert follow(people, f"?cursor={at}")[-1][0] == "reset"
    # A client that has listed the bucket anew continues from there.
    people.put("ann/one", "later", b"")
    assert [e[0] for e in follow(people, f"?since={updated(people)}")][-2:] == ["ready", "reconnect"]


def test_readers_of_a_bucket_may_follow_its_events(people):  # noqa: F811
    people.make("ann/one", private=True)
    people.put("ann/one", "secret", b"")
    for who, status in (("bob", 404), ("nobody", 401)):
        for name in ("one", "absent"):
            reply = people.ask("GET", f"/api/buckets/ann/{name}/events?since=2020-01-01T00:00:00Z", who)
            assert (reply.status, reply.headers["X-Error-Code"]) == (status, "RepoNotFound"), (who, name)
    assert people.ask("GET", "/api/buckets/ann/one/events", "reading ann").status == 200
    for wrong in ("cursor=x", "cursor=-1", "cursor=0", "since=yesterday", "cursor=99999999999999999999"):
        assert cairn.is_hub_error(people.ask("GET", f"/api/buckets/ann/one/events?{wrong}"), 400, "bucket.events"), wrong


def test_a_new_bucket_of_the_name_has_no_changes_of_the_old_one(people, admin):  # noqa: F811
    people.make("ann/one")
    people.put("ann/one", "secret", b"")
    at = cursor(follow(people))
    assert people.ask("DELETE", "/api/buckets/ann/one").status == 204
    post(people.server, "/v1/admin/gc", admin, {})
    people.make("ann/one")
    assert changes(follow(people, f"?cursor={int(at) - 1}")) == [] and "cursor" not in follow(people)[-1][1]


@pytest.mark.parametrize("change", ["put", "delete"])
def test_the_file_system_follows(people, change):  # noqa: F811
    people.make("ann/one")
    people.put("ann/one", "d/a", b"")
    fs = HfFileSystem(endpoint=people.server.url, token=people.keys["ann"], live_follow=True, skip_instance_cache=True)

    def names():
        return sorted(f["name"].rsplit("/", 1)[1] for f in fs.ls("buckets/ann/one/d", detail=True))

    assert names() == ["a"]
    if change == "put":
        people.put("ann/one", "d/b", b"")
    else:
        assert people.batch("ann/one", add("d/b", ZEROS), delete("d/a")).status == 200
    expected = ["a", "b"] if change == "put" else ["b"]
    cairn.wait_until("it sees what others changed", lambda: names() == expected)
