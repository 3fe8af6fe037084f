/* Looks up a shard before it is verified: reads the rows that verifying needs and registering would look up again. The
 * first statement reads the number of removals. While it is unchanged, rows that later statements see still exist. */
#include "index/postgres/lookup.h"

#include "index/postgres/engine.h"
#include "index/rows.h"

#include "base/clock.h"

#include <limits.h>
#include <stdlib.h>

/* Counts the known files last. Otherwise the time would show an unproved sender where the search ended. */
static const char LOOKUP_SHARD[] =
	"SELECT t.collection, o.scope, o.owner, h.collection, h.at, (SELECT count(*) FROM file WHERE hash = ANY($4))"
	" FROM state t, (SELECT (SELECT id FROM scope WHERE name = $2) AS scope,"
	" (SELECT id FROM scope WHERE name = $3) AS owner OFFSET 0) o LEFT JOIN LATERAL (SELECT collection, at FROM shard"
	" WHERE hash = $1 AND scope = o.scope AND owner = o.owner LIMIT 1) h ON true";
static const char LOOKUP_XORBS[] = "SELECT x.hash, x.id, x.chunks,"
				   " CASE WHEN x.hash = ANY($2) THEN (SELECT spans FROM list WHERE xorb = x.id) END"
				   " FROM xorb x WHERE x.hash = ANY($1) AND x.stored IS NOT NULL AND x.copy IS NOT NULL"
				   " AND x.retired IS NULL AND x.withdrawn IS NULL";

enum {
	LOOKUP_KNOWN_S = 3600, /* seconds for which a shard of a repository of the hub counts as known */
	LOOKUP_STATEMENTS = 2, /* statements of one lookup */
	LOOKUPS_MAX = CAIRN_PG_STATEMENTS_MAX / LOOKUP_STATEMENTS, /* lookups in one exchange */
	LOOKUP_LISTS_MAX = 4,   /* most lists read by a lookup that others may wait for */
	LOOKUP_FILES_MAX = 100, /* most files read by a lookup that others may wait for */
};

bool cairn_pg_registration_counts(const struct cairn_index_registered *registered, int64_t collection,
				  const char *owner)
{
	bool young = !cairn_index_is_repo_owner(owner) || registered->at_unix_s > cairn_clock_unix_s() - LOOKUP_KNOWN_S;
	return young && registered->collection == collection;
}

static void lookup_hashes(struct cairn_pg_array *a, const struct cairn_hash *hashes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cairn_pg_add_bytes(a, hashes[i].b, sizeof(hashes[i].b));
}

static void lookup_judge_shard(struct cairn_index_shard_lookup *lookup, const PGresult *r, int64_t server)
{
	bool named = !PQgetisnull(r, 0, 1) && !PQgetisnull(r, 0, 2), found = !PQgetisnull(r, 0, 3);
	lookup->seen = (struct cairn_index_seen){
		.plain = named && !found && cairn_pg_get_int8(r, 0, 5) == 0,
		.collection = cairn_pg_get_int8(r, 0, 0),
		.server = server,
		.scope = cairn_pg_get_int8(r, 0, 1),
		.owner = cairn_pg_get_int8(r, 0, 2),
	};
	lookup->registered = (struct cairn_index_registered){cairn_pg_get_int8(r, 0, 3), cairn_pg_get_int8(r, 0, 4)};
	lookup->known =
		found && cairn_pg_registration_counts(&lookup->registered, lookup->seen.collection, lookup->owner);
}

static enum cairn_status lookup_read_places(const PGresult *r, int row, struct cairn_chunk_list *places)
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
static enum cairn_status lookup_read_xorb(struct cairn_index_shard_lookup *lookup, const PGresult *r, int row)
{
	struct cairn_hash hash;
	if (!cairn_pg_get_hash(r, row, 0, &hash))
		return CAIRN_E_DAMAGED;
	for (uint32_t i = 0; i < lookup->n_xorbs; i++) {
		struct cairn_index_seen_xorb *found = &lookup->found[i];
		if (!cairn_hash_equal(&lookup->xorbs[i], &hash))
			continue;
		enum cairn_status status =
			i < lookup->n_described ? lookup_read_places(r, row, &found->places) : CAIRN_OK;
		if (status == CAIRN_E_NOMEM)
			return status;
		found->id = status == CAIRN_OK ? cairn_pg_get_int8(r, row, 1) : 0;
	}
	return CAIRN_OK;
}

static enum cairn_status lookup_read_xorbs(struct cairn_index_shard_lookup *lookup, const PGresult *r)
{
	enum cairn_status status = CAIRN_OK;
	for (int row = 0; status == CAIRN_OK && row < PQntuples(r); row++)
		status = lookup_read_xorb(lookup, r, row);
	for (uint32_t i = 0; i < lookup->n_xorbs; i++)
		lookup->seen.plain = lookup->seen.plain && lookup->found[i].id != 0;
	return status;
}

/* The queued statements of a lookup. */
struct lookup_asked {
	unsigned shard, xorbs; /* indexes in the results */
	bool names;            /* both statements were queued: the shard has xorbs and files */
};

struct lookup_waiting {
	struct cairn_index_shard_lookup *lookup;
	struct lookup_asked asked;
	enum cairn_status status;
	bool done;
	struct lookup_waiting *next;
};

