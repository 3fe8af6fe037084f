/* Removes unreachable rows in pieces, so that other writes do not wait long. */
#include "index/hub/sweep.h"
#include "index/sqlite/engine.h"
#include "index/sqlite/sweep.h"

#include "base/clock.h"

#include <string.h>

enum {
	SWEEP_OBJECTS = 64, /* rows of buckets removed between two looks at the clock */
	SWEEP_FILES = 256,  /* files removed between two looks at the clock */
};

/* A deleted repository. */
struct sweep {
	struct cairn_tx *tx;
	int64_t repo, owner; /* 0: no repository */
	unsigned n;
	bool has_file[SWEEP_OBJECTS];
	int64_t file[SWEEP_FILES];
	char path[SWEEP_OBJECTS][CAIRN_INDEX_PATH_MAX + 1];
};

/* Finds a deleted repository. A repository that is being made in pieces counts as deleted an hour later. */
static CAIRN_WRITES(TX_FIND_DROPPED_REPO,
		    "SELECT id, scope FROM repo WHERE dropped IS NOT NULL AND dropped <= ?1 ORDER BY dropped LIMIT 1");

static enum cairn_status sweep_find(struct sweep *s)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(s->tx, &TX_FIND_DROPPED_REPO);
	bool row;
	sqlite3_bind_int64(stmt, 1, cairn_clock_unix_ms());
	enum cairn_status status = cairn_sql_step(stmt, &row);
	s->repo = status == CAIRN_OK && row ? sqlite3_column_int64(stmt, 0) : 0;
	s->owner = s->repo != 0 ? sqlite3_column_int64(stmt, 1) : 0;
	return status;
}

static CAIRN_WRITES(TX_OBJECT_PAGE, "SELECT path, file FROM object WHERE repo = ?1 ORDER BY path LIMIT ?2");

static enum cairn_status sweep_object_page(struct sweep *s)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(s->tx, &TX_OBJECT_PAGE);
	sqlite3_bind_int64(stmt, 1, s->repo);
	sqlite3_bind_int64(stmt, 2, SWEEP_OBJECTS);
	for (s->n = 0;; s->n++) {
		bool row;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		s->has_file[s->n] = sqlite3_column_type(stmt, 1) != SQLITE_NULL;
		s->file[s->n] = sqlite3_column_int64(stmt, 1);
		if (!cairn_sql_text(stmt, 0, s->path[s->n], sizeof(s->path[s->n])))
			return CAIRN_E_DAMAGED;
	}
}

static enum cairn_status sweep_drop_object(struct sweep *s, const char *path)
{
	return cairn_tx_run(s->tx, &CAIRN_TX_DROP_OBJECT, CAIRN_ARGS(cairn_db_int(s->repo), cairn_db_text(path)));
}

static enum cairn_status sweep_objects(struct sweep *s)
{
	enum cairn_status status = sweep_object_page(s);
	/* Delete all object rows of the page first. Several may have the same file, and a file is taken from the owner
	 * only when no object row of this repository has it. */
	for (unsigned i = 0; i < s->n && status == CAIRN_OK; i++)
		status = sweep_drop_object(s, s->path[i]);
	for (unsigned i = 0; i < s->n && status == CAIRN_OK; i++) {
		sqlite3_stmt *has = cairn_tx_stmt(s->tx, &CAIRN_TX_HAS_OBJECT);
		bool used = !s->has_file[i];
		sqlite3_bind_int64(has, 1, s->file[i]);
		sqlite3_bind_int64(has, 2, s->repo);
		if (!used)
			status = cairn_sql_step(has, &used);
		(void)sqlite3_reset(has);
		if (status == CAIRN_OK && !used)
			status = cairn_tx_disown(s->tx, s->file[i], s->owner);
	}
	return status;
}

/* Reads a page of an owner's files. A file with several claims comes more than once. */
static CAIRN_WRITES(TX_OWNED_PAGE, "SELECT file FROM file_owner WHERE scope = ?1 ORDER BY sha256, file LIMIT ?2");

static enum cairn_status sweep_file_page(struct sweep *s)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(s->tx, &TX_OWNED_PAGE);
	sqlite3_bind_int64(stmt, 1, s->owner);
	sqlite3_bind_int64(stmt, 2, SWEEP_FILES);
	for (s->n = 0;; s->n++) {
		bool row;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		s->file[s->n] = sqlite3_column_int64(stmt, 0);
	}
}

