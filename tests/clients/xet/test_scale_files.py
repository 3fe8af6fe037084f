"""The files in docker/ for several daemons: the tools that read them accept them, and the daemon accepts their settings."""

import http.client
import importlib.util
import json
import resource
import shutil
import socket
import subprocess
from pathlib import Path

import cairn
import jsonschema_rs
import pytest
import yaml

DOCKER = cairn.ROOT / "docker"
COMPOSE = DOCKER / "compose.scale.yaml"
MANIFEST = DOCKER / "kubernetes.yaml"
RELEASE = "v1.37.0-local-strict"  # schemas of this Kubernetes release; strict: unknown fields are refused


def schemas():
    found = importlib.util.find_spec("kubernetes_validate")  # not imported: importing it needs more than its schemas
    return Path(found.origin).parent / "kubernetes-json-schema" / RELEASE


def settings(environment, *arguments):
    """{name: value} of the settings as the daemon reads them."""
    env = {k: v for k, v in cairn.Daemon("/").environment().items() if not k.startswith("CAIRN_")}
    done = subprocess.run([cairn.CAIRND, *arguments, "--print-settings"], capture_output=True, text=True, timeout=30, env=env | environment)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" = ", 1) for line in done.stdout.splitlines() if " = " in line)


def test_compose_file():
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and subprocess.run([*command, "version"], capture_output=True).returncode == 0:
            done = subprocess.run([*command, "-f", COMPOSE, "config", "-q"], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return
    pytest.skip("there is no docker compose")


def test_daemons_of_the_compose_file():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    daemons = [service for name, service in services.items() if name.startswith("cairn")]
    assert len(daemons) == 3
    for daemon in daemons:
        assert daemon["read_only"] and daemon["cap_drop"] == ["ALL"] and daemon["security_opt"] == ["no-new-privileges:true"]
        taken = settings(daemon["environment"])
        assert {name.lower() for name in daemon["environment"] if name.startswith("CAIRN_")} <= {f"cairn_{name}" for name in taken}
        assert taken["index"].startswith("postgres://") and taken["store"].startswith("s3://") and taken["hub"] == "yes"
    assert services["haproxy"]["ports"]


def usual_limits():
    """Sets the limits that a shell or a service usually has."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096))


def test_balancer(tmp_path):
    """HAProxy starts with usual limits, and does not log the signature of a fetch."""
    haproxy = shutil.which("haproxy", path="/usr/sbin:/usr/bin")
    if not haproxy:
        pytest.skip("there is no haproxy")
    file, log = tmp_path / "haproxy.cfg", tmp_path / "log"
    text = (DOCKER / "scale" / "haproxy.cfg").read_text()
    with socket.create_server(("127.0.0.1", 0)) as listening, open(log, "wb") as out:
        port = listening.getsockname()[1]
        file.write_text(text.replace("bind :8080", f"bind fd@{listening.fileno()}"))
        balancer = subprocess.Popen([haproxy, "-db", "-f", file], stdout=out, stderr=out, pass_fds=[listening.fileno()], preexec_fn=usual_limits)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/v1/fetch/00?ranges=0-1&signature=53c4e7")
        assert connection.getresponse().status == 503, "no daemon runs"
        cairn.wait_until("the log", lambda: "/v1/fetch/00" in log.read_text())
        assert balancer.poll() is None and "53c4e7" not in log.read_text()
    finally:
        balancer.kill()
        balancer.wait()


def test_proxied_daemons_take_the_connections_of_one_address():
    """All clients come from the balancer's address, so one address may have all connections."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    for name, service in services.items():
        if name.startswith("cairn"):
            assert settings(service["environment"])["connections_per_address_max"] == "16384"
    assert "connections_per_address_max = 16384\n" in (DOCKER / "kubernetes.yaml").read_text()


def test_scripts_are_understood():
    assert subprocess.run(["bash", "-n", DOCKER / "scale" / "run"], capture_output=True).returncode == 0


def judge(document):
    """Validates the document with the schema of its kind. @return the schema's complaints"""
    group, _, version = document["apiVersion"].rpartition("/")
    name = "-".join([document["kind"].lower(), *([group.split(".")[0]] if group else []), version])
    schema = json.loads((schemas() / f"{name}.json").read_text())
    definitions = json.loads((schemas() / "_definitions.json").read_text())
    registry = jsonschema_rs.Registry([(definitions["$id"], definitions)])
    validator = jsonschema_rs.Draft202012Validator(schema, registry=registry)
    return [f"{list(error.instance_path)}: {error.message}" for error in validator.iter_errors(document)]


def test_kubernetes_manifest():
    documents = list(yaml.safe_load_all(MANIFEST.read_text()))
    assert [document["kind"] for document in documents] == ["ConfigMap", "Deployment", "Service", "PodDisruptionBudget"]
    for document in documents:
        assert judge(document) == []
    wrong = documents[1]
    wrong["spec"]["template"]["spec"]["containers"][0]["imagePullPolitely"] = True
    wrong["spec"]["replicas"] = "three"
    assert len(judge(wrong)) >= 2


def test_daemons_of_the_manifest(tmp_path):
    configuration, deployment, *_ = yaml.safe_load_all(MANIFEST.read_text())
    file = tmp_path / "cairnd.conf"
    file.write_text(configuration["data"]["cairnd.conf"])
    taken = settings({}, "--config", str(file))
    assert taken["index"].startswith("postgres://") and taken["store"].startswith("s3://")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    for name in ("data_dir", "token_key", "secret_file", "store_credentials"):
        assert any(taken[name] == mount or taken[name].startswith(f"{mount}/") for mount in mounts), name
    assert {volume["name"] for volume in pod["volumes"]} >= {mount["name"] for mount in container["volumeMounts"]}
