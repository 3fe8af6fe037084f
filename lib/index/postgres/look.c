/* Looks at a shard before it is verified: reads what verifying needs, and what registering would look up again. The
 * first statement reads the number of removals. Rows that later statements see stay until that number changes. */
#include "index/postgres/look.h"

#include "index/postgres/engine.h"
#include "index/rows.h"

#include "base/clock.h"

#include <limits.h>
#include <stdlib.h>

/* Counts the known files last. Otherwise the time would reveal to an unproved sender where the search ended. */
static const char LOOK_SHARD[] =
	"SELECT t.collection, o.scope, o.owner, h.collection, h.at, (SELECT count(*) FROM file WHERE hash = ANY($4))"
	" FROM state t, (SELECT (SELECT id FROM scope WHERE name = $2) AS scope,"
	" (SELECT id FROM scope WHERE name = $3) AS owner OFFSET 0) o LEFT JOIN LATERAL (SELECT collection, at FROM shard"
	" WHERE hash = $1 AND scope = o.scope AND owner = o.owner LIMIT 1) h ON true";
static const char LOOK_XORBS[] = "SELECT x.hash, x.id, x.chunks,"
				 " CASE WHEN x.hash = ANY($2) THEN (SELECT spans FROM list WHERE xorb = x.id) END"
				 " FROM xorb x WHERE x.hash = ANY($1) AND x.stored IS NOT NULL AND x.copy IS NOT NULL"
				 " AND x.retired IS NULL";

enum {
	LOOK_KNOWN_S = 3600, /* a shard of a repository of the hub counts as known for so long */
	LOOK_STATEMENTS = 2, /* of each */
	LOOKS_MAX = CAIRN_PG_STATEMENTS_MAX / LOOK_STATEMENTS, /* in one exchange */
	LOOK_LISTS_MAX = 4,                                    /* of a look for which others may wait */
	LOOK_FILES_MAX = 100,                                  /* files of a look for which others may wait */
};

bool cairn_pg_registration_counts(const struct cairn_index_registered *registered, int64_t collection,
				  const char *owner)
{
	bool young = !cairn_index_is_repo_owner(owner) || registered->at_unix_s > cairn_clock_unix_s() - LOOK_KNOWN_S;
	return young && registered->collection == collection;
}

static void look_hashes(struct cairn_pg_array *a, const struct cairn_hash *hashes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cairn_pg_add_bytes(a, hashes[i].b, sizeof(hashes[i].b));
}

static void look_judge_shard(struct cairn_index_look *look, const PGresult *r, int64_t server)
{
	bool named = !PQgetisnull(r, 0, 1) && !PQgetisnull(r, 0, 2), found = !PQgetisnull(r, 0, 3);
	look->seen = (struct cairn_index_seen){
		.plain = named && !found && cairn_pg_get_int8(r, 0, 5) == 0,
		.collection = cairn_pg_get_int8(r, 0, 0),
		.server = server,
		.scope = cairn_pg_get_int8(r, 0, 1),
		.owner = cairn_pg_get_int8(r, 0, 2),
	};
	look->registered = (struct cairn_index_registered){cairn_pg_get_int8(r, 0, 3), cairn_pg_get_int8(r, 0, 4)};
	look->known = found && cairn_pg_registration_counts(&look->registered, look->seen.collection, look->owner);
}

static enum cairn_status look_read_places(const PGresult *r, int row, struct cairn_chunk_list *places)
{
	size_t len;
	const uint8_t *bytes = cairn_pg_get_bytes(r, row, 3, &len);
	int64_t n = cairn_pg_get_int8(r, row, 2);
	if (n < 1 || n > CAIRN_XORB_CHUNKS_MAX)
		return CAIRN_E_DAMAGED;
	places->spans = malloc((size_t)n * sizeof(*places->spans));
	places->n = places->cap = (uint32_t)n;
	return places->spans ? cairn_rows_spans(places->spans, places->n, bytes, len) : CAIRN_E_NOMEM;
}

/* Skips a missing or damaged list: the code that reads it alone reports it. */
static enum cairn_status look_read_xorb(struct cairn_index_look *look, const PGresult *r, int row)
{
	struct cairn_hash hash;
	if (!cairn_pg_get_hash(r, row, 0, &hash))
		return CAIRN_E_DAMAGED;
	for (uint32_t i = 0; i < look->n_xorbs; i++) {
		struct cairn_index_seen_xorb *found = &look->found[i];
		if (!cairn_hash_equal(&look->xorbs[i], &hash))
			continue;
		enum cairn_status status = i < look->n_described ? look_read_places(r, row, &found->places) : CAIRN_OK;
		if (status == CAIRN_E_NOMEM)
			return status;
		found->id = status == CAIRN_OK ? cairn_pg_get_int8(r, row, 1) : 0;
	}
	return CAIRN_OK;
}

static enum cairn_status look_read_xorbs(struct cairn_index_look *look, const PGresult *r)
{
	enum cairn_status status = CAIRN_OK;
	for (int row = 0; status == CAIRN_OK && row < PQntuples(r); row++)
		status = look_read_xorb(look, r, row);
	for (uint32_t i = 0; i < look->n_xorbs; i++)
		look->seen.plain = look->seen.plain && look->found[i].id != 0;
	return status;
}

/* The queued statements of a look. */
struct look_asked {
	unsigned shard, xorbs; /* places in the results */
	bool names;            /* of both */
};

