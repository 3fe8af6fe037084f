#include "support/gc_fixture.h"
#include "cas/internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "cas/serve/plan.h"
#include "hash/merkle.h"
#include "support/xorbs.h"
#include "xorb/writer.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void gc_fixture_times(struct cairn_cas_options *options)
{
	options->epoch_s = GC_EPOCH_S;
	options->gc_grace_s = GC_GRACE_S;
}

void gc_fixture_init(struct gc_fixture *g)
{
	*g = (struct gc_fixture){.clock_lock = PTHREAD_MUTEX_INITIALIZER, .clock_dir = tempdir_new()};
	tempdir_write(&g->clock_dir, "clock", (uint8_t[8]){0}, 8);
	g->clock_path = tempdir_path(&g->clock_dir, "clock");
	ck_assert_int_eq(cairn_clock_use_file(g->clock_path), CAIRN_OK);
	g->f.dir = tempdir_new();
	cas_fixture_reopen(&g->f, gc_fixture_times);
}

void gc_fixture_fini(struct gc_fixture *g)
{
	cas_fixture_fini(&g->f);
	tempdir_textp(&g->clock_path);
	tempdir_fini(&g->clock_dir);
}

void gc_pass(struct gc_fixture *g, int64_t seconds)
{
	uint8_t bytes[8];
	pthread_mutex_lock(&g->clock_lock);
	g->shift_s += seconds;
	cairn_put_u64le(bytes, (uint64_t)g->shift_s);
	/* Writes the clock in place, because the file is mapped. */
	int fd = open(g->clock_path, O_WRONLY | O_CLOEXEC);
	ck_assert(fd >= 0 && pwrite(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) && close(fd) == 0);
	pthread_mutex_unlock(&g->clock_lock);
}

struct cairn_gc_report gc_collect(struct gc_fixture *g)
{
	struct cairn_gc_report report;
	ck_assert_int_eq(cairn_cas_gc(g->f.cas, NULL, NULL, &report), CAIRN_OK);
	return report;
}

struct cairn_gc_report gc_collect_all(struct gc_fixture *g)
{
	gc_pass(g, GC_GRACE_S + 1);
	struct cairn_gc_report first = gc_collect(g);
	gc_pass(g, GC_GRACE_S + 1);
	struct cairn_gc_report second = gc_collect(g);
	return (struct cairn_gc_report){
		.n_retired = first.n_retired + second.n_retired,
		.n_swept = first.n_swept + second.n_swept,
		.bytes_freed = first.bytes_freed + second.bytes_freed,
	};
}

void gc_xorb_init(struct gc_xorb *x, uint64_t seed, uint32_t n_chunks)
{
	CLEANUP(cairn_xorb_writer_freep) struct cairn_xorb_writer *w = cairn_xorb_writer_new();
	*x = (struct gc_xorb){0};
	ck_assert_ptr_nonnull(w);
	for (uint32_t i = 0; i < n_chunks; i++) {
		uint8_t raw[GC_CHUNK_BYTES];
		struct cairn_hash hash;
		for (size_t k = 0; k < sizeof(raw); k++)
			raw[k] = (uint8_t)vec_splitmix64(&seed);
		cairn_hash_chunk(&hash, raw, sizeof(raw));
		ck_assert_int_eq(cairn_xorb_writer_add(w, raw, sizeof(raw), &hash), CAIRN_OK);
	}
	size_t len;
	const uint8_t *bytes = cairn_xorb_writer_bytes(w, &len);
	x->body = vec_copy(bytes, len);
	const struct cairn_chunk_list *list = cairn_xorb_writer_list(w);
	for (uint32_t i = 0; i < list->n; i++)
		ck_assert_int_eq(cairn_chunk_list_add(&x->made.list, &list->hashes[i], list->spans[i]), CAIRN_OK);
	cairn_chunk_list_root(list, &x->made.hash);
	cairn_hash_text(x->text, &x->made.hash);
}

void gc_xorb_fini(struct gc_xorb *x)
{
	made_xorb_fini(&x->made);
	vec_bytes_fini(&x->body);
}

enum cairn_status gc_put_xorb(struct cairn_cas *cas, const struct gc_xorb *x, bool *inserted)
{
	return cas_put_xorb(cas, x->text, &x->body, inserted, NULL);
}

void gc_describe(struct cairn_shard_writer *w, const struct made_xorb *x)
{
	cairn_shard_write_xorb(w, &x->hash, 0);
	for (uint32_t i = 0; i < x->list.n; i++)
		cairn_shard_write_chunk(w, &x->list.hashes[i], x->list.spans[i].unpacked_bytes,
					i == 0 ? CAIRN_SHARD_CHUNK_ELIGIBLE : 0);
}

