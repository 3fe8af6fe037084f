#include "hub/ingest.h"

#include "cas/budget.h"
#include "cas/keep/proof.h"
#include "cas/put/make_xorb.h"
#include "cas/put/put_shard.h"
#include "cas/serve/query_chunk.h"
#include "dedupe/cutter.h"
#include "dedupe/shards.h"
#include "hash/merkle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	INGEST_PLACES_MAX = 256 * 1024, /* chunks remembered: for 16 GiB of a file, in 20 MiB of memory */
	INGEST_ELIGIBLE_EVERY = 16,     /* about 1 MiB: how much of a known xorb is stored again before it is found */
	INGEST_LEARN_MAX = 64 * 1024,   /* chunks learned by one lookup */
	INGEST_TERMS_MAX = 500 * 1000,  /* terms of a file: 26 MiB, and 48 MiB of a shard */
	INGEST_FIXED_BYTES = 2 * 1024 * 1024, /* memory of the cutter and the xorb's writer */
	INGEST_FEW_BYTES = 128 * 1024,        /* memory of the first chunks remembered, and a shard of few terms */
	INGEST_OF_PLACE = 512,                /* a chunk has 64 KiB on average, and is remembered in up to 128 bytes */
};

struct cairn_hub_ingest {
	const struct cairn_hub *hub;
	char scope[CAIRN_CAS_OWNER_TEXT_MAX + 1], owner[CAIRN_CAS_OWNER_TEXT_MAX + 1];
	struct cairn_cas_who who; /* borrows scope and owner */
	struct cairn_hub_ingest_file file;
	struct cairn_cutter *cutter;
	size_t waiting;      /* bytes put but not yet processed */
	uint64_t bytes;      /* bytes put so far */
	uint64_t cut;        /* bytes of the chunks so far */
	uint64_t part_first; /* start of the current part; UINT64_MAX: the file has no parts */
	struct cairn_merkle part;
	struct cairn_placer placer;
	struct cairn_xorb_making *xorb; /* being filled; NULL: no xorb */
	struct cairn_use use;           /* of memory */
	struct cairn_use disk;          /* of the xorb being filled, then of the shard */
	uint64_t used_bytes;
};

/* --- callbacks of the placer -------------------------------------------------------------------------------------- */

struct ingest_learning {
	struct cairn_placer *placer;
	size_t n;
	enum cairn_status status;
};

static bool ingest_has_xorb(const struct cairn_placer *p, const struct cairn_hash *xorb,
			    const struct cairn_chunk_list *list)
{
	const struct cairn_hash_map_entry *at = cairn_placer_find(p, &list->hashes[0]);
	return at && cairn_hash_equal(&p->xorbs[at->xorb].hash, xorb);
}

/* Learns chunks of the answer. The first xorb has the queried chunk; chunks of the others are likely to follow. */
static bool ingest_learn(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list)
{
	struct ingest_learning *l = ctx;
	uint32_t ordinal = 0;
	if (l->n > 0 && ingest_has_xorb(l->placer, xorb, list))
		return true;
	l->status = cairn_placer_learn_xorb(l->placer, xorb, &ordinal);
	for (uint32_t i = 0; l->status == CAIRN_OK && i < list->n; i++)
		l->status = cairn_placer_learn_chunk(l->placer, NULL, ordinal, i, &list->hashes[i]);
	l->n += list->n;
	return l->status == CAIRN_OK && l->n < INGEST_LEARN_MAX;
}

static enum cairn_status ingest_query(void *ctx, struct cairn_placer *p, const struct cairn_hash *chunk,
				      struct cairn_diag *diag)
{
	const struct cairn_hub_ingest *in = ctx;
	struct ingest_learning learning = {.placer = p};
	(void)diag;
	enum cairn_status status = cairn_cas_each_offered(in->hub->cas, &in->who, chunk, ingest_learn, &learning);
	if (status == CAIRN_OK)
		status = learning.status;
	return status == CAIRN_E_LIMIT ? CAIRN_OK : status; /* chunks that are not learned are only stored again */
}

