"""Reads of a tenant's files: whole, in parts, many at once. Also chunk queries."""

import json

import plans
import xet

from ..parts import operation, require
from ..store import own_file, own_read, read, tenant_of


def judge(world, key, mark, got, wanted):
    """Judges what was read. mark: of the memory, from before the read. got: bytes, an answer, or None"""
    if got is None:
        return
    if isinstance(got, bytes):
        require(got == wanted, "what_is_read_is_what_was_written", lambda: f"{key}: {len(got)} bytes instead of {len(wanted)}")
        require(world.memory.saw_since(key, mark, True), "what_was_deleted_is_gone", f"{key} was read")
    elif got.status == 404:
        require(world.memory.saw_since(key, mark, None), "what_was_acknowledged_is_readable", lambda: f"{key}: {got}")
    elif got.status == 403:
        require(world.moment.clock_moved, "an_address_is_good_until_it_expires", lambda: f"{key}: {got} {got.body!r}")
    else:
        require(world.moment.may_fail, "what_was_acknowledged_is_readable", lambda: f"{key}: {got} {got.body!r}")


@operation(weight=4)
def read_file(world, source):
    """Reads a file or a part of it, by a plan of either version."""
    key, file, token = own_read(world, source)
    if token is None:
        return
    content, form, mark = plans.content(file), source.choice(("v1", "v2")), world.memory.mark(key)
    if source.randrange(3) == 0:
        judge(world, key, mark, read(world, token, file, form=form), content)
        return
    near = lambda: min(max(source.choice(boundaries(file)) + source.randint(-2, 2), 0), len(content))
    first, end = sorted((near(), near()))
    if first == end:
        first, end = max(first - 1, 0), max(first - 1, 0) + 1
    judge(world, key, mark, read(world, token, file, first, end, form), content[first:end])


def boundaries(file):
    """Returns the offsets of the file's chunks, and its end, where mistakes are likely."""
    at, out = 0, [0]
    for _, n in file.nodes():
        at += n
        out.append(at)
    return out


@operation(weight=1)
def read_past_the_end(world, source):
    key, file, token = own_read(world, source)
    if token is None:
        return
    size = boundaries(file)[-1]
    reply = world.ask("GET", f"/v2/reconstructions/{key[2]}", token, Range=f"bytes={size}-{size + source.randint(0, 100)}")
    require(reply is None or reply.status in (404, 416) or reply.status >= 500, "nothing_is_past_the_end", lambda: f"{key}: {reply} {reply.body!r}")


@operation(weight=2)
def read_many(world, source):
    """Reads several files by one plan."""
    tenant = tenant_of(world, source)
    files = dict(own_file(world, tenant, source) for _ in range(3))
    files.pop(None, None)
    token = world.token(tenant, "read") if files else None
    if token is None:
        return
    marks = {key: world.memory.mark(key) for key in files}
    body = json.dumps([{"prefix": "default", "hash": key[2]} for key in files]).encode()
    reply = world.ask("POST", "/v1/reconstructions", token, body)
    if reply is None or reply.status >= 500 or world.moment.may_fail:
        return
    told = reply.json().get("files", {}) if reply.status == 200 else {}
    for key in files:
        possible = world.memory.saw_since(key, marks[key], True if key[2] in told else None)
        require(possible, "what_was_acknowledged_is_readable", lambda key=key: f"{key} is {'' if key[2] in told else 'not '}in the plans: {reply} {reply.body!r}")


@operation(weight=1)
def query_old(world, source):
    """Queries the first chunk of any file, which may have been forgotten and collected. Every xorb that is offered must be there."""
    key, file, token = own_read(world, source, certain=False)
    if token is None:
        return
    xorb, first, _ = file.terms[0]
    is_offered(world, ask_for(world, xorb, first, token)[1], token)


def ask_for(world, xorb, n, token):
    """Queries a chunk of a xorb. @return the reply, and the answer or None"""
    reply = world.ask("GET", f"/v1/chunks/default/{xet.text(xorb.nodes[n][0])}", token)
    return reply, xet.parse_answer(reply.body) if reply is not None and reply.status == 200 else None


def is_offered(world, answer, token):
    """Checks that all xorbs of an answer are there. answer: None if there is none"""
    for name in sorted(answer.xorbs if answer else ()):
        found = world.ask("HEAD", f"/v1/xorbs/default/{xet.text(name)}", token)
        there = found is None or found.status == 200 or found.status >= 500 or world.moment.clock_moved
        require(there, "what_is_offered_is_there", lambda name=name, found=found: f"{xet.text(name)}: {found}")


@operation(weight=3)
def query(world, source):
    """Queries the first chunk of a file that exists. The answer must list the file's xorb as it is, unless a fault explains a miss."""
    key, file, token = own_read(world, source)
    if token is None:
        return
    xorb, first, _ = file.terms[0]
    mark, withdrawn = world.memory.mark(key), set(world.withdrawn)
    reply, answer = ask_for(world, xorb, first, token)
    if answer is None or xorb.hash not in answer.xorbs:
        # If a faulty disk cannot say whether the xorb is there, the query is a miss. The client sends the xorb, and nothing is lost.
        may_be = reply is None or world.moment.may_fail or world.moment.clock_moved or key in withdrawn or not world.memory.is_same(key, mark)
        require(may_be, "what_is_there_can_be_deduplicated", lambda: f"{xet.text(xorb.hash)}: {reply}")
        return
    listed = [(c[0], c[2]) for c in answer.xorbs[xorb.hash]]
    require(listed == [(xet.keyed(answer.key, h), n) for h, n in xorb.nodes], "an_answer_is_true", lambda: f"chunks of {xet.text(xorb.hash)}")
    is_offered(world, answer, token)
