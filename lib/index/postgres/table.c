/* The engine's table of functions, and its adapters for the index's writer. */
#include "index/postgres/hub.h"

#include "index/postgres/driver.h"
#include "index/postgres/postgres.h"

static struct cairn_pg_tx *table_tx(struct cairn_index *ix)
{
	return &cairn_postgres(ix)->tx;
}

enum cairn_status cairn_postgres_lend(struct cairn_index *ix, struct cairn_db **out)
{
	struct cairn_pg_reader *r;
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &r);
	*out = status == CAIRN_OK ? cairn_pg_db(&r->pg) : NULL;
	return status;
}

struct cairn_index_tx *cairn_postgres_tx(struct cairn_index *ix)
{
	struct cairn_index_tx *tx = &table_tx(ix)->records;
	tx->ix = ix;
	tx->counts = &table_tx(ix)->counts;
	tx->frozen = table_tx(ix)->frozen;
	return tx;
}

enum cairn_status cairn_postgres_begin(struct cairn_index *ix, struct cairn_diag *diag)
{
	return cairn_pg_begin(table_tx(ix), diag);
}

enum cairn_status cairn_postgres_commit(struct cairn_index *ix, struct cairn_diag *diag)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	enum cairn_status status = cairn_pg_commit(&p->tx, diag);
	if (status == CAIRN_OK && p->tx.records.keys_changed)
		status = cairn_pg_good_keys_take(&p->good_keys, p->tx.pg.results[p->tx.keys], p->tx.pg.server,
						 p->tx.counts.keys);
	if (status != CAIRN_OK)
		return status;
	p->tx.records.keys_changed = false;
	cairn_pg_note_counts(p, &p->tx.counts, p->tx.pg.server);
	return CAIRN_OK;
}

/* A commit ahead changes no keys. But after an unanswered commit the keys must be read again. */
enum cairn_status cairn_postgres_commit_ahead(struct cairn_index *ix, struct cairn_diag *diag)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	if (p->tx.records.keys_changed)
		return cairn_postgres_commit(ix, diag);
	enum cairn_status status = cairn_pg_commit_ahead(&p->tx, diag);
	if (status == CAIRN_OK)
		cairn_pg_note_counts(p, &p->tx.counts, p->tx.pg.server);
	return status;
}

enum cairn_status cairn_postgres_settle(struct cairn_index *ix, struct cairn_index_settling *all, unsigned n,
					struct cairn_diag *diag)
{
	return cairn_pg_settle(&cairn_postgres(ix)->settle, all, n, diag);
}

void cairn_postgres_roll_back(struct cairn_index *ix)
{
	cairn_pg_roll_back(table_tx(ix));
}

bool cairn_postgres_is_open(const struct cairn_index *ix)
{
	return cairn_pg_is_open(&((const struct cairn_postgres *)ix)->tx);
}

bool cairn_postgres_again(struct cairn_index *ix)
{
	return cairn_pg_again(table_tx(ix));
}

static void table_forget_failure(struct cairn_pg *pg)
{
	pg->message[0] = pg->sqlstate[0] = '\0';
}

enum cairn_status cairn_postgres_begin_write(struct cairn_index *ix, const struct cairn_index_lease *lease,
					     struct cairn_diag *diag)
{
	table_forget_failure(&table_tx(ix)->pg);
	return cairn_pg_must_hold(table_tx(ix), lease, diag);
}

bool cairn_postgres_explain(struct cairn_index *ix, struct cairn_diag *diag)
{
	if (table_tx(ix)->pg.message[0] == '\0')
		return false;
	(void)cairn_pg_fail(&table_tx(ix)->pg, diag, "the index cannot be written");
	return true;
}

enum cairn_status cairn_postgres_put_shards(struct cairn_index *ix, struct cairn_index_put_shard *const *puts,
					    unsigned n, bool ahead, struct cairn_diag *diag)
{
	table_forget_failure(&table_tx(ix)->pg);
	enum cairn_status status = cairn_pg_put_shards(table_tx(ix), puts, n, ahead, diag);
	if (status != CAIRN_OK)
		(void)cairn_postgres_explain(ix, diag);
	return status;
}

#define POSTGRES_WRITE(name)                                                                                           \
	enum cairn_status cairn_postgres_##name(struct cairn_index *ix, struct cairn_index_##name *request)            \
	{                                                                                                              \
		return cairn_pg_##name(table_tx(ix), request);                                                         \
	}
CAIRN_ENGINE_WRITES(POSTGRES_WRITE, POSTGRES_WRITE)

enum cairn_status cairn_postgres_begin_repo(struct cairn_index *ix, struct cairn_index_add_repo *add, int64_t owner)
{
	return cairn_pg_begin_repo(table_tx(ix), add, owner);
}

const struct cairn_index_backend CAIRN_POSTGRES = {.remote = true,
#define POSTGRES_HAS(name) .name = cairn_postgres_##name,
						   CAIRN_ENGINE_CALLS(POSTGRES_HAS, CAIRN_ENGINE_LACKS, POSTGRES_HAS)
#undef POSTGRES_HAS
};
