"""How PostgreSQL executes the daemon's statements on a large index, by the plans that its auto_explain module logs. No page and no look-up reads a whole table,
even before the server has analysed its tables. Statements that must read whole tables do not compare them row by row. CAIRN_TEST_ROWS says how many
repositories and so on there are."""

import json
import os
import random
import re
import subprocess
from pathlib import Path

import cairn
import ledger
import pytest
import xet
from hub_calls import commit, deleted, done, make, make_key, stored, text, upload
from postgres import FOLDER, sql
from upstream import Hub, Repo
from visitors import Visitor

pytestmark = pytest.mark.skipif(not cairn.INDEX, reason="that takes CAIRN_INDEX=postgres")
ROWS = int(os.environ.get("CAIRN_TEST_ROWS", "20000"))
FEW = 600  # rows of one table that a list of mirrored repositories may read: those of a page of 512, and a few more
READ_MAX = 6000  # rows of one table that one statement may read: a page of 512 accounts sums up ten repositories of each
# This statement finds which of an owner's files need a xorb. It reads all of them, so that its time does not reveal whether there is such a xorb.
ON_PURPOSE = "coalesce((SELECT id FROM xorb WHERE hash = $2), -1)"
BLOCKS_MAX = 100  # blocks of 8 KiB that one statement of a small shard may read; a scan of a whole index shows no number of rows in its plan

