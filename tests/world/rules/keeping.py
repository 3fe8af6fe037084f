"""What is kept: xorbs until their grace time is over, and nothing in the folder or the log that should not be there."""

import contextlib
import json
import os
import re
import time
from pathlib import Path

import cairn

from ..parts import require, rule, rule_of_the_end

CLOSED_AFTER_S = 10  # on a busy machine the daemon sees late that its clients have hung up
DESCRIPTORS_MORE = 12  # than at a process's first rest, for connections that it has not closed yet


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
    """The daemon's open descriptors do not grow. Those of objects, which are kept open, and of the index do not count."""
    known = world.descriptors.setdefault(world.server.starts, len(open_descriptors(world)))
    ends = time.monotonic() + CLOSED_AFTER_S
    while len(kept := open_descriptors(world)) > known + DESCRIPTORS_MORE and time.monotonic() < ends:
        world.ask("GET", "/health")
    require(len(kept) <= known + DESCRIPTORS_MORE, "descriptors_are_given_back", lambda: f"{known}, then {len(kept)}: {sorted(kept)}")


def open_descriptors(world):
    folder, names = Path(f"/proc/{world.server.process.pid}/fd"), []
    for fd in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            names.append(os.readlink(fd))
    return [name for name in names if not re.search(r"/index\.sqlite|/objects/../../[0-9a-f]{64}", name)]


@rule_of_the_end
def fsck_finds_nothing(world):
    """Objects without a row are left by a killed upload, and do no harm."""
    done = world.tool("fsck", "--json", "--data-dir", world.server.data, expect=(0, 65))
    found = [p for p in json.loads(done.stdout)["problems"] if p["kind"] != "object.alone"]
    require(not found, "fsck_finds_nothing", lambda: json.dumps(found)[:3000])


@rule_of_the_end
def a_log_has_no_secret(world):
    for path in sorted(world.server.folder.glob("log*")):
        text = path.read_text(errors="replace")
        for secret in world.secrets:
            require(secret.removeprefix("hf_") not in text, "a_log_has_no_secret", f"{path.name} has {secret[:12]}...")


@rule_of_the_end
def no_sanitizer_complains(world):
    """Logs of killed daemons count, too."""
    for path in sorted(world.server.folder.glob("log*")):
        text = path.read_text(errors="replace")
        require(not cairn.REPORTS.search(text), "no_sanitizer_complains", lambda text=text: text[-6000:])


@rule_of_the_end
def nothing_is_left_over(world):
    """A disk that fails may keep the daemon from removing a file of tmp. The next start removes it."""
    left = [path for path in world.server.left_overs() if not (path.startswith("tmp/") and world.counts.get("disk"))]
    require(not left, "nothing_is_left_over", str(left))
