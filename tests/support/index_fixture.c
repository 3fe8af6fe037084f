#include "support/index_fixture.h"

#include "base/bytes.h"

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

static const char *fx_engine = "sqlite:*";

void fx_use_engine(int argc, char **argv)
{
	if (argc > 1)
		fx_engine = argv[1];
}

struct fx_url fx_url(const char *dir)
{
	struct fx_url url;
	size_t before = strcspn(fx_engine, "*");
	int n = snprintf(url.text, sizeof(url.text), "%.*s%s%s", (int)before, fx_engine, fx_engine[before] ? dir : "",
			 fx_engine[before] ? fx_engine + before + 1 : "");
	ck_assert(n > 0 && (size_t)n < sizeof(url.text));
	return url;
}

struct cairn_index *fx_open_with(const char *dir, const struct cairn_index_options *options)
{
	struct cairn_index *ix = NULL;
	struct cairn_diag diag = {0};
	struct fx_url url = fx_url(dir);
	int from, to;
	enum cairn_status status = cairn_index_migrate(url.text, &diag, &from, &to);
	if (status == CAIRN_OK)
		status = cairn_index_open(&ix, url.text, options, &diag);
	ck_assert_msg(status == CAIRN_OK, "%s", diag.text);
	return ix;
}

struct cairn_index *fx_open(const char *dir)
{
	return fx_open_with(dir, NULL);
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

const uint32_t FX_SPANS[2] = {0, UINT32_MAX};

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
	struct cairn_index_put_xorb put = {
		.hash = x->hash,
		.list = &x->list,
		.stored_bytes = x->list.spans[x->list.n - 1].end,
	};
	enum cairn_status status = cairn_index_put_xorb(ix, &put);
	ck_assert_msg(status == CAIRN_OK, "%s", put.write.diag.text);
	return put.added;
}

struct tempdir fx_folder;
struct cairn_index *fx_index;
struct fx_xorb fx_a, fx_b, fx_c;

void fx_set_up(void)
{
	fx_folder = tempdir_new();
	fx_index = fx_open(fx_folder.path);
}

void fx_set_up_two(void)
{
	fx_set_up();
	fx_a = fx_xorb_new(1, 20);
	fx_b = fx_xorb_new(2, 30);
	fx_xorb_put(fx_index, &fx_a);
	fx_xorb_put(fx_index, &fx_b);
}

void fx_set_up_three(void)
{
	fx_set_up_two();
	fx_c = fx_xorb_new(3, 40);
	fx_xorb_put(fx_index, &fx_c);
}

void fx_tear_down(void)
{
	fx_xorb_fini(&fx_a);
	fx_xorb_fini(&fx_b);
	fx_xorb_fini(&fx_c);
	cairn_index_free(fx_index);
	tempdir_fini(&fx_folder);
}

enum cairn_status fx_shard_known(struct cairn_index *ix, const struct cairn_hash *body, const char *scope,
				 const char *owner, bool *known, struct cairn_index_registered *registered)
{
	struct cairn_index_shard_lookup look = {.body = *body, .scope = scope, .owner = owner};
	enum cairn_status status = cairn_index_look_up_shard(ix, &look);
	*known = look.known;
	*registered = look.registered;
	return status;
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
		eligible[i].prefix = cairn_get_u64le(x->list.hashes[eligible[i].place].b);
	}
	va_end(ap);
	s->xorbs[s->n_xorbs++] = (struct cairn_index_new_xorb){.hash = x->hash, .n_eligible = n_eligible};
}

