"""Runs the scripts that use hf_xet, each in a process with a home and caches of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def environment(folder, **settings):
    """The environment of a client. Settings are those of hf_xet: client_retry_base_delay="10ms" is HF_XET_CLIENT_RETRY_BASE_DELAY."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XET_"))}
    cache = str(folder / "cache")
    env |= {"HOME": cache, "HF_HOME": cache, "HF_XET_CACHE": cache, "XDG_CACHE_HOME": cache}
    return env | {"HF_XET_" + k.upper(): str(v) for k, v in settings.items()}


def hub_environment(folder, server, key=None):
    """The environment of a client of a server's hub, which signs in with a key if there is one."""
    env = environment(folder) | {"HF_ENDPOINT": server.url, "HF_HUB_DISABLE_TELEMETRY": "1"}
    return env | ({"HF_TOKEN": key} if key else {})


def run(script, folder, order, **settings):
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(HERE / script)],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(folder, **settings),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def upload(server, folder, paths, token=None, **settings):
    """Uploads the files in one session. @return [{"hash", "size", "sha256"}]"""
    order = {"endpoint": server.url, "token": token, "files": [{"path": str(p)} for p in paths]}
    return run("hf_session.py", folder, order, **settings)["files"]


def download(server, folder, gets, token=None, **settings):
    gets = [{"path": str(folder / f"got{i}"), **get} for i, get in enumerate(gets)]
    return run("hf_download.py", folder, {"endpoint": server.url, "token": token, "gets": gets}, **settings)
