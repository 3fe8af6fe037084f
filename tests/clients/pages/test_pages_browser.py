"""Pages in a real browser: at each width, in light and dark, with and without script, by keyboard alone, and checked by axe-core.

Pictures of all pages go to the folder that CAIRN_PICTURES names, if it is set. meson's runs keep them in meson-logs/pages/ of the build folder."""

import hashlib
import importlib.util
import json
import os
import random
import struct
import zlib
from pathlib import Path

import cairn
import chromium
import pytest
import visitors
import xet
from hub_calls import ZEROS, add, commit, done, make, make_key, stored, upload
from hub_calls import text as hub_text
from issuer import Issuer
from upstream import Repo, Slow

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="chromium is not installed; ./dev test browser installs it")

WIDTHS = (320, 768, 1440, 1920)
PICTURES = os.environ.get("CAIRN_PICTURES")
PICTURED = ((320, False), (1440, False), (1440, True), (1920, False))  # width, dark
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>.png', "\U0001f600" * 63, "\u202egnp.exe", "שלום/עולם.txt", "x" * 255]
AXE = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")
# The pages to test: name: (who looks, path).
PAGES = {
    "home of nobody": ("nobody", "/"),
    "sign in": ("nobody", "/login"),
    "not found": ("nobody", "/buckets/ann/none"),
    "home": ("ann", "/"),
    "search without a find": ("ann", "/?q=%3Cscript%3E"),
    "account": ("ann", "/ann"),
    "organisation": ("adam", "/team"),
    "new": ("ann", "/new"),
    "keys": ("ann", "/settings/keys"),
    "bucket": ("ann", "/buckets/ann/data"),
    "empty bucket": ("ann", "/buckets/team/empty"),
    "folder": ("ann", "/buckets/ann/data/tree/logs/2026"),
    "file": ("ann", "/buckets/ann/data/tree/logs/2026/one.txt"),
    "settings": ("ann", "/buckets/ann/data/settings"),
    "home of models": ("ann", "/?kind=model"),
    "model": ("ann", "/ann/cats"),
    "model without a readme": ("ann", "/ann/odd"),
    "tree": ("ann", "/ann/cats/tree/main"),
    "tree of odd names": ("ann", "/ann/odd/tree/main"),
    "text": ("ann", "/ann/cats/blob/main/src/config.json"),
    "binary": ("ann", "/ann/cats/blob/main/model.safetensors"),
    "picture": ("ann", "/ann/cats/blob/main/cat.png"),
    "commits": ("ann", "/ann/cats/commits/main"),
    "branches": ("ann", "/ann/cats/refs"),
    "commit": ("ann", "/ann/cats/commit/main"),
    "pull requests": ("ann", "/ann/cats/discussions"),
    "pull request": ("ann", "/ann/cats/discussions/1"),
    "commit of odd names": ("ann", "/ann/odd/commit/main"),
    "dataset": ("nobody", "/datasets/ann/table"),
    "settings of a model": ("ann", "/ann/cats/settings"),
    "requests for access": ("ann", "/ann/gated/settings/access"),
    "gated model": ("bob", "/ann/gated"),
    "gated model that was asked for": ("rita", "/ann/gated"),
    "what a model takes": ("ann", "/ann/cats/storage"),
    "what a model takes to the operator": ("all", "/team/tuned/storage"),
    "what a model without files takes": ("ann", "/ann/odd/storage"),
    "server": ("all", "/admin"),
    "storage": ("all", "/storage"),
    "files of no repository": ("all", "/storage/files"),
    "guide": ("all", "/admin/help"),
    "paragraph of the guide": ("all", "/admin/help/health-and-metrics"),
    "accounts": ("all", "/admin/accounts"),
    "history": ("ann", "/ann/cats/commits/main/src/config.json"),
    "rows of a table": ("ann", "/ann/cats/blob/main/figures.csv"),
    "search": ("ann", "/search"),
    "search of a path": ("ann", "/search?q=part-"),
    "find in a tree": ("ann", "/ann/cats/tree/main?find=part-"),
    "find in a bucket": ("ann", "/buckets/ann/data?find=nothing"),
    "search of a hash": ("ann", "/search?q=" + hashlib.sha256(random.Random(1).randbytes(120_000)).hexdigest()),
    "upload": ("ann", "/ann/cats/upload/main/src"),
    "tensors": ("ann", "/ann/cats/blob/main/small.safetensors"),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = chromium.Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """One daemon with test data for all tests. What one test changes does not affect the others."""
    folder, daemons = tmp_path_factory.mktemp("people"), []

    def start(**options):
        daemons.append(cairn.Daemon(folder / "server", **options).start())
        return daemons[-1]

    yield seeded(start, Issuer(folder / "keys"), folder / "home")
    for daemon in daemons:
        daemon.stop()


def seeded(start, issuer, home):
    people = visitors.people_of(start, issuer, home)
    people.make("ann/data")
    people.make("team/empty", private=True)
    people.put("ann/data", "logs/2026/one.txt", b"content")
    people.put("ann/data", "README.md", b"# content")
    reply = people.batch("ann/data", *(add(path, ZEROS) for path in HOSTILE))
    assert reply.json()["success"], reply
    fill_repos(people)
    people.keys["all"] = make_key(people.server, issuer.token("admin"), scope="admin")["key"]
    assert people.server.get("/v1/usage?fresh=true", token=issuer.token("admin")).status == 200
    return people


README = """---
license: mit
tags: [cats]
---
# Cats

Tells *cats* from **dogs**, in `1.2 ms`; see [the settings](src/config.json) and [the paper](https://example.org).

![A cat](cat.png)

## Figures

| model | parameters | accuracy |
|---|--:|--:|
| small | 12 M | 0.91 |
| large, with a name that takes some room of its own | 1,200 M | 0.97 |

- [x] trained
- [ ] tried on lions

```python
from transformers import AutoModel
model = AutoModel.from_pretrained("ann/cats")  # a long line, so that it has to be moved sideways where the window is narrow
```

> <script>alert(1)</script> and <img src=x onerror=alert(1)>, ![far](https://example.org/x.png), [no](javascript:alert(1))
"""


def png():
    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + b"".join(bytes([x, y, 120]) for x in range(120)) for y in range(80))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 120, 80, 8, 2, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


