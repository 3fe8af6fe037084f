#include "cas/cas.h"

#include "cas/internal.h"
#include "cas/room.h"
#include "data_dir/data_dir.h"
#include "hash/crypto.h"
#include "index/daemon/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cairn_cas_options CAIRN_CAS_DEFAULTS = {
	.shard_bytes_max = UINT64_C(64) << 20,
	.xorb_bytes_max = CAIRN_XORB_SERIALIZED_BYTES_MAX,
	.xorb_chunks_max = CAIRN_XORB_CHUNKS_MAX,
	.files_max = 500000,
	.terms_max = 1000000,
	.xorbs_max = 16384,
	.term_chunks_max = UINT64_C(1) << 25,
	.list_chunks_max = UINT64_C(1) << 28,
	.edit_chunks_max = UINT64_C(1) << 26,
	.spool_bytes_max = UINT64_C(8) << 30,
	.spool_share_percent = 25,
	.reserve_bytes = UINT64_C(256) << 20,
	.answer_bytes_max = UINT64_C(1) << 20,
	.cache_bytes_max = UINT64_C(64) << 20,
	.epoch_s = 7 * 24 * 3600,
	.gc_grace_s = 14 * 24 * 3600,
	.unregistered_bytes_max = UINT64_C(1) << 40,
	.upload_grace_s = 2 * 24 * 3600,
};

/* A sender without another upload in progress can always send the largest one. */
static uint64_t cas_share_bytes(const struct cairn_cas_options *o)
{
	uint64_t share = o->spool_bytes_max / 100 * o->spool_share_percent;
	uint64_t largest = o->xorb_bytes_max > o->shard_bytes_max ? o->xorb_bytes_max : o->shard_bytes_max;
	return share > largest ? share : largest;
}

struct cairn_cas_parts cairn_cas_parts_of(const struct cairn_data_dir *d)
{
	return (struct cairn_cas_parts){
		.index = cairn_data_dir_index(d),
		.store = cairn_data_dir_store(d),
		.data_dir = cairn_data_dir_path(d),
		.secret = cairn_data_dir_secret(d),
	};
}

enum cairn_status cairn_cas_options_check(const struct cairn_cas_options *options, struct cairn_diag *diag)
{
	if (options->gc_grace_s / 2 >= options->epoch_s)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_USAGE, "gc_grace", CAIRN_NO_OFFSET,
			  "gc_grace must be at least two epochs, or a xorb could be removed while an answer "
			  "still offers it");
}

static enum cairn_status cas_take_secret(struct cairn_cas *cas, const struct cairn_secret *secret)
{
	static const char FETCH[] = "cairn fetch key 2", PUBLIC[] = "cairn public id 1", CODE[] = "cairn code 1";
	if (!secret)
		return CAIRN_OK;
	cas->secret = *secret;
	enum cairn_status status = cairn_hkdf_sha256(cas->fetch_key, sizeof(cas->fetch_key), secret->bytes, secret->len,
						     FETCH, sizeof(FETCH));
	if (status != CAIRN_OK)
		return status;
	status = cairn_hkdf_sha256(cas->public_key, sizeof(cas->public_key), secret->bytes, secret->len, PUBLIC,
				   sizeof(PUBLIC));
	if (status != CAIRN_OK)
		return status;
	return cairn_hkdf_sha256(cas->code_key, sizeof(cas->code_key), secret->bytes, secret->len, CODE, sizeof(CODE));
}

