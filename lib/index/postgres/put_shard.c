/* Registers a verified shard: its xorbs, eligible chunks and files (put_files.c). Rows are sent as arrays in pieces, so
 * the server is never silent for long. A statement without a needed answer joins the next exchange: three in all. */
#include "index/postgres/put.h"

#include "base/clock.h"
#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

enum { SHARD_PIECE = 10000 }; /* rows of one statement */

static const char SHARD_FIND[] = "SELECT id, collection, at FROM shard WHERE hash = $1 AND scope = $2 AND owner = $3";
static const char SHARD_ADD[] = "INSERT INTO shard(hash, scope, owner, collection, at) VALUES($1, $2, $3, $4, $5)"
				" ON CONFLICT(hash, scope, owner) DO UPDATE SET collection = $4, at = $5";
/* Looks up xorbs by number and hash, because another server may reuse the number; without a number, by hash alone. */
static const char SHARD_XORBS[] =
	"SELECT k.n, x.id, x.chunks, x.stored, coalesce(x.retired, x.withdrawn) FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY"
	" k(id, hash, n) JOIN LATERAL (SELECT * FROM xorb y WHERE y.id = k.id AND y.hash = k.hash"
	" UNION ALL SELECT * FROM xorb z WHERE z.hash = k.hash AND k.id = 0) x ON true";
static const char SHARD_REPACKED[] = "UPDATE xorb SET repacked = true WHERE id = $1";
static const char SHARD_REGISTERED[] = "DELETE FROM unregistered u WHERE u.xorb = ANY($1)"
				       " AND (SELECT true FROM reference r WHERE r.xorb = u.xorb LIMIT 1) IS NOT NULL";
static const char SHARD_MEMBERS[] =
	"INSERT INTO member(shard, xorb) SELECT " CAIRN_PG_SHARD ", x FROM unnest($4::bigint[]) x"
	" ON CONFLICT DO NOTHING";

static void put_shard_fini(struct cairn_pg_put *p)
{
	free(p->xorbs);
	cairn_pg_array_fini(&p->prefixes);
	cairn_pg_array_fini(&p->prefix_xorbs);
	cairn_pg_array_fini(&p->places);
}

static enum cairn_status put_shard_gone(struct cairn_pg_put *p, const struct cairn_hash *xorb)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, xorb);
	return cairn_fail(&p->put->write.diag, CAIRN_E_CONFLICT, "xorb.gone", CAIRN_NO_OFFSET,
			  "xorb %s was removed since the shard was verified; upload it again", text);
}

/* --- xorbs -------------------------------------------------------------------------------------------------------- */

static void put_shard_judge(struct cairn_pg_put *p, const PGresult *r)
{
	p->found = PQntuples(r) > 0;
	if (!p->found)
		return;
	const struct cairn_index_registered registered = {cairn_pg_get_int8(r, 0, 1), cairn_pg_get_int8(r, 0, 2)};
	p->still_counts = cairn_pg_registration_counts(&registered, p->tx->counts.collection, p->put->owner);
}

unsigned cairn_pg_put_queue_xorbs(struct cairn_pg_tx *tx, struct cairn_pg_array *ids, struct cairn_pg_array *hashes)
{
	return cairn_pg_queue(&tx->pg, SHARD_XORBS, CAIRN_ARGS(cairn_pg_int8s(ids), cairn_pg_byteas(hashes)));
}

void cairn_pg_put_queue_registered(struct cairn_pg_tx *tx, struct cairn_pg_array *xorbs)
{
	if (xorbs->n == 0 && xorbs->status == CAIRN_OK)
		return;
	(void)cairn_pg_queue(&tx->pg, SHARD_REGISTERED, CAIRN_ARGS(cairn_pg_int8s(xorbs)));
}

static void put_shard_queue_lookup(struct cairn_pg_put *p, uint32_t first, uint32_t n, unsigned *place)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array ids = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array hashes = {0};
	const struct cairn_index_new_xorb *xorbs = p->put->shard->xorbs + first;
	for (uint32_t i = 0; i < n; i++) {
		cairn_pg_add_int8(&ids, xorbs[i].id);
		cairn_pg_add_bytes(&hashes, xorbs[i].hash.b, sizeof(xorbs[i].hash.b));
	}
	*place = cairn_pg_put_queue_xorbs(p->tx, &ids, &hashes);
}