static CAIRN_WRITES(TX_FORGET_REPO, "DELETE FROM repo WHERE id = ?1");

/* Removes uploaded files that no object row has, and after the last file the repository itself. */
static enum cairn_status sweep_files(struct sweep *s)
{
	int64_t before = s->tx->counts.collection;
	enum cairn_status status = sweep_file_page(s);
	for (unsigned i = 0; i < s->n && status == CAIRN_OK; i++)
		status = cairn_tx_disown(s->tx, s->file[i], s->owner);
	if (status == CAIRN_OK && s->n > 0 && s->tx->counts.collection == before)
		return CAIRN_E_DAMAGED; /* the database index has rows that the table lacks: the same page would come
					   forever */
	if (status != CAIRN_OK || s->n > 0)
		return status;
	status = cairn_records_drop_proposed(&s->tx->records, s->owner);
	return status == CAIRN_OK ? cairn_tx_run(s->tx, &TX_FORGET_REPO, CAIRN_ARGS(cairn_db_int(s->repo))) : status;
}

static CAIRN_WRITES(TX_REPO_LINE, "SELECT id FROM line WHERE repo = ?1 ORDER BY id DESC LIMIT 1");
static CAIRN_WRITES(TX_DROP_REFS, "DELETE FROM ref WHERE repo = ?1");

/* @param[out] done  no line is left */
static enum cairn_status sweep_repo_line(struct sweep *s, bool *done)
{
	int64_t line = 0;
	bool gone;
	*done = false;
	enum cairn_status status = cairn_tx_run(s->tx, &TX_DROP_REFS, CAIRN_ARGS(cairn_db_int(s->repo)));
	if (status == CAIRN_OK)
		status = cairn_records_drop_pulls(&s->tx->records, s->repo);
	if (status == CAIRN_OK)
		status = cairn_records_drop_feed(&s->tx->records, s->repo);
	if (status == CAIRN_OK) {
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(s->tx, &TX_REPO_LINE);
		sqlite3_bind_int64(find, 1, s->repo);
		status = cairn_sql_find(find);
		*done = status == CAIRN_E_NOT_FOUND;
		line = status == CAIRN_OK ? sqlite3_column_int64(find, 0) : 0;
	}
	if (*done)
		return CAIRN_OK;
	return status == CAIRN_OK ? cairn_tx_sweep_line(s->tx, line, &gone) : status;
}

static enum cairn_status sweep_repo(struct sweep *s)
{
	bool no_line = false;
	enum cairn_status status = sweep_repo_line(s, &no_line);
	if (status == CAIRN_OK && no_line)
		status = sweep_objects(s);
	return status == CAIRN_OK && no_line && s->n == 0 ? sweep_files(s) : status;
}

/* Removes a piece of a deleted repository. @param[out] more  false: there was none */
static enum cairn_status sweep_dropped(void *ctx, bool *more)
{
	struct sweep s = {.tx = ctx};
	enum cairn_status status = sweep_find(&s);
	*more = s.repo != 0;
	return status == CAIRN_OK && *more ? sweep_repo(&s) : status;
}

static CAIRN_WRITES(TX_IS_DROPPED_REPO,
		    "SELECT 1 FROM repo WHERE id = ?1 AND scope = ?2 AND coalesce(dropped, 0) <> 0");

enum cairn_status cairn_tx_sweep_repo(struct cairn_tx *tx, int64_t repo, int64_t owner, bool *gone)
{
	struct sweep s = {.tx = tx, .repo = repo, .owner = owner};
	bool found;
	enum cairn_status status =
		cairn_tx_has(tx, &TX_IS_DROPPED_REPO, CAIRN_ARGS(cairn_db_int(repo), cairn_db_int(owner)), &found);
	if (status != CAIRN_OK)
		return status;
	*gone = !found;
	return found ? sweep_repo(&s) : CAIRN_OK;
}

static CAIRN_WRITES(TX_NEXT_REPO,
		    "SELECT id, scope FROM repo r WHERE id > ?1 AND (kind = 4 OR EXISTS(SELECT 1 FROM account a"
		    " WHERE a.id = r.account AND a.mirrored = 1)) AND dropped IS NULL ORDER BY id LIMIT 1");

