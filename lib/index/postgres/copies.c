/* Life and death of copies. A copy is named by one upload, and dead is final: what stands in the table `dead` is
 * removed, and no row names it any more or ever will. Transactions that write follow each other (they hold the row
 * `state`), so whichever of naming and dying comes first is seen by the other. */
#include "index/postgres/engine.h"

#include "base/clock.h"

enum { COPIES_KEPT_S = 7 * 24 * 3600 }; /* a copy that was removed stays dead for whoever slept with its name */

static const char COPIES_IS_DEAD[] = "SELECT 1 FROM dead WHERE copy = $1";
static const char COPIES_KILL[] = "INSERT INTO dead(copy, hash, at) VALUES($1, $2, $3) ON CONFLICT DO NOTHING";
static const char COPIES_KILL_OF[] = "INSERT INTO dead(copy, hash, at) SELECT copy, hash, $2 FROM xorb"
				     " WHERE id = ANY($1) AND copy IS NOT NULL ON CONFLICT DO NOTHING";
static const char COPIES_EACH_DEAD[] = "SELECT copy, hash FROM dead WHERE NOT buried ORDER BY copy LIMIT $1";
static const char COPIES_BURY[] = "UPDATE dead SET buried = true, at = $2 WHERE copy = ANY($1)";
static const char COPIES_FORGET[] = "DELETE FROM dead WHERE buried AND at < $1";

bool cairn_pg_get_copy(const PGresult *r, int row, int column, struct cairn_copy *out)
{
	size_t len;
	const uint8_t *bytes = cairn_pg_get_bytes(r, row, column, &len);
	*out = (struct cairn_copy){0};
	if (PQgetisnull(r, row, column))
		return true;
	if (len != sizeof(out->b))
		return false;
	memcpy(out->b, bytes, sizeof(out->b));
	return true;
}

enum cairn_status cairn_pg_must_live(struct cairn_pg_tx *tx, const struct cairn_copy *copy, struct cairn_diag *diag)
{
	const PGresult *r;
	struct cairn_pg_args args = {0};
	cairn_pg_copy_name(&args, copy);
	enum cairn_status status = cairn_pg_ask(&tx->pg, COPIES_IS_DEAD, &args, &r);
	if (status != CAIRN_OK || PQntuples(r) == 0)
		return status;
	return cairn_fail(diag, CAIRN_E_BUSY, "xorb.replaced", CAIRN_NO_OFFSET,
			  "these bytes were given up before they were registered; send the xorb again");
}

enum cairn_status cairn_pg_kill_copy(struct cairn_pg_tx *tx, const struct cairn_copy *copy,
				     const struct cairn_hash *hash)
{
	struct cairn_pg_args args = {0};
	cairn_pg_copy_name(&args, copy);
	cairn_pg_hash(&args, hash);
	cairn_pg_int8(&args, cairn_clock_unix_s());
	return cairn_pg_run(&tx->pg, COPIES_KILL, &args, NULL);
}

void cairn_pg_kill_copies_of(struct cairn_pg_tx *tx, struct cairn_pg_array *xorbs)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8s(&args, xorbs);
	cairn_pg_int8(&args, cairn_clock_unix_s());
	(void)cairn_pg_queue(&tx->pg, COPIES_KILL_OF, &args);
}

enum cairn_status cairn_pg_each_dead(struct cairn_index *ix, uint32_t limit, cairn_index_visit_copy *visit, void *ctx)
{
	struct cairn_pg_args args = {0};
	(void)cairn_pg_page(&args, limit);
	PG_READ(ix, reader, r, COPIES_EACH_DEAD, &args);
	for (int i = 0; i < PQntuples(r); i++) {
		struct cairn_copy copy;
		struct cairn_hash hash;
		if (!cairn_pg_get_copy(r, i, 0, &copy) || !cairn_pg_get_hash(r, i, 1, &hash))
			return CAIRN_E_DAMAGED;
		visit(ctx, &hash, &copy);
	}
	return CAIRN_OK;
}

enum cairn_status cairn_pg_bury(struct cairn_pg_tx *tx, struct cairn_index_bury *bury)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array copies = {0};
	struct cairn_pg_args args = {0}, before = {0};
	int64_t now_unix_s = cairn_clock_unix_s();
	for (uint32_t i = 0; i < bury->n; i++)
		cairn_pg_add_bytes(&copies, bury->copies[i].b, sizeof(bury->copies[i].b));
	cairn_pg_byteas(&args, &copies);
	cairn_pg_int8(&args, now_unix_s);
	cairn_pg_int8(&before, now_unix_s - COPIES_KEPT_S);
	(void)cairn_pg_queue(&tx->pg, COPIES_BURY, &args);
	return cairn_pg_run(&tx->pg, COPIES_FORGET, &before, NULL);
}
