#include "support/cas_fixture.h"
#include "cas/put/put_shard.h"
#include "cas/put/put_xorb.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>

const struct cairn_cas_who CAS_OPERATOR = {.scope = "", .owner = "", .viewer = NULL};

enum cairn_status cas_open_folder(const char *path, const struct cairn_cas_options *options,
				  struct cairn_data_dir **data, struct cairn_cas **cas, struct cairn_diag *diag)
{
	const struct cairn_data_dir_options folder = {.path = path, .keep_bytes = options->reserve_bytes};
	enum cairn_status status = cairn_data_dir_open(data, &folder, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_cas_parts parts = cairn_cas_parts_of(*data);
	status = cairn_cas_open(cas, &parts, options, diag);
	if (status != CAIRN_OK)
		cairn_data_dir_freep(data);
	return status;
}

void cas_fixture_close(struct cas_fixture *f)
{
	cairn_cas_freep(&f->cas);
	cairn_data_dir_freep(&f->data);
}

void cas_fixture_reopen(struct cas_fixture *f, void (*change)(struct cairn_cas_options *options))
{
	struct cairn_cas_options options = CAIRN_CAS_DEFAULTS;
	struct cairn_diag diag = {0};
	cas_fixture_close(f);
	options.reserve_bytes = 0;
	if (change)
		change(&options);
	ck_assert_msg(cas_open_folder(f->dir.path, &options, &f->data, &f->cas, &diag) == CAIRN_OK, "%s", diag.text);
}

struct cas_fixture cas_fixture_new(void)
{
	struct cas_fixture f = {.dir = tempdir_new()};
	cas_fixture_reopen(&f, NULL);
	return f;
}

void cas_fixture_fini(struct cas_fixture *f)
{
	cas_fixture_close(f);
	tempdir_fini(&f->dir);
}

/* The outcome of a commit, once it is known. */
struct outcome {
	pthread_mutex_t lock;
	pthread_cond_t told;
	bool is_told, changed;
	enum cairn_status status;
};

static void outcome_done(void *ctx, enum cairn_status status, bool changed, const struct cairn_diag *diag)
{
	struct outcome *o = ctx;
	(void)diag;
	pthread_mutex_lock(&o->lock);
	o->is_told = true;
	o->status = status;
	o->changed = changed;
	pthread_cond_signal(&o->told);
	pthread_mutex_unlock(&o->lock);
}

static enum cairn_status outcome_wait(struct outcome *o, bool *changed)
{
	pthread_mutex_lock(&o->lock);
	while (!o->is_told)
		pthread_cond_wait(&o->told, &o->lock);
	pthread_mutex_unlock(&o->lock);
	*changed = o->changed;
	return o->status;
}

#define OUTCOME_NEW                                                                                                    \
	{                                                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER                                    \
	}

char *cas_object_path(const struct cas_fixture *f, const struct cairn_hash *xorb)
{
	char text[CAIRN_HASH_TEXT_BYTES], name[128];
	cairn_hash_text(text, xorb);
	(void)snprintf(name, sizeof(name), "objects/%.2s/%.2s/%s", text, text + 2, text);
	return tempdir_path(&f->dir, name);
}

void cas_flip_bit(const struct cas_fixture *f, const struct cairn_hash *xorb, off_t at)
{
	CLEANUP(tempdir_textp) char *path = cas_object_path(f, xorb);
	tempdir_flip_bit(path, at);
}

enum cairn_status cas_verify_and_store(struct cairn_xorb_upload *u, struct cairn_diag *diag)
{
	uint64_t bytes;
	enum cairn_status status = cairn_xorb_upload_verify(u, &bytes, diag);
	return status == CAIRN_OK ? cairn_xorb_upload_store(u, diag) : status;
}

enum cairn_status cas_put_xorb(struct cairn_cas *cas, const char *hash, const struct vec_bytes *body, bool *inserted,
			       struct cairn_diag *diag)
{
	struct cairn_hash h = vec_hash_text(hash);
	struct cairn_xorb_upload *u = NULL;
	struct outcome o = OUTCOME_NEW;
	enum cairn_status status = cairn_xorb_upload_begin(cas, &CAS_OPERATOR, &h, body->len, &u, diag);
	for (size_t at = 0; status == CAIRN_OK && at < body->len; at += 60000)
		status = cairn_xorb_upload_write(u, body->bytes + at, body->len - at < 60000 ? body->len - at : 60000,
						 diag);
	if (status == CAIRN_OK)
		status = cas_verify_and_store(u, diag);
	if (status == CAIRN_OK)
		status = cairn_xorb_upload_commit(u, outcome_done, &o);
	if (status == CAIRN_OK)
		status = outcome_wait(&o, inserted);
	cairn_xorb_upload_free(u);
	return status;
}

enum cairn_status cas_put_shard(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct vec_bytes *body,
				bool *added, struct cairn_diag *diag)
{
	struct cairn_shard_upload *u = NULL;
	struct outcome o = OUTCOME_NEW;
	enum cairn_status status = cairn_shard_upload_begin(cas, who, body->len, false, &u, diag);
	if (status == CAIRN_OK)
		status = cairn_shard_upload_write(u, body->bytes, body->len, diag);
	if (status == CAIRN_OK)
		status = cairn_shard_upload_verify(u, NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = cairn_shard_upload_commit(u, outcome_done, &o);
	if (status == CAIRN_OK)
		status = outcome_wait(&o, added);
	cairn_shard_upload_free(u);
	return status;
}

enum cairn_status cas_put_captured(struct cairn_cas *cas, const struct cairn_cas_who *who, const char *name,
				   bool *added, struct cairn_diag *diag)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("%s", name);
	return cas_put_shard(cas, who, &body, added, diag);
}

void cas_put_medium(struct cairn_cas *cas, const struct cairn_cas_who *who)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes xorb = vec_read("xorbs/" CAS_FIXTURE_XORB);
	bool changed;
	ck_assert_int_eq(cas_put_xorb(cas, CAS_FIXTURE_XORB, &xorb, &changed, NULL), CAIRN_OK);
	ck_assert_int_eq(cas_put_captured(cas, who, "shards/medium.shard", &changed, NULL), CAIRN_OK);
	ck_assert(changed);
}