static struct lookup_asked lookup_queue(struct cairn_pg *pg, const struct cairn_index_shard_lookup *lookup)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array xorb_hashes = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array described = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array file_hashes = {0};
	struct lookup_asked asked = {.names = lookup->n_xorbs > 0 && lookup->n_files > 0};
	lookup_hashes(&file_hashes, lookup->files, lookup->n_files);
	asked.shard = cairn_pg_queue(pg, LOOKUP_SHARD,
				     CAIRN_ARGS(cairn_db_hash(&lookup->body), cairn_db_text(lookup->scope),
						cairn_db_text(lookup->owner), cairn_pg_byteas(&file_hashes)));
	if (!asked.names)
		return asked;
	lookup_hashes(&xorb_hashes, lookup->xorbs, lookup->n_xorbs);
	lookup_hashes(&described, lookup->xorbs, lookup->n_described);
	asked.xorbs = cairn_pg_queue(pg, LOOKUP_XORBS,
				     CAIRN_ARGS(cairn_pg_byteas(&xorb_hashes), cairn_pg_byteas(&described)));
	return asked;
}

static enum cairn_status lookup_read(struct lookup_waiting *w, struct cairn_pg *pg)
{
	const struct lookup_asked *asked = &w->asked;
	if (PQntuples(pg->results[asked->shard]) != 1)
		return CAIRN_E_DAMAGED;
	lookup_judge_shard(w->lookup, pg->results[asked->shard], pg->server);
	w->lookup->seen.plain = w->lookup->seen.plain && asked->names;
	return asked->names ? lookup_read_xorbs(w->lookup, pg->results[asked->xorbs]) : CAIRN_OK;
}

/* @return the status of the exchange; with CAIRN_OK each lookup has its own */
static enum cairn_status lookup_ask(struct cairn_postgres *p, struct lookup_waiting *batch)
{
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	enum cairn_status status = cairn_pg_take(&p->pool, &reader);
	if (status != CAIRN_OK)
		return status;
	struct cairn_pg *pg = &reader->pg;
	for (struct lookup_waiting *w = batch; w; w = w->next)
		w->asked = lookup_queue(pg, w->lookup);
	status = cairn_pg_exchange(pg);
	for (struct lookup_waiting *w = batch; w && status == CAIRN_OK; w = w->next)
		w->status = lookup_read(w, pg);
	return status;
}

static enum cairn_status lookup_alone(struct cairn_postgres *p, struct cairn_index_shard_lookup *lookup)
{
	struct lookup_waiting alone = {.lookup = lookup};
	enum cairn_status status = lookup_ask(p, &alone);
	return status == CAIRN_OK ? alone.status : status;
}

/* --- together ----------------------------------------------------------------------------------------------------- */

void cairn_pg_lookups_init(struct cairn_pg_lookups *lookups)
{
	*lookups = (struct cairn_pg_lookups){.tail = &lookups->head};
	pthread_mutex_init(&lookups->lock, NULL);
	pthread_cond_init(&lookups->answered, NULL);
}

void cairn_pg_lookups_fini(struct cairn_pg_lookups *lookups)
{
	pthread_cond_destroy(&lookups->answered);
	pthread_mutex_destroy(&lookups->lock);
}

/* Takes up to n waiting lookups. Called with the lock. */
static struct lookup_waiting *lookups_take(struct cairn_pg_lookups *lookups, unsigned n)
{
	struct lookup_waiting *batch = lookups->head, **end = &batch;
	while (*end && n-- > 0)
		end = &(*end)->next;
	lookups->head = *end;
	*end = NULL;
	if (!lookups->head)
		lookups->tail = &lookups->head;
	return batch;
}

/* Called with the lock. */
static void lookups_done(struct lookup_waiting *batch, enum cairn_status status)
{
	for (struct lookup_waiting *w = batch, *next; w; w = next) {
		next = w->next; /* the waiter may free it when it is done */
		if (status != CAIRN_OK)
			w->status = status;
		w->done = true;
	}
}

/* Sends all waiting lookups. Called with the lock. */
static void lookups_serve(struct cairn_postgres *p, struct cairn_pg_lookups *lookups)
{
	struct lookup_waiting *batch = lookups_take(lookups, LOOKUPS_MAX);
	lookups->asking = true;
	pthread_mutex_unlock(&lookups->lock);
	enum cairn_status status = lookup_ask(p, batch);
	bool silent = status == CAIRN_E_BUSY;
	for (struct lookup_waiting *w = batch; w && status != CAIRN_OK && !silent; w = w->next)
		/* if the server refuses a lookup, try each alone, so that the others do not fail */
		w->status = lookup_alone(p, w->lookup);
	pthread_mutex_lock(&lookups->lock);
	lookups->asking = false;
	lookups_done(batch, silent ? status : CAIRN_OK);
	if (silent) /* The server did not answer. Fail the lookups that queued up meanwhile, too: they have already
		       waited for this exchange. */
		lookups_done(lookups_take(lookups, UINT_MAX), status);
	pthread_cond_broadcast(&lookups->answered);
}

enum cairn_status cairn_postgres_look_up_shard(struct cairn_index *ix, struct cairn_index_shard_lookup *lookup)
{
	struct cairn_postgres *p = cairn_postgres(ix);
	struct cairn_pg_lookups *lookups = &p->lookups;
	struct lookup_waiting own = {.lookup = lookup};
	if (lookup->n_described > LOOKUP_LISTS_MAX || lookup->n_files > LOOKUP_FILES_MAX)
		return lookup_alone(p, lookup);
	pthread_mutex_lock(&lookups->lock);
	*lookups->tail = &own;
	lookups->tail = &own.next;
	while (!own.done)
		if (lookups->asking)
			pthread_cond_wait(&lookups->answered, &lookups->lock);
		else
			lookups_serve(p, lookups);
	pthread_mutex_unlock(&lookups->lock);
	return own.status;
}