# The rows of other users: an account for ten repositories, each with a commit of files; for each file its owner, its xorb and its shard.
FILL = """
SET session_replication_role = replica;
CREATE FUNCTION pg_temp.h(n bigint, salt text) RETURNS bytea LANGUAGE sql AS $$ SELECT sha256(convert_to(salt || n, 'UTF8')) $$;
INSERT INTO account(id, kind, name, fullname, email, created) SELECT 1000 + n, 1, 'many' || n, '', '', 1 FROM generate_series(1, {n} / 10) n;
INSERT INTO api_key(id, digest, name, repo, scopes, created, account) SELECT 1000 + n, pg_temp.h(n, 'key'), '', '', 'read', 1, 1000 + n FROM generate_series(1, {n} / 10) n;
INSERT INTO session(digest, key, account, ends) SELECT pg_temp.h(n, 'session'), pg_temp.h(n, 'key'), 1000 + n, 4000000000 FROM generate_series(1, {n} / 10) n;
INSERT INTO membership SELECT (SELECT id FROM account WHERE name = 'team'), 1000 + n, 1 FROM generate_series(1, 1000) n;
INSERT INTO scope(id, name) SELECT 1000 + n, 'hub/many' || n FROM generate_series(1, {n}) n;
INSERT INTO repo(id, kind, account, name, private, scope, created, updated, files, bytes)
  SELECT 1000 + n, 1 + n % 4, 1001 + n % ({n} / 10), 'repo' || n, n % 7 = 0, 1000 + n, 1, 1000 + n, 2, 10 FROM generate_series(1, {n}) n;
INSERT INTO tag(repo, tag, kind, private) SELECT id, t, kind, private FROM repo, unnest(ARRAY['many', 'word' || id % 1000]) t WHERE id > 1000;
INSERT INTO former SELECT kind, account, 'former' || id, id FROM repo WHERE id > 1000 AND id % 5 = 0;
INSERT INTO line(id, repo, fork, depth, head) SELECT 1000 + n, 1000 + n, 0, 1, 1000000 + n FROM generate_series(1, {n}) n;
INSERT INTO commit_(id, repo, line, number, parent, oid, root, at, files, bytes, author, title, message)
  SELECT 1000000 + n, 1000 + n, 1000 + n, 1, 0, substring(pg_temp.h(n, 'oid') FOR 20), substring(pg_temp.h(n, 'root') FOR 20), 1, 2, 10, 'many', 'x', '' FROM generate_series(1, {n}) n;
INSERT INTO ref SELECT 1000 + n, 1, 'main', 1000 + n, 1000000 + n FROM generate_series(1, {n}) n;
INSERT INTO xorb(id, hash, chunks, unpacked, stored, at) SELECT 1000 + n, pg_temp.h(n, 'xorb'), 3, 30000, 30030, 1 FROM generate_series(1, {n}) n;
INSERT INTO list SELECT 1000 + n, '\\x00', pg_temp.h(n, 'chunk') FROM generate_series(1, {n}) n;
INSERT INTO shard(id, hash, scope, owner, collection, at) SELECT 1000 + n, pg_temp.h(n, 'shard'), 0, 1000 + n, 0, 1 FROM generate_series(1, {n}) n;
INSERT INTO member SELECT 1000 + n, 1000 + n FROM generate_series(1, {n}) n;
INSERT INTO dedupe SELECT n::bigint * 7919, 1000 + n, 1000 + n, 0, 1000 + n FROM generate_series(1, {n}) n;
INSERT INTO dedupe SELECT n::bigint * 104729, 0, 1000 + n, 1, 1000 + n FROM generate_series(1, {n}) n;
INSERT INTO file(id, hash, size, terms, at) SELECT 1000 + n, pg_temp.h(n, 'file'), 30000, '', 1 FROM generate_series(1, {n}) n;
INSERT INTO file_owner(file, scope, sha256, at, due) SELECT 1000 + n, 1000 + n, pg_temp.h(n, 'sha256'), 1, NULL FROM generate_series(1, {n}) n;
INSERT INTO reference SELECT 1000 + n, 1000 + n FROM generate_series(1, {n}) n;
INSERT INTO content(id, repo, uses, size, file, sha256) SELECT 1000 + n, 1000 + n, 1, 5, 1000 + n, pg_temp.h(n, 'sha256') FROM generate_series(1, {n}) n;
INSERT INTO entry SELECT 1000 + n, '', convert_to('file' || f, 'UTF8'), 1000000 + n, substring(pg_temp.h(n, 'entry') FOR 20), 1000 + n FROM generate_series(1, {n}) n, generate_series(1, {entries}) f;
INSERT INTO object(repo, path, file, uploaded, type) SELECT r.id, convert_to('many/' || n, 'UTF8'), 1000 + n, 1, '' FROM repo r, generate_series(1, {n}) n WHERE r.name = 'bucket' AND r.kind = 4;
INSERT INTO file_owner(file, scope, sha256, at, due) SELECT 1000 + n, r.scope, '', 1, NULL FROM repo r, generate_series(1, {n}) n WHERE r.name = 'bucket' AND r.kind = 4;
INSERT INTO telemetry(at, sender, body) SELECT 1, 'many', '' FROM generate_series(1, {n} / 10);
INSERT INTO dead SELECT substring(pg_temp.h(n, 'dead') FOR 16), pg_temp.h(n, 'xorb'), 1, true FROM generate_series(1, {n}) n;
SET session_replication_role = origin;
"""

# Repositories of the mirrored hub, ten for a namespace, each with a file that was read on some day.
FILL_MIRRORED = """
SET session_replication_role = replica;
INSERT INTO account(id, kind, name, fullname, email, created, mirrored) SELECT 1000 + n, 2, 'far' || n, '', '', 1, 1 FROM generate_series(1, {n} / 10) n;
INSERT INTO scope(id, name) SELECT 1000 + n, 'hub/' || 1000 + n FROM generate_series(1, {n}) n;
INSERT INTO repo(id, kind, account, name, private, scope, created, updated, files, bytes, stored, mirrored)
  SELECT 1000 + n, 1, 1001 + n % ({n} / 10), 'repo' || n, false, 1000 + n, 1, 1000 + n, 2, 10, n * 7919 % 1000003, 1 FROM generate_series(1, {n}) n;
INSERT INTO mirror_repo(repo, state, looked, every, keep, include, used) SELECT 1000 + n, 1, 1, 0, 0, '', 1 + n * 7919 % 10007 FROM generate_series(1, {n}) n;
SET session_replication_role = origin;
"""


