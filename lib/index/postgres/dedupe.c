/* Chunk queries: finds rows by prefix, compares one with its chunk list, and answers with its xorb and the xorb's
 * neighbours. Each statement has its own snapshot: lists never change, and a xorb removed meanwhile is left out. */
#include "index/postgres/engine.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { DEDUPE_TRIES_MAX = 8 }; /* most rows of one scope whose lists are read */

/* Reads no rows of other scopes, so that the time does not reveal whether there are any. */
static const char DEDUPE_ROWS[] =
	"(SELECT xorb, place, shard, scope FROM dedupe WHERE prefix = $1 AND scope = 0 ORDER BY xorb LIMIT $3)"
	" UNION ALL (SELECT xorb, place, shard, scope FROM dedupe WHERE prefix = $1"
	" AND scope = (SELECT id FROM scope WHERE name = $2 AND id <> 0) ORDER BY xorb LIMIT $3)";
static const char DEDUPE_SCOPE[] = "SELECT id FROM scope WHERE name = $1";
/* Reads the list only if the chunk at this place may be the requested one. */
static const char DEDUPE_FIRST[] =
	"SELECT " CAIRN_POSTGRES_XORB ", l.spans, l.hashes FROM xorb x JOIN list l ON l.xorb = x.id"
	" WHERE x.id = $1 AND (x.withdrawn IS NULL OR $4 <> 0)"
	" AND substring(l.hashes FROM $2::int FOR 32) = $3";
static const char DEDUPE_NEIGHBOURS[] =
	"SELECT " CAIRN_POSTGRES_XORB ", l.spans, l.hashes FROM member m JOIN xorb x ON x.id = m.xorb"
	" JOIN list l ON l.xorb = x.id WHERE m.shard = $1 AND m.xorb > $2 AND m.xorb <> $3 AND x.retired IS NULL"
	" AND (x.withdrawn IS NULL OR $4 <> 0) ORDER BY m.xorb LIMIT 8";
static const char DEDUPE_ELIGIBLE[] = "SELECT place FROM dedupe WHERE xorb = $1 AND scope IN (0, $2)";

struct dedupe_query {
	struct cairn_pg *pg;
	const struct cairn_hash *chunk;
	bool withdrawn;      /* also finds withdrawn xorbs */
	int64_t own_scope;   /* the caller's scope; 0: the shared one, or unknown */
	int64_t xorb, shard; /* of the row that matched */
	struct cairn_chunk_list list;
	struct cairn_index_dedupe_xorb answer;
	uint32_t *eligible; /* room for CAIRN_XORB_CHUNKS_MAX */
	bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb);
	void *ctx;
	bool stopped;
};

static void dedupe_query_fini(struct dedupe_query *q)
{
	cairn_chunk_list_fini(&q->list);
	free(q->eligible);
}

/* Lists the places of the eligible chunks that the caller may see, ascending. */
static enum cairn_status dedupe_eligible(struct dedupe_query *q)
{
	bool marked[CAIRN_XORB_CHUNKS_MAX] = {false};
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(
		q->pg, DEDUPE_ELIGIBLE, CAIRN_ARGS(cairn_db_int(q->answer.xorb.id), cairn_db_int(q->own_scope)), &r);
	for (int i = 0; status == CAIRN_OK && i < PQntuples(r); i++) {
		int64_t place = cairn_pg_get_int8(r, i, 0);
		if (place >= 0 && place < q->list.n)
			marked[place] = true;
	}
	q->answer.n_eligible = 0;
	for (uint32_t i = 0; i < q->list.n; i++)
		if (marked[i])
			q->eligible[q->answer.n_eligible++] = i;
	return status;
}

/* Visits one xorb. @return CAIRN_E_DAMAGED the xorb's row is damaged */
static enum cairn_status dedupe_visit(struct dedupe_query *q, const PGresult *r, int row)
{
	if (!cairn_pg_xorb_row(r, row, &q->answer.xorb))
		return CAIRN_E_DAMAGED;
	enum cairn_status status = cairn_pg_list_row(r, row, CAIRN_PG_XORB_COLUMNS, &q->list);
	if (status == CAIRN_OK)
		status = dedupe_eligible(q);
	if (status == CAIRN_OK)
		q->stopped = !q->visit(q->ctx, &q->answer);
	return status;
}

/* Compares the whole hash, because other chunks may have the same prefix. @param[out] proved  the chunk is the
 * requested one, and was visited */
