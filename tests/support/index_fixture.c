#include "support/index_fixture.h"

#include "base/bytes.h"
#include "index/sqlite_util.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct cairn_hash fx_hash(const char *kind, uint64_t number)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%s %llu", kind, (unsigned long long)number);
	struct cairn_hash hash;
	cairn_hash_body(&hash, text, (size_t)len);
	return hash;
}

struct cairn_index *fx_open(const char *dir)
{
	struct cairn_index *ix;
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_index_open(&ix, dir, NULL, &diag);
	ck_assert_msg(status == CAIRN_OK, "%s", diag.text);
	return ix;
}

struct fx_xorb fx_xorb_new(uint64_t number, uint32_t n)
{
	struct fx_xorb x = {0};
	uint32_t end = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_hash chunk = fx_hash("chunk", number * 10000 + i);
		end += 500 + i % 7;
		ck_assert_int_eq(cairn_chunk_list_add(&x.list, &chunk, (struct cairn_span){1000 + i, end}), CAIRN_OK);
	}
	cairn_chunk_list_root(&x.list, &x.hash);
	return x;
}

void fx_xorb_fini(struct fx_xorb *x)
{
	cairn_chunk_list_fini(&x->list);
}

enum cairn_status fx_spans_are(void *ctx, const struct cairn_index_spans *places)
{
	const struct fx_xorb *x = ctx;
	ck_assert(cairn_hash_equal(&places->xorb, &x->hash));
	ck_assert_uint_eq(places->n_chunks, x->list.n);
	ck_assert_uint_eq(places->stored_bytes, x->list.spans[x->list.n - 1].end);
	ck_assert_mem_eq(places->spans, x->list.spans, x->list.n * sizeof(*x->list.spans));
	return CAIRN_OK;
}

bool fx_xorb_put(struct cairn_index *ix, const struct fx_xorb *x)
{
	struct cairn_index_write write = {
		.kind = CAIRN_INDEX_PUT_XORB,
		.xorb = {x->hash, &x->list, x->list.spans[x->list.n - 1].end},
	};
	enum cairn_status status = cairn_index_write(ix, &write);
	ck_assert_msg(status == CAIRN_OK, "%s", write.diag.text);
	return write.added;
}

void fx_shard_init(struct fx_shard *s, uint64_t number)
{
	*s = (struct fx_shard){.body = fx_hash("shard", number), .scope = "", .owner = ""};
}

void fx_shard_xorb(struct fx_shard *s, const struct fx_xorb *x, unsigned n_eligible, ...)
{
	ck_assert_uint_lt(s->n_xorbs, FX_XORBS_MAX);
	ck_assert_uint_le(n_eligible, FX_ELIGIBLE_MAX);
	struct cairn_index_eligible *eligible = s->eligible[s->n_xorbs];
	va_list ap;
	va_start(ap, n_eligible);
	for (unsigned i = 0; i < n_eligible; i++) {
		eligible[i].place = va_arg(ap, unsigned);
		eligible[i].chunk = x->list.hashes[eligible[i].place];
	}
	va_end(ap);
	s->xorbs[s->n_xorbs++] = (struct cairn_index_described){.hash = x->hash, .n_eligible = n_eligible};
}

void fx_shard_term(struct fx_file *file, const struct fx_xorb *x, uint32_t start, uint32_t end)
{
	ck_assert_uint_lt(file->file.n_terms, FX_TERMS_MAX);
	uint32_t bytes = (uint32_t)cairn_chunk_list_bytes(&x->list, start, end);
	if (file->file.n_terms == 0)
		file->file.first_chunk = cairn_get_u64le(x->list.hashes[start].b);
	file->terms[file->file.n_terms++] = (struct cairn_index_new_term){x->hash, start, end, bytes};
	file->file.size_bytes += bytes;
}

struct fx_file *fx_shard_file(struct fx_shard *s, uint64_t number, const struct fx_xorb *x, uint32_t start,
			      uint32_t end)
{
	ck_assert_uint_lt(s->n_files, FX_FILES_MAX);
	struct fx_file *file = &s->files[s->n_files++];
	*file = (struct fx_file){.file = {.hash = fx_hash("file", number)}};
	if (x)
		fx_shard_term(file, x, start, end);
	return file;
}

