"""The hub: its rows alone, heads of files, many small files and large ones by huggingface_hub, and Git LFS."""

import contextlib
import hashlib
import json
import random
import re
import shutil
import subprocess
import urllib.request

from harness.bench import LeftOut
from harness.measure import Goal, Spread, in_turns, median
from harness.server import Nginx
from harness.table import load_row
from scenarios.fetch import _bytes_of, _hf, _in_memory, _took

REPOSITORY = "operator/one"
GOALS = {"commit of 10,000 files": 2000, "commit of 10 files": 10, "page of 1,000": 5}  # milliseconds
GROWTH_BYTES = 3000
LFS = "application/vnd.git-lfs+json"

STATIC = """root {root};
    location /api/ {{ default_type application/json; }}
    location /{repository}/resolve/{commit}/ {{ alias {files}/; add_header X-Repo-Commit {commit}; }}"""

# The requests of the library before hf_xet begins.
ANSWERS = """location = /{repository}/resolve/main/file {{
      alias {file};
      etag off;
      add_header X-Xet-Refresh-Route http://$http_host/token;
      {headers}
    }}
    location = /token {{ default_type application/json; {token} return 200 "{{}}"; }}"""
HEADERS = ("ETag", "X-Linked-Etag", "X-Linked-Size", "X-Repo-Commit", "X-Xet-Hash")
TOKEN_HEADERS = ("X-Xet-Cas-Url", "X-Xet-Access-Token", "X-Xet-Token-Expiration")


def hub_rows(bench):
    """Commits and pages of a repository of a million files, measured on the index alone."""
    folder, n = bench.folder("data"), bench.pick(1_000_000, 10_000)
    out = subprocess.check_output([bench.program("bench_history"), folder, str(n), str(bench.pick(200, 5))], text=True)
    for line in out.splitlines():
        what, figures = line.split(": ")
        row = {"in a repository of": f"{n:,} files", "what": what}
        if what == "growth":
            row |= {"bytes a commit": figures.split()[0], "goal": Goal(float(figures.split()[0]), GROWTH_BYTES, "bytes", most=True)}
        else:
            took, worst = map(float, re.findall(r"[\d.]+(?= ms)", figures))
            most = next(ms for begin, ms in GOALS.items() if what.startswith(begin))
            row |= {"median ms": f"{took:.2f}", "worst ms": f"{worst:.2f}", "goal": Goal(took, most, "ms", most=True)}
        yield row


def _import(bench, server, folder, repository=REPOSITORY):
    """Imports the files into the repository. @return the commit"""
    argv = [bench.build / "cli/cairn", "import", "--quiet", "--server", server.url, folder, repository]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return json.loads(server.get(f"/api/models/{repository}"))["sha"]


def _small_files(bench, n):
    numbers, folder = random.Random(5), bench.folder("files")
    for i in range(n):
        (folder / f"{i:04}.json").write_text(json.dumps([numbers.random() for _ in range(numbers.randrange(10, 400))]))
    return folder


def hub_heads(bench):
    """HEAD requests for files of a commit, against libmicrohttpd alone that answers 200."""
    n = bench.pick(1000, 10)
    with bench.cairnd(bench.folder("data")) as server:
        commit = _import(bench, server, _small_files(bench, n))
        lines = [("HEAD", f"/{REPOSITORY}/resolve/{commit}/{i:04}.json", None, None, 200) for i in range(n)]
        targets = bench.targets("heads", lines)
        with bench.bare(200, 0) as bare:
            sides = {"cairnd": lambda: bench.load(server, targets, 32, bench.seconds), "bare": lambda: bench.load(bare, targets, 32, bench.seconds)}
            runs = in_turns(bench, bench.rounds(5), sides)
    yield load_row({"HEAD resolve from": "32 connections"}, runs) | {"goal": Goal(median(r.rate for r in runs["cairnd"]), 10_000, "a second")}


