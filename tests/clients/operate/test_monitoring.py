"""The metrics follow Prometheus' rules, and each query of monitoring/ asks for metrics that exist."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import authority
import cairn
import pytest
import yaml

MONITORING = cairn.ROOT / "monitoring"
NAME = r"(?:cairn|process)_[a-z_]+"
FUNCTIONS = {"sum", "rate", "increase", "time", "predict_linear", "histogram_quantile", "avg_over_time", "min_over_time", "by", "or", "up", "le"}


@pytest.fixture
def server(start, tmp_path):
    """A server that has all metrics: it serves TLS, mirrors a hub, has collected, and has answered requests."""
    certificate, key = authority.Authority(tmp_path / "ca").issue("server")
    server = start(tls_certificate=certificate, tls_key=key, trust=str(tmp_path / "ca" / "authority.pem"), mirror="http://127.0.0.1:9")
    assert server.get("/ready").status == 200
    assert server.post("/v1/gc").status == 200
    assert server.post("/v1/scrub/start").status == 200
    cairn.wait_until("the scrub", lambda: server.get("/v1/scrub").json()["now"] is None)
    (server.data / "notes" / "backup").write_text("ran 9\ngood 9\nfailed 0\nbytes 9\n")
    cairn.wait_until("word of a backup", lambda: "cairn_backup_last_run_successful" in server.metrics())
    return server


def scraped(server):
    """Scrapes the daemon. @return the text, and {name: (type, help, [labels of each sample])}"""
    text = server.get("/metrics").body.decode()
    families, samples = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, told = line.split(" ", 3)
            assert name not in families, f"{name} twice"
            families[name] = [None, told, []]
        elif line.startswith("# TYPE "):
            families[line.split()[2]][0] = line.split()[3]
        elif line:
            name, labels = re.fullmatch(r"(\w+)(?:\{(.*)\})? \S+", line).groups()
            samples.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', labels or "")))
    for name, labels in samples.items():
        base = name if name in families else re.sub("_(bucket|sum|count)$", "", name)
        assert base in families and (base == name or families[base][0] == "histogram"), name
        families[base][2] += labels
    return text, families, samples


def test_names_follow_the_rules(server):
    text, families, _ = scraped(server)
    for name, (kind, told, samples) in families.items():
        assert re.fullmatch(NAME, name) and told.endswith(".") and samples, name
        assert (kind == "counter") == name.endswith("_total"), name
        assert kind in ("counter", "gauge", "histogram"), name
        assert kind != "histogram" or name.endswith("_seconds"), name
        for word in ("_ms", "_us", "milliseconds", "kilobytes", "percent"):
            assert word not in name, name
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


def ask_for_what_there_is(query, samples):
    """Checks that a scrape has each name of a query, with the labels that the query matches or groups by."""
    for name, matchers in re.findall(r"\b(" + NAME + r")\b(?:\{([^}]*)\})?", query):
        assert name in samples, f"{name} of: {query}"
        labels = {label for sample in samples[name] for label in sample} | {"job", "instance"}
        assert {m.split("=")[0].rstrip("!~ ") for m in matchers.split(",") if m} <= labels, query
        for group in re.findall(r"\bby \(([^)]*)\)", query):
            assert set(group.replace(" ", "").split(",")) <= labels, query
    assert query.count("(") == query.count(")") and query.count("{") == query.count("}"), query
    words = set(re.findall(r"\b[a-z_]+\b(?=\s*\()", re.sub(r'"[^"]*"', "", query)))
    assert words <= FUNCTIONS, query


def test_alerts(server):
    _, _, samples = scraped(server)
    [group] = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    assert len(group["rules"]) > 10
    for rule in group["rules"]:
        assert re.fullmatch("Cairn[A-Z][A-Za-z]+", rule["alert"]) and rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"] and re.fullmatch(r"\d+[mhd]", rule.get("for", "1m"))
        assert rule["annotations"]["runbook"] == f"docs/troubleshooting.md#{rule['alert'].lower()}"
        ask_for_what_there_is(rule["expr"], samples)
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "rules", MONITORING / "alerts.yaml"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_explained():
    """docs/troubleshooting.md has a heading for each alert, and for nothing else."""
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"][0]["rules"]
    section = (cairn.ROOT / "docs" / "troubleshooting.md").read_text().split("\n## Alarms\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (Cairn\w+)$", section, re.M) == [rule["alert"] for rule in rules]


def fires(tmp_path, alert, at, step="1m", **series):
    """Does Prometheus fire the alert? @param at  after how long @param step  from scrape to scrape @param series  values as promtool writes them"""
    inputs = [{"series": f'{name}{{job="cairn", instance="one"}}', "values": values} for name, values in series.items()]
    [rule] = [r for r in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"][0]["rules"] if r["alert"] == alert]
    told = [{"exp_labels": {"job": "cairn", "instance": "one", **rule["labels"]}, "exp_annotations": rule["annotations"]}]
    outcomes = []
    for expected in (told, []):
        case = {"interval": step, "input_series": inputs, "alert_rule_test": [{"eval_time": at, "alertname": alert, "exp_alerts": expected}]}
        (tmp_path / "case.yaml").write_text(yaml.safe_dump({"rule_files": [str(MONITORING / "alerts.yaml")], "evaluation_interval": step, "tests": [case]}))
        done = subprocess.run(["promtool", "test", "rules", tmp_path / "case.yaml"], capture_output=True, text=True, timeout=120)
        outcomes.append(done.returncode == 0)
    assert outcomes.count(True) == 1, (done.stdout, done.stderr)
    return outcomes[0]


LATE = {"CairnCollectionLate": ("cairn_gc", 3), "CairnScrubLate": ("cairn_scrub", 21), "CairnBackupLate": ("cairn_backup", 8)}


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool here")
@pytest.mark.parametrize("alert", LATE)
def test_alerts_of_jobs_that_never_succeeded(tmp_path, alert):
    """The alert of a job that never succeeded, or last succeeded long ago, counted from the daemon's first start. Time begins at 0 in these series."""
    name, days = LATE[alert]
    hours = days * 24
    up = {"cairn_start_time_seconds": f"0x{hours + 24}", "cairn_index_bytes": f"4096x{hours + 24}"}

    def late(after_hours, **series):
        return fires(tmp_path, alert, f"{after_hours}h", "1h", **(up | series))

    def success(at_hour):
        return {f"{name}_last_success_timestamp_seconds": f"{at_hour * 3600}x{hours + 24}"}

    assert late(hours + 2) and not late(hours - 2), "the job never succeeded"
    assert late(hours + 2, **success(1)) and not late(hours + 2, **success(3))
    restarted = f"0x{hours - 24} {(hours - 24) * 3600}x48"
    assert late(hours + 2, cairn_start_time_seconds=restarted), "the time counts from the first start, not the last"
    if alert == "CairnBackupLate":
        assert not late(hours + 2, cairn_index_bytes=f"0x{hours + 24}"), "PostgreSQL has backups of its own"


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool here")
def test_alerts_of_the_index(tmp_path):
    """The alerts fire for a daemon that cannot take uploads, and for one whose writes wait, whatever connections_max is."""
    assert fires(tmp_path, "CairnNotReady", "5m", cairn_ready="0x10") and not fires(tmp_path, "CairnNotReady", "5m", cairn_ready="1x10")
    assert fires(tmp_path, "CairnIndexFails", "5m", cairn_index_failing="1x10") and not fires(tmp_path, "CairnIndexFails", "5m", cairn_index_failing="0x10")

    def slow(queue, writes):
        return fires(tmp_path, "CairnIndexSlow", "20m", cairn_index_queue=queue, cairn_index_writes_total=writes)

    assert slow("40x20", "0+600x20"), "ten writes a second, and forty wait"
    assert slow("40x20", "0x20"), "no writes at all"
    assert not slow("40x20", "0+60000x20") and not slow("0x20", "0x20") and not slow("0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 0 0", "0x20")