def fill_repos(people):
    make(people, "ann/cats")
    make(people, "ann/odd")
    make(people, "ann/table", type="dataset")
    weights, picture = random.Random(1).randbytes(120_000), png()
    done(commit(people, hub_text("README.md", README), repo="models/ann/cats", summary="Say what it is"))
    done(commit(people, *(stored(p, upload(people, d, "models/ann/cats")[0], len(d)) for p, d in (("model.safetensors", weights), ("cat.png", picture))), repo="models/ann/cats", summary="epoch 3", description="lr 1e-4\nbatch 64"))
    config = json.dumps({"layers": list(range(40)), "markup": "<script>alert(1)</script>", "long": "x" * 300}, indent=1)
    done(commit(people, hub_text("src/config.json", config), repo="models/ann/cats", summary="<script>alert(1)</script> " + "\U0001f600" * 40))
    head = json.dumps({f"layer.{i}.weight": {"dtype": "BF16" if i else "F32", "shape": [16, 4], "data_offsets": [128 * (i + (i > 0)), 128 * (i + 2)]} for i in range(6)}).encode()
    small = struct.pack("<Q", len(head)) + head + bytes(128 * 7)
    proposed = {"title": "<script>alert(1)</script> " + "\U0001f600" * 40, "description": README, "pullRequest": True}
    assert people.ask("POST", "/api/models/ann/cats/discussions", body=proposed).status == 200
    done(commit(people, hub_text("src/config.json", config + "\n"), repo="models/ann/cats", revision="refs%2Fpr%2F1"))
    done(commit(people, stored("small.safetensors", upload(people, small, "models/ann/cats")[0], len(small)), repo="models/ann/cats", summary="A small one"))
    table = "name,accuracy,\"words, quoted\",<b>\n" + "".join(f"model-{i},{i / 40:.3f},\"a, b and \"\"c\"\"\",{10**i}\n" for i in range(12))
    done(commit(people, hub_text("figures.csv", table), hub_text("src/config.json", config[:-9] + "\n}\n"), repo="models/ann/cats", summary="Figures of each"))
    assert people.ask("POST", "/api/models/ann/cats/branch/feat%2Fnew", body={}).status == 200
    assert people.ask("POST", "/api/models/ann/cats/tag/main", body={"tag": "v1"}).status == 200
    done(commit(people, *(hub_text(path, "odd") for path in HOSTILE), repo="models/ann/odd"))
    made = {f"{folder}/part-{i}.bin": random.Random(f"{folder} {i}").randbytes(size) for folder, size, n in (("checkpoints/epoch-1", 30_000, 3), ("checkpoints/epoch-2", 20_000, 4), ("data/train", 9_000, 9), ("data", 4_000, 2)) for i in range(n)}
    made |= {"data/copy.bin": made["data/train/part-1.bin"], "data/train/" + "x" * 200: b"long" * 3000}
    done(commit(people, *(stored(p, upload(people, d, "models/ann/cats")[0], len(d)) for p, d in made.items()), repo="models/ann/cats", summary="All that was trained with"))
    for name, size in (("tuned", 90_000), ("chat", 30_000), ("small", 9_000)):
        make(people, f"team/{name}")
        bodies = {"own.bin": random.Random(name).randbytes(size), "base.bin": weights if size > 10_000 else picture}
        done(commit(people, *(stored(p, upload(people, d, f"models/team/{name}")[0], len(d)) for p, d in bodies.items()), repo=f"models/team/{name}"))
    people.put("ann/data", "base.bin", weights)
    make(people, "ann/gated")
    people.api().update_repo_settings("ann/gated", gated="manual")
    assert people.ask("POST", "/api/models/ann/gated/ask-access", "rita", b"").status == 200
    done(commit(people, hub_text("README.md", "# Table\n\nRows of numbers.\n"), repo="datasets/ann/table"))


