"""The container with its recommended options: not as root, read-only, without capabilities. Its data outlive it."""

import datetime
import ipaddress
import json
import os
import re
import socket
import subprocess
import urllib.request
import uuid
import zlib

import cairn
import pytest
import reads_me
import xet

TIMEOUT_S = 900
COMPRESSED_BYTES_MAX = 60_000_000
HARDENED = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]


def docker(*arguments, check=True):
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=cairn.ROOT)
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


def reachable():
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


pytestmark = pytest.mark.skipif(not reachable(), reason="no docker daemon answers here")


class Container(cairn.Daemon):
    """Sends requests to a container through its published port."""

    def __init__(self, name, volume, image):
        self.name, self.volume, self.image = name, volume, image
        self.trust = None

    def start(self):
        docker("run", "-d", "--name", self.name, *HARDENED, "-v", f"{self.volume}:/data", "-p", "127.0.0.1::8080", self.image)
        self.port = int(docker("port", self.name, "8080").stdout.split(":")[-1])
        cairn.wait_until("the container to be healthy", lambda: self.inspect()["State"]["Health"]["Status"] == "healthy", 90)
        return self

    def inspect(self):
        return json.loads(docker("inspect", self.name).stdout)[0]

    def remove(self):
        docker("stop", "-t", "40", self.name)
        code = self.inspect()["State"]["ExitCode"]
        docker("rm", "-v", self.name)
        assert code == 0


