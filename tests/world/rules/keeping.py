"""The store keeps xorbs until their grace time is over, and its folder and log have nothing that should not be there."""

import contextlib
import json
import os
import re
import time
from pathlib import Path

import cairn

from ..engines import sockets_to_engines
from ..parts import require, rule, rule_of_the_end

CLOSED_AFTER_S = 10  # on a busy machine the daemon notices late that its clients have hung up
DESCRIPTORS_MORE = 12  # more than at a process's first rest, for connections that it has not closed yet


@rule
def a_stored_xorb_is_there_for_its_grace(world):
    token = world.token(world.tenants[0], "read")
    with world.lock:
        world.expire()
    for name, (xorb, _) in sorted(world.xorbs.items()):
        reply = world.ask("HEAD", xorb.path(), token)
        require(reply.status == 200, "a_stored_xorb_is_there_for_its_grace", lambda reply=reply, name=name: f"{name}: {reply}")
        told = int(reply.headers["Content-Length"])
        require(told == len(xorb.body()), "a_stored_xorb_is_there_for_its_grace", lambda name=name, told=told: f"{name}: {told} bytes")


@rule
def descriptors_are_given_back(world):
    """A daemon's open descriptors do not grow. Those of objects, of the index, and of connections to engines do not count: the daemon keeps them open on purpose,
    up to limits of their own."""
    for daemon in world.daemons.all:
        known = world.descriptors.setdefault((daemon, daemon.starts), len(open_descriptors(world, daemon)))
        ends = time.monotonic() + CLOSED_AFTER_S
        while len(kept := open_descriptors(world, daemon)) > known + DESCRIPTORS_MORE and time.monotonic() < ends:
            world.ask("GET", "/health", server=daemon)
        require(len(kept) <= known + DESCRIPTORS_MORE, "descriptors_are_given_back", lambda known=known, kept=kept: f"{known}, then {len(kept)}: {sorted(kept)}")


def open_descriptors(world, daemon):
    folder, names, to_engines = Path(f"/proc/{daemon.process.pid}/fd"), [], sockets_to_engines(world)
    for fd in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            names.append(os.readlink(fd))
    return [name for name in names if name not in to_engines and not re.search(r"/index\.sqlite|/objects/../../[0-9a-f]{64}", name)]


@rule_of_the_end
def fsck_finds_nothing(world):
    """A killed upload leaves objects without a row, which do no harm."""
    done = world.tool("fsck", "--json", "--data-dir", world.server.data, expect=(0, 65))
    found = [p for p in json.loads(done.stdout)["problems"] if p["kind"] != "object.alone"]
    require(not found, "fsck_finds_nothing", lambda: json.dumps(found)[:3000])


def logs(world):
    return [path for daemon in world.daemons.all for path in sorted(daemon.folder.glob("log*"))]


@rule_of_the_end
def a_log_has_no_secret(world):
    for path in logs(world):
        text = path.read_text(errors="replace")
        for secret in world.secrets:
            require(secret.removeprefix("hf_") not in text, "a_log_has_no_secret", f"{path.name} has {secret[:12]}...")


@rule_of_the_end
def no_sanitizer_complains(world):
    """Reads the logs of all daemons, also of killed ones."""
    for path in logs(world):
        text = path.read_text(errors="replace")
        require(not cairn.REPORTS.search(text), "no_sanitizer_complains", lambda text=text: text[-6000:])


@rule_of_the_end
def nothing_is_left_over(world):
    """A faulty disk may keep the daemon from removing a file of tmp; the next start removes it. Damaged objects stay for the operator to look at."""
    found = [path for daemon in world.daemons.all for path in daemon.left_overs()]
    may_be = tuple(folder for folder, fault in (("tmp/", "disk"), ("damaged/", "damaged_objects")) if world.counts.get(fault))
    left = [path for path in found if not path.startswith(may_be)]
    require(not left, "nothing_is_left_over", str(left))