void gc_file_init(struct gc_file *file, const struct made_term *terms, uint32_t n)
{
	struct cairn_shard_writer w;
	*file = (struct gc_file){.n_terms = n, .hash = made_file_hash(terms, n)};
	ck_assert_uint_le(n, GC_TERMS_MAX);
	memcpy(file->terms, terms, n * sizeof(*terms));
	cairn_shard_writer_init(&w, 1 << 20);
	made_write_file(&w, terms, n, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	for (uint32_t i = 0; i < n; i++) {
		bool again = false;
		for (uint32_t k = 0; k < i; k++)
			again = again || terms[k].xorb == terms[i].xorb;
		if (!again)
			gc_describe(&w, terms[i].xorb);
	}
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	file->shard = vec_copy(w.buf.bytes, w.buf.len);
	cairn_shard_writer_fini(&w);
}

void gc_file_fini(struct gc_file *file)
{
	vec_bytes_fini(&file->shard);
}

void gc_put_whole(struct cairn_cas *cas, const struct gc_xorb *x, struct gc_file *file)
{
	bool changed;
	struct made_term all = {.xorb = &x->made, .start = 0, .end = x->made.list.n};
	gc_file_init(file, &all, 1);
	ck_assert_int_eq(gc_put_xorb(cas, x, &changed), CAIRN_OK);
	ck_assert_int_eq(cas_put_shard(cas, &CAS_OPERATOR, &file->shard, &changed, NULL), CAIRN_OK);
	ck_assert(changed);
}

/* Unpacks and hashes every chunk of an object. */
static struct xorb_verdict gc_read_object(struct cairn_cas *cas, const struct cairn_hash *hash)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	ck_assert_int_eq(cairn_store_get(cas->store, hash, &object), CAIRN_OK);
	size_t len = (size_t)cairn_store_object_bytes(object);
	CLEANUP(vec_bytes_fini) struct vec_bytes bytes = {.bytes = malloc(len), .len = len};
	ck_assert_ptr_nonnull(bytes.bytes);
	ck_assert_int_eq(cairn_store_object_read(object, 0, bytes.bytes, len), CAIRN_OK);
	struct xorb_verdict verdict = xorb_verify(bytes.bytes, len, len, NULL, hash);
	ck_assert_int_eq(verdict.status, CAIRN_OK);
	return verdict;
}

static void gc_check_range(const struct cairn_plan_range *range, const struct cairn_chunk_list *list)
{
	ck_assert_uint_le(range->end, list->n);
	ck_assert_uint_eq(range->first_byte, range->start ? list->spans[range->start - 1].end : 0);
	ck_assert_uint_eq(range->end_byte, list->spans[range->end - 1].end);
}

enum cairn_status gc_read_back(struct cairn_cas *cas, const struct cairn_hash *file)
{
	static const struct cairn_byte_range ALL = {.kind = CAIRN_RANGE_ALL};
	CLEANUP(cairn_plan_fini) struct cairn_plan plan = {0};
	enum cairn_status status = cairn_cas_plan(cas, NULL, file, &ALL, &plan);
	if (status != CAIRN_OK)
		return status;
	struct cairn_merkle merkle;
	struct cairn_hash root, hash;
	cairn_merkle_init(&merkle);
	for (uint32_t t = 0; t < plan.n_terms; t++) {
		const struct cairn_plan_xorb *x = &plan.xorbs[plan.terms[t].xorb];
		CLEANUP(xorb_verdict_fini) struct xorb_verdict read = gc_read_object(cas, &x->hash);
		for (uint32_t r = 0; r < x->n_ranges; r++)
			gc_check_range(&plan.ranges[x->first_range + r], &read.list);
		for (uint32_t i = plan.terms[t].start; i < plan.terms[t].end; i++)
			cairn_merkle_add(&merkle, &read.list.hashes[i], read.list.spans[i].unpacked_bytes);
	}
	cairn_merkle_root(&merkle, &root);
	cairn_hash_file(&hash, &root);
	ck_assert(cairn_hash_equal(&hash, file));
	return CAIRN_OK;
}

static void gc_tell(void *ctx, const struct cairn_check_problem *problem)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	(void)ctx;
	cairn_hash_text(text, &problem->hash);
	(void)fprintf(stderr, "%s %s: %s\n", cairn_check_kind_name(problem->kind), text, problem->text);
}

uint64_t gc_problems(struct cairn_cas *cas)
{
	struct cairn_check_report report;
	struct cairn_check_options options = {.problem = gc_tell};
	ck_assert_int_eq(cairn_cas_check(cas, &options, &report), CAIRN_OK);
	return report.n_problems;
}

void gc_stock_init(struct gc_stock *s)
{
	gc_fixture_init(&s->g);
	gc_xorb_init(&s->x, 1, 4);
	gc_xorb_init(&s->other, 2, 5);
	gc_put_whole(s->g.f.cas, &s->x, &s->file);
	gc_put_whole(s->g.f.cas, &s->other, &s->other_file);
}

void gc_stock_fini(struct gc_stock *s)
{
	gc_file_fini(&s->file);
	gc_file_fini(&s->other_file);
	gc_xorb_fini(&s->x);
	gc_xorb_fini(&s->other);
	gc_fixture_fini(&s->g);
}