@pytest.fixture(scope="module")
def image():
    tag = "cairn:test-" + uuid.uuid4().hex[:8]
    build = subprocess.run(["docker/build", tag], cwd=cairn.ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert build.returncode == 0, build.stdout[-3000:] + build.stderr[-3000:]
    yield tag
    docker("rmi", "-f", tag, check=False)


@pytest.fixture
def names():
    suffix = uuid.uuid4().hex[:8]
    container, volume = f"cairn-test-{suffix}", f"cairn-test-{suffix}"
    docker("volume", "create", volume)
    yield container, volume
    docker("rm", "-fv", container, check=False)
    docker("volume", "rm", "-f", volume, check=False)


def test_refuses_to_serve_without_a_key(image, names):
    name, volume = names
    done = docker("run", "--rm", "--name", name, *HARDENED, "-v", f"{volume}:/data", image, check=False)
    assert done.returncode == 1 and "/data/keys" in done.stderr, done


def test_upload_query_and_return(image, names, make):
    name, volume = names

    def once(*command):
        return docker("run", "--rm", *HARDENED, "-v", f"{volume}:/data", image, *command).stdout.strip()

    once("mkdir", "-m", "700", "/data/keys")
    once("cairn", "token", "--new-key", "/data/keys/1")
    token = once("cairn", "token", "--key", "/data/keys", "--scope", "write")
    xorb = make([9000, 20000, 30000], 1)
    chunk = f"/v1/chunks/default/{xet.text(xorb.nodes[0][0])}"

    server = Container(name, volume, image).start()
    assert server.inspect()["Config"]["User"] == "10001:10001"
    assert docker("exec", name, "id", "-u").stdout.strip() == "10001"
    [listening] = [e for e in map(json.loads, docker("logs", name).stderr.splitlines()) if e["event"] == "listening"]
    assert "calls" in listening["sandbox"].split(), "the runtime's own filter allows the daemon to set a stricter one"
    assert docker("exec", name, "touch", "/usr/x", check=False).returncode != 0
    cairn.is_error(server.get(chunk), 401)
    assert server.put_xorb(xorb, token=token).json() == {"was_inserted": True}
    assert server.post("/v1/shards", xet.shard([xet.File([(xorb, 0, 3)])], [xorb]), token=token).json() == {"result": 1}
    first = server.get(chunk, token=token)
    assert xorb.hash in xet.parse_answer(first.body).xorbs
    server.remove()

    server.start()
    assert server.get(chunk, token=token).body == first.body
    assert server.put_xorb(xorb, token=token).json() == {"was_inserted": False}
    server.remove()


def test_the_lines_of_readme(image, names, tmp_path):
    """Runs the lines as printed, except for names, a free port, and the machine's address on the containers' bridge in place of HOST. Then Ann uploads, as
    the page continues."""
    name, volume = names
    bridge = json.loads(docker("network", "inspect", "bridge").stdout)[0]["IPAM"]["Config"][0]
    host = bridge.get("Gateway") or str(ipaddress.ip_network(bridge["Subnet"])[1])
    with socket.socket() as one:
        one.bind((host, 0))
        port = one.getsockname()[1]
    typed = [command for command, _ in reads_me.blocks("Serve others")]
    lines = [line for line in typed if line.startswith("docker run ")]
    assert len(lines) == 2
    for was, now in (("cairn:/data", f"{volume}:/data"), (" cairn:dev ", f" {image} "), ("--name cairn ", f"--name {name} "), ("HOST:8080", f"{host}:{port}"), ("-p 8080:", f"-p {port}:")):
        assert any(was in line for line in lines), was
        lines = [line.replace(was, now) for line in lines]
    made, _ = (subprocess.run(line, shell=True, check=True, capture_output=True, text=True, timeout=TIMEOUT_S).stdout for line in lines)
    cairn.wait_until("the container to be healthy", lambda: json.loads(docker("inspect", name).stdout)[0]["State"]["Health"]["Status"] == "healthy", 90)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "README.md").write_text("# First\n")
    [upload] = [line for line in typed if line.startswith("hf upload ")]
    env = cairn.Daemon(tmp_path).environment() | {"HOME": str(tmp_path)} | dict(re.findall(r"export (HF_\w+)=(\S+)", made)) | {"HF_HUB_DISABLE_TELEMETRY": "1"}
    assert env["HF_ENDPOINT"] == f"http://{host}:{port}"
    done = subprocess.run(f"{cairn.ROOT}/.venv/bin/{upload}", shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    asked = urllib.request.Request(env["HF_ENDPOINT"] + "/api/models/ann/first", headers={"Authorization": "Bearer " + env["HF_TOKEN"]})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert json.load(answer)["private"] is True


def test_image_is_small_and_states_its_version(image):
    labels = json.loads(docker("inspect", image).stdout)[0]["Config"]["Labels"]
    said = docker("run", "--rm", *HARDENED, image, "cairn", "--version").stdout.split()
    assert said == ["cairn", labels["org.opencontainers.image.version"]]
    kept = docker("run", "--rm", *HARDENED, image, "sh", "-c", "cd /usr/share/doc && ls cairn/LICENSE */copyright").stdout.split()
    assert {"cairn/LICENSE", "libjwt0/copyright", "libmicrohttpd12/copyright"} <= set(kept)
    [listed] = [json.loads(p.read_text()) for p in (cairn.ROOT / "build-image").glob(f"cairn_{said[1]}_*_image.spdx.json")]
    assert {"libjwt0", "libmicrohttpd12", "cairn"} <= {p["name"] for p in listed["packages"]}
    compressed, squeeze = 0, zlib.compressobj()
    with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as save:
        while block := save.stdout.read(1 << 20):
            compressed += len(squeeze.compress(block))
    assert save.returncode == 0 and compressed + len(squeeze.flush()) < COMPRESSED_BYTES_MAX


def test_the_image_layer_is_reproducible(image):
    """Building the layer once more from its own files gives the same image: sorted names, one timestamp, no logs."""
    told = json.loads(docker("inspect", image).stdout)[0]
    assert len(told["RootFS"]["Layers"]) == 1
    built = subprocess.run(["git", "log", "-1", "--format=%cI"], cwd=cairn.ROOT, capture_output=True, text=True, check=True).stdout.strip()
    assert datetime.datetime.fromisoformat(told["Created"].replace("Z", "+00:00")) == datetime.datetime.fromisoformat(built)
    again = f"{image}-again"
    try:
        subprocess.run(["docker/flatten", image, again], cwd=cairn.ROOT, check=True, capture_output=True, timeout=TIMEOUT_S)
        assert json.loads(docker("inspect", again).stdout)[0]["Id"] == told["Id"]
    finally:
        docker("rmi", "-f", again, check=False)
    kept = docker("run", "--rm", *HARDENED, "--user", "0", "--workdir", "/", image, "find", "/var/log", "/var/cache/ldconfig", "-type", "f").stdout
    assert kept == ""


def test_compose_file_is_hardened():
    import yaml

    service = yaml.safe_load((cairn.ROOT / "docker" / "compose.yaml").read_text())["services"]["cairn"]
    assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["volumes"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert os.access(cairn.ROOT / "docker" / "healthcheck", os.X_OK)
