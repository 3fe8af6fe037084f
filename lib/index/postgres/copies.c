/* Records copies as dead. A copy id belongs to one upload, and death is final: no row ever names a copy in the table
 * `dead` again, and its object is removed. Writing transactions run one after the other (they lock the row `state`), so
 * naming and killing a copy cannot race. */
#include "index/postgres/engine.h"

#include "base/sum.h"

#include <inttypes.h>

/* a removed copy stays dead so long, because a suspended upload may still name it */
enum { COPIES_KEPT_S = 7 * 24 * 3600 };

/* The server's clock. No daemon's clock may decide when a dead copy is forgotten. */
#define COPIES_NOW "extract(epoch FROM now())::bigint"
/* $1: copies, $2: the hashes of their xorbs. */
#define COPIES_UNNAMED                                                                                                 \
	" FROM unnest($1::bytea[], $2::bytea[]) AS found(copy, hash) WHERE (SELECT true FROM xorb x"                   \
	" WHERE x.hash = found.hash AND (x.copy IS NULL OR x.copy = found.copy) LIMIT 1) IS NULL"

static const char COPIES_IS_DEAD[] = "SELECT EXISTS(SELECT 1 FROM dead WHERE copy = $1), " COPIES_NOW;
static const char COPIES_KILL[] =
	"INSERT INTO dead(copy, hash, at) VALUES($1, $2, " COPIES_NOW ") ON CONFLICT DO NOTHING";
static const char COPIES_KILL_OF[] = "INSERT INTO dead(copy, hash, at) SELECT copy, hash, " COPIES_NOW " FROM xorb"
				     " WHERE id = ANY($1) AND copy IS NOT NULL ON CONFLICT DO NOTHING";
static const char COPIES_COUNT_DEAD[] = "SELECT count(*) FROM dead WHERE NOT buried";
static const char COPIES_FIND_DEAD[] =
	"SELECT copy, hash FROM dead WHERE NOT buried AND copy > coalesce($2, '') ORDER BY copy LIMIT $1";
static const char COPIES_EACH_UNNAMED[] =
	"SELECT found.copy, found.hash" COPIES_UNNAMED " AND (SELECT true FROM dead WHERE dead.copy = found.copy"
	" AND NOT dead.buried LIMIT 1) IS NULL";
/* A removed copy may have returned: its abandoned PUT arrived late. */
static const char COPIES_WRITE_OFF[] =
	"INSERT INTO dead(copy, hash, at) SELECT found.copy, found.hash, " COPIES_NOW COPIES_UNNAMED
	" ON CONFLICT(copy) DO UPDATE SET buried = false WHERE dead.buried";
static const char COPIES_BURY[] = "UPDATE dead SET buried = true, at = " COPIES_NOW " WHERE copy = ANY($1)";
static const char COPIES_FORGET[] = "DELETE FROM dead WHERE buried AND at < " COPIES_NOW " - $1";

enum cairn_status cairn_pg_must_live(struct cairn_pg_tx *tx, const struct cairn_copy_id *copy, bool found,
				     struct cairn_diag *diag)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, COPIES_IS_DEAD, CAIRN_ARGS(cairn_pg_copy_name(copy)), &r);
	if (status != CAIRN_OK)
		return status;
	if (cairn_pg_get_int8(r, 0, 0) != 0)
		return cairn_fail(diag, CAIRN_E_BUSY, "xorb.replaced", CAIRN_NO_OFFSET,
				  "these bytes were given up before they were registered; send the xorb again");
	int64_t age_s = cairn_difference(cairn_pg_get_int8(r, 0, 1), cairn_copy_id_unix_ms(copy) / 1000);
	if (found || (age_s <= CAIRN_INDEX_COPY_LIFE_S && age_s >= -CAIRN_INDEX_COPY_LIFE_S))
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_BUSY, "xorb.late", CAIRN_NO_OFFSET,
			  "these bytes were stored %" PRId64 " s ago, and may be given up since; more than %d s is too "
			  "late to register them: send the xorb again (the clock of this machine or of the index's "
			  "server may be wrong)",
			  age_s, CAIRN_INDEX_COPY_LIFE_S);
}

enum cairn_status cairn_pg_kill_copy(struct cairn_pg_tx *tx, const struct cairn_copy_id *copy,
				     const struct cairn_hash *hash)
{
	return cairn_pg_run(&tx->pg, COPIES_KILL, CAIRN_ARGS(cairn_pg_copy_name(copy), cairn_db_hash(hash)), NULL);
}