static enum cairn_status fx_source_rewind(void *ctx)
{
	struct fx_shard *s = ctx;
	s->at_xorb = s->at_file = 0;
	s->n_rewinds++;
	return CAIRN_OK;
}

static enum cairn_status fx_source_xorb(void *ctx, struct cairn_index_described *out, bool *more)
{
	struct fx_shard *s = ctx;
	*more = s->at_xorb < s->n_xorbs;
	if (*more) {
		*out = s->xorbs[s->at_xorb];
		out->eligible = s->eligible[s->at_xorb++];
	}
	return CAIRN_OK;
}

static enum cairn_status fx_source_file(void *ctx, struct cairn_index_new_file *out, bool *more)
{
	struct fx_shard *s = ctx;
	*more = s->at_file < s->n_files;
	if (s->fails != CAIRN_OK && s->at_file + 1 >= s->n_files)
		return s->fails;
	if (*more)
		*out = s->files[s->at_file++].file;
	return CAIRN_OK;
}

static void fx_source_term(void *ctx, uint32_t i, struct cairn_index_new_term *out)
{
	struct fx_shard *s = ctx;
	*out = s->files[s->at_file - 1].terms[i];
}

void fx_shard_write(struct fx_shard *s, struct cairn_index_write *write)
{
	*write = (struct cairn_index_write){
		.kind = CAIRN_INDEX_PUT_SHARD,
		.shard =
			{
				.body = s->body,
				.scope = s->scope,
				.owner = s->owner,
				.source = {s, fx_source_rewind, fx_source_xorb, fx_source_file, fx_source_term},
			},
	};
}

enum cairn_status fx_shard_put(struct cairn_index *ix, struct fx_shard *s)
{
	struct cairn_index_write write;
	fx_shard_write(s, &write);
	enum cairn_status status = cairn_index_write(ix, &write);
	s->diag = write.diag;
	s->added = write.added;
	return status;
}

static bool fx_hear(void *ctx, const struct cairn_index_dedupe_xorb *xorb)
{
	struct fx_answer *out = ctx;
	ck_assert_uint_lt(out->n, FX_ANSWER_MAX);
	ck_assert_uint_le(xorb->n_eligible, FX_ELIGIBLE_MAX);
	out->xorb[out->n] = xorb->xorb.hash;
	out->n_chunks[out->n] = xorb->list->n;
	out->n_eligible[out->n] = xorb->n_eligible;
	memcpy(out->eligible[out->n], xorb->eligible, xorb->n_eligible * sizeof(uint32_t));
	out->n++;
	/* The list that goes with it must be its own. */
	struct cairn_hash root;
	cairn_chunk_list_root(xorb->list, &root);
	ck_assert(cairn_hash_equal(&root, &xorb->xorb.hash));
	return out->n != out->n_max;
}

enum cairn_status fx_query(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
			   struct fx_answer *out)
{
	unsigned n_max = out->n_max;
	*out = (struct fx_answer){.n_max = n_max};
	if (!cairn_index_may_dedupe(ix, scope, chunk))
		return CAIRN_E_NOT_FOUND;
	return cairn_index_dedupe(ix, scope, chunk, fx_hear, out);
}

bool fx_sees(struct cairn_index *ix, const char *viewer, uint64_t file_number)
{
	struct cairn_hash hash = fx_hash("file", file_number);
	struct cairn_index_file file;
	enum cairn_status status = cairn_index_file(ix, &hash, viewer, true, &file);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	cairn_index_file_fini(&file);
	return status == CAIRN_OK;
}

void fx_sql(const char *dir, const char *statements)
{
	char path[CAIRN_SQL_PATH_BYTES];
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	ck_assert_int_eq(cairn_sql_index_path(path, dir, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE, NULL, NULL), CAIRN_OK);
	ck_assert_msg(cairn_sql_exec(db, statements) == CAIRN_OK, "%s", sqlite3_errmsg(db));
}