static enum cairn_status ingest_add(void *ctx, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				    struct cairn_diag *diag)
{
	struct cairn_hub_ingest *in = ctx;
	enum cairn_status status = CAIRN_OK;
	if (!in->xorb)
		status = cairn_xorb_making_begin(in->hub->cas, &in->who, &in->xorb);
	return status == CAIRN_OK ? cairn_xorb_making_add(in->xorb, chunk, raw, len, diag) : status;
}

static enum cairn_status ingest_close(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list,
				      struct cairn_diag *diag)
{
	struct cairn_hub_ingest *in = ctx;
	(void)list;
	enum cairn_status status = cairn_xorb_making_end(in->xorb, xorb, diag);
	cairn_xorb_making_free(in->xorb);
	in->xorb = NULL;
	return status;
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static enum cairn_status ingest_count(struct cairn_hub_ingest *in, struct cairn_diag *diag)
{
	uint64_t bytes = INGEST_FIXED_BYTES + cairn_placer_bytes(&in->placer);
	if (bytes <= in->used_bytes)
		return CAIRN_OK;
	enum cairn_status status = cairn_use_add(&in->use, bytes - in->used_bytes, diag);
	in->used_bytes = bytes;
	return status;
}

static uint64_t ingest_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Reserves the most that the file will need at one time. A sender's share may be smaller than a xorb: then the rest is
 * counted as it comes, because the content may be known, or shrink. */
static enum cairn_status ingest_reserve(struct cairn_hub_ingest *in, struct cairn_diag *diag)
{
	const struct cairn_hash *sender = &in->who.sender;
	uint64_t size = in->file.size_bytes, most = cairn_budget_share_max(in->hub->cas);
	uint64_t places = ingest_lesser(size, (uint64_t)INGEST_PLACES_MAX * 64 * 1024) / INGEST_OF_PLACE;
	uint64_t memory = ingest_lesser(INGEST_FIXED_BYTES + INGEST_FEW_BYTES + places, most);
	uint64_t disk = cairn_xorb_making_bytes_max(size) + INGEST_FEW_BYTES;
	enum cairn_status status = cairn_use_begin(&in->use, in->hub->cas, sender, memory, false, diag);
	if (status == CAIRN_OK)
		status = cairn_use_begin(&in->disk, in->hub->cas, sender, ingest_lesser(disk, most - memory), true,
					 diag);
	return status == CAIRN_OK ? ingest_count(in, diag) : status;
}

enum cairn_status cairn_hub_ingest_begin(const struct cairn_hub *hub, const struct cairn_cas_who *who,
					 const struct cairn_hub_ingest_file *file, struct cairn_hub_ingest **out,
					 struct cairn_diag *diag)
{
	static const struct cairn_placer_ops ops = {.query = ingest_query,
						    .query_all = true,
						    .eligible_every = INGEST_ELIGIBLE_EVERY,
						    .add = ingest_add,
						    .close = ingest_close};
	*out = NULL;
	struct cairn_hub_ingest *in = calloc(1, sizeof(*in));
	if (!in)
		return CAIRN_E_NOMEM;
	in->hub = hub;
	in->file = *file;
	(void)snprintf(in->scope, sizeof(in->scope), "%s", who->scope);
	(void)snprintf(in->owner, sizeof(in->owner), "%s", who->owner);
	in->who = (struct cairn_cas_who){.scope = in->scope,
					 .owner = in->owner,
					 .sender = who->sender,
					 .is_daemon = true,
					 .finds_withdrawn = who->finds_withdrawn,
					 .stays_withdrawn = who->stays_withdrawn,
					 .room = &in->disk};
	in->part_first = UINT64_MAX;
	cairn_placer_init(&in->placer, &ops, in);
	cairn_placer_file_begin(&in->placer);
	in->cutter = cairn_cutter_new();
	enum cairn_status status = in->cutter ? CAIRN_OK : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = ingest_reserve(in, diag);
	if (status != CAIRN_OK) {
		cairn_hub_ingest_free(in);
		return status;
	}
	*out = in;
	return CAIRN_OK;
}

void cairn_hub_ingest_free(struct cairn_hub_ingest *in)
{
	if (!in)
		return;
	cairn_xorb_making_free(in->xorb);
	cairn_placer_fini(&in->placer);
	cairn_cutter_free(in->cutter);
	cairn_use_end(&in->use);
	cairn_use_end(&in->disk);
	free(in);
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

/* Registers and verifies a shard, like a client's. */
static enum cairn_status ingest_shard(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct cairn_hub_ingest *in = ctx;
	struct cairn_shard_upload *u;
	enum cairn_status status = cairn_shard_upload_begin(in->hub->cas, &in->who, len, false, &u, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_shard_upload_write(u, bytes, len, diag);
	if (status == CAIRN_OK)
		status = cairn_shard_upload_verify(u, NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = cairn_shard_upload_commit(u, NULL, NULL);
	if (status == CAIRN_E_DENIED)
		*diag = *cairn_shard_upload_diag(u);
	cairn_shard_upload_free(u);
	/* A xorb was lost meanwhile. On a retry it no longer counts as stored. */
	return status == CAIRN_E_NOT_FOUND || status == CAIRN_E_CONFLICT ? CAIRN_E_BUSY : status;
}

static enum cairn_status ingest_register_shards(struct cairn_hub_ingest *in, struct cairn_diag *diag)
{
	return cairn_shards_write(&in->placer, CAIRN_SHARDS_BYTES_MAX, ingest_shard, in, diag);
}

/* --- processing --------------------------------------------------------------------------------------------------- */

uint8_t *cairn_hub_ingest_room(struct cairn_hub_ingest *in, size_t *len)
{
	uint8_t *at = cairn_cutter_room(in->cutter, len);
	*len -= in->waiting;
	return at + in->waiting;
}

void cairn_hub_ingest_put(struct cairn_hub_ingest *in, size_t n)
{
	in->waiting += n;
	in->bytes += n;
}

static enum cairn_status ingest_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				      struct cairn_diag *diag)
{
	struct cairn_hub_ingest *in = ctx;
	enum cairn_status status = cairn_placer_chunk(&in->placer, hash, raw, len, diag);
	if (in->cut >= in->part_first)
		cairn_merkle_add(&in->part, hash, len);
	else if (in->cut + len > in->part_first)
		in->part_first = UINT64_MAX; /* no chunk begins there */
	in->cut += len;
	if (status == CAIRN_OK && in->cut == in->part_first)
		status = cairn_placer_part_end(&in->placer, NULL);
	return status;
}

/* Registers the stored chunks in a shard now and then, and drops them, so that memory does not grow with the file. */
static enum cairn_status ingest_forget(struct cairn_hub_ingest *in, struct cairn_diag *diag)
{
	if (in->placer.places.n < INGEST_PLACES_MAX)
		return CAIRN_OK;
	enum cairn_status status = cairn_placer_end(&in->placer, diag);
	if (status == CAIRN_OK)
		status = ingest_register_shards(in, diag);
	if (status == CAIRN_OK)
		cairn_placer_forget(&in->placer);
	return status;
}

static enum cairn_status ingest_check_size(const struct cairn_hub_ingest *in, bool ended, struct cairn_diag *diag)
{
	if (in->bytes == in->file.size_bytes || (!ended && in->bytes < in->file.size_bytes))
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_MISMATCH, "ingest.size", CAIRN_NO_OFFSET,
			 "the object was announced with %" PRIu64 " bytes, but %" PRIu64 " arrived; push it again",
			 in->file.size_bytes, in->bytes);
	cairn_diag_numbers(diag, in->file.size_bytes, in->bytes);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status ingest_take(struct cairn_hub_ingest *in, bool ended, struct cairn_diag *diag)
{
	size_t n = in->waiting;
	enum cairn_status status = ingest_check_size(in, ended, diag);
	in->waiting = 0;
	if (status == CAIRN_OK)
		status = cairn_cutter_take(in->cutter, n, ended, ingest_chunk, in, diag);
	if (status == CAIRN_OK && in->placer.n_terms > INGEST_TERMS_MAX)
		status = cairn_fail(diag, CAIRN_E_LIMIT, "ingest.terms", CAIRN_NO_OFFSET,
				    "new and known parts of the object alternate more than %d times; split it",
				    INGEST_TERMS_MAX);
	return status;
}

enum cairn_status cairn_hub_ingest_work(struct cairn_hub_ingest *in, struct cairn_diag *diag)
{
	enum cairn_status status = ingest_take(in, false, diag);
	if (status == CAIRN_OK)
		status = ingest_forget(in, diag);
	return status == CAIRN_OK ? ingest_count(in, diag) : status;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

void cairn_hub_ingest_in_parts(struct cairn_hub_ingest *in, uint64_t from)
{
	in->part_first = from;
	cairn_merkle_init(&in->part);
}

enum cairn_status cairn_hub_ingest_part(struct cairn_hub_ingest *in, struct cairn_hub_ingest_part *out,
					struct cairn_diag *diag)
{
	struct cairn_hash root;
	*out = (struct cairn_hub_ingest_part){.first = in->part_first, .end = in->part_first};
	if (in->cut <= in->part_first)
		return CAIRN_OK;
	out->end = in->cut;
	cairn_merkle_root(&in->part, &root);
	cairn_hash_file(&out->file, &root);
	/* store the xorbs before the shard that names them */
	enum cairn_status status = cairn_placer_end(&in->placer, diag);
	if (status == CAIRN_OK)
		status = cairn_placer_part_end(&in->placer, &out->file);
	if (status == CAIRN_OK)
		status = ingest_register_shards(in, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_placer_described(&in->placer);
	cairn_hub_ingest_in_parts(in, in->cut);
	return CAIRN_OK;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static enum cairn_status ingest_check_sha256(const struct cairn_hub_ingest *in,
					     const uint8_t found[static CAIRN_SHA256_BYTES], struct cairn_diag *diag)
{
	char said_text[2 * CAIRN_SHA256_BYTES + 1], found_text[sizeof(said_text)];
	if (memcmp(in->file.sha256, found, CAIRN_SHA256_BYTES) == 0)
		return CAIRN_OK;
	cairn_hex_text(said_text, in->file.sha256, CAIRN_SHA256_BYTES);
	cairn_hex_text(found_text, found, CAIRN_SHA256_BYTES);
	(void)cairn_fail(diag, CAIRN_E_MISMATCH, "ingest.sha256", CAIRN_NO_OFFSET,
			 "the object was announced with the SHA-256 %s, but has %s; push it again", said_text,
			 found_text);
	cairn_diag_values(diag, said_text, found_text);
	return CAIRN_E_MISMATCH;
}

enum cairn_status cairn_hub_ingest_end(struct cairn_hub_ingest *in, struct cairn_diag *diag)
{
	struct cairn_cutter_file found;
	enum cairn_status status = ingest_take(in, true, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_cutter_end(in->cutter, &found);
	status = ingest_check_sha256(in, found.sha256, diag);
	/* store the xorbs before the shard that names them */
	if (status == CAIRN_OK)
		status = cairn_placer_end(&in->placer, diag);
	if (status == CAIRN_OK)
		status = cairn_placer_file_end(&in->placer, &found.hash, found.sha256);
	if (status == CAIRN_OK)
		status = ingest_register_shards(in, diag);
	return status == CAIRN_OK ? cairn_cas_prove_file(in->hub->cas, in->owner, &found.hash, found.sha256) : status;
}