void cairn_pg_kill_copies_of(struct cairn_pg_tx *tx, struct cairn_pg_array *xorbs)
{
	(void)cairn_pg_queue(&tx->pg, COPIES_KILL_OF, CAIRN_ARGS(cairn_pg_int8s(xorbs)));
}

/* Runs in a transaction of the writer. A reader might see the state of a former leader that no other server has, and
 * live copies would be removed. This transaction's record in the log comes after all commits that it saw. */
enum cairn_status cairn_pg_find_dead(struct cairn_pg_tx *tx, struct cairn_index_find_dead *find)
{
	const PGresult *r;
	uint32_t n_max = find->n_max < CAIRN_INDEX_SWEEP_MAX ? find->n_max : CAIRN_INDEX_SWEEP_MAX;
	find->n = 0;
	enum cairn_status status = cairn_pg_ask(&tx->pg, COPIES_FIND_DEAD,
						CAIRN_ARGS(cairn_db_int(n_max), cairn_pg_copy_name(&find->after)), &r);
	for (int i = 0; status == CAIRN_OK && i < PQntuples(r) && find->n < n_max; i++) {
		struct cairn_index_copy *found = &find->found[i];
		if (!cairn_pg_get_copy(r, i, 0, &found->copy) || !cairn_pg_get_hash(r, i, 1, &found->hash))
			return CAIRN_E_DAMAGED;
		find->n++;
	}
	return status;
}

static enum cairn_status copies_visit(const PGresult *r, cairn_index_visit_copy *visit, void *ctx)
{
	for (int i = 0; i < PQntuples(r); i++) {
		struct cairn_copy_id copy;
		struct cairn_hash hash;
		if (!cairn_pg_get_copy(r, i, 0, &copy) || !cairn_pg_get_hash(r, i, 1, &hash))
			return CAIRN_E_DAMAGED;
		visit(ctx, &hash, &copy);
	}
	return CAIRN_OK;
}

enum cairn_status cairn_postgres_count_dead(struct cairn_index *ix, uint64_t *n)
{
	PG_READ(ix, reader, r, COPIES_COUNT_DEAD, NULL);
	*n = (uint64_t)cairn_pg_get_int8(r, 0, 0);
	return CAIRN_OK;
}

/* Fills two arrays of equal length with the names and hashes of copies. */
static void copies_add_found(struct cairn_pg_array *names, struct cairn_pg_array *hashes,
			     const struct cairn_index_copy *copies, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		cairn_pg_add_bytes(names, copies[i].copy.b, sizeof(copies[i].copy.b));
		cairn_pg_add_bytes(hashes, &copies[i].hash, sizeof(copies[i].hash));
	}
}

enum cairn_status cairn_postgres_each_unnamed(struct cairn_index *ix, const struct cairn_index_copy *copies, uint32_t n,
					      cairn_index_visit_copy *visit, void *ctx)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array names = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array hashes = {0};
	if (n == 0)
		return CAIRN_OK;
	copies_add_found(&names, &hashes, copies, n);
	PG_READ(ix, reader, r, COPIES_EACH_UNNAMED, CAIRN_ARGS(cairn_pg_byteas(&names), cairn_pg_byteas(&hashes)));
	return copies_visit(r, visit, ctx);
}

enum cairn_status cairn_pg_write_off(struct cairn_pg_tx *tx, struct cairn_index_write_off *off)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array names = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array hashes = {0};
	int64_t n_dead = 0;
	off->n_dead = 0;
	if (off->n == 0)
		return CAIRN_OK;
	copies_add_found(&names, &hashes, off->copies, off->n);
	enum cairn_status status = cairn_pg_run(&tx->pg, COPIES_WRITE_OFF,
						CAIRN_ARGS(cairn_pg_byteas(&names), cairn_pg_byteas(&hashes)), &n_dead);
	off->n_dead = (uint32_t)n_dead;
	return status;
}

enum cairn_status cairn_pg_bury(struct cairn_pg_tx *tx, struct cairn_index_bury *bury)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array copies = {0};
	for (uint32_t i = 0; i < bury->n; i++)
		cairn_pg_add_bytes(&copies, bury->copies[i].b, sizeof(bury->copies[i].b));
	(void)cairn_pg_queue(&tx->pg, COPIES_BURY, CAIRN_ARGS(cairn_pg_byteas(&copies)));
	return cairn_pg_run(&tx->pg, COPIES_FORGET, CAIRN_ARGS(cairn_db_int(COPIES_KEPT_S)), NULL);
}
