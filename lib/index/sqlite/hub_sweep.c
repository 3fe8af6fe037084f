/* What deleted repositories had goes in pieces, so that a large one holds nobody up. */
#include "index/sqlite/engine.h"

#include "base/clock.h"

enum {
	SWEEP_OBJECTS = 64, /* looked at between two looks at the clock */
	SWEEP_FILES = 1024, /* numbers of files, likewise */
};

/* A deleted repository. */
struct sweep {
	struct cairn_tx *tx;
	int64_t repo, scope; /* 0: there is none */
	unsigned n;
	bool has_file[SWEEP_OBJECTS];
	int64_t file[SWEEP_FILES];
	char path[SWEEP_OBJECTS][CAIRN_INDEX_PATH_MAX + 1];
};

static enum cairn_status sweep_find(struct sweep *s)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = s->tx->stmt[CAIRN_TX_FIND_DROPPED_REPO];
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	s->repo = status == CAIRN_OK && row ? sqlite3_column_int64(stmt, 0) : 0;
	s->scope = s->repo != 0 ? sqlite3_column_int64(stmt, 1) : 0;
	return status;
}

static enum cairn_status sweep_object_page(struct sweep *s)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = s->tx->stmt[CAIRN_TX_OBJECT_PAGE];
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
	sqlite3_stmt *stmt = s->tx->stmt[CAIRN_TX_DROP_OBJECT];
	sqlite3_bind_int64(stmt, 1, s->repo);
	cairn_sql_bind_text(stmt, 2, path);
	return cairn_sql_run(stmt);
}

static enum cairn_status sweep_objects(struct sweep *s)
{
	enum cairn_status status = sweep_object_page(s);
	/* All of them first: a file goes only when no object names it. */
	for (unsigned i = 0; i < s->n && status == CAIRN_OK; i++)
		status = sweep_drop_object(s, s->path[i]);
	for (unsigned i = 0; i < s->n && status == CAIRN_OK; i++) {
		sqlite3_stmt *has = s->tx->stmt[CAIRN_TX_HAS_OBJECT];
		bool used = !s->has_file[i];
		sqlite3_bind_int64(has, 1, s->file[i]);
		sqlite3_bind_int64(has, 2, s->repo);
		if (!used)
			status = cairn_sql_step(has, &used);
		(void)sqlite3_reset(has);
		if (status == CAIRN_OK && !used)
			status = cairn_tx_disown(s->tx, s->file[i], s->scope);
	}
	return status;
}

static enum cairn_status sweep_file_page(struct sweep *s, int64_t from)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = s->tx->stmt[CAIRN_TX_OWNED_PAGE];
	sqlite3_bind_int64(stmt, 1, s->scope);
	sqlite3_bind_int64(stmt, 2, from);
	sqlite3_bind_int64(stmt, 3, from + SWEEP_FILES);
	for (s->n = 0;; s->n++) {
		bool row;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		s->file[s->n] = sqlite3_column_int64(stmt, 0);
	}
}

static enum cairn_status sweep_last_file(struct sweep *s, int64_t *last)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = s->tx->stmt[CAIRN_TX_LAST_OWNED];
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	*last = status == CAIRN_OK ? sqlite3_column_int64(stmt, 0) : 0;
	return status;
}

/* Files that were uploaded and that no object came to name. Past the last of them the repository itself goes. */
static enum cairn_status sweep_files(struct sweep *s, int64_t *from)
{
	int64_t last;
	enum cairn_status status = sweep_last_file(s, &last);
	if (status == CAIRN_OK)
		status = sweep_file_page(s, *from);
	for (unsigned i = 0; i < s->n && status == CAIRN_OK; i++)
		status = cairn_tx_disown(s->tx, s->file[i], s->scope);
	*from += SWEEP_FILES;
	if (status != CAIRN_OK || *from <= last)
		return status;
	*from = 0;
	sqlite3_bind_int64(s->tx->stmt[CAIRN_TX_FORGET_REPO], 1, s->repo);
	return cairn_sql_run(s->tx->stmt[CAIRN_TX_FORGET_REPO]);
}

enum cairn_status cairn_tx_sweep_repos(struct cairn_tx *tx, struct cairn_index_sweep_repos *sweep)
{
	int64_t until_ms = cairn_clock_mono_ms() + CAIRN_INDEX_GC_MS;
	struct sweep s = {.tx = tx};
	do {
		enum cairn_status status = sweep_find(&s);
		if (status == CAIRN_OK && s.repo != 0)
			status = sweep_objects(&s);
		if (status == CAIRN_OK && s.repo != 0 && s.n == 0)
			status = sweep_files(&s, &sweep->from_file);
		if (status != CAIRN_OK)
			return status;
		sweep->more = s.repo != 0;
	} while (sweep->more && cairn_clock_mono_ms() < until_ms);
	return CAIRN_OK;
}
