"""docs/openapi.yaml against the running server, by schemathesis; and the document against the routes in the code."""

import re
import subprocess
import sys
from pathlib import Path

import cairn
import pytest
import xet
import yaml

DOCUMENT = cairn.ROOT / "docs" / "openapi.yaml"
ROUTE = re.compile(r'\.method = "([A-Z]+)",\s*\.pattern = "([^"]+)"')


def test_every_route_is_documented():
    coded = set()
    for path in sorted((cairn.ROOT / "server").glob("route_*.c")):
        coded |= set(ROUTE.findall(path.read_text()))
    assert len(coded) > 8
    documented = set()
    for pattern, operations in yaml.safe_load(DOCUMENT.read_text())["paths"].items():
        documented |= {(method.upper(), pattern) for method in operations if method in ("get", "post", "head", "put", "delete", "options")}
    assert documented == coded


@pytest.mark.parametrize("secured", [False, True], ids=["open", "with tokens"])
def test_server_is_as_documented(start, make, tmp_path, secured):
    options = {}
    if secured:
        key = tmp_path / "key"
        key.write_text("A" * 43 + "\n")
        key.chmod(0o600)
        options["token_key"] = key
    server = start(**options)
    if not secured:
        xorb = make([9000, 9001], 1)
        assert server.put_xorb(xorb).status == 200
        assert server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, 2)])], [xorb])).status == 200
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method"
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"), "run", str(DOCUMENT), "--url", server.url, "--checks", checks, "--max-examples", "40",
            "--seed", "1", "--generation-database", "none", "--phases", "examples,coverage,fuzzing", "--request-timeout", "30",
            "--suppress-health-check", "all",
        ],
        capture_output=True,
        text=True,
        timeout=400,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert server.get("/health").status == 200
