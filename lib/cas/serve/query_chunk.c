/* Answers a chunk query with the xorb that holds the chunk and its neighbours, as a shard with keyed chunk hashes. */
#include "cas/serve/query_chunk.h"
#include "base/clock.h"
#include "cas/internal.h"
#include "cas/object/mend.h"
#include "shard/writer.h"

#include <stdlib.h>

enum { QUERY_SAME_S = 3600 }; /* answers to equal queries stay equal byte for byte for this long */

struct answer_builder {
	struct cairn_cas *cas;
	const char *scope;
	uint64_t epoch;           /* epoch of the key */
	int64_t made_unix_s;      /* the creation time in the answer */
	enum cairn_status status; /* the outcome of deriving the key */
	struct cairn_shard_writer writer;
	struct cairn_buf xorbs; /* an array of struct cairn_answer_xorb */
	struct cairn_hash key;
	uint64_t bytes_max;
	unsigned n_xorbs;
};

static void answer_add_xorb(struct answer_builder *b, const struct cairn_index_dedupe_xorb *x)
{
	cairn_shard_write_xorb(&b->writer, &x->xorb.hash, (uint32_t)x->xorb.stored_bytes);
	const struct cairn_answer_xorb offered = {x->xorb.hash, x->xorb.stored_bytes};
	cairn_buf_add(&b->xorbs, &offered, sizeof(offered));
	uint32_t next = 0;
	for (uint32_t i = 0; i < x->list->n; i++) {
		bool eligible = next < x->n_eligible && x->eligible[next] == i;
		next += eligible;
		struct cairn_hash keyed;
		cairn_hash_keyed(&keyed, &b->key, &x->list->hashes[i]);
		cairn_shard_write_chunk(&b->writer, &keyed, x->list->spans[i].unpacked_bytes,
					eligible ? CAIRN_SHARD_CHUNK_ELIGIBLE : 0);
	}
	b->n_xorbs++;
}

static bool answer_may_offer(struct cairn_cas *cas, const struct cairn_hash *xorb, uint64_t stored_bytes)
{
	bool there;
	return cas->options.xorbs_external || (stored_bytes > 0 && cas_names_copies(cas)) ||
	       (stored_bytes > 0 && cas_object_there(cas, xorb, stored_bytes, &there) == CAIRN_OK && there);
}

/* Adds a xorb to the answer: the first one always, the others while there is room. A xorb whose bytes are lost is not
 * offered, because clients would not send it and their shards would be refused. Without the first, which has the chunk,
 * there is no answer. A neighbour of a single chunk is not offered either: its name is the unkeyed hash of that chunk,
 * which counts as proof of having the chunk. */
static bool answer_visit(void *ctx, const struct cairn_index_dedupe_xorb *x)
{
	struct answer_builder *b = ctx;
	uint64_t more = (UINT64_C(1) + x->list->n) * CAIRN_SHARD_RECORD_BYTES;
	if (!answer_may_offer(b->cas, &x->xorb.hash, x->xorb.stored_bytes))
		return b->n_xorbs > 0;
	if (b->n_xorbs > 0 && x->list->n == 1)
		return true;
	/* Derive the key only now: most queries are misses, and deriving costs more than a miss. */
	if (b->n_xorbs == 0)
		b->status = cairn_dedupe_key(&b->cas->dedupe_keys, b->scope, b->epoch, &b->key);
	if (b->status != CAIRN_OK)
		return false;
	if (b->n_xorbs > 0 && b->writer.buf.len + more + CAIRN_SHARD_FOOTER_BYTES > b->bytes_max)
		return false;
	answer_add_xorb(b, x);
	return b->writer.buf.status == CAIRN_OK;
}

static size_t answer_bytes_limit(const struct cairn_cas *cas)
{
	size_t whole_xorb = (CAIRN_XORB_CHUNKS_MAX + 8) * CAIRN_SHARD_RECORD_BYTES + CAIRN_SHARD_FOOTER_BYTES;
	return cas->options.answer_bytes_max > whole_xorb ? cas->options.answer_bytes_max : whole_xorb;
}

static struct cairn_answer *answer_finish(struct answer_builder *b)
{
	uint32_t epoch_s = b->cas->options.epoch_s;
	int64_t epoch_ends_unix_s = (int64_t)(b->epoch + 1) * epoch_s, expires = epoch_ends_unix_s + epoch_s;
	if (cairn_shard_writer_end_keyed(&b->writer, &b->key, (uint64_t)b->made_unix_s, (uint64_t)expires) !=
		    CAIRN_OK ||
	    b->xorbs.status != CAIRN_OK)
		return NULL;
	struct cairn_buf taken = b->writer.buf;
	b->writer.buf = cairn_buf_init(0);
	struct cairn_answer *answer = cairn_answer_new(taken.bytes, taken.len);
	if (!answer)
		return NULL;
	answer->xorbs = (const struct cairn_answer_xorb *)(const void *)b->xorbs.bytes;
	b->xorbs = cairn_buf_init(0);
	answer->n_xorbs = b->n_xorbs;
	answer->expires_unix_s = expires;
	answer->epoch_ends_unix_s = epoch_ends_unix_s;
	struct cairn_hash digest;
	cairn_hash_body(&digest, answer->bytes, answer->len);
	answer->etag[0] = '"';
	cairn_hex_text(answer->etag + 1, digest.b, 16);
	answer->etag[33] = '"';
	return answer;
}