def _static(bench, server, files, commit):
    """nginx with the files of one commit and the other answers that the library needs, all as files."""
    root = bench.folder("static")
    # Before the files, the library requests these. They are stored as the daemon answered them.
    api = root / "api/models" / REPOSITORY
    for path in (f"revision/{commit}", "revision/main", f"tree/{commit}"):
        (api / path).parent.mkdir(parents=True, exist_ok=True)
        query = "?recursive=true&expand=false" if path.startswith("tree") else ""
        (api / path).write_bytes(server.get(f"/api/models/{REPOSITORY}/{path}{query}"))
    (files / ".gitattributes").write_bytes(server.get(f"/{REPOSITORY}/resolve/{commit}/.gitattributes"))  # the hub makes this file with the repository
    return Nginx(bench, STATIC.format(root=root, repository=REPOSITORY, commit=commit, files=files))


def _snapshot(bench, server, files):
    out = bench.folder("out")
    before = server.cpu_s()
    seconds, _ = _took(_hf(bench, "hf_hub.py", "snapshot", server.url, REPOSITORY, out))
    served = server.cpu_s() - before
    for path in files.iterdir():
        if (out / path.name).read_bytes() != path.read_bytes():
            raise RuntimeError(f"{path.name} is not the file that was sent")
    return seconds, served


def hub_small(bench):
    """A snapshot of 1,000 small files by huggingface_hub, against nginx that has the answer to each of the same requests in a file."""
    if not Nginx.installed:
        raise LeftOut("there is no nginx")
    n = bench.pick(1000, 20)  # with .gitattributes this is one page of a listing
    files = _small_files(bench, n - 1)
    with bench.cairnd(bench.folder("data")) as server:
        with _static(bench, server, files, _import(bench, server, files)) as static:
            sides = {"cairnd": lambda: _snapshot(bench, server, files), "nginx": lambda: _snapshot(bench, static, files)}
            runs = in_turns(bench, bench.rounds(5), sides)
    ratio = Spread(a[0] / b[0] for a, b in zip(runs["cairnd"], runs["nginx"]))
    yield {
        "snapshot of": f"{n:,} files",
        **{f"{side}: s / server's CPU s": " / ".join(f"{median(r[i] for r in took):.2f}" for i in range(2)) for side, took in runs.items()},
        "time, of nginx's": ratio,
        "goal": Goal(ratio, 1.2, "of nginx", most=True),
    }


def _make_repository(server):
    body = json.dumps({"name": REPOSITORY.split("/")[1]}).encode()
    request = urllib.request.Request(server.url + "/api/repos/create", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request).close()


def _upload(bench, what, source, data="data"):
    """Uploads into a new store, which has none of the bytes."""
    with bench.cairnd(bench.folder(data)) as server:
        _make_repository(server)
        return _took(_hf(bench, "hf_hub.py", what, server.url, REPOSITORY, source))


def _download(bench, server, name, size):
    """Downloads a file. @param name  its hash, for hf_xet alone; None: huggingface_hub asks for the repository's file"""
    out = _in_memory(bench)
    out.mkdir()
    if name:
        took = _hf(bench, "hf_get.py", server.url, lines=f"{name} {size} {out}/file\n")
    else:
        took = _hf(bench, "hf_hub.py", "download", server.url, REPOSITORY, out)
    with open(out / "file", "rb") as f:
        right = all(f.read(1 << 20) == block for block in _bytes_of(size)) and not f.read(1)
    shutil.rmtree(out)
    if not right:
        raise RuntimeError("the file that came is not the file that was sent")
    return _took(took)


def _add_headers(server, method, path, names):
    """nginx directives that add the headers of the daemon's answer."""
    with urllib.request.urlopen(urllib.request.Request(server.url + path, method=method)) as reply:
        return " ".join(f"add_header {name} '{reply.headers[name]}';" for name in names)


def _answers(bench, server, commit, size):
    """nginx that answers the library's requests before hf_xet begins. hf_xet itself uses the daemon."""
    file = bench.tmp / "sparse"
    with open(file, "wb") as f:
        f.truncate(size)
    headers = _add_headers(server, "HEAD", f"/{REPOSITORY}/resolve/main/file", HEADERS)
    token = _add_headers(server, "GET", f"/api/models/{REPOSITORY}/xet-read-token/{commit}", TOKEN_HEADERS)
    return Nginx(bench, ANSWERS.format(repository=REPOSITORY, file=file, headers=headers, token=token))


