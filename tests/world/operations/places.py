"""Repositories that are renamed, copied and deleted. Keys: ("places", user). A value is the entries ((name, repository, is the name current, text of its
file), ...) of one user's names. A former name leads to its repository until the name is given again."""

import base64

from ..memory import pick
from ..parts import operation, require
from ..store import tenant_of
from .pulls import fair

NAMES = ("x1", "x2", "x3", "x4")


def places_key(tenant):
    return ("places", tenant.name)


def entries(value):
    return {name: (repo, is_today, text) for name, repo, is_today, text in value or ()}


def frozen(found):
    return tuple(sorted((name, *rest) for name, rest in found.items()))


def with_new(value, name, repo, text):
    return frozen(entries(value) | {name: (repo, True, text)})


def with_moved(value, source, target):
    found = entries(value)
    repo, _, text = found[source]
    return frozen(found | {source: (repo, False, text), target: (repo, True, text)})


def without(value, name):
    found = entries(value)
    return frozen({n: e for n, e in found.items() if e[0] != found[name][0]})


def contents(text):
    """Returns {path: content} of the files of a repository, which follow from the text of its first file."""
    return {"me.txt": text} | {f"{n}/of {text[0]}.txt": f"{n} {text}" for n in range(int(text, 16) % 4)}


def seen(value):
    """Returns {name: text}: what a reader sees under each name."""
    return {name: text for name, (_, _, text) in entries(value).items()}


def taken(value, name):
    """Is this the current name of a repository?"""
    return name in entries(value) and entries(value)[name][1]


def some_name(value, source):
    """Returns a current name, and another name; None, None: no name is current."""
    old = pick(source, [name for name in NAMES if taken(value, name)])
    return (old, pick(source, [name for name in NAMES if name != old])) if old else (None, None)


def change(world, tenant, ask):
    """Calls ask(value), which sends a request that changes the names. @return of ask: (answer, the allowed statuses, the value afterwards)"""
    key = places_key(tenant)
    with world.memory.changing(key) as register:
        if register is None:
            return
        reply, statuses, value = ask(register.value() or ())
        require(fair(reply, *statuses), "a_name_leads_to_one_repository", lambda: f"{key} {register.value()}: {reply} {reply.body!r}")
        if value is not None:
            world.answer(reply, register, value)


def make(world, tenant, source, value):
    """Makes a repository under any name. @return as of ask() in change()"""
    name, repo = source.choice(NAMES), f"{source.getrandbits(48):012x}"
    encoded = lambda content: base64.b64encode(content.encode()).decode()
    files = [{"path": path, "content": encoded(content), "encoding": "base64"} for path, content in contents(repo).items()]
    body = {"name": name, "organization": tenant.name, "type": "model", "private": True, "files": files}
    reply = world.ask("POST", "/api/repos/create", tenant.key, body)
    return (reply, (409,), None) if taken(value, name) else (reply, (200,), with_new(value, name, repo, repo))


@operation(weight=1)
def make_place(world, source):
    make_one(world, source, tenant_of(world, source))


def make_one(world, source, tenant):
    change(world, tenant, lambda value: make(world, tenant, source, value))


@operation(weight=1)
def move_place(world, source):
    move_one(world, source, tenant_of(world, source))


def move_one(world, source, tenant):
    def ask(value):
        old, new = some_name(value, source)
        if old is None:
            return make(world, tenant, source, value)
        body = {"fromRepo": f"{tenant.name}/{old}", "toRepo": f"{tenant.name}/{new}", "type": "model"}
        reply = world.ask("POST", "/api/repos/move", tenant.key, body)
        return (reply, (409,), None) if taken(value, new) else (reply, (200,), with_moved(value, old, new))

    change(world, tenant, ask)


@operation(weight=1)
def copy_place(world, source):
    copy_one(world, source, tenant_of(world, source))


def copy_one(world, source, tenant):
    repo = f"{source.getrandbits(48):012x}"

    def ask(value):
        old, new = some_name(value, source)
        if old is None:
            return make(world, tenant, source, value)
        body = {"repository": f"{tenant.name}/{new}", "private": True}
        reply = world.ask("POST", f"/api/models/{tenant.name}/{old}/duplicate", tenant.key, body)
        return (reply, (409,), None) if taken(value, new) else (reply, (200,), with_new(value, new, repo, entries(value)[old][2]))

    change(world, tenant, ask)


@operation(weight=1)
def delete_place(world, source):
    delete_one(world, source, tenant_of(world, source))


def delete_one(world, source, tenant):
    def ask(value):
        name, _ = some_name(value, source)
        if name is None:
            return make(world, tenant, source, value)
        reply = world.ask("DELETE", "/api/repos/delete", tenant.key, {"name": name, "organization": tenant.name, "type": "model"})
        return reply, (200,), without(value, name)

    change(world, tenant, ask)


@operation(weight=1)
def change_places(world, source):
    """Changes the names of one user again and again, because a fault of names often shows only after the third change."""
    tenant = tenant_of(world, source)
    for _ in range(source.randint(3, 10)):
        source.choice((make_one, move_one, move_one, copy_one, delete_one))(world, source, tenant)
