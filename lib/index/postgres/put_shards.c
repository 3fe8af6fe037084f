/* Registers several shards together. Simple shards, which have new files of known xorbs, take one exchange for all
 * rows. Each owner of new bytes takes one or two more, for its quota. put_shard.c registers all other shards
 * afterwards.
 *
 * Uses the lookup before verifying (lookup.c), unless rows were removed since, or another server leads. If a file or a
 * shard was added meanwhile, a unique key is violated, and the writer retries without the lookup. Shards without a
 * lookup are read together, in one more exchange. Writing transactions run one after the other, so nothing changes
 * before the rows are written, and the numbers that a transaction reserves are consecutive. */
#include "index/postgres/put.h"
#include "index/rows.h"

#include "base/clock.h"
#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

enum { /* limits of all shards together, so that no statement has too many rows */
       JOIN_XORBS_MAX = 4000,
       JOIN_FILES_MAX = 1000,
       JOIN_TERMS_MAX = 40000,
       JOIN_ELIGIBLE_MAX = 10000,
};

/* Reads the scope and the owner of each shard, and its last registration, if any. */
static const char JOIN_FIND[] =
	"SELECT k.n, s.id, o.id, h.collection, h.at"
	" FROM unnest($1::bytea[], $2::text[], $3::text[]) WITH ORDINALITY k(hash, scope, owner, n)"
	" JOIN LATERAL (SELECT id FROM scope WHERE name = k.scope LIMIT 1) s ON true"
	" JOIN LATERAL (SELECT id FROM scope WHERE name = k.owner LIMIT 1) o ON true"
	" LEFT JOIN LATERAL (SELECT collection, at FROM shard WHERE hash = k.hash AND scope = s.id"
	" AND owner = o.id LIMIT 1) h ON true";
/* Reserves numbers for shards and files, up to the sequences' current values. Rows are sent with their distance from
 * the last number, so that rows referring to them can be sent in the same exchange. */
static const char JOIN_NUMBERS[] = "SELECT setval('shard_id_seq', nextval('shard_id_seq') + $1 - 1),"
				   " setval('file_id_seq', nextval('file_id_seq') + $2 - 1)";
#define JOIN_SHARD "(SELECT currval('shard_id_seq')) - "
#define JOIN_FILE  "(SELECT currval('file_id_seq')) - "
static const char JOIN_SHARDS[] =
	"INSERT INTO shard(id, hash, scope, owner, collection, at) SELECT " JOIN_SHARD
	"k.id, k.hash, k.scope, k.owner, $1, $2"
	" FROM unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[]) k(id, hash, scope, owner)";
static const char JOIN_MEMBERS[] = "INSERT INTO member(shard, xorb) SELECT " JOIN_SHARD "k.shard, k.xorb"
				   " FROM unnest($1::bigint[], $2::bigint[]) k(shard, xorb) ON CONFLICT DO NOTHING";
static const char JOIN_FILES[] =
	"INSERT INTO file(id, hash, size, terms, at) SELECT " JOIN_FILE "k.id, k.hash, k.size, k.terms, $1"
	" FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[]) k(id, hash, size, terms)";
static const char JOIN_REFERENCES[] = "INSERT INTO reference(xorb, file) SELECT k.xorb, " JOIN_FILE "k.file"
				      " FROM unnest($1::bigint[], $2::bigint[]) k(xorb, file) ON CONFLICT DO NOTHING";
static const char JOIN_OWNERS[] =
	"INSERT INTO file_owner(file, scope, sha256, at) SELECT " JOIN_FILE "k.file, k.scope, k.sha256, $1"
	" FROM unnest($2::bigint[], $3::bigint[], $4::bytea[]) k(file, scope, sha256)";
#define JOIN_ADD_DEDUPE                                                                                                     \
	"INSERT INTO dedupe(prefix, scope, xorb, place, shard) SELECT k.prefix, k.scope, k.xorb, k.place::int, " JOIN_SHARD \
	"k.shard FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])"                         \
	" k(prefix, scope, xorb, place, shard) ON CONFLICT DO NOTHING"