@pytest.fixture(scope="module")
def signed_in(people, browser):
    tabs = {}
    for who in {who for who, _ in PAGES.values()}:
        tabs[who] = tab = browser.tab()
        tab.look()
        if people.keys[who]:
            sign_in(tab, people, who)
    return tabs


@pytest.fixture
def tabs(signed_in):
    """{who: a tab in which this person is signed in}"""
    for tab in signed_in.values():
        tab.look()
        tab.set_script(True)
        tab.forget("Log.entryAdded")
        tab.forget("Runtime.exceptionThrown")
    return signed_in


def sign_in(tab, people, who):
    """Signs in by keyboard. The field has the focus as soon as the page is drawn."""
    tab.call("Page.bringToFront")
    tab.open(people.server.url + "/login")
    cairn.wait_until("the focus", lambda: tab.run("document.activeElement.id") == "key")
    tab.type(people.keys[who])
    tab.forget("Page.loadEventFired")
    tab.press("Enter")
    tab.loaded()
    assert "Sign out" in tab.run("document.body.innerText")


def faults(tab):
    """Errors that the browser logged, except for pages that are 404 on purpose."""
    said = [m["entry"]["text"] for m in tab.said("Log.entryAdded") if m["entry"]["level"] == "error"]
    said += [str(m) for m in tab.said("Runtime.exceptionThrown")]
    return [text for text in said if "status of 404" not in text]


# Layout shifts since the page was loaded. To be run before anything is resized, because resizing moves elements, too. A shift below a thousandth is a link
# of the header that finds its place while a busy machine still reads the page.
SHIFTS = """new Promise(done => { const all = []
    const part = s => [s.node && (s.node.outerHTML || s.node.data).slice(0, 80), s.previousRect.toJSON(), s.currentRect.toJSON()]
    new PerformanceObserver(list => { for (const e of list.getEntries()) if (e.value > 0.001) all.push([e.value, ...e.sources.map(part)]) })
        .observe({type: "layout-shift", buffered: true})
    setTimeout(() => done(all), 50) })"""
# Finish animations instead of waiting for them: they may stand still in a window that nobody looks at.
END_ANIMATIONS = "document.getAnimations().forEach(a => a.finish())"
LOOKS = "[document.documentElement.scrollWidth, document.querySelectorAll('main h1').length, getComputedStyle(document.body).backgroundColor]"
# Every rule of axe-core: contrast, names, landmarks, headings, tables, and the best practices.
ASK_AXE = """axe.run(document, {resultTypes: ["violations"]})
    .then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 120) + " " + n.failureSummary.slice(0, 200))]))"""