/* Looks up a piece of the xorbs, and the shard itself with the first piece. */
static enum cairn_status put_shard_look_up(struct cairn_pg_put *p, uint32_t first, uint32_t n)
{
	struct cairn_pg *pg = &p->tx->pg;
	unsigned found = 0, xorbs = 0;
	if (first == 0)
		found = cairn_pg_queue(pg, SHARD_FIND, CAIRN_ARGS(CAIRN_PG_SHARD_ARGS(p)));
	if (n > 0)
		put_shard_queue_lookup(p, first, n, &xorbs);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (status != CAIRN_OK)
		return status;
	if (first == 0)
		put_shard_judge(p, pg->results[found]);
	for (int i = 0; n > 0 && i < PQntuples(pg->results[xorbs]); i++) {
		int64_t place = cairn_pg_get_int8(pg->results[xorbs], i, 0);
		if (place < 1 || place > n)
			return CAIRN_E_DAMAGED;
		cairn_pg_get_xorb_state(pg->results[xorbs], i, 1, &p->xorbs[first + place - 1].row);
	}
	return CAIRN_OK;
}

/* Fails: the xorb became known while the shard was verified, so the terms lack its byte ranges. */
static enum cairn_status put_shard_same(struct cairn_pg_put *p, const struct cairn_index_new_xorb *xorb,
					const struct cairn_pg_xorb_state *state)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	enum cairn_status status = cairn_pg_list(p->tx, state->id, &list);
	if (status == CAIRN_OK && !cairn_chunk_list_same_chunks(&list, xorb->list))
		return cairn_pg_put_conflict(p, &xorb->hash, "is known with other chunks");
	if (status != CAIRN_OK || !state->stored)
		return status;
	return cairn_pg_run(&p->tx->pg, SHARD_REPACKED, CAIRN_ARGS(cairn_db_int(state->id)), NULL);
}

/* Finds or adds a xorb; all must be known. If xorbs are stored elsewhere, a description makes one known. */
static enum cairn_status put_shard_describe(struct cairn_pg_put *p, uint32_t place)
{
	const struct cairn_index_new_xorb *xorb = &p->put->shard->xorbs[place];
	struct cairn_pg_xorb_state *row = &p->xorbs[place].row;
	bool described = place < p->put->shard->n_described;
	if (row->id != 0)
		return described && xorb->list ? put_shard_same(p, xorb, row) : CAIRN_OK;
	/* A xorb that this shard names twice was added by now. */
	enum cairn_status status =
		xorb->id == 0 && p->n_made > 0 ? cairn_pg_find_xorb(p->tx, &xorb->hash, row) : CAIRN_OK;
	if (status != CAIRN_OK || row->id != 0)
		return status;
	if (!described || !xorb->list || xorb->id != 0)
		return put_shard_gone(p, &xorb->hash);
	p->put->added = true;
	p->n_made++;
	row->n_chunks = xorb->list->n;
	return cairn_pg_add_xorb(p->tx, &xorb->hash, xorb->list, NULL, &(struct cairn_copy_id){0}, false, &row->id);
}

static enum cairn_status put_shard_eligible(struct cairn_pg_put *p, uint32_t place)
{
	const struct cairn_index_new_xorb *xorb = &p->put->shard->xorbs[place];
	const struct cairn_index_eligible *eligible = p->put->shard->eligible + xorb->first_eligible;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < xorb->n_eligible; i++) {
		if (eligible[i].place >= p->xorbs[place].row.n_chunks)
			return cairn_pg_put_conflict(p, &xorb->hash, "is known with fewer chunks");
		status = cairn_pg_put_dedupe(p, eligible[i].prefix, p->xorbs[place].row.id, eligible[i].place);
	}
	return status;
}