static const char JOIN_DEDUPE[] = JOIN_ADD_DEDUPE;
/* Counts a batch to be committed ahead, because only here the number of new rows is known. */
static const char JOIN_DEDUPE_AND_COUNT[] =
	"WITH d AS (" JOIN_ADD_DEDUPE
	" RETURNING 1) UPDATE state SET files = files + $6, shards = shards + $7, eligible = eligible + (SELECT count(*) FROM d)"
	" RETURNING " CAIRN_PG_COUNTS;
static const char JOIN_COUNT[] = "WITH u AS (UPDATE repo SET stored = stored + $2 WHERE scope = $1)"
				 " UPDATE scope SET stored = stored + $2 WHERE id = $1 AND quota IS NOT NULL";

/* A shard of the batch. */
struct join_shard {
	struct cairn_index_put_shard *put;
	int64_t scope, owner, id; /* id: distance from the last number */
	struct cairn_index_registered registered;
	bool seen;                       /* use its lookup before verifying */
	bool named;                      /* its scope and owner exist */
	bool found;                      /* its row exists */
	bool known;                      /* its registration still counts */
	bool plain;                      /* it is simple, and registered here */
	uint32_t first_xorb, first_file; /* indexes among those of all shards */
};

struct join_file {
	const struct cairn_hash *hash;
	struct join_shard *shard;
	int64_t id; /* distance from the last number */
	bool known;
};

struct join {
	struct cairn_pg_tx *tx;
	struct join_shard *shards; /* owned, as all arrays */
	struct cairn_pg_put_xorb_row *xorbs;
	struct join_file *files, **sorted;
	uint8_t *terms; /* buffer for one file */
	uint32_t n, n_xorbs, n_files, n_terms, n_eligible;
	uint32_t n_asked, n_asked_files; /* shards and files without a lookup, which come first */
	uint32_t n_new, n_new_files;     /* shards and files to be registered here */
	int64_t now_unix_s;
	bool ahead;                                        /* only a commit follows */
	struct cairn_pg_array ids, hashes, scopes, owners; /* columns of shards */
	struct cairn_pg_array xorb_ids, xorb_hashes;       /* xorbs to look up */
	struct cairn_pg_array member_shards, member_xorbs;
	struct cairn_pg_array file_ids, file_hashes, sizes, rows; /* columns of files */
	struct cairn_pg_array reference_xorbs, reference_files;
	struct cairn_pg_array owning, words; /* columns of the files' owners */
	struct cairn_pg_array prefixes, prefix_scopes, prefix_xorbs, places, prefix_shards;
};

static void join_fini(struct join *j)
{
	struct cairn_pg_array *const arrays[] = {
		&j->ids,           &j->hashes,       &j->scopes,          &j->owners,          &j->xorb_ids,
		&j->xorb_hashes,   &j->file_ids,     &j->file_hashes,     &j->sizes,           &j->rows,
		&j->member_shards, &j->member_xorbs, &j->reference_xorbs, &j->reference_files, &j->owning,
		&j->words,         &j->prefixes,     &j->prefix_scopes,   &j->prefix_xorbs,    &j->places,
		&j->prefix_shards,
	};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		cairn_pg_array_fini(arrays[i]);
	free(j->shards);
	free(j->xorbs);
	free(j->files);
	free((void *)j->sorted);
	free(j->terms);
}

/* --- finding the shards ------------------------------------------------------------------------------------------- */

/* Counts the terms of a shard; a file with too many counts as if it had one too many. Files were counted before. */
static uint32_t join_n_terms(const struct cairn_index_new_shard *shard)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < shard->n_files; i++)
		n += shard->files[i].n_terms <= JOIN_TERMS_MAX ? shard->files[i].n_terms : JOIN_TERMS_MAX + 1;
	return n;
}

static uint32_t join_n_eligible(const struct cairn_index_new_shard *shard)
{
	uint32_t n = shard->n_files;
	for (uint32_t i = 0; i < shard->n_described; i++)
		n += shard->xorbs[i].n_eligible;
	return n;
}

/* Is the lookup before verifying still valid? */
static bool join_is_seen(const struct join *j, const struct cairn_index_put_shard *put)
{
	return put->seen.plain && put->seen.collection == j->tx->counts.collection &&
	       put->seen.server == j->tx->pg.server;
}

