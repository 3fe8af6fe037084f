"""docs/openapi.yaml against the running server, by schemathesis; and the document against the routes in the code."""

import subprocess
import sys
import time
from pathlib import Path

import cairn
import jwt
import pytest
import xet
import yaml

CONFIG = cairn.ROOT / "tests/clients/schemathesis.toml"
DOCUMENT = cairn.ROOT / "docs" / "openapi.yaml"


def test_every_route_is_documented():
    coded = {(method, pattern) for method, pattern, _, _ in cairn.routes()}
    assert len(coded) > 8
    older = {pattern: set(known) for _, pattern, known, _ in cairn.routes() if known}
    documented, documented_older = set(), {}
    for pattern, path in yaml.safe_load(DOCUMENT.read_text())["paths"].items():
        documented |= {(method.upper(), pattern) for method in path if method in ("get", "post", "head", "put", "delete", "options")}
        if "x-older-paths" in path:
            documented_older[pattern] = set(path["x-older-paths"])
    assert documented == coded
    assert documented_older == older


def test_types_are_of_the_document_s_version():
    """In OpenAPI 3.0 a schema has one type and `nullable`, not a list of types."""

    def types(node):
        for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from types(value)
        if isinstance(node, dict) and "type" in node and not isinstance(node["type"], dict):
            yield node["type"]

    document = yaml.safe_load(DOCUMENT.read_text())
    assert document["openapi"].startswith("3.0.")
    assert set(map(type, types(document))) == {str}


@pytest.mark.parametrize(("who", "examples"), [("operator", 20), ("writer", 8), ("stranger", 4)])  # who may do less gets fewer kinds of answers
def test_server_is_as_documented(start, make, tmp_path, who, examples):
    options, headers = {}, []
    if who != "operator":
        key = tmp_path / "key"
        key.write_text("A" * 43 + "\n")
        key.chmod(0o600)
        options["token_key"] = key
    if who == "writer":
        token = jwt.encode({"scope": "write", "exp": int(time.time()) + 3600}, bytes(32), algorithm="HS256")
        headers = ["--header", f"Authorization: Bearer {token}"]
    server = start(**options)
    if who == "operator":
        xorb = make([9000, 9001], 1)
        assert server.put_xorb(xorb).status == 200
        assert server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, 2)])], [xorb])).status == 200
    done = subprocess.run(
        [str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(CONFIG), "run", str(DOCUMENT), "--url", server.url, "--max-examples", str(examples), *headers],
        capture_output=True,
        text=True,
        timeout=400,
        cwd=tmp_path,
    )
    _, _, failures = done.stdout.partition("= FAILURES =")
    assert done.returncode == 0, (failures or done.stdout)[:6000] + done.stderr[-2000:]
    assert server.get("/health").status == 200