def hub_large(bench):
    """A file of 1 GiB up and down by huggingface_hub, against hf_xet alone on the same daemon. A second download gets the hub's answers from nginx, so that
    the rest is the library's own time."""
    size, source = bench.pick(1024, 8) << 20, bench.tmp / "source"
    with open(source, "wb") as f:
        f.writelines(_bytes_of(size))
    sides = {"library": lambda: _upload(bench, "upload", source), "bare": lambda: _upload(bench, "put", source, "bare")}
    yield _large_row("upload", size, in_turns(bench, bench.rounds(3), sides))
    source.unlink()
    with bench.cairnd(bench.tmp / "data") as server, contextlib.ExitStack() as stack:
        name = json.loads(server.get(f"/api/models/{REPOSITORY}/tree/main"))[-1]["xetHash"]
        sides = {"library": lambda: _download(bench, server, None, size), "bare": lambda: _download(bench, server, name, size)}
        if Nginx.installed:
            commit = json.loads(server.get(f"/api/models/{REPOSITORY}"))["sha"]
            static = stack.enter_context(_answers(bench, server, commit, size))
            sides["static"] = lambda: _download(bench, static, None, size)
        yield _large_row("download", size, in_turns(bench, bench.rounds(5), sides))


def _large_row(what, size, runs):
    def ratio(i, other):
        return Spread(a[i] / b[i] for a, b in zip(runs["library"], runs[other]))

    names = {"library": "huggingface_hub", "bare": "hf_xet", "static": "huggingface_hub on answers of nginx"}
    return {
        "what": f"{what} of {size >> 20:,} MiB",
        **{f"{names[side]}: s / CPU s": " / ".join(f"{median(r[i] for r in took):.2f}" for i in range(2)) for side, took in runs.items()},
        "time, of hf_xet's": ratio(0, "bare"),
        "CPU time, of hf_xet's": ratio(1, "bare"),
        **({"time, of that on answers of nginx": ratio(0, "static")} if "static" in runs else {}),
        "goal": Goal(ratio(0, "bare"), 1.1, "of hf_xet", most=True),
    }


def _lfs_put(server, path, sha256):
    """Uploads to the addresses of a batch. @return seconds that curl took"""
    body = {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": sha256, "size": path.stat().st_size}]}
    request = urllib.request.Request(f"{server.url}/{REPOSITORY}.git/info/lfs/objects/batch", json.dumps(body).encode(), {"Content-Type": LFS, "Accept": LFS})
    with urllib.request.urlopen(request) as reply:
        (item,) = json.load(reply)["objects"]
    upload = item["actions"]["upload"]
    argv = ["curl", "-sSf", "-T", path, "-w", "%{time_total}", "-o", "/dev/null"]
    for name, value in upload.get("header", {}).items():
        argv += ["-H", f"{name}: {value}"]
    return float(subprocess.check_output([*argv, upload["href"]], text=True))


def _sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _stored_bytes(data):
    return sum(p.stat().st_size for p in data.rglob("*") if p.is_file())


def hub_lfs(bench):
    """Git LFS: curl uploads random bytes to the addresses of a batch, and again with one percent of them changed."""
    size = bench.pick(1024, 8) << 20
    path, rates, growths = bench.tmp / "file", [], []
    for n in range(bench.rounds(3)):
        data = bench.folder("data")
        with open(path, "wb") as f:
            f.writelines(_bytes_of(size))
        with bench.cairnd(data) as server:
            _import(bench, server, _small_files(bench, 1))
            bench.quiet.wait()
            rates.append(size / 1e6 / _lfs_put(server, path, _sha256(path)))
        before = _stored_bytes(data)
        with open(path, "r+b") as f:  # one contiguous part, as an edit changes
            f.seek(size // 3)
            f.write(random.Random(n).randbytes(size // 100))
        with bench.cairnd(data) as server:
            _lfs_put(server, path, _sha256(path))
        growths.append((_stored_bytes(data) - before) / size)
    path.unlink()
    yield {"what": f"PUT of {size >> 20:,} MiB, random", "MB/s": Spread(rates), "goal": Goal(Spread(rates), 250, "MB/s")}
    yield {"what": "the same with 1 % changed, of its length", "growth": Spread(growths), "goal": Goal(Spread(growths), 0.03, "of its length", most=True)}