/* Adds a shard to the batch, unless there is no room, or it is clearly not simple. */
static void join_take(struct join *j, struct cairn_index_put_shard *put, bool seen)
{
	const struct cairn_index_new_shard *shard = put->shard;
	uint32_t n_terms, n_eligible;
	bool describes = false;
	for (uint32_t i = 0; i < shard->n_described; i++)
		describes = describes || shard->xorbs[i].list;
	if (describes || shard->n_files == 0 || shard->n_files > JOIN_FILES_MAX - j->n_files ||
	    shard->n_xorbs > JOIN_XORBS_MAX - j->n_xorbs)
		return;
	n_terms = join_n_terms(shard);
	n_eligible = join_n_eligible(shard);
	if (n_terms > JOIN_TERMS_MAX - j->n_terms || n_eligible > JOIN_ELIGIBLE_MAX - j->n_eligible)
		return;
	j->shards[j->n++] = (struct join_shard){
		.put = put,
		.scope = put->seen.scope,
		.owner = put->seen.owner,
		.seen = seen,
		.first_xorb = j->n_xorbs,
		.first_file = j->n_files,
	};
	j->n_xorbs += shard->n_xorbs;
	j->n_files += shard->n_files;
	j->n_terms += n_terms;
	j->n_eligible += n_eligible;
}

static enum cairn_status join_begin(struct join *j, struct cairn_index_put_shard *const *puts, unsigned n)
{
	j->shards = calloc(n, sizeof(*j->shards));
	for (unsigned i = 0; j->shards && i < n; i++)
		if (!join_is_seen(j, puts[i]))
			join_take(j, puts[i], false);
	j->n_asked = j->n;
	j->n_asked_files = j->n_files;
	for (unsigned i = 0; j->shards && i < n; i++)
		if (join_is_seen(j, puts[i]))
			join_take(j, puts[i], true);
	j->xorbs = calloc((size_t)j->n_xorbs + 1, sizeof(*j->xorbs));
	j->files = calloc((size_t)j->n_files + 1, sizeof(*j->files));
	j->sorted = calloc((size_t)j->n_files + 1, sizeof(struct join_file *));
	j->terms = malloc(((size_t)j->n_terms + 1) * CAIRN_ROWS_TERM_BYTES);
	return j->shards && j->xorbs && j->files && j->sorted && j->terms ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* --- looking up --------------------------------------------------------------------------------------------------- */

static void join_lay_out(struct join *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct join_shard *s = &j->shards[i];
		const struct cairn_index_new_shard *shard = s->put->shard;
		for (uint32_t x = 0; s->seen && x < shard->n_xorbs; x++)
			j->xorbs[s->first_xorb + x].row.id = shard->xorbs[x].id;
		for (uint32_t f = 0; f < shard->n_files; f++)
			j->files[s->first_file + f] = (struct join_file){.hash = &shard->files[f].hash, .shard = s};
	}
}

static void join_gather(struct join *j)
{
	for (uint32_t i = 0; i < j->n_asked; i++) {
		struct join_shard *s = &j->shards[i];
		const struct cairn_index_new_shard *shard = s->put->shard;
		cairn_pg_add_bytes(&j->hashes, s->put->body.b, sizeof(s->put->body.b));
		cairn_pg_add_bytes(&j->scopes, s->put->scope, strlen(s->put->scope));
		cairn_pg_add_bytes(&j->owners, s->put->owner, strlen(s->put->owner));
		for (uint32_t x = 0; x < shard->n_xorbs; x++) {
			cairn_pg_add_int8(&j->xorb_ids, shard->xorbs[x].id);
			cairn_pg_add_bytes(&j->xorb_hashes, shard->xorbs[x].hash.b, sizeof(shard->xorbs[x].hash.b));
		}
		for (uint32_t f = 0; f < shard->n_files; f++)
			cairn_pg_add_bytes(&j->file_hashes, shard->files[f].hash.b, sizeof(shard->files[f].hash.b));
	}
}