/* Finds the first repository after a number. */
static enum cairn_status sweep_next_repo(struct sweep *s, int64_t behind)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(s->tx, &TX_NEXT_REPO);
	sqlite3_bind_int64(stmt, 1, behind);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	s->repo = status == CAIRN_OK && row ? sqlite3_column_int64(stmt, 0) : 0;
	s->owner = s->repo != 0 ? sqlite3_column_int64(stmt, 1) : 0;
	return status;
}

/* Tells for each file of an owner whether it is old and has no name. */
static CAIRN_WRITES(
	TX_UNNAMED_PAGE,
	"SELECT w.file, w.sha256, NOT EXISTS(SELECT 1 FROM file_owner y WHERE y.file = w.file AND y.scope = ?1"
	" AND y.at > ?5) AND NOT EXISTS(SELECT 1 FROM content c WHERE c.file = w.file AND c.repo = ?6)"
	" AND NOT EXISTS(SELECT 1 FROM object o WHERE o.file = w.file AND o.repo = ?6)"
	" AND NOT EXISTS(SELECT 1 FROM proposed p WHERE p.file = w.file AND p.holder = ?1)"
	" AND NOT EXISTS(SELECT 1 FROM mirror_part m WHERE m.file = w.file)"
	" FROM file_owner w INDEXED BY file_owner_claim WHERE w.scope = ?1 AND (w.sha256, w.file) > (?2, ?3)"
	" ORDER BY w.sha256, w.file LIMIT ?4");

/* @param[out] n_seen  files examined */
static enum cairn_status sweep_unnamed_page(struct sweep *s, struct cairn_index_sweep_place *at, int64_t before_unix_s,
					    unsigned *n_seen)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(s->tx, &TX_UNNAMED_PAGE);
	sqlite3_bind_int64(stmt, 1, s->owner);
	/* Copied by SQLite, because the place changes while the page is read. */
	(void)sqlite3_bind_blob(stmt, 2, at->sha256, at->has_sha256 ? sizeof(at->sha256) : 0, SQLITE_TRANSIENT);
	sqlite3_bind_int64(stmt, 3, at->file);
	sqlite3_bind_int64(stmt, 4, SWEEP_FILES);
	sqlite3_bind_int64(stmt, 5, before_unix_s);
	sqlite3_bind_int64(stmt, 6, s->repo);
	for (*n_seen = 0;; (*n_seen)++) {
		bool row;
		size_t len;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		const uint8_t *sha256 = cairn_sql_blob(stmt, 1, &len);
		at->file = sqlite3_column_int64(stmt, 0);
		at->has_sha256 = len == sizeof(at->sha256);
		if (at->has_sha256)
			memcpy(at->sha256, sha256, len);
		if (sqlite3_column_int64(stmt, 2) != 0)
			s->file[s->n++] = at->file;
	}
}

/* Removes a page of files that no row names from a bucket, or a mirrored repository, to which nobody uploads. Other
 * git-like repositories keep their files until they are deleted, because commits elsewhere name objects of Git LFS.
 * @param[out] more  false: no such repository is left */
static enum cairn_status sweep_unnamed(void *ctx, struct cairn_index_sweep_place *at, int64_t before_unix_s, bool *more)
{
	struct cairn_tx *tx = ctx;
	struct sweep s = {.tx = tx};
	unsigned n_seen = 0;
	enum cairn_status status = sweep_next_repo(&s, at->repo);
	*more = s.repo != 0;
	if (status == CAIRN_OK && *more)
		status = sweep_unnamed_page(&s, at, before_unix_s, &n_seen);
	for (unsigned i = 0; i < s.n && status == CAIRN_OK; i++)
		status = cairn_tx_disown(tx, s.file[i], s.owner);
	if (n_seen < SWEEP_FILES)
		*at = (struct cairn_index_sweep_place){.stage = at->stage, .repo = s.repo};
	return status;
}

static struct cairn_index_tx *sweep_records(void *ctx)
{
	struct cairn_tx *tx = ctx;
	return &tx->records;
}

enum cairn_status cairn_tx_sweep_repos(struct cairn_tx *tx, struct cairn_index_sweep_repos *sweep)
{
	static const struct cairn_sweep_engine ENGINE = {.dropped = sweep_dropped,
							 .lines = cairn_tx_sweep_lines,
							 .records = sweep_records,
							 .unnamed = sweep_unnamed};
	return cairn_sweep_repos(&ENGINE, tx, sweep);
}