def looks_wrong(tab, width, dark):
    """Yields the faults of the open page at this width and colour scheme."""
    wide, titles, ground = tab.run(LOOKS)
    if wide > width:
        yield f"is {wide} wide"
    if titles != 1:
        yield "has not one title"
    if (sum(map(int, ground[4:-1].split(", "))) < 300) != dark:
        yield f"is {ground}"


# Shows the longest text that an age can have, because everything was made just now.
AGE = "document.querySelectorAll('time').forEach(t => { if (/just now|ago/.test(t.textContent)) t.textContent = '59 min ago' })"


def looks_wrong_anywhere(tab, name, script):
    """Yields the faults of the open page at each width and in each scheme. The page is resized, not loaded again."""
    if script:
        tab.run(AGE)
    for width in WIDTHS:
        tab.resize(width)
        for dark in (False, True):
            tab.darken(dark)
            yield from ((name, width, dark, script, fault) for fault in looks_wrong(tab, width, dark))
            tab.run(END_ANIMATIONS)
            if PICTURES and script and (width, dark) in PICTURED:
                tab.picture(Path(PICTURES) / f"{name.replace(' ', '-')}-{width}-{'dark' if dark else 'light'}.png")
            if script and width == 768:
                yield from ((name, dark, one) for one in tab.run(ASK_AXE))


# Records the elements that get the focus, as indices into those that should get it; -1: the focus left the page, or went to an element that only some
# browsers focus.
WATCH_FOCUS = """(() => {
    const all = 'a[href], button, input, select, textarea, summary, [tabindex]'
    const takes = e => e.tabIndex >= 0 && !e.disabled && (e.type !== 'radio' || e.checked) && e.checkVisibility({checkVisibilityCSS: true})
    self.wanted = [...document.querySelectorAll(all)].filter(takes)
    self.seen = []; self.hidden = []
    const shows = (s, r) => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 && !/, 0\\)$/.test(s.outlineColor)
        && r.width > 1 && r.height > 1 && r.right > 0 && r.left < innerWidth && r.bottom > 0 && r.top < innerHeight
    document.addEventListener('focusin', ({target: e}) => {
        const at = wanted.indexOf(e)
        seen.push(at)
        if (!shows(getComputedStyle(e), e.getBoundingClientRect())) hidden.push(e.outerHTML.slice(0, 100))
    })
    document.addEventListener('focusout', e => e.relatedTarget || seen.push(-1))
    const begun = wanted.includes(document.activeElement)
    if (begun) wanted[0].focus()
    return [wanted.length, begun, wanted[0].className] })()"""


def faults_of_keys(tab, name):
    """Presses Tab through the open page: from the link to the content through all elements in order, and out of the page (the browser may enter it
    anywhere)."""
    tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
    n, begun, first = tab.run(WATCH_FOCUS)
    tab.press_tab(n if begun else n + 1)
    seen, hidden = tab.run("[seen.slice(0, wanted.length + 1), hidden]")
    wrong = [at for at, found in zip([*range(n), -1], seen) if at != found]
    if wrong or len(seen) <= n:
        said = f"wanted[{wrong[0] if wrong else len(seen)}]?.outerHTML.slice(0, 100) || 'the end'"
        yield name, "Tab does not come to", tab.run(said), "but to", seen
    if first != "skip":
        yield name, "has no way to the content at its beginning"
    yield from ((name, "the focus is not seen on", one) for one in hidden)


def faults_of_pages(people, tabs, pages):
    """Yields the faults of all pages: at each width, in light and dark, without and with script, by axe-core, and by keyboard."""
    wrong, axe = [], AXE.read_text() + "; 0"
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
    for name, (who, path) in pages.items():
        tab = tabs[who]
        tab.look()
        tab.set_script(False)
        tab.open(people.server.url + path)
        wrong += looks_wrong_anywhere(tab, name, False)
        tab.look()
        tab.set_script(True)
        tab.open(people.server.url + path)
        wrong += ((name, "moves", shift) for shift in tab.run(SHIFTS))
        tab.run(axe)
        wrong += looks_wrong_anywhere(tab, name, True)
        wrong += faults_of_keys(tab, name)
        wrong += [(name, fault) for fault in faults(tab)]
    return wrong


def test_each_page(people, tabs):
    wrong = faults_of_pages(people, tabs, PAGES)
    assert not wrong, wrong