static enum cairn_status join_found_shards(struct join *j, const PGresult *r)
{
	for (int i = 0; i < PQntuples(r); i++) {
		int64_t place = cairn_pg_get_int8(r, i, 0);
		if (place < 1 || place > j->n_asked)
			return CAIRN_E_DAMAGED;
		struct join_shard *s = &j->shards[place - 1];
		s->named = true;
		s->scope = cairn_pg_get_int8(r, i, 1);
		s->owner = cairn_pg_get_int8(r, i, 2);
		s->found = !PQgetisnull(r, i, 3);
		s->registered = (struct cairn_index_registered){cairn_pg_get_int8(r, i, 3), cairn_pg_get_int8(r, i, 4)};
		s->known = s->found &&
			   cairn_pg_registration_counts(&s->registered, j->tx->counts.collection, s->put->owner);
	}
	return CAIRN_OK;
}

static enum cairn_status join_found_rest(struct join *j, const PGresult *xorbs, const PGresult *files)
{
	for (int i = 0; i < PQntuples(xorbs); i++) {
		int64_t place = cairn_pg_get_int8(xorbs, i, 0);
		if (place < 1 || place > j->n_xorbs)
			return CAIRN_E_DAMAGED;
		cairn_pg_get_xorb_state(xorbs, i, 1, &j->xorbs[place - 1].row);
	}
	for (int i = 0; i < PQntuples(files); i++) {
		int64_t place = cairn_pg_get_int8(files, i, 0);
		if (place < 1 || place > j->n_asked_files)
			return CAIRN_E_DAMAGED;
		j->files[place - 1].known = true;
	}
	return CAIRN_OK;
}

static enum cairn_status join_look_up(struct join *j)
{
	struct cairn_pg *pg = &j->tx->pg;
	if (j->n_asked == 0)
		return CAIRN_OK;
	join_gather(j);
	unsigned shards = cairn_pg_queue(
		pg, JOIN_FIND,
		CAIRN_ARGS(cairn_pg_byteas(&j->hashes), cairn_pg_texts(&j->scopes), cairn_pg_texts(&j->owners)));
	unsigned xorbs = cairn_pg_put_queue_xorbs(j->tx, &j->xorb_ids, &j->xorb_hashes);
	unsigned files = cairn_pg_put_queue_find_files(j->tx, &j->file_hashes);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (status == CAIRN_OK)
		status = join_found_shards(j, pg->results[shards]);
	return status == CAIRN_OK ? join_found_rest(j, pg->results[xorbs], pg->results[files]) : status;
}

/* --- selecting the simple shards ---------------------------------------------------------------------------------- */

static bool join_xorbs_are_plain(const struct join *j, const struct join_shard *s)
{
	const struct cairn_index_new_shard *shard = s->put->shard;
	const struct cairn_pg_put_xorb_row *xorbs = j->xorbs + s->first_xorb;
	for (uint32_t i = 0; i < shard->n_xorbs; i++) {
		if (xorbs[i].row.id == 0 || xorbs[i].row.retired)
			return false;
		const struct cairn_index_eligible *eligible = shard->eligible + shard->xorbs[i].first_eligible;
		for (uint32_t e = 0; i < shard->n_described && e < shard->xorbs[i].n_eligible; e++)
			if (eligible[e].place >= xorbs[i].row.n_chunks)
				return false;
	}
	return true;
}

static bool join_files_are_plain(const struct join *j, const struct join_shard *s)
{
	const struct cairn_index_new_shard *shard = s->put->shard;
	const struct cairn_pg_put_xorb_row *xorbs = j->xorbs + s->first_xorb;
	const struct cairn_index_new_term *term = shard->terms;
	for (uint32_t i = 0; i < shard->n_files; i++) {
		if (j->files[s->first_file + i].known)
			return false;
		for (uint32_t t = 0; t < shard->files[i].n_terms; t++, term++)
			if (term->start >= term->end || term->end > xorbs[term->xorb].row.n_chunks)
				return false;
	}
	return true;
}

static int join_by_hash(const void *pa, const void *pb)
{
	const struct join_file *a = *(struct join_file *const *)pa, *b = *(struct join_file *const *)pb;
	int order = memcmp(a->hash, b->hash, sizeof(*a->hash));
	return order != 0 ? order : a < b ? -1 : a > b;
}

