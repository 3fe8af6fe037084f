"""The cost of a request, and bodies sent in pieces."""

import itertools
import os
import re
import subprocess

import cairn


def cost(server):
    """Returns the daemon's processor seconds so far, and its peak of resident memory in MiB."""
    peak = re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{server.process.pid}/status").read())
    return cairn.processor_s(server), int(peak.group(1)) / 1024


def pieces(body, lengths):
    """Encodes the body as HTTP chunks of these lengths, repeated as needed."""
    out, at = [], 0
    for n in itertools.cycle(lengths):
        if at >= len(body):
            return b"".join(out) + b"0\r\n\r\n"
        part = body[at : at + n]
        out.append(b"%x\r\n%b\r\n" % (len(part), part))
        at += n


def healthy(*options, **environment):
    """Does docker/healthcheck report the daemon healthy with these variables?"""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CAIRN")} | {"CAIRND": str(cairn.CAIRND)} | environment
    return subprocess.run([cairn.ROOT / "docker" / "healthcheck", *options], env=env, capture_output=True, timeout=30).returncode == 0