MIRRORED_PAGES = {
    "mirrored model": ("nobody", "/far/model"),
    "mirrored tree": ("nobody", "/far/model/tree/main"),
    "file that is absent": ("nobody", "/far/model/blob/main/absent.json"),
    "file that is coming": ("nobody", "/far/model/blob/main/weights.bin"),
    "file that is here": ("nobody", "/far/model/blob/main/config.json"),
    "server with a mirror": ("all", "/admin"),
}
LONG = "a-repository-whose-name-is-as-long-as-most-names-are"
# The tables of the operator's page about the mirror: their rows, as far as they are shown, with the heads of the columns.
ASK_TOP = """['largest', 'oldest'].map(id => { const table = document.getElementById(id)
    return [...table.rows].map(row => [...row.cells].filter(c => c.checkVisibility()).map(c => c.innerText)) })"""


@pytest.fixture
def mirrored(tmp_path, browser):
    """A daemon that mirrors a hub, and its tabs. One file is here, one is coming, and one is absent."""
    content = bytes(40_000_000)
    with Slow(content, come=5_000_000) as upstream:
        upstream.repos["far/model"].files["absent.json"] = b'{"absent": true}'
        upstream.repos[f"far/{LONG}"] = Repo({"model.bin": b"m" * 200_000}, stored={"model.bin"})
        daemons, issuer = [], Issuer(tmp_path / "keys")

        def start(**options):
            daemons.append(cairn.Daemon(tmp_path / "server", **options).start())
            return daemons[-1]

        people = visitors.people_of(start, issuer, tmp_path / "home", mirror=upstream.url)
        token = issuer.token("admin")
        people.keys["all"] = make_key(people.server, token, scope="admin")["key"]
        for repo, body in (("model", b'{"include":["*.bin"]}'), (LONG, b'{"keep":true,"every_s":604800}')):
            assert people.server.post(f"/v1/mirror/repositories/models/far/{repo}", body, token=token).status == 200
        assert people.server.get("/far/model/resolve/main/config.json").status == 200
        assert people.server.get(f"/far/{LONG}/resolve/main/model.bin").status == 200
        cairn.wait_until("some bytes", lambda: upstream.sent >= 4_000_000)
        tabs = {"nobody": browser.tab(), "all": browser.tab()}
        tabs["all"].look()
        sign_in(tabs["all"], people, "all")
        yield people, tabs
        for daemon in daemons:
            daemon.stop()


def test_pages_of_a_mirrored_hub(mirrored):
    """The states of files, the page of a file that is not here, and the operator's tables. No page asks another origin for anything."""
    people, tabs = mirrored
    for tab in tabs.values():
        tab.forget("Network.requestWillBeSent")
    tab, operator = tabs["nobody"], tabs["all"]
    tab.look()
    tab.open(people.server.url + "/far/model/tree/main")
    assert tab.run("[...document.querySelectorAll('#files tbody th')].map(th => th.innerText)") == ["absent.json not here yet", "config.json", "weights.bin coming"]
    tab.open(people.server.url + "/far/model/blob/main/absent.json")
    assert "have not come from the mirrored hub yet" in tab.run("document.querySelector('main').innerText")
    assert not tab.run("document.querySelectorAll('main img, main iframe').length")
    operator.look()
    operator.open(people.server.url + "/admin")
    largest, oldest = operator.run(ASK_TOP)
    assert largest[0] == ["Repository", "Holds", "Files here", "Fetched ahead", "main as of", "Last read"]
    assert ["every 7 d", "today"] == [largest[1][3], largest[1][5]] or ["every 7 d", "today"] == [largest[2][3], largest[2][5]]
    assert [row[0] for row in oldest[1:]] == [f"far/{LONG} kept"]
    operator.resize(320)
    assert operator.run(ASK_TOP)[0][0] == ["Repository", "Holds", "Last read"]
    wrong = faults_of_pages(people, tabs, MIRRORED_PAGES)
    assert not wrong, wrong
    asked = [m["request"]["url"] for one in tabs.values() for m in one.said("Network.requestWillBeSent")]
    assert len(asked) > len(MIRRORED_PAGES) and not [url for url in asked if not url.startswith(people.server.url + "/")]