/* Counts a repeated file as new only once. */
static void join_part_twins(struct join *j)
{
	for (uint32_t i = 0; i < j->n_files; i++)
		j->sorted[i] = &j->files[i];
	qsort((void *)j->sorted, j->n_files, sizeof(struct join_file *), join_by_hash);
	for (uint32_t i = 1; i < j->n_files; i++)
		if (cairn_hash_equal(j->sorted[i - 1]->hash, j->sorted[i]->hash))
			j->sorted[i]->shard->plain = false;
}

/* Selects the simple shards, and numbers them. */
static void join_judge(struct join *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct join_shard *s = &j->shards[i];
		s->plain =
			s->seen || (s->named && !s->found && join_xorbs_are_plain(j, s) && join_files_are_plain(j, s));
	}
	join_part_twins(j);
	for (uint32_t i = 0; i < j->n; i++) {
		j->n_new += j->shards[i].plain;
		j->n_new_files += j->shards[i].plain ? j->shards[i].put->shard->n_files : 0;
	}
	uint32_t left = j->n_new, left_files = j->n_new_files;
	for (uint32_t i = 0; i < j->n; i++) {
		struct join_shard *s = &j->shards[i];
		s->id = s->plain ? --left : 0;
		for (uint32_t f = 0; s->plain && f < s->put->shard->n_files; f++)
			j->files[s->first_file + f].id = --left_files;
	}
}

/* --- the rows ----------------------------------------------------------------------------------------------------- */

static void join_add_dedupe(struct join *j, const struct join_shard *s, uint64_t prefix, int64_t xorb, uint32_t place)
{
	cairn_pg_add_int8(&j->prefixes, (int64_t)prefix);
	cairn_pg_add_int8(&j->prefix_scopes, s->scope);
	cairn_pg_add_int8(&j->prefix_xorbs, xorb);
	cairn_pg_add_int8(&j->places, place);
	cairn_pg_add_int8(&j->prefix_shards, s->id);
}

static void join_add_xorbs(struct join *j, const struct join_shard *s)
{
	const struct cairn_index_new_shard *shard = s->put->shard;
	for (uint32_t i = 0; i < shard->n_described; i++) {
		const struct cairn_index_eligible *eligible = shard->eligible + shard->xorbs[i].first_eligible;
		int64_t xorb = j->xorbs[s->first_xorb + i].row.id;
		cairn_pg_add_int8(&j->member_shards, s->id);
		cairn_pg_add_int8(&j->member_xorbs, xorb);
		for (uint32_t e = 0; e < shard->xorbs[i].n_eligible; e++)
			join_add_dedupe(j, s, eligible[e].prefix, xorb, eligible[e].place);
	}
}

/* @param number  number of the file among those of all shards, from 1 */
static void join_add_terms(struct join *j, const struct join_shard *s, uint32_t number,
			   const struct cairn_index_new_term *terms, uint32_t n)
{
	for (uint32_t t = 0; t < n; t++) {
		struct cairn_pg_put_xorb_row *xorb = &j->xorbs[s->first_xorb + terms[t].xorb];
		cairn_rows_put_new_term(j->terms + (size_t)t * CAIRN_ROWS_TERM_BYTES, &terms[t], xorb->row.id);
		if (xorb->of_file == number)
			continue;
		xorb->of_file = number;
		cairn_pg_add_int8(&j->reference_xorbs, xorb->row.id);
		cairn_pg_add_int8(&j->reference_files, j->files[number - 1].id);
	}
	cairn_pg_add_bytes(&j->rows, j->terms, (size_t)n * CAIRN_ROWS_TERM_BYTES);
}