def test_dashboard(server):
    _, _, samples = scraped(server)
    board = json.loads((MONITORING / "grafana.json").read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) > 10
    for panel in board["panels"]:
        assert panel["title"] and panel["fieldConfig"]["defaults"]["unit"]
        for target in panel["targets"]:
            ask_for_what_there_is(target["expr"].replace("$__rate_interval", "5m"), samples)
            assert '{job="$job"' in target["expr"]


@pytest.mark.parametrize("query", ["cairn_nothing > 0", 'cairn_build_info{colour="red"}', "sum by (route) (cairn_store_bytes)", "sums(cairn_store_bytes)", "sum(cairn_store_bytes"])
def test_a_wrong_query_is_noticed(server, query):
    with pytest.raises(AssertionError):
        ask_for_what_there_is(query, scraped(server)[2])


class Prometheus:
    """A real Prometheus that scrapes the daemon each second and has the alerts as its rules."""

    def __init__(self, server, authority, folder):
        self.port, self.out = free_port(), folder / "prometheus.log"
        (folder / "prometheus.yml").write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [str(MONITORING / "alerts.yaml")],
                    "scrape_configs": [
                        {"job_name": "cairn", "scheme": "https", "tls_config": {"ca_file": str(authority)}, "static_configs": [{"targets": [f"localhost:{server.port}"]}]}
                    ],
                }
            )
        )
        options = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address=127.0.0.1:{self.port}"]
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen(["prometheus", *options], stdout=out, stderr=subprocess.STDOUT)
        cairn.wait_until("three scrapes", lambda: self.query("count_over_time(cairn_build_info[1m]) > 2"), 60)

    def ask(self, path, **arguments):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}", timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, query):
        try:
            return self.ask("query", query=query)["result"]
        except OSError as e:
            assert not isinstance(e, urllib.error.HTTPError) or e.code == 503, f"{query}: {e.read().decode()}"
            assert self.process.poll() is None, self.out.read_text()[-2000:]
            return []  # Prometheus is not ready yet


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@pytest.fixture
def prometheus(server, tmp_path):
    if not shutil.which("prometheus"):
        pytest.skip("there is no Prometheus here")
    prometheus = Prometheus(server, tmp_path / "ca" / "authority.pem", tmp_path)
    yield prometheus
    prometheus.process.terminate()
    prometheus.process.wait(timeout=30)


