"""The size of a page with everything that it loads, when names and texts are as long as they can be."""

import os
import re

import cairn
import pytest
import visitors
from hub_calls import ZEROS, account, add, commit, done, make, make_key, stored, upload
from hub_calls import text as hub_text
from issuer import Issuer
from people import People
from visitors import tensors, upload_chunks

PAGE_BYTES_MAX = 60_000
LONG = "n" * 96
EMOJI = "\U0001f600" * 63
N_NAMES = 120


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weight")
    issuer = Issuer(folder / "keys")
    server = cairn.Daemon(folder / "server", token_key=issuer.folder).start()
    people = People(server, issuer.token("admin"), folder / "home")
    people.keys["all"] = make_key(server, issuer.token("admin"), scope="admin")["key"]
    fill(people)
    for i in range(70):
        make_key(server, issuer.token("admin"), account="ann" if i % 2 else "bob", scope="read", name="&" * 250)
    fill_requests(people, issuer.token("admin"))
    assert server.get("/v1/usage?fresh=true", token=issuer.token("admin")).status == 200
    yield people
    server.stop()


def fill(people):
    shared = os.urandom(3000)
    for i in range(N_NAMES):
        people.make(f"ann/{i:03}{LONG[3:]}")
    for i in range(20):
        bucket = f"ann/{i:03}{LONG[3:]}"
        people.put(bucket, "own", os.urandom(1000 + i))
        people.put(bucket, "shared", shared)
    for first in range(0, N_NAMES, 20):
        assert people.batch(f"ann/000{LONG[3:]}", *(add(f"f/{i:03}{EMOJI}", ZEROS) for i in range(first, first + 20))).status == 200
    make(people, "ann/one")
    quotes = "".join(f'"{i}" & <{i}>\n' for i in range(4000))[:60_000]
    done(commit(people, *(hub_text(f"{i:03}{EMOJI}", quotes if i == 0 else f"{i}") for i in range(N_NAMES)), repo="models/ann/one"))
    heads = {f"layer.{i}.{'<' * 200}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(3000)}
    body = tensors(**heads) + bytes(3000)
    done(commit(people, stored("m.safetensors", upload_chunks(people, body), len(body)), repo="models/ann/one"))
    table = ",".join('"&&&&&&"' for _ in range(20)) + "\n"
    done(commit(people, hub_text("t.csv", table * 40), repo="models/ann/one"))
    deep = [(f"{i % 6}{EMOJI}/{i}{EMOJI}/{i}{EMOJI}", os.urandom(1000 + i)) for i in range(40)]
    done(commit(people, *(stored(path, upload(people, body)[0], len(body)) for path, body in deep), repo="models/ann/one"))
    for i in range(60):
        done(commit(people, hub_text("f", f"{i}"), repo="models/ann/one", summary="<" * 500, description="&" * 2000))
    for i in range(60):
        asked = people.ask("POST", "/api/models/ann/one/discussions", body={"title": "<" * 900, "description": "&" * 9000, "pullRequest": True})
        assert asked.status == 200, asked
    done(commit(people, *(hub_text(f"{i:03}{EMOJI}", quotes[i:]) for i in range(N_NAMES)), repo="models/ann/one", revision="refs%2Fpr%2F60"))


def fill_requests(people, admin):
    """Makes requests for access to ann/one."""
    people.api().update_repo_settings("ann/one", gated="manual")
    for i in range(N_NAMES):
        name = f"{i:03}{LONG[3:]}"
        account(people.server, admin, name, fullname="&" * 250)
        people.api().grant_access("ann/one", name)
        people.api().reject_access_request("ann/one", name, rejection_reason="<" * 200)


PAGES = {
    "home": "/",
    "account": "/ann",
    "bucket": f"/buckets/ann/000{LONG[3:]}",
    "folder of a bucket": f"/buckets/ann/000{LONG[3:]}/tree/f",
    "tree": "/ann/one/tree/main",
    "text": "/ann/one/blob/main/000" + "%F0%9F%98%80" * 63,
    "tensors": "/ann/one/blob/main/m.safetensors",
    "table": "/ann/one/blob/main/t.csv",
    "history": "/ann/one/commits/main/f",
    "history of long names": "/ann/one/commits/main/" + "/".join(f"{i}" + "%F0%9F%98%80" * 63 for i in (1, 1, 1)),
    "commits": "/ann/one/commits/main",
    "refs": "/ann/one/refs",
    "commit": "/ann/one/commit/main",
    "pull requests": "/ann/one/discussions",
    "pull request": "/ann/one/discussions/60",
    "settings": "/ann/one/settings",
    "requests for access": "/ann/one/settings/access?state=rejected",
    "what it takes": "/ann/one/storage",
    "keys": "/settings/keys",
    "storage": "/storage",
    "files of no repository": "/storage/files",
    "server": "/admin",
    "accounts": "/admin/accounts",
    "guide": "/admin/help",
}


@pytest.mark.parametrize("name", PAGES)
def test_weight(seeded, name):
    who = "all" if PAGES[name] in ("/storage", "/storage/files", "/admin", "/admin/help", "/admin/accounts") else "ann"
    visitor = visitors.Visitor(seeded.server).sign_in(seeded.keys[who])
    reply = visitor.get(PAGES[name])
    assert reply.status == 200, reply
    assets = set(re.findall(rb'(?:href|src)="(/assets/[^"]*)"', reply.body))
    assert len(assets) == 3
    weight = len(reply.body) + sum(len(visitor.get(path.decode()).body) for path in assets)
    assert weight < PAGE_BYTES_MAX, len(reply.body)