static void join_add_files(struct join *j, const struct join_shard *s)
{
	const struct cairn_index_new_shard *shard = s->put->shard;
	const struct cairn_index_new_term *terms = shard->terms;
	for (uint32_t i = 0; i < shard->n_files; terms += shard->files[i++].n_terms) {
		const struct cairn_index_new_file *file = &shard->files[i];
		cairn_pg_add_int8(&j->file_ids, j->files[s->first_file + i].id);
		cairn_pg_add_bytes(&j->file_hashes, file->hash.b, sizeof(file->hash.b));
		cairn_pg_add_int8(&j->sizes, (int64_t)file->size_bytes);
		cairn_pg_add_int8(&j->owning, s->owner);
		cairn_pg_add_bytes(&j->words, file->sha256, file->has_sha256 ? sizeof(file->sha256) : 0);
		join_add_terms(j, s, s->first_file + i + 1, terms, file->n_terms);
		/* The first chunk of each file is eligible, as in put_shard.c. */
		if (file->n_terms > 0)
			join_add_dedupe(j, s, file->first_chunk, j->xorbs[s->first_xorb + terms->xorb].row.id,
					terms->start);
	}
}

static void join_add(struct join *j)
{
	cairn_pg_array_empty(&j->hashes);
	cairn_pg_array_empty(&j->scopes);
	cairn_pg_array_empty(&j->owners);
	cairn_pg_array_empty(&j->file_hashes);
	for (uint32_t i = 0; i < j->n; i++) {
		const struct join_shard *s = &j->shards[i];
		if (!s->plain)
			continue;
		cairn_pg_add_int8(&j->ids, s->id);
		cairn_pg_add_bytes(&j->hashes, s->put->body.b, sizeof(s->put->body.b));
		cairn_pg_add_int8(&j->scopes, s->scope);
		cairn_pg_add_int8(&j->owners, s->owner);
		join_add_xorbs(j, s);
		join_add_files(j, s);
	}
}

static void join_queue_pairs(struct join *j, const char *sql, struct cairn_pg_array *a, struct cairn_pg_array *b)
{
	if (a->n == 0 && a->status == CAIRN_OK)
		return;
	(void)cairn_pg_queue(&j->tx->pg, sql, CAIRN_ARGS(cairn_pg_int8s(a), cairn_pg_int8s(b)));
}

/* The arguments $1 to $5 for eligible chunks. */
#define JOIN_DEDUPE_ARGS(j)                                                                                            \
	cairn_pg_int8s(&(j)->prefixes), cairn_pg_int8s(&(j)->prefix_scopes), cairn_pg_int8s(&(j)->prefix_xorbs),       \
		cairn_pg_int8s(&(j)->places), cairn_pg_int8s(&(j)->prefix_shards)

static enum cairn_status join_send_dedupe(struct join *j)
{
	struct cairn_pg *pg = &j->tx->pg;
	int64_t n = 0;
	if (j->prefixes.n == 0 && j->prefixes.status == CAIRN_OK)
		return cairn_pg_exchange(pg);
	enum cairn_status status = cairn_pg_run(pg, JOIN_DEDUPE, CAIRN_ARGS(JOIN_DEDUPE_ARGS(j)), &n);
	cairn_add(&j->tx->counts.eligible, n);
	return status;
}

static void join_queue_dedupe_and_count(struct join *j)
{
	j->tx->counted_at =
		cairn_pg_queue(&j->tx->pg, JOIN_DEDUPE_AND_COUNT,
			       CAIRN_ARGS(JOIN_DEDUPE_ARGS(j), cairn_db_int(j->n_new_files), cairn_db_int(j->n_new)));
	j->tx->counted = true;
}

static void join_queue_rows(struct join *j)
{
	struct cairn_pg *pg = &j->tx->pg;
	(void)cairn_pg_queue(pg, JOIN_NUMBERS, CAIRN_ARGS(cairn_db_int(j->n_new), cairn_db_int(j->n_new_files)));
	(void)cairn_pg_queue(pg, JOIN_SHARDS,
			     CAIRN_ARGS(cairn_db_int(j->tx->counts.collection), cairn_db_int(j->now_unix_s),
					cairn_pg_int8s(&j->ids), cairn_pg_byteas(&j->hashes),
					cairn_pg_int8s(&j->scopes), cairn_pg_int8s(&j->owners)));
	join_queue_pairs(j, JOIN_MEMBERS, &j->member_shards, &j->member_xorbs);
	(void)cairn_pg_queue(pg, JOIN_FILES,
			     CAIRN_ARGS(cairn_db_int(j->now_unix_s), cairn_pg_int8s(&j->file_ids),
					cairn_pg_byteas(&j->file_hashes), cairn_pg_int8s(&j->sizes),
					cairn_pg_byteas(&j->rows)));
	join_queue_pairs(j, JOIN_REFERENCES, &j->reference_xorbs, &j->reference_files);
	cairn_pg_put_queue_registered(j->tx, &j->reference_xorbs);
	(void)cairn_pg_queue(pg, JOIN_OWNERS,
			     CAIRN_ARGS(cairn_db_int(j->now_unix_s), cairn_pg_int8s(&j->file_ids),
					cairn_pg_int8s(&j->owning), cairn_pg_byteas(&j->words)));
}