/* Adds the described xorbs as members of the shard, and mostly offers named ones again. */
static enum cairn_status put_shard_members(struct cairn_pg_put *p)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array members = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array retired = {0};
	const struct cairn_index_new_shard *shard = p->put->shard;
	for (uint32_t i = 0; i < shard->n_xorbs; i++) {
		if (i < shard->n_described)
			cairn_pg_add_int8(&members, p->xorbs[i].row.id);
		if (p->xorbs[i].row.retired)
			cairn_pg_add_int8(&retired, p->xorbs[i].row.id);
	}
	enum cairn_status status = CAIRN_OK;
	if (retired.n > 0)
		status = cairn_pg_keep_xorbs(p->tx, &retired, p->put->stays_withdrawn);
	if (status != CAIRN_OK || members.n == 0)
		return status;
	(void)cairn_pg_queue(&p->tx->pg, SHARD_MEMBERS, CAIRN_ARGS(CAIRN_PG_SHARD_ARGS(p), cairn_pg_int8s(&members)));
	return CAIRN_OK;
}

static enum cairn_status put_shard_look_up_all(struct cairn_pg_put *p)
{
	uint32_t n = p->put->shard->n_xorbs, i = 0;
	p->xorbs = calloc((size_t)n + 1, sizeof(*p->xorbs));
	enum cairn_status status = p->xorbs ? CAIRN_OK : CAIRN_E_NOMEM;
	do {
		if (status == CAIRN_OK)
			status = put_shard_look_up(p, i, n - i < SHARD_PIECE ? n - i : SHARD_PIECE);
		i += SHARD_PIECE;
	} while (status == CAIRN_OK && i < n && !p->still_counts);
	return status;
}

static enum cairn_status put_shard_xorbs(struct cairn_pg_put *p)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < p->put->shard->n_xorbs; i++)
		status = put_shard_describe(p, i);
	for (uint32_t i = 0; status == CAIRN_OK && i < p->put->shard->n_described; i++)
		status = put_shard_eligible(p, i);
	return status;
}

/* --- the shard ---------------------------------------------------------------------------------------------------- */

static void put_shard_queue_row(struct cairn_pg_put *p)
{
	(void)cairn_pg_queue(&p->tx->pg, SHARD_ADD,
			     CAIRN_ARGS(CAIRN_PG_SHARD_ARGS(p), cairn_db_int(p->tx->counts.collection),
					cairn_db_int(cairn_clock_unix_s())));
	cairn_add(&p->tx->counts.shards, !p->found);
}

static void put_shard_registered(struct cairn_pg_put *p)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array xorbs = {0};
	for (uint32_t i = 0; i < p->put->shard->n_xorbs; i++)
		cairn_pg_add_int8(&xorbs, p->xorbs[i].row.id);
	cairn_pg_put_queue_registered(p->tx, &xorbs);
}

static enum cairn_status put_shard_register(struct cairn_pg_put *p)
{
	put_shard_queue_row(p);
	enum cairn_status status = put_shard_xorbs(p);
	if (status == CAIRN_OK)
		status = put_shard_members(p);
	if (status == CAIRN_OK)
		status = cairn_pg_put_files(p);
	if (status == CAIRN_OK)
		put_shard_registered(p);
	if (status == CAIRN_OK)
		status = cairn_pg_put_send_dedupe(p);
	return status == CAIRN_OK && cairn_pg_has_queued(&p->tx->pg) ? cairn_pg_exchange(&p->tx->pg) : status;
}

enum cairn_status cairn_pg_put_shard(struct cairn_pg_tx *tx, struct cairn_index_put_shard *put)
{
	CLEANUP(put_shard_fini) struct cairn_pg_put p = {.tx = tx, .put = put};
	put->added = false;
	enum cairn_status status = cairn_records_scope(&tx->records, put->scope, &p.scope);
	if (status == CAIRN_OK)
		status = cairn_records_scope(&tx->records, put->owner, &p.owner);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&put->write.diag, CAIRN_E_DENIED, "repo.gone", CAIRN_NO_OFFSET,
				  "the repository of this token was deleted");
	if (status == CAIRN_OK)
		status = put_shard_look_up_all(&p);
	return status != CAIRN_OK || p.still_counts ? status : put_shard_register(&p);
}