static enum cairn_status dedupe_try(struct dedupe_query *q, int64_t xorb, int64_t place, bool *proved)
{
	CLEANUP(cairn_pg_clearp) PGresult *kept = NULL;
	const PGresult *r;
	if (place < 0 || place >= CAIRN_XORB_CHUNKS_MAX)
		return CAIRN_OK;
	enum cairn_status status =
		cairn_pg_ask(q->pg, DEDUPE_FIRST,
			     CAIRN_ARGS(cairn_db_int(xorb), cairn_db_int(place * CAIRN_HASH_BYTES + 1),
					cairn_db_hash(q->chunk), cairn_db_int(q->withdrawn)),
			     &r);
	if (status != CAIRN_OK || PQntuples(r) == 0)
		return status;
	*proved = true;
	kept = cairn_pg_keep(q->pg, r);
	return dedupe_visit(q, kept, 0);
}

static enum cairn_status dedupe_find(struct dedupe_query *q, const PGresult *rows, bool *proved)
{
	enum cairn_status status = CAIRN_OK;
	for (int i = 0; status == CAIRN_OK && !*proved && i < PQntuples(rows); i++) {
		q->xorb = cairn_pg_get_int8(rows, i, 0);
		q->shard = cairn_pg_get_int8(rows, i, 2);
		status = dedupe_try(q, q->xorb, cairn_pg_get_int8(rows, i, 1), proved);
	}
	return status;
}

/* Visits the neighbours, except damaged ones: the requested xorb is sound all the same. */
static enum cairn_status dedupe_neighbours(struct dedupe_query *q)
{
	for (int64_t after = 0;;) {
		CLEANUP(cairn_pg_clearp) PGresult *kept = NULL;
		const PGresult *r;
		enum cairn_status status = cairn_pg_ask(q->pg, DEDUPE_NEIGHBOURS,
							CAIRN_ARGS(cairn_db_int(q->shard), cairn_db_int(after),
								   cairn_db_int(q->xorb), cairn_db_int(q->withdrawn)),
							&r);
		if (status != CAIRN_OK || PQntuples(r) == 0)
			return status;
		kept = cairn_pg_keep(q->pg, r);
		for (int i = 0; i < PQntuples(kept); i++) {
			after = cairn_pg_get_int8(kept, i, 0);
			status = dedupe_visit(q, kept, i);
			if (q->stopped || (status != CAIRN_OK && status != CAIRN_E_DAMAGED))
				return status;
		}
	}
}

/* Uses no filter, because other daemons add rows, too. cairn_postgres_screen() finds misses instead. */
bool cairn_postgres_may_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk)
{
	(void)ix;
	(void)scope;
	(void)chunk;
	return true;
}

enum cairn_status cairn_postgres_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
					bool withdrawn,
					bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx)
{
	CLEANUP(dedupe_query_fini)
	struct dedupe_query q = {.chunk = chunk, .withdrawn = withdrawn, .visit = visit, .ctx = ctx};
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	CLEANUP(cairn_pg_clearp) PGresult *rows = NULL;
	bool proved = false;
	enum cairn_status status = cairn_pg_take(&cairn_postgres(ix)->pool, &reader);
	if (status != CAIRN_OK)
		return status;
	q.pg = &reader->pg;
	unsigned found = cairn_pg_queue(q.pg, DEDUPE_ROWS,
					CAIRN_ARGS(cairn_db_int((int64_t)cairn_get_u64le(chunk->b)),
						   cairn_db_text(scope), cairn_db_int(DEDUPE_TRIES_MAX))),
		 own = cairn_pg_queue(q.pg, DEDUPE_SCOPE, CAIRN_ARGS(cairn_db_text(scope)));
	status = cairn_pg_exchange(q.pg);
	if (status != CAIRN_OK)
		return status;
	q.own_scope = PQntuples(q.pg->results[own]) > 0 ? cairn_pg_get_int8(q.pg->results[own], 0, 0) : 0;
	rows = cairn_pg_keep(q.pg, q.pg->results[found]);
	if (PQntuples(rows) == 0)
		return CAIRN_E_NOT_FOUND;
	q.eligible = malloc(CAIRN_XORB_CHUNKS_MAX * sizeof(*q.eligible));
	if (!q.eligible)
		return CAIRN_E_NOMEM;
	q.answer.list = &q.list;
	q.answer.eligible = q.eligible;
	status = dedupe_find(&q, rows, &proved);
	if (status != CAIRN_OK || !proved)
		return status == CAIRN_OK ? CAIRN_E_NOT_FOUND : status;
	return q.stopped ? CAIRN_OK : dedupe_neighbours(&q);
}
