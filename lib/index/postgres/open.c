/* Opens and closes an index in PostgreSQL. */
#include "index/postgres/driver.h"
#include "index/postgres/engine.h"
#include "index/postgres/migrate.h"

#include <stdlib.h>
#include <string.h>

static const char OPEN_COUNTS[] = "SELECT " CAIRN_PG_COUNTS " FROM state";

static enum cairn_status open_must_be_latest(struct cairn_pg *pg, struct cairn_diag *diag)
{
	int version;
	enum cairn_status status = cairn_pg_judge(pg, &version, diag);
	if (status != CAIRN_OK || version == cairn_pg_migrate_latest)
		return status;
	if (version == 0)
		return cairn_fail(diag, CAIRN_E_IO, "index.open", CAIRN_NO_OFFSET,
				  "there is no index in the schema \"%s\"", pg->place->schema);
	return cairn_fail(diag, CAIRN_E_CONFLICT, "index.older", CAIRN_NO_OFFSET,
			  "the index is of schema version %d, this program's is %d: bring it forward first", version,
			  cairn_pg_migrate_latest);
}

/* Reads and sets the data folder of the index. The first to claim an empty index owns it. Under the writer's lock. */
static const char OPEN_OWNER[] = "SELECT owner FROM cluster";
static const char OPEN_TAKE[] = "UPDATE cluster SET owner = $1 WHERE owner = '' AND NOT EXISTS(SELECT 1 FROM xorb)"
				" AND NOT EXISTS(SELECT 1 FROM file)";

static enum cairn_status open_must_be_ours(struct cairn_pg_tx *tx, const char *owner, struct cairn_diag *diag)
{
	const PGresult *r;
	char found[CAIRN_INDEX_OWNER_BYTES_MAX + 1];
	(void)cairn_pg_queue(&tx->pg, OPEN_TAKE, CAIRN_ARGS(cairn_db_text(owner)));
	if (cairn_pg_ask(&tx->pg, OPEN_OWNER, NULL, &r) != CAIRN_OK)
		return cairn_pg_fail(&tx->pg, diag, "the index cannot be written");
	if (PQntuples(r) == 1 && cairn_pg_get_text(r, 0, 0, found, sizeof(found)) && strcmp(found, owner) == 0)
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_CONFLICT, "index.owner", CAIRN_NO_OFFSET,
		"the index in the schema \"%s\" is that of another data folder, or of daemons with another "
		"secret_file; give that folder or secret_file, or name another schema: schema=NAME in the URL",
		tx->pg.place->schema);
}

static enum cairn_status open_read_keys(struct cairn_postgres *p, struct cairn_pg *pg)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(pg, CAIRN_PG_GOOD_KEYS, NULL, &r);
	return status == CAIRN_OK ? cairn_pg_good_keys_take(&p->good_keys, r, pg->server, p->counts.keys) : status;
}

static enum cairn_status open_read_counts(struct cairn_postgres *p, struct cairn_pg *pg)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(pg, OPEN_COUNTS, NULL, &r);
	if (status != CAIRN_OK || PQntuples(r) != 1)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	cairn_pg_get_counts(r, &p->counts);
	return CAIRN_OK;
}

/* Commits one write: a daemon whose index cannot be written must not start. */
static enum cairn_status open_try_to_write(struct cairn_pg_tx *tx, const char *owner, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_pg_lock_writer(&tx->pg, tx->shared, diag);
	if (status == CAIRN_OK)
		status = cairn_pg_begin(tx, diag);
	if (status == CAIRN_OK && owner)
		status = open_must_be_ours(tx, owner, diag);
	if (status == CAIRN_OK && cairn_records_probe(&tx->records) != CAIRN_OK)
		status = cairn_pg_fail(&tx->pg, diag, "the index cannot be written");
	return status == CAIRN_OK ? cairn_pg_commit(tx, diag) : status;
}

static enum cairn_status open_connect(struct cairn_postgres *p, const struct cairn_index_options *options,
				      struct cairn_diag *diag)
{
	struct cairn_pg *pg = &p->tx.pg;
	bool read_only = options->read_only;
	p->index.shared = p->tx.shared = options->shared;
	p->tx.clock = options->shared ? &p->clock : NULL;
	*pg = (struct cairn_pg){.place = &p->place, .watch = &p->watch, .reads_only = read_only};
	p->tx.records.db = cairn_pg_db(pg);
	p->settle.pg = (struct cairn_pg){.place = &p->place, .watch = &p->watch};
	if (cairn_pg_open(pg) != CAIRN_OK)
		return cairn_pg_fail(pg, diag, "cannot open the index");
	enum cairn_status status = open_must_be_latest(pg, diag);
	if (status == CAIRN_OK && (open_read_counts(p, pg) != CAIRN_OK || open_read_keys(p, pg) != CAIRN_OK))
		status = cairn_pg_fail(pg, diag, "cannot read the index");
	if (status == CAIRN_OK && options->shared && cairn_pg_clock_compare(&p->clock, pg) != CAIRN_OK)
		status = cairn_pg_fail(pg, diag, "cannot read the index");
	if (status == CAIRN_OK && cairn_pg_clock_is_off(p->tx.clock, diag))
		status = CAIRN_E_CONFLICT;
	if (status == CAIRN_OK && !read_only)
		status = open_try_to_write(&p->tx, options->owner, diag);
	if (read_only)
		cairn_pg_close(pg);
	return status;
}

enum cairn_status cairn_postgres_open(struct cairn_index **out, const char *where,
				      const struct cairn_index_options *options, struct cairn_diag *diag)
{
	struct cairn_postgres *p = calloc(1, sizeof(*p));
	if (!p)
		return CAIRN_E_NOMEM;
	cairn_pg_watch_init(&p->watch);
	cairn_pg_good_keys_init(&p->good_keys);
	cairn_pg_pool_init(&p->pool, &p->place, &p->watch);
	cairn_pg_lookups_init(&p->lookups);
	pthread_mutex_init(&p->lock, NULL);
	enum cairn_status status = cairn_pg_place(&p->place, where, diag);
	if (status == CAIRN_OK)
		status = open_connect(p, options, diag);
	if (status == CAIRN_OK && options->shared && !options->read_only)
		status = cairn_pg_refresh_start(p, diag);
	if (status == CAIRN_OK && !options->read_only)
		status = cairn_pg_screens_start(p, diag);
	if (status == CAIRN_OK)
		*out = &p->index;
	else
		cairn_postgres_free(&p->index);
	return status;
}

void cairn_postgres_free(struct cairn_index *ix)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	cairn_pg_screens_stop(&p->screens);
	cairn_pg_refresh_stop(&p->refresh);
	cairn_pg_lookups_fini(&p->lookups);
	cairn_pg_pool_fini(&p->pool);
	cairn_pg_close(&p->settle.pg);
	cairn_pg_close(&p->tx.pg);
	cairn_pg_good_keys_fini(&p->good_keys);
	cairn_pg_watch_fini(&p->watch);
	cairn_pg_place_fini(&p->place);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
