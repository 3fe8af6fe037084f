#include "index/postgres/settle.h"

#include "index/settler.h"

#include <string.h>

static const char SETTLE_BEGIN[] = "BEGIN";
/* Looks writes up by hash and names, because another server may reuse the numbers of a lost one. A later registration
 * counts, an earlier one does not. */
static const char SETTLE_LOOKUP[] =
	"SELECT k.n FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) WITH ORDINALITY"
	" k(hash, scope, owner, collection, at, n)"
	" JOIN LATERAL (SELECT id FROM scope WHERE name = k.scope LIMIT 1) s ON true"
	" JOIN LATERAL (SELECT id FROM scope WHERE name = k.owner LIMIT 1) o ON true"
	" JOIN LATERAL (SELECT collection, at FROM shard WHERE hash = k.hash AND scope = s.id AND owner = o.id LIMIT 1) h"
	" ON (h.collection, h.at) >= (k.collection, k.at)";

struct settle_arrays {
	struct cairn_pg_array hashes, scopes, owners, collections, times;
};

static void settle_arrays_fini(struct settle_arrays *a)
{
	cairn_pg_array_fini(&a->hashes);
	cairn_pg_array_fini(&a->scopes);
	cairn_pg_array_fini(&a->owners);
	cairn_pg_array_fini(&a->collections);
	cairn_pg_array_fini(&a->times);
}

static unsigned settle_queue_lookup(struct cairn_pg *pg, const struct cairn_index_settling *all, unsigned n)
{
	CLEANUP(settle_arrays_fini) struct settle_arrays a = {0};
	for (unsigned i = 0; i < n; i++) {
		cairn_pg_add_bytes(&a.hashes, all[i].body->b, sizeof(all[i].body->b));
		cairn_pg_add_bytes(&a.scopes, all[i].scope, strlen(all[i].scope));
		cairn_pg_add_bytes(&a.owners, all[i].owner, strlen(all[i].owner));
		cairn_pg_add_int8(&a.collections, all[i].registered.collection);
		cairn_pg_add_int8(&a.times, all[i].registered.at_unix_s);
	}
	return cairn_pg_queue(pg, SETTLE_LOOKUP,
			      CAIRN_ARGS(cairn_pg_byteas(&a.hashes), cairn_pg_texts(&a.scopes),
					 cairn_pg_texts(&a.owners), cairn_pg_int8s(&a.collections),
					 cairn_pg_int8s(&a.times)));
}

static enum cairn_status settle_saw(const PGresult *r, struct cairn_index_settling *all, unsigned n,
				    struct cairn_diag *diag)
{
	for (int i = 0; i < PQntuples(r); i++) {
		int64_t place = cairn_pg_get_int8(r, i, 0);
		if (place < 1 || place > n)
			return cairn_fail(diag, CAIRN_E_DAMAGED, "index.corrupt", CAIRN_NO_OFFSET,
					  "PostgreSQL returned a shard that was not asked for");
		all[place - 1].seen = true;
	}
	return CAIRN_OK;
}

/* Reads the writes, and then adds the record. */
static enum cairn_status settle_try(struct cairn_pg_settle *settle, struct cairn_index_settling *all, unsigned n,
				    struct cairn_diag *diag)
{
	struct cairn_pg *pg = &settle->pg;
	unsigned look = 0;
	if (!cairn_pg_is_alive(pg) && cairn_pg_open(pg) != CAIRN_OK)
		return cairn_pg_fail(pg, diag, "the index cannot be written");
	(void)cairn_pg_queue(pg, SETTLE_BEGIN, NULL);
	if (n > 0)
		look = settle_queue_lookup(pg, all, n);
	cairn_pg_queue_record(pg);
	enum cairn_status status = cairn_pg_end(pg, &settle->ending, true, diag);
	return status == CAIRN_OK && n > 0 ? settle_saw(pg->results[look], all, n, diag) : status;
}

/* Retries: a failed try changes nothing, unless its commit was cancelled or not acknowledged in time. */
enum cairn_status cairn_pg_settle(struct cairn_pg_settle *settle, struct cairn_index_settling *all, unsigned n,
				  struct cairn_diag *diag)
{
	struct cairn_pg *pg = &settle->pg;
	struct cairn_pg_tries tries = {0};
	enum cairn_status status = cairn_pg_unpark(pg, &settle->ending, diag);
	if (status != CAIRN_OK)
		return status;
	bool again;
	do {
		*diag = (struct cairn_diag){0};
		pg->warned = false;
		cairn_pg_try(pg, &tries);
		status = settle_try(settle, all, n, diag);
		again = status != CAIRN_OK && cairn_pg_try_again(pg, &tries, !settle->ending.parked && !pg->warned);
		if (status != CAIRN_OK && !settle->ending.parked)
			cairn_pg_close(pg);
	} while (again);
	return status;
}