struct look_waiting {
	struct cairn_index_look *look;
	struct look_asked asked;
	enum cairn_status status;
	bool done;
	struct look_waiting *next;
};

static struct look_asked look_queue(struct cairn_pg *pg, const struct cairn_index_look *look)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array xorb_hashes = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array described = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array file_hashes = {0};
	struct cairn_pg_args shard = {0}, xorbs = {0};
	struct look_asked asked = {.names = look->n_xorbs > 0 && look->n_files > 0};
	cairn_pg_hash(&shard, &look->body);
	cairn_pg_text(&shard, look->scope);
	cairn_pg_text(&shard, look->owner);
	look_hashes(&file_hashes, look->files, look->n_files);
	cairn_pg_byteas(&shard, &file_hashes);
	asked.shard = cairn_pg_queue(pg, LOOK_SHARD, &shard);
	if (!asked.names)
		return asked;
	look_hashes(&xorb_hashes, look->xorbs, look->n_xorbs);
	look_hashes(&described, look->xorbs, look->n_described);
	cairn_pg_byteas(&xorbs, &xorb_hashes);
	cairn_pg_byteas(&xorbs, &described);
	asked.xorbs = cairn_pg_queue(pg, LOOK_XORBS, &xorbs);
	return asked;
}

static enum cairn_status look_read(struct look_waiting *w, struct cairn_pg *pg)
{
	const struct look_asked *asked = &w->asked;
	if (PQntuples(pg->results[asked->shard]) != 1)
		return CAIRN_E_DAMAGED;
	look_judge_shard(w->look, pg->results[asked->shard], pg->server);
	w->look->seen.plain = w->look->seen.plain && asked->names;
	return asked->names ? look_read_xorbs(w->look, pg->results[asked->xorbs]) : CAIRN_OK;
}

/* @return the status of the exchange; with CAIRN_OK each look has its own */
static enum cairn_status look_ask(struct cairn_postgres *p, struct look_waiting *batch)
{
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	enum cairn_status status = cairn_pg_take(&p->pool, &reader);
	if (status != CAIRN_OK)
		return status;
	struct cairn_pg *pg = &reader->pg;
	for (struct look_waiting *w = batch; w; w = w->next)
		w->asked = look_queue(pg, w->look);
	status = cairn_pg_exchange(pg);
	for (struct look_waiting *w = batch; w && status == CAIRN_OK; w = w->next)
		w->status = look_read(w, pg);
	return status;
}

static enum cairn_status look_alone(struct cairn_postgres *p, struct cairn_index_look *look)
{
	struct look_waiting alone = {.look = look};
	enum cairn_status status = look_ask(p, &alone);
	return status == CAIRN_OK ? alone.status : status;
}

/* --- together ----------------------------------------------------------------------------------------------------- */

void cairn_pg_looks_init(struct cairn_pg_looks *looks)
{
	*looks = (struct cairn_pg_looks){.tail = &looks->head};
	pthread_mutex_init(&looks->lock, NULL);
	pthread_cond_init(&looks->answered, NULL);
}

void cairn_pg_looks_fini(struct cairn_pg_looks *looks)
{
	pthread_cond_destroy(&looks->answered);
	pthread_mutex_destroy(&looks->lock);
}

/* Takes up to n waiting looks. Under the lock. */
static struct look_waiting *looks_take(struct cairn_pg_looks *looks, unsigned n)
{
	struct look_waiting *batch = looks->head, **end = &batch;
	while (*end && n-- > 0)
		end = &(*end)->next;
	looks->head = *end;
	*end = NULL;
	if (!looks->head)
		looks->tail = &looks->head;
	return batch;
}

/* Under the lock. */
static void looks_done(struct look_waiting *batch, enum cairn_status status)
{
	for (struct look_waiting *w = batch, *next; w; w = next) {
		next = w->next; /* it may be freed once it is done */
		if (status != CAIRN_OK)
			w->status = status;
		w->done = true;
	}
}

/* Asks for all waiting looks. Under the lock. */
static void looks_serve(struct cairn_postgres *p, struct cairn_pg_looks *looks)
{
	struct look_waiting *batch = looks_take(looks, LOOKS_MAX);
	looks->asking = true;
	pthread_mutex_unlock(&looks->lock);
	enum cairn_status status = look_ask(p, batch);
	bool silent = status == CAIRN_E_BUSY;
	for (struct look_waiting *w = batch; w && status != CAIRN_OK && !silent; w = w->next)
		w->status = look_alone(p, w->look); /* a look that the server refuses must not fail the others */
	pthread_mutex_lock(&looks->lock);
	looks->asking = false;
	looks_done(batch, silent ? status : CAIRN_OK);
	if (silent) /* the others have waited already, and must not wait again */
		looks_done(looks_take(looks, UINT_MAX), status);
	pthread_cond_broadcast(&looks->answered);
}

enum cairn_status cairn_postgres_look_at_shard(struct cairn_index *ix, struct cairn_index_look *look)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	struct cairn_pg_looks *looks = &p->looks;
	struct look_waiting own = {.look = look};
	if (look->n_described > LOOK_LISTS_MAX || look->n_files > LOOK_FILES_MAX)
		return look_alone(p, look);
	pthread_mutex_lock(&looks->lock);
	*looks->tail = &own;
	looks->tail = &own.next;
	while (!own.done)
		if (looks->asking)
			pthread_cond_wait(&looks->answered, &looks->lock);
		else
			looks_serve(p, looks);
	pthread_mutex_unlock(&looks->lock);
	return own.status;
}