/* --- quotas of owners --------------------------------------------------------------------------------------------- */

static int64_t join_bytes_of(const struct join *j, int64_t owner)
{
	int64_t bytes = 0;
	for (uint32_t i = 0; i < j->n; i++)
		for (uint32_t f = 0;
		     j->shards[i].plain && j->shards[i].owner == owner && f < j->shards[i].put->shard->n_files; f++)
			bytes += (int64_t)cairn_index_file_counts(j->shards[i].put->shard->files[f].size_bytes);
	return bytes;
}

static enum cairn_status join_count(struct join *j, int64_t owner, struct cairn_diag *diag)
{
	int64_t bytes = join_bytes_of(j, owner);
	if (bytes == 0)
		return CAIRN_OK;
	(void)cairn_pg_queue(&j->tx->pg, JOIN_COUNT, CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(bytes)));
	j->tx->records.growth = (struct cairn_index_growth){0};
	cairn_records_grow(&j->tx->records, owner, bytes);
	return cairn_records_check_quota(&j->tx->records, diag);
}

static enum cairn_status join_count_all(struct join *j, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < j->n; i++) {
		bool counted = !j->shards[i].plain || j->shards[i].owner == 0;
		for (uint32_t k = 0; !counted && k < i; k++)
			counted = j->shards[k].plain && j->shards[k].owner == j->shards[i].owner;
		if (!counted)
			status = join_count(j, j->shards[i].owner, diag);
	}
	return status;
}

/* --- registering the batch ---------------------------------------------------------------------------------------- */

/* Writes the rows. For a batch committed ahead they are sent with the commit, unless a quota must be checked first. */
static enum cairn_status join_register(struct join *j, struct cairn_diag *diag)
{
	for (uint32_t i = 0; i < j->n; i++)
		j->ahead = j->ahead && (j->shards[i].plain || j->shards[i].known);
	join_add(j);
	join_queue_rows(j);
	enum cairn_status status = j->ahead ? CAIRN_OK : join_send_dedupe(j);
	if (status == CAIRN_OK)
		status = join_count_all(j, diag);
	if (status == CAIRN_OK && j->ahead)
		join_queue_dedupe_and_count(j);
	return status;
}

static void join_set_results(struct join *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct join_shard *s = &j->shards[i];
		if (!s->plain && !s->known)
			continue;
		s->put->added = s->plain;
		s->put->registered = s->registered;
		if (s->plain)
			s->put->registered = (struct cairn_index_registered){j->tx->counts.collection, j->now_unix_s};
		s->put->write.status = CAIRN_OK;
		s->put->write.applied = true;
	}
	cairn_add(&j->tx->counts.shards, j->n_new);
	cairn_add(&j->tx->counts.files, j->n_new_files);
}

enum cairn_status cairn_pg_put_shards(struct cairn_pg_tx *tx, struct cairn_index_put_shard *const *puts, unsigned n,
				      bool ahead, struct cairn_diag *diag)
{
	CLEANUP(join_fini) struct join j = {.tx = tx, .now_unix_s = cairn_clock_unix_s()};
	enum cairn_status status = join_begin(&j, puts, n);
	if (status != CAIRN_OK || j.n == 0)
		return status;
	j.ahead = ahead && j.n == n;
	join_lay_out(&j);
	status = join_look_up(&j);
	if (status == CAIRN_OK)
		join_judge(&j);
	if (status == CAIRN_OK && j.n_new > 0)
		status = join_register(&j, diag);
	if (status == CAIRN_OK)
		join_set_results(&j);
	return status;
}