LOST_PAGES = {
    "server with losses": ("all", "/admin"),
    "home with losses": ("ann", "/"),
    "tree with losses": ("ann", "/ann/lost/tree/main/weights"),
    "lost file": ("ann", "/ann/lost/blob/main/weights/model-00001-of-00002-with-a-long-name.safetensors"),
    "lost file of a bucket": ("ann", "/buckets/ann/data/tree/logs/lost.bin"),
}


@pytest.mark.files
def test_pages_of_lost_files(people, tabs):
    """Pages of lost files. At the end all bytes are restored."""
    body, other = random.Random(7).randbytes(120_000), random.Random(8).randbytes(4_000)
    names = [f"weights/model-0000{i}-of-00002-with-a-long-name.safetensors" for i in (1, 2)]
    make(people, "ann/lost")
    done(commit(people, *(stored(n, upload(people, b, "models/ann/lost")[0], len(b)) for n, b in zip(names, (body, other), strict=True)), repo="models/ann/lost"))
    people.put("ann/data", "logs/lost.bin", body)
    people.server.object_of(xet.text(xet.Xorb([body]).hash)).unlink()
    assert people.ask("GET", f"/ann/lost/resolve/main/{names[0]}").status == 410

    def lost_files():
        return people.server.metrics()["cairn_lost_files"]

    cairn.wait_until("a look", lambda: lost_files() == 1)
    wrong = faults_of_pages(people, tabs, LOST_PAGES)
    upload(people, body, "models/ann/lost")
    cairn.wait_until("another look", lambda: lost_files() == 0)
    assert not wrong, wrong


def test_by_keyboard(people, browser):
    """Uses only the keyboard: the link to the content, signing in, a new model. Each focused element shows that it has the focus."""
    tab = browser.tab()
    tab.look()
    tab.open(people.server.url + "/")
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Skip to the content"
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "main"
    sign_in(tab, people, "ann")
    tab.open(people.server.url + "/new")
    seen = []
    for _ in range(40):
        tab.press("Tab")
        name = tab.run("(e => e === document.body ? '' : e.id || e.textContent || e.value || e.name)(document.activeElement)")
        if not name:
            break
        seen.append(name)
        assert tab.run("getComputedStyle(document.activeElement).outlineStyle") != "none", name
        if name == "name":
            tab.type("typed")
        if name == "Make it":
            tab.forget("Page.loadEventFired")
            tab.press("Enter")
            tab.loaded()
            break
    assert {"New", "Keys", "Sign out", "kind", "namespace", "name", "public", "Make it"} <= set(seen), seen
    assert tab.run("location.pathname") == "/ann/typed"


def test_script(people, tabs):
    """Typing filters the list. Where the browser cannot copy, there is no button for it."""
    tab = tabs["ann"]
    tab.look()
    tab.open(people.server.url + "/")
    visible = "[...document.querySelectorAll('#repos tbody tr')].filter(r => r.offsetParent).length"
    assert tab.run(visible) >= 8
    tab.run("document.getElementById('q').focus()")
    tab.type("EMPT")
    assert tab.run(visible) == 1
    assert tab.run("!document.querySelector('[data-copy]').hidden")
    tab.set_script(False)
    tab.open(people.server.url + "/")
    assert tab.run("document.querySelector('[data-copy]').offsetParent === null")


def test_hostile_names_do_nothing(people, tabs):
    """Each entry opens, and no name runs, loads or navigates to anything."""
    tab = tabs["ann"]
    tab.look()
    links = []
    for path in ("/buckets/ann/data", "/ann/odd/tree/main"):
        tab.open(people.server.url + path)
        links += tab.run("[...document.querySelectorAll('#files tbody th a')].map(a => a.href)")
    assert len(links) == 2 * len(HOSTILE) + 4
    for link in links:
        tab.open(link)
        assert "Not found" not in tab.run("document.title"), link
        assert tab.run("document.querySelectorAll('main img, main script').length") == ("onerror" in link and "/blob/" in link), link
    tab.open(people.server.url + "/ann/cats")
    assert tab.run("[...document.querySelectorAll('article img')].map(i => i.naturalWidth)") == [120]
    assert tab.run("document.querySelectorAll('article script, article [onerror]').length") == 0
    refused = [text for text in faults(tab) if "404" not in text]
    assert not refused, refused