enum cairn_status cairn_cas_open(struct cairn_cas **out, const struct cairn_cas_parts *parts,
				 const struct cairn_cas_options *options, struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(cairn_cas_freep) struct cairn_cas *cas = calloc(1, sizeof(*cas));
	if (!cas)
		return CAIRN_E_NOMEM;
	cairn_guards_init(&cas->guards);
	cairn_budget_init(&cas->budget, options->spool_bytes_max, cas_share_bytes(options));
	cairn_dedupe_keys_init(&cas->dedupe_keys, &cas->secret);
	cas->options = *options;
	cas->index = parts->index;
	cas->store = parts->store;
	cas->data_dir = strdup(parts->data_dir);
	if (asprintf(&cas->tmp_dir, "%s/tmp", parts->data_dir) < 0)
		cas->tmp_dir = NULL;
	cas->cache = cairn_answer_cache_new(options->cache_bytes_max, options->answer_bytes_max);
	cas->verified = calloc(CAS_VERIFIED_MAX, sizeof(*cas->verified));
	cas->verified_lists = cas_verified_lists_new(CAS_VERIFIED_LISTS_BYTES);
	cas->losses = cas_losses_new();
	if (!cas->data_dir || !cas->tmp_dir || !cas->cache || !cas->verified || !cas->verified_lists || !cas->losses)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_cas_options_check(options, diag);
	if (status == CAIRN_OK)
		status = cas_take_secret(cas, parts->secret);
	if (status != CAIRN_OK)
		return status;
	*out = cas;
	cas = NULL;
	return CAIRN_OK;
}

void cairn_cas_free(struct cairn_cas *cas)
{
	if (!cas)
		return;
	cairn_budget_fini(&cas->budget);
	cairn_answer_cache_free(cas->cache);
	cairn_guards_fini(&cas->guards);
	cairn_dedupe_keys_fini(&cas->dedupe_keys);
	free(cas->verified);
	cas_verified_lists_free(cas->verified_lists);
	cas_losses_free(cas->losses);
	free(cas->data_dir);
	free(cas->tmp_dir);
	explicit_bzero(&cas->secret, sizeof(cas->secret));
	free(cas);
}

void cairn_cas_freep(struct cairn_cas **cas)
{
	cairn_cas_free(*cas);
	*cas = NULL;
}

struct cairn_index *cairn_cas_index(struct cairn_cas *cas)
{
	return cas->index;
}

const struct cairn_cas_options *cairn_cas_options_of(const struct cairn_cas *cas)
{
	return &cas->options;
}

void cas_notify(struct cairn_cas *cas, enum cairn_cas_notice_kind kind, const struct cairn_hash *xorb,
		const struct cairn_diag *diag)
{
	struct cairn_cas_notice notice = {.kind = kind, .xorb = *xorb};
	if (diag) {
		notice.rule = diag->rule;
		notice.text = diag->text;
		notice.offset = diag->offset;
	}
	atomic_fetch_add(kind == CAIRN_CAS_OBJECT_DAMAGED    ? &cas->objects_damaged
			 : kind == CAIRN_CAS_XORB_LOST       ? &cas->xorbs_lost
			 : kind == CAIRN_CAS_CONTENT_DAMAGED ? &cas->contents_damaged
							     : &cas->xorbs_found,
			 1);
	if (cas->options.noticed)
		cas->options.noticed(cas->options.noticed_ctx, &notice);
}

void cairn_cas_report_content(struct cairn_cas *cas, const struct cairn_diag *diag)
{
	static const struct cairn_hash NONE = {{0}};
	cas_notify(cas, CAIRN_CAS_CONTENT_DAMAGED, &NONE, diag);
}

bool cairn_cas_is_remote(const struct cairn_cas *cas)
{
	return cairn_index_is_remote(cas->index) || cairn_store_is_remote(cas->store);
}

static enum cairn_status cas_store_ready(struct cairn_cas *cas, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_store_ready(cas->store, diag);
	return status == CAIRN_OK
		       ? status
		       : cairn_fail(diag, status, "store.not_ready", CAIRN_NO_OFFSET,
				    "the object store does not answer as it should: %s", cairn_status_name(status));
}

enum cairn_status cairn_cas_reload(struct cairn_cas *cas, struct cairn_diag *diag)
{
	return cairn_store_reload(cas->store, diag);
}

enum cairn_status cairn_cas_ready(struct cairn_cas *cas, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_cas_room(cas, 0, diag);
	if (status == CAIRN_OK)
		status = cas_store_ready(cas, diag);
	if (status == CAIRN_OK)
		status = cairn_index_upkeep(cas->index, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_writable(cas->index);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "index.not_writable", CAIRN_NO_OFFSET,
				  "the index cannot be written: %s", cairn_status_name(status));
	if (cairn_index_clock_is_off(cas->index, diag))
		return CAIRN_E_CONFLICT;
	return cairn_index_health(cas->index, diag);
}