void fx_shard_term(struct fx_file *file, const struct fx_xorb *x, uint32_t start, uint32_t end)
{
	ck_assert_uint_lt(file->file.n_terms, FX_TERMS_MAX);
	uint32_t bytes = (uint32_t)cairn_chunk_list_bytes(&x->list, start, end);
	if (file->file.n_terms == 0)
		file->file.first_chunk = cairn_get_u64le(x->list.hashes[start].b);
	file->terms[file->file.n_terms++] = (struct fx_term){
		.xorb = x->hash,
		.term = {.start = start,
			 .end = end,
			 .unpacked_bytes = bytes,
			 .first_byte = start > 0 ? x->list.spans[start - 1].end : 0,
			 .end_byte = x->list.spans[end - 1].end},
	};
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

/* Returns the index of a term's xorb. Appends a xorb that is not described. */
static uint32_t fx_place(struct fx_records *r, const struct cairn_hash *xorb)
{
	for (uint32_t i = 0; i < r->shard.n_xorbs; i++)
		if (cairn_hash_equal(&r->xorbs[i].hash, xorb))
			return i;
	r->xorbs[r->shard.n_xorbs] = (struct cairn_index_new_xorb){.hash = *xorb};
	return r->shard.n_xorbs++;
}

static void fx_records_make(struct fx_shard *s)
{
	struct fx_records *r = &s->records;
	uint32_t n_eligible = 0, n_terms = 0;
	r->shard = (struct cairn_index_new_shard){
		.xorbs = r->xorbs,
		.n_xorbs = s->n_xorbs,
		.n_described = s->n_xorbs,
		.n_files = s->n_files,
		.eligible = r->eligible,
		.files = r->files,
		.terms = r->terms,
	};
	for (uint32_t i = 0; i < s->n_xorbs; i++) {
		r->xorbs[i] = s->xorbs[i];
		r->xorbs[i].first_eligible = n_eligible;
		for (uint32_t e = 0; e < s->xorbs[i].n_eligible; e++)
			r->eligible[n_eligible++] = s->eligible[i][e];
	}
	for (uint32_t i = 0; i < s->n_files; i++) {
		r->files[i] = s->files[i].file;
		for (uint32_t t = 0; t < r->files[i].n_terms; t++, n_terms++) {
			r->terms[n_terms] = s->files[i].terms[t].term;
			r->terms[n_terms].xorb = fx_place(r, &s->files[i].terms[t].xorb);
		}
	}
}

void fx_shard_fail(struct fx_shard *s)
{
	struct fx_file *file = fx_shard_file(s, UINT64_MAX, NULL, 0, 0);
	file->terms[0] = (struct fx_term){.xorb = fx_hash("nothing", 0), .term = {.unpacked_bytes = 1, .end = 1}};
	file->file.n_terms = 1;
}

struct cairn_index_put_shard fx_shard_request(struct fx_shard *s)
{
	fx_records_make(s);
	return (struct cairn_index_put_shard){
		.body = s->body,
		.scope = s->scope,
		.owner = s->owner,
		.shard = &s->records.shard,
	};
}

enum cairn_status fx_shard_put(struct cairn_index *ix, struct fx_shard *s)
{
	struct cairn_index_put_shard put = fx_shard_request(s);
	enum cairn_status status = cairn_index_put_shard(ix, &put);
	s->diag = put.write.diag;
	s->added = status == CAIRN_OK && put.added;
	return status;
}

enum cairn_status fx_upload(struct cairn_index *ix, uint64_t number, const char *owner, const char **rule)
{
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(number, 4);
	(void)fx_xorb_put(ix, &x);
	fx_shard_init(&s, number);
	s.owner = owner;
	fx_shard_xorb(&s, &x, 0);
	fx_shard_file(&s, number, &x, 0, 4);
	enum cairn_status status = fx_shard_put(ix, &s);
	fx_xorb_fini(&x);
	if (rule)
		*rule = s.diag.rule;
	return status;
}

struct cairn_hash fx_put_four_chunks(struct cairn_index *ix, const char *owner)
{
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(1, 4);
	(void)fx_xorb_put(ix, &x);
	fx_shard_init(&s, 1);
	s.owner = owner;
	struct cairn_hash file = fx_shard_file(&s, 1, &x, 0, 4)->file.hash;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	fx_xorb_fini(&x);
	return file;
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
	/* the chunk list in the answer must be that of the xorb */
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
	return cairn_index_dedupe(ix, scope, chunk, false, fx_hear, out);
}

void fx_assert_miss(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk)
{
	struct fx_answer answer = {0};
	ck_assert_int_eq(fx_query(ix, scope, chunk, &answer), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(answer.n, 0);
}

struct fx_answer fx_assert_hit(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
			       const struct fx_xorb *xorb)
{
	struct fx_answer answer = {0};
	ck_assert_int_eq(fx_query(ix, scope, chunk, &answer), CAIRN_OK);
	ck_assert_uint_ge(answer.n, 1);
	ck_assert(cairn_hash_equal(&answer.xorb[0], &xorb->hash));
	return answer;
}

bool fx_forget(struct cairn_index *ix, uint64_t file_number, const char *owner)
{
	struct cairn_index_forget_file request = {.hash = fx_hash("file", file_number), .owner = owner};
	ck_assert_int_eq(cairn_index_forget_file(ix, &request), CAIRN_OK);
	return request.forgotten;
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