def nodes(plan):
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def compared_by(node):
    """Returns how often a nested loop scans its inner table for each execution: once for each outer row. 0 for other nodes, and for a loop over a LIMIT."""
    inner = [part for part in node.get("Plans", ()) if part["Parent Relationship"] == "Inner"]
    return inner[0]["Actual Loops"] / node["Actual Loops"] if node["Node Type"] == "Nested Loop" and inner[0]["Node Type"] != "Limit" and node["Actual Loops"] else 0


def read_by(node):
    """Returns how many rows of a table a node of the plan has read, with those that it filtered out."""
    rows = sum(node.get(f"Rows Removed by {by}", 0) for by in ("Filter", "Index Recheck")) + node["Actual Rows"]
    return rows * node["Actual Loops"] if "Relation Name" in node else 0


# Statements that a daemon runs by itself from time to time, for a limited number of rows each: to find lost xorbs, and to remove old telemetry.
IN_PIECES = ("FROM xorb x WHERE x.id > $1 ORDER BY x.id LIMIT $2", "DELETE FROM telemetry WHERE at < $1")


class Plans:
    """Collects the plans that the server logs while the block runs."""

    SETTINGS = {"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_analyze": "on"}
    SETTINGS |= {"auto_explain.log_timing": "off", "auto_explain.log_format": "json", "auto_explain.log_level": "log"}
    SETTINGS |= {"auto_explain.log_buffers": "on", "auto_explain.log_nested_statements": "on"}

    def __init__(self):
        self.log = Path(FOLDER) / "log"
        self.read, self.plans = None, []

    def __enter__(self):
        self.begin()
        for name, value in self.SETTINGS.items():
            sql(f"ALTER ROLE cairn SET {name} = '{value}'")
        return self

    def __exit__(self, *exc):
        sql("ALTER ROLE cairn RESET ALL")

    def begin(self):
        """Ignores the statements before now."""
        self.begins = self.log.stat().st_size

    def written(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            file.seek(self.begins)
            text = file.read()
        if text != self.read:
            self.read, self.plans = text, [json.loads(plan) for plan in re.findall(r"plan:\n((?:\t.*\n)+)", text)]
        return self.plans

    def wasteful(self, most=READ_MAX):
        """@return [(rows, node, table, statement)] of nodes that read more rows"""
        out = set()
        for plan in self.written():
            for node in nodes(plan["Plan"]):
                if read_by(node) > most and ON_PURPOSE not in plan["Query Text"]:
                    out.add((read_by(node), node["Node Type"], node["Relation Name"], " ".join(plan["Query Text"].split())))
        return sorted(out)

    def far_read(self):
        """@return [(blocks, statement)] of statements that read too many blocks"""
        found = [(p["Plan"]["Shared Hit Blocks"] + p["Plan"]["Shared Read Blocks"], " ".join(p["Query Text"].split())) for p in self.written()]
        return sorted((blocks, text) for blocks, text in found if blocks > BLOCKS_MAX)

    def compared(self):
        """@return [(times, statement)] of joins that compare tables row by row"""
        found = [(compared_by(node), " ".join(plan["Query Text"].split())) for plan in self.written() for node in nodes(plan["Plan"])]
        return sorted((times, text) for times, text in found if times > READ_MAX)


@pytest.fixture
def never_analysed():
    """Keeps the server from analysing its tables by itself. A worker that has begun would go on, and might analyse some of the tables that the test fills."""
    sql("ALTER SYSTEM SET autovacuum = off")
    sql("SELECT pg_reload_conf()")
    cairn.wait_until("the end of autovacuum", lambda: sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%'") == "0")
    yield
    sql("ALTER SYSTEM RESET autovacuum")
    sql("SELECT pg_reload_conf()")


def in_schema(server, statements):
    schema = cairn.postgres_url(server.data).split("=")[1]
    sql(f'SET search_path = "{schema}"; {statements}')


def fill(server, n, analyse=False, rows=FILL):
    """Fills the index with many rows of each kind."""
    tables = ", ".join(set(re.findall(r"INSERT INTO (\w+)", rows)))
    in_schema(server, rows.format(n=n, entries=10 if n >= 100000 else 2) + (f"ANALYZE {tables}" if analyse else ""))


def ask_all(people, file):
    """Sends every request of a client, a reader of pages or an operator that asks for one page or one thing. Left out: /v1/stats, which sums up everything,
    and the search for a part of a name, which reads all names."""
    server, operator, ask = people.server, people.keys["admin"], people.ask
    sha = ask("GET", "/api/models/ann/one").json()["sha"]
    data = random.Random(3).randbytes(20000)
    paths = ["/api/models", "/api/models?limit=20", "/api/models?author=many7", "/api/models?sort=lastModified", "/api/datasets?author=ann", "/api/models?filter=many", "/api/models?filter=many&filter=word7&sort=id"]
    paths += ["/api/whoami-v2", "/api/buckets/ann", "/api/buckets/ann/bucket", "/api/settings/repositories"]
    paths += ["/api/buckets/ann/bucket/tree", "/api/buckets/ann/bucket/tree/many", "/api/buckets/ann/bucket/tree?recursive=true&limit=100"]
    paths += [f"/api/models/ann/one{rest}" for rest in ("", "/tree/main", "/tree/main?recursive=true", f"/tree/{sha}", "/refs", "/commits/main", "/lfs-files", "/discussions")]
    paths += ["/ann/one/resolve/main/small", "/ann/one/raw/main/small", "/ann/one/resolve/main/big", "/api/models/ann/gone", "/api/models/many3/former1005"]
    paths += ["/api/models/ann/one/revision/main", "/api/models/ann/one/xet-read-token/main", "/api/organizations/team/settings/repositories"]
    for path in paths:
        assert ask("GET", path).status in (200, 302, 307, 404), path
    assert ask("POST", "/api/models/ann/one/paths-info/main", body={"paths": ["small", "big", "none"]}).status == 200
    assert ask("POST", "/api/buckets/ann/bucket/paths-info", body={"paths": ["many/7", "none"]}).status == 200
    xorb, hash_ = file.terms[0][0], ledger.name(file)
    paths = ["/v1/files?limit=10&owner=ann", "/v1/files?limit=10", f"/v1/info/{hash_}", f"/v1/info/{xet.text(xorb.hash)}", f"/v1/chunks/default/{'ab' * 32}"]
    paths += [f"/v1/chunks/default/{xet.text(xorb.nodes[0][0])}", f"/v1/reconstructions/{hash_}", f"/v2/reconstructions/{hash_}", "/v1/keys?limit=10", "/v1/false-claims", "/v1/quotas"]
    paths += ["/v1/accounts?limit=10", "/v1/accounts/team/members", f"/v1/files/by-sha256/{'cd' * 32}", "/v1/lost-xorbs", "/health", "/ready", "/metrics"]
    for path in paths:
        assert server.get(path, token=operator).status in (200, 400, 404), path
    assert server.request("HEAD", f"/v1/files/{hash_}", token=operator).status in (200, 404)
    visitor = Visitor(server).sign_in(people.keys["ann"])
    for path in ("/", "/models", "/ann", "/many7", "/ann/one", "/ann/one/tree/main", "/ann/one/blob/main/small", "/ann/one/commits/main", f"/ann/one/commit/{sha}", "/buckets/ann/bucket", "/settings/keys", f"/search?q={hash_}"):
        assert visitor.get(path).status in (200, 302, 303, 404), path
    # Requests that change something.
    assert upload(people, data)
    done(commit(people, text("small", "other\n"), text("more/and/more", "x"), deleted("big")))
    make(people, "ann/two")
    assert ask("POST", "/api/models/ann/two/branch/dev", body={}).status == 200
    assert ask("POST", "/api/models/ann/two/tag/main", body={"tag": "v1"}).status == 200
    assert ask("POST", "/api/repos/move", body={"fromRepo": "ann/two", "toRepo": "ann/three", "type": "model"}).status == 200
    people.put("ann/bucket", "new", data[:9000])
    assert people.batch("ann/bucket", {"type": "deleteFile", "path": "many/9"}).status == 200
    assert ask("DELETE", "/api/repos/delete", body={"organization": "ann", "name": "three", "type": "model"}).status == 200


@pytest.mark.parametrize("analysed", [True, False], ids=["analysed", "young"])
def test_no_table_is_read_whole(people, admin, never_analysed, analysed):  # noqa: F811
    people.keys["admin"] = admin
    make(people)
    people.make("ann/bucket")
    big, _ = upload(people, random.Random(4).randbytes(20000))
    done(commit(people, text("small", "small\n"), stored("big", big, 20000)))
    file = ledger.new_file(31)
    for xorb, _, _ in file.terms:
        assert people.server.put_xorb(xorb, token=admin).status in (200, 403)
    fill(people.server, ROWS, analysed)
    people.server.stop()
    with Plans() as plans:
        people.server.start()
        people.server.get("/health")
        plans.begin()  # a start reads all tables
        ask_all(people, file)
        people.server.stop()
        wasteful = plans.wasteful()
        n = len(plans.written())
    by_itself = sql("SELECT coalesce(string_agg(schemaname || '.' || relname, ' '), '') FROM pg_stat_user_tables WHERE greatest(last_autovacuum, last_autoanalyze) > now() - interval '5 min'")
    people.server.start()
    assert n > 100
    assert wasteful == [], f"the server has analysed by itself: {by_itself}\n" + "\n".join(f"{rows} rows by {node} of {table}: {statement}" for rows, node, table, statement in wasteful)


MIRROR_SUM = "(SELECT count(*) FROM mirror_file)"  # the daemon sums up what all mirrored repositories hold from time to time
LISTS = ("/admin", "/", "/far7", "/v1/mirror/repositories?limit=20", "/api/models?limit=20", "/api/models?author=far7")


def added_ahead(server, plans, admin):
    """Lets a repository be fetched ahead. A daemon looks for such repositories after each command, and one of several every five seconds.
    @return the nodes that read too many rows for that"""
    place, finds = "/v1/mirror/repositories/models/far/model", "m.every > 0"
    plans.begin()
    assert server.post(place, b"{}", token=admin).status == 200
    cairn.wait_until("what is fetched ahead", lambda: server.get(place, token=admin).json()["repository"]["ahead"]["state"] == "done")
    assert any(finds in plan["Query Text"] for plan in plans.written())
    return [node for node in plans.wasteful(FEW) if finds in node[-1]]


def test_lists_of_mirrored_repositories_read_few_rows(start, issuer, admin, never_analysed):  # noqa: F811
    """Each list reads about as many rows as it shows, however many repositories are mirrored. Without its index, each list of /admin reads more."""
    with Hub({"far/model": Repo({"config.json": b"{}"})}) as upstream, Plans() as plans:
        server = start(token_key=issuer.folder, mirror=upstream.url)
        fill(server, ROWS, True, FILL_MIRRORED)
        key = make_key(server, admin, scope="admin")["key"]
        visitor = Visitor(server).sign_in(key)
        wasteful = []
        for path in LISTS:
            plans.begin()
            reply = server.get(path, token=key if path.startswith("/api/") else admin) if path.startswith(("/v1/", "/api/")) else visitor.get(path)
            assert reply.status == 200, (path, reply)
            wasteful += [(path, *node) for node in plans.wasteful(FEW) if MIRROR_SUM not in node[-1]]
        assert wasteful == []
        for index, order in (("repo_mirrored", "ORDER BY r.stored DESC"), ("mirror_repo_used", "ORDER BY m.used")):
            in_schema(server, f"DROP INDEX {index}")
            plans.begin()
            assert visitor.get("/admin").status == 200
            assert any(order in statement for *_, statement in plans.wasteful(FEW)), index
        assert added_ahead(server, plans, admin) == []
        in_schema(server, "DROP INDEX mirror_repo_ahead")
        assert added_ahead(server, plans, admin) != []


def test_a_search_for_a_hash_takes_some_tens_of_statements(start, issuer, admin, never_analysed):  # noqa: F811
    """However many repositories are searched. A file of one that was not changed lately is found, too."""
    with Plans() as plans:
        server = start(token_key=issuer.folder)
        fill(server, 3000, True, FILL_MIRRORED)
        in_schema(server, f"INSERT INTO file(id, hash, size, terms, at) VALUES(1, '\\x{'aa' * 32}', 5, '', 1); INSERT INTO file_owner(file, scope, sha256, at) VALUES(1, 2500, '', 1)")
        visitor = Visitor(server).sign_in(make_key(server, admin, scope="admin")["key"])
        for digits, asks in ((64, ""), (40, "c.oid BETWEEN")):  # a short text is searched for in paths, too
            plans.begin()
            page = visitor.get("/search?q=" + "a" * digits).body.decode()
            assert "Only the 2000 repositories" in page and ("repo1500<" in page) == (digits == 64)
            assert 4 <= sum(asks in plan["Query Text"] for plan in plans.written()) <= 30


@pytest.fixture
def young(tmp_path, never_analysed):
    """A daemon whose index was never analysed, and the plans of its statements."""
    daemon = cairn.Daemon(tmp_path / "young")
    with Plans() as plans:
        yield daemon.start(), plans
        daemon.stop()


def fill_young(server, n):
    """Makes the account and the bucket that FILL names, and fills the index."""
    account = "INSERT INTO account(id, kind, name, fullname, email, created) VALUES(1, 2, 'team', '', '', 1)"
    scope = "INSERT INTO scope(id, name) VALUES(1, 'hub/1')"
    repo = "INSERT INTO repo(id, kind, account, name, private, scope, created, updated, files, bytes) VALUES(1, 4, 1, 'bucket', false, 1, 1, 1, 0, 0)"
    in_schema(server, f"{account}; {scope}; {repo}")
    fill(server, n)


def test_a_young_index_grows(young):
    """The daemon prepares its plans while the index is empty. They must still be good when it is full, and so must those of a new daemon, whose server has
    no statistics yet."""
    server, plans = young
    book = ledger.Ledger()
    assert server.get("/v1/stats").status == 200
    for seed in range(2):
        assert book.upload(server, ledger.new_file(seed)).status == 200
    fill_young(server, ROWS)
    for again in (False, True):
        if again:
            server.stop()
            server.start()
        assert server.get("/v1/stats").status == 200  # frees the connection that has read whole tables for look-ups
        for i in range(4):
            if i == 1:  # the first statements of a connection also read the catalog
                plans.begin()
            seed = 10 + 10 * again + i
            assert book.upload(server, ledger.new_file(seed)).status == 200
            assert book.put_shard(server, ledger.new_file(seed)).status == 200
            assert book.put_shard(server, xet.File(ledger.new_file(seed).terms)).status == 200, "a shard of a known file"
        assert len([p for p in plans.written() if "INSERT INTO file(" in p["Query Text"]]) >= 3
        assert plans.wasteful() == []
        assert [far for far in plans.far_read() if not any(piece in far[1] for piece in IN_PIECES)] == []
    book.check(server)


def test_whole_tables_are_not_compared_row_by_row(young):
    server, plans = young
    n = READ_MAX + 1000  # enough to show such a comparison, and few, because fsck also runs a statement for each
    fill_young(server, n)
    plans.begin()
    assert server.get("/v1/stats").status == 200
    server.stop()
    command = [cairn.CAIRN, "fsck", "--data-dir", str(server.data), "--skip-data", "--json", "--quiet"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=120).stdout)
    assert found["problems_found"] > n
    asked = [p["Query Text"] for p in plans.written()]
    for what in ("FROM reference r WHERE NOT EXISTS", "FROM dedupe d WHERE NOT EXISTS", "FROM xorb x WHERE NOT EXISTS(SELECT 1 FROM reference"):
        assert any(what in text for text in asked), what
    assert plans.compared() == []
    assert [w for w in plans.wasteful() if w[0] > 3 * n] == [], "no table is read more than three times"