def test_a_real_prometheus(server, prometheus):
    """Prometheus accepts and evaluates each rule, and has an answer to each query of the dashboard."""
    board = json.loads((MONITORING / "grafana.json").read_text())
    empty = []
    for panel in board["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "1m").replace("$job", "cairn")
            if not prometheus.query(query):
                empty.append(query)
    assert empty == []

    def rules():
        [group] = prometheus.ask("rules")["groups"]
        return group["rules"]

    cairn.wait_until("all rules to be evaluated", lambda: all(rule["health"] != "unknown" for rule in rules()), 30)
    assert [rule for rule in rules() if rule["health"] != "ok"] == []


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_the_process(start, sandbox):
    server = start(sandbox=sandbox)
    with server.socket(), server.socket():
        cairn.wait_until("both connections", lambda: server.metrics()["cairn_http_connections"] >= 3)
        metrics, pid = server.metrics(), server.process.pid
        fds = len(os.listdir(f"/proc/{pid}/fd"))
        assert abs(metrics["process_open_fds"] - fds) <= 2
    resident = int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    assert resident / 2 < metrics["process_resident_memory_bytes"] < resident * 2
    assert abs(metrics["process_start_time_seconds"] - time.time()) < 120
    ticks = sum(int(n) for n in open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[11:13])
    assert 0 < metrics["process_cpu_seconds_total"] <= ticks / os.sysconf("SC_CLK_TCK") + 0.1
    assert server.metrics()["process_cpu_seconds_total"] >= metrics["process_cpu_seconds_total"]


@pytest.mark.files
def test_garbage_and_its_collection(start, make, clock):
    server = start(test_clock=clock.path, epoch="1m", gc_grace="2m")
    xorb = make([9000], 1)
    assert server.put_xorb(xorb).status == 200
    assert not {"cairn_garbage_bytes", "cairn_gc_last_run_successful"} & set(server.metrics()), "nothing is known before the first collection"
    assert server.get("/v1/stats").status == 200
    metrics = server.metrics()
    assert metrics["cairn_garbage_bytes"] == metrics["cairn_store_bytes"] > 9000 and metrics["cairn_garbage_retired_bytes"] == 0
    clock.move(200)
    assert server.post("/v1/gc").json()["retired"] == 1
    assert server.metrics()["cairn_garbage_retired_bytes"] == metrics["cairn_store_bytes"]
    clock.move(400)
    assert server.post("/v1/gc").json()["swept"] == 1
    after = server.metrics()
    assert after["cairn_garbage_bytes"] == after["cairn_store_bytes"] == 0
    assert after["cairn_gc_freed_bytes_total"] == metrics["cairn_store_bytes"]
    assert after["cairn_gc_retired_xorbs_total"] == after["cairn_gc_swept_xorbs_total"] == 1
    assert after["cairn_gc_last_run_successful"] == 1
    assert after["cairn_gc_last_run_timestamp_seconds"] == after["cairn_gc_last_success_timestamp_seconds"] >= time.time() + 390


def test_reloads(start, tmp_path):
    conf = tmp_path / "conf"
    conf.write_text("drain = 5s\n")
    server = start(config=conf)
    assert server.metrics()["cairn_config_last_reload_successful"] == 1
    conf.write_text("drain = nonsense\n")
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("the failure", lambda: server.metrics()["cairn_config_last_reload_successful"] == 0)
    before = server.metrics()["cairn_config_last_reload_success_timestamp_seconds"]
    conf.write_text("drain = 6s\n")
    server.process.send_signal(signal.SIGHUP)
    cairn.wait_until("success", lambda: server.metrics()["cairn_config_last_reload_successful"] == 1)
    assert server.metrics()["cairn_config_last_reload_success_timestamp_seconds"] >= before