static enum cairn_status answer_build(struct cairn_cas *cas, const char *scope, const struct cairn_hash *chunk,
				      int64_t made_unix_s, struct cairn_answer **out)
{
	struct answer_builder b = {.cas = cas,
				   .scope = scope,
				   .epoch = (uint64_t)made_unix_s / cas->options.epoch_s,
				   .made_unix_s = made_unix_s,
				   .bytes_max = cas->options.answer_bytes_max};
	cairn_shard_writer_init(&b.writer, answer_bytes_limit(cas));
	b.xorbs = cairn_buf_init(answer_bytes_limit(cas)); /* each entry takes less than its xorb does in the shard */
	enum cairn_status status = cairn_index_dedupe(cas->index, scope, chunk, false, answer_visit, &b);
	if (status == CAIRN_OK)
		status = b.status;
	if (status == CAIRN_OK && b.n_xorbs == 0)
		status = CAIRN_E_NOT_FOUND;
	if (status == CAIRN_OK) {
		*out = answer_finish(&b);
		status = *out ? CAIRN_OK : CAIRN_E_NOMEM;
	}
	cairn_shard_writer_fini(&b.writer);
	cairn_buf_fini(&b.xorbs);
	return status;
}

struct offered {
	struct cairn_cas *cas;
	bool (*visit)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list);
	void *ctx;
};

static bool offered_visit(void *ctx, const struct cairn_index_dedupe_xorb *x)
{
	struct offered *o = ctx;
	return answer_may_offer(o->cas, &x->xorb.hash, x->xorb.stored_bytes) &&
	       o->visit(o->ctx, &x->xorb.hash, x->list);
}

enum cairn_status cairn_cas_each_offered(
	struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list), void *ctx)
{
	struct offered o = {.cas = cas, .visit = visit, .ctx = ctx};
	if (!cairn_index_may_dedupe(cas->index, who->scope, chunk))
		return CAIRN_OK;
	enum cairn_status status =
		cairn_index_dedupe(cas->index, who->scope, chunk, who->finds_withdrawn, offered_visit, &o);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Do all objects that a cached answer offers still exist? An offer of a missing object keeps clients from sending it.
 * Checking each object costs less than sending the answer. */
static bool answer_is_good(struct cairn_cas *cas, const struct cairn_answer *answer)
{
	if (cas->options.xorbs_external)
		return true;
	for (const struct cairn_answer_xorb *x = answer->xorbs; x < answer->xorbs + answer->n_xorbs; x++)
		if (!answer_may_offer(cas, &x->hash, x->stored_bytes))
			return false;
	return true;
}

/* Clears the cache if other daemons withdrew xorbs that answers may offer. */
static void query_hear(struct cairn_cas *cas)
{
	uint64_t withdrawn = cairn_index_withdrawn(cas->index);
	/* Write only on a change: all threads read it. */
	if (atomic_load(&cas->withdrawn) != withdrawn && atomic_exchange(&cas->withdrawn, withdrawn) != withdrawn)
		cairn_answer_cache_clear(cas->cache);
}

/* Returns the time at which an answer counts as made: the beginning of the hour, or of an epoch that began in it. Equal
 * queries then get equal bytes within an hour, and the time does not reveal whether others asked before. Clients with a
 * full cache drop the oldest answers first, so they would drop at once an answer made at the beginning of a long
 * epoch. */
static int64_t query_made_unix_s(const struct cairn_cas *cas)
{
	int64_t now_unix_s = cairn_clock_unix_s();
	int64_t hour = now_unix_s - now_unix_s % QUERY_SAME_S, epoch = now_unix_s - now_unix_s % cas->options.epoch_s;
	return hour > epoch ? hour : epoch;
}

const struct cairn_answer *cairn_cas_query_kept(struct cairn_cas *cas, const struct cairn_cas_who *who,
						const struct cairn_hash *chunk)
{
	query_hear(cas);
	const struct cairn_answer *answer =
		cairn_answer_cache_get(cas->cache, who->scope, chunk, query_made_unix_s(cas));
	if (answer && answer_is_good(cas, answer))
		return answer;
	cairn_answer_unref(answer);
	return NULL;
}

bool cairn_cas_screen(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
		      struct cairn_index_screen *screen)
{
	screen->scope = who->scope;
	screen->chunk = *chunk;
	return cairn_index_screen(cas->index, screen);
}

void cairn_cas_finish_screens(struct cairn_cas *cas)
{
	cairn_index_finish_screens(cas->index);
}

enum cairn_status cairn_cas_query(struct cairn_cas *cas, const struct cairn_cas_who *who,
				  const struct cairn_hash *chunk, const struct cairn_answer **out)
{
	*out = NULL;
	if (!cairn_index_may_dedupe(cas->index, who->scope, chunk))
		return CAIRN_E_NOT_FOUND;
	*out = cairn_cas_query_kept(cas, who, chunk);
	if (*out)
		return CAIRN_OK;
	int64_t made_unix_s = query_made_unix_s(cas);
	uint64_t generation = cairn_answer_cache_generation(cas->cache);
	struct cairn_answer *built = NULL;
	enum cairn_status status = answer_build(cas, who->scope, chunk, made_unix_s, &built);
	if (status != CAIRN_OK)
		return status;
	cairn_answer_cache_put(cas->cache, generation, who->scope, chunk, made_unix_s, built);
	*out = built;
	return CAIRN_OK;
}
