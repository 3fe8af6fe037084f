/* Uploads of real clients, limits and modes of the verifier, and its reaction to failures. */
#include "base/bytes.h"
#include "support/captured.h"
#include "support/verify_fixture.h"

#include <string.h>

START_TEST(test_captured)
{
	const char *name = CAPTURED_SHARDS[_i];
	CLEANUP(vec_json_freep) json_t *dump = captured_dump(name);
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_read("%s.shard", name);
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	ck_assert_msg(cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &v.sum, &v.diag) == CAIRN_OK,
		      "%s: %s", name, v.diag.text);
	ck_assert_uint_eq(v.sum.n_files, json_array_size(vec_get(dump, "files")));
	ck_assert_uint_eq(v.sum.n_xorbs, json_array_size(vec_get(dump, "xorbs")));
	ck_assert(v.sum.has_footer == json_is_object(vec_get(dump, "footer")));
	uint64_t file_bytes = 0, n_terms = 0, n_chunks = 0;
	size_t i, k;
	json_t *file, *term, *xorb;
	json_array_foreach(vec_get(dump, "files"), i, file)
	{
		json_array_foreach(vec_get(file, "entries"), k, term)
		{
			file_bytes += vec_u64(term, "unpacked_segment_bytes");
			n_terms++;
		}
	}
	json_array_foreach(vec_get(dump, "xorbs"), i, xorb) n_chunks += vec_u64(xorb, "num_entries");
	ck_assert_uint_eq(v.sum.file_bytes, file_bytes);
	ck_assert_uint_eq(v.sum.n_terms, n_terms);
	ck_assert_uint_eq(v.sum.n_chunks, n_chunks);

	/* The store has no xorb, so the shard is refused. With external xorbs it is accepted if it describes all. */
	struct made_store nothing = {0};
	resolver = made_resolver(&nothing);
	v.diag = (struct cairn_diag){0};
	enum cairn_status status = cairn_verify_shard(shard.bytes, shard.len, NULL, &resolver, &v.sum, &v.diag);
	ck_assert_int_eq(status, n_terms + n_chunks > 0 ? CAIRN_E_NOT_FOUND : CAIRN_OK);
	const json_t *missing = json_object_get(dump, "xorbs_not_in_shard");
	const struct cairn_verify_options external = external_options();
	status = cairn_verify_shard(shard.bytes, shard.len, &external, &resolver, &v.sum, NULL);
	if (missing)
		ck_assert_int_eq(status, json_array_size(missing) > 0 ? CAIRN_E_NOT_FOUND : CAIRN_OK);
}
END_TEST

/* A server's answer is not an upload. A keyed answer is refused; an unkeyed one is a shard like any other. */
START_TEST(test_answers)
{
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	CLEANUP(vec_bytes_fini) struct vec_bytes plain = vec_read("dedupe/plain.shard");
	CLEANUP(vec_bytes_fini) struct vec_bytes keyed = vec_read("dedupe/keyed.shard");
	ck_assert_int_eq(cairn_verify_shard(plain.bytes, plain.len, NULL, &resolver, &v.sum, NULL), CAIRN_OK);
	ck_assert(v.sum.has_footer);
	expect_refused(cairn_verify_shard(keyed.bytes, keyed.len, NULL, &resolver, &v.sum, &v.diag), CAIRN_E_FORMAT,
		       "shard.keyed", keyed.len - CAIRN_SHARD_FOOTER_BYTES);
}
END_TEST

START_TEST(test_strict)
{
	struct cairn_verify_options strict = CAIRN_VERIFY_DEFAULTS;
	strict.strict = true;
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	CLEANUP(vec_bytes_fini) struct vec_bytes medium = vec_read("shards/medium.shard");
	CLEANUP(vec_bytes_fini) struct vec_bytes js = vec_read("js/js_1.shard");
	CLEANUP(vec_bytes_fini) struct vec_bytes skip = vec_read("shards/skip_sha.shard");
	ck_assert_int_eq(cairn_verify_shard(medium.bytes, medium.len, &strict, &resolver, &v.sum, NULL), CAIRN_OK);
	expect_refused(cairn_verify_shard(js.bytes, js.len, &strict, &resolver, &v.sum, &v.diag), CAIRN_E_FORMAT,
		       "shard.footer_unwanted", 432);
	v.diag = (struct cairn_diag){0};
	expect_refused(cairn_verify_shard(skip.bytes, skip.len, &strict, &resolver, &v.sum, &v.diag), CAIRN_E_FORMAT,
		       "file.metadata_missing", 48);
}
END_TEST

/* hf_xet 1.1.8 to 1.2 leave out the footer, but not its length in the header. */
START_TEST(test_footer_cut)
{
	struct cairn_verify_options cut = CAIRN_VERIFY_DEFAULTS;
	cut.footer_may_be_cut = true;
	CLEANUP(captured_store_fini) struct made_store all = captured_store(NULL);
	struct cairn_verify_resolver resolver = made_resolver(&all);
	CLEANUP(vec_bytes_fini) struct vec_bytes medium = vec_read("shards/medium.shard");
	cairn_put_u64le(medium.bytes + CAIRN_SHARD_AT_FOOTER_BYTES, CAIRN_SHARD_FOOTER_BYTES);
	ck_assert_int_eq(cairn_verify_shard(medium.bytes, medium.len, &cut, &resolver, &v.sum, NULL), CAIRN_OK);
	ck_assert(!v.sum.has_footer);
	expect_refused(cairn_verify_shard(medium.bytes, medium.len, NULL, &resolver, &v.sum, &v.diag), CAIRN_E_FORMAT,
		       "shard.footer_missing", medium.len);
	v.diag = (struct cairn_diag){0};
	expect_refused(cairn_verify_shard(medium.bytes, medium.len - 1, &cut, &resolver, &v.sum, &v.diag),
		       CAIRN_E_FORMAT, "shard.truncated", medium.len - CAIRN_SHARD_RECORD_BYTES);
	cut.strict = true;
	v.diag = (struct cairn_diag){0};
	expect_refused(cairn_verify_shard(medium.bytes, medium.len, &cut, &resolver, &v.sum, &v.diag), CAIRN_E_FORMAT,
		       "shard.footer_missing", medium.len);
	cut.strict = false;
	v.diag = (struct cairn_diag){0};
	CLEANUP(vec_bytes_fini) struct vec_bytes js = vec_read("js/js_1.shard");
	expect_refused(cairn_verify_shard(js.bytes, js.len - 1, &cut, &resolver, &v.sum, &v.diag), CAIRN_E_FORMAT,
		       "shard.footer_missing", js.len - CAIRN_SHARD_FOOTER_BYTES);
	ck_assert_int_eq(cairn_verify_shard(js.bytes, js.len, &cut, &resolver, &v.sum, NULL), CAIRN_OK);
	ck_assert(v.sum.has_footer);
}
END_TEST

START_TEST(test_external)
{
	const struct cairn_verify_options external = external_options();
	make_shard(2);
	v.store.n = 0;
	ck_assert_int_eq(verify_made(&external), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(v.diag.rule, "term.unknown_xorb");
	ck_assert_ptr_nonnull(strstr(v.diag.text, "upload the xorb first"));
	v.store.n = 3;
	ck_assert_int_eq(verify_with(&external), CAIRN_OK);
	/* the shard must describe a known xorb correctly, even if its bytes are kept elsewhere */
	v.xorbs[1].list.spans[0].unpacked_bytes++;
	ck_assert_int_eq(verify_with(&external), CAIRN_E_CONFLICT);
}
END_TEST

START_TEST(test_file_without_terms_names_its_hash)
{
	char zeros[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(zeros, &(struct cairn_hash){0});
	cairn_shard_write_file(&v.w, &v.xorbs[0].hash, 0);
	ck_assert_int_eq(verify_made(NULL), CAIRN_E_FORMAT);
	ck_assert_str_eq(v.diag.rule, "file.no_terms");
	ck_assert_str_eq(v.diag.expected, zeros);
}
END_TEST

/* After refusing a header the verifier reads no further, so the refusal is about the header. */
START_TEST(test_header_of_another_version)
{
	make_shard(3);
	v.w.buf.bytes[CAIRN_SHARD_AT_VERSION] = 3;
	expect_refused(verify_made(NULL), CAIRN_E_FORMAT, "shard.version", CAIRN_SHARD_AT_VERSION);
	ck_assert_str_eq(v.diag.expected, "2");
	ck_assert_str_eq(v.diag.actual, "3");
}
END_TEST

START_TEST(test_empty_files)
{
	made_write_file(&v.w, NULL, 0, WITH_ALL);
	made_write_file(&v.w, NULL, 0, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	ck_assert_int_eq(verify_made(NULL), CAIRN_OK);
	ck_assert_uint_eq(v.sum.n_files, 2);
	ck_assert_uint_eq(v.sum.file_bytes, 0);
	cairn_put_u32le(v.w.buf.bytes + 48 + 48 * 2 + 32, 0);
	expect_refused(verify_with(NULL), CAIRN_E_FORMAT, "file.verification_missing", 48 + 48 * 2);
}
END_TEST

START_TEST(test_limits_of_options)
{
	make_shard(3);
	struct cairn_verify_options limited = CAIRN_VERIFY_DEFAULTS;
	limited.files_max = 2;
	limited.terms_max = 6;
	limited.term_chunks_max = 20 + 1 + 300 + 1 + 1 + 1;
	ck_assert_int_eq(verify_made(&limited), CAIRN_OK);
	uint64_t second = 48 + 48 * (1 + 2 * 5 + 1);
	limited.files_max = 1;
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.files", second);
	ck_assert_str_eq(v.diag.expected, "1");
	ck_assert_str_eq(v.diag.actual, "2");
	limited.files_max = 2;
	limited.terms_max = 5;
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.terms", second);
	ck_assert_str_eq(v.diag.actual, "6");
	limited.terms_max = 6;
	limited.term_chunks_max--;
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.term_chunks", second + 48);
	ck_assert_str_eq(v.diag.expected, "323");
	ck_assert_str_eq(v.diag.actual, "324");
	limited.term_chunks_max++;
	limited.xorbs_max = 3;
	ck_assert_int_eq(verify_with(&limited), CAIRN_OK);
	limited.xorbs_max = 2;
	uint64_t files_bytes = 48 * (2 + 2 * 5 + 1 + 2 * 1 + 1), xorbs_bytes = 48 * (2 + 20 + 1);
	expect_refused(verify_with(&limited), CAIRN_E_LIMIT, "limit.xorbs", 48 + 48 + files_bytes + xorbs_bytes);
	ck_assert_str_eq(v.diag.expected, "2");
	ck_assert_str_eq(v.diag.actual, "3");
}
END_TEST

/* Limits of the format: a value at the limit is accepted, and a value past it is refused. */
START_TEST(test_limits_of_xorbs)
{
	static const struct {
		uint32_t n_chunks, bytes_each, last_bytes;
		const char *rule; /* NULL: accepted */
		uint64_t offset;  /* from the beginning of the block */
	} LIMITS[] = {
		{8192, 8192, 8192, NULL, 0},
		{8192, 1, 1, NULL, 0},
		{512, 131072, 131072, NULL, 0},
		{512, 131071, 131072, NULL, 0},
		{8192, 131072, 131072, NULL, 0}, /* compresses well: only the compressed length is limited */
		{1, 0, 131072, NULL, 0},
		{1, 0, 131073, "xorb.chunk_length", 48 + 36},
		{3, 10, 0, "xorb.chunk_length", 48 * 3 + 36},
	};
	v.store.n = 0;
	const struct cairn_verify_options external = external_options();
	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		struct made_xorb x;
		made_xorb_init(&x, i, LIMITS[i].n_chunks, LIMITS[i].bytes_each);
		x.list.spans[x.list.n - 1].unpacked_bytes = LIMITS[i].last_bytes;
		cairn_chunk_list_root(&x.list, &x.hash);
		begin_again();
		made_write_xorb(&v.w, &x);
		enum cairn_status status = verify_made(&external);
		if (LIMITS[i].rule)
			expect_refused(status, CAIRN_E_FORMAT, LIMITS[i].rule, 96 + LIMITS[i].offset);
		else
			ck_assert_msg(status == CAIRN_OK, "%zu: %s", i, v.diag.text);
		made_xorb_fini(&x);
	}
}
END_TEST

START_TEST(test_too_many_chunks)
{
	struct made_xorb full;
	made_xorb_init(&full, 4, 8192, 10);
	cairn_shard_write_xorb(&v.w, &full.hash, 0);
	for (uint32_t i = 0; i < 8192; i++)
		cairn_shard_write_chunk(&v.w, &full.list.hashes[i], 10, 0);
	cairn_shard_write_chunk(&v.w, &full.list.hashes[0], 10, 0);
	expect_refused(verify_made(NULL), CAIRN_E_FORMAT, "xorb.chunk_count", 96);
	ck_assert_str_eq(v.diag.actual, "8193");
	made_xorb_fini(&full);
}
END_TEST

struct listener {
	unsigned n_calls, calls_max;
	uint64_t verified, total;
};

static bool listen_progress(void *ctx, uint64_t verified, uint64_t total)
{
	struct listener *l = ctx;
	ck_assert_uint_ge(verified, l->verified);
	ck_assert_uint_le(verified, total);
	l->verified = verified;
	l->total = total;
	return ++l->n_calls < l->calls_max;
}

START_TEST(test_progress)
{
	struct listener l = {.calls_max = 1000};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	options.progress = listen_progress;
	options.progress_ctx = &l;
	/* 320 described chunks, and a file of 200 terms over 300 chunks each: 60,000 chunks of work. */
	struct made_term terms[200];
	for (size_t i = 0; i < 200; i++)
		terms[i] = (struct made_term){&v.xorbs[2], 0, 300};
	made_write_file(&v.w, terms, 200, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[0]);
	made_write_xorb(&v.w, &v.xorbs[2]);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert_uint_eq(l.total, 520);
	ck_assert_uint_eq(l.verified, 520);
	ck_assert_uint_ge(l.n_calls, 60520 / (4096 + 301));
	ck_assert_uint_le(l.n_calls, 60520 / 4096 + 1);
	l = (struct listener){.calls_max = 3};
	ck_assert_int_eq(verify_with(&options), CAIRN_E_BUSY);
	ck_assert_str_eq(v.diag.rule, "verify.stopped");
	ck_assert(!v.diag.has_offset);
	ck_assert_uint_eq(l.n_calls, 3);
}
END_TEST

START_TEST(test_store_fails)
{
	make_shard((size_t)_i);
	v.store.failure = CAIRN_E_IO;
	ck_assert_int_eq(verify_made(NULL), CAIRN_E_IO);
	ck_assert_str_eq(v.diag.rule, "xorb.unreadable");
	ck_assert_uint_eq(v.diag.offset, _i == 0 ? 96 : v.w.cas_info_offset);
	v.store.failure = CAIRN_E_NOMEM;
	ck_assert_int_eq(verify_with(NULL), CAIRN_E_NOMEM);
	v.store.failure = CAIRN_E_LIMIT; /* the sender causes this failure, not the store */
	ck_assert_int_eq(verify_with(NULL), CAIRN_E_LIMIT);
	ck_assert_str_eq(v.diag.rule, "limit.list_chunks");
}
END_TEST

START_TEST(test_no_memory)
{
	make_shard(3);
	ck_assert_uint_gt(verify_without_memory(NULL), 2);
	ck_assert_uint_eq(v.sum.n_files, 2);
}
END_TEST

START_TEST(test_defaults)
{
	ck_assert(!CAIRN_VERIFY_DEFAULTS.strict);
	ck_assert(!CAIRN_VERIFY_DEFAULTS.xorbs_external);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.files_max, 500000);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.terms_max, 1000000);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.xorbs_max, 16384);
	ck_assert_uint_eq(CAIRN_VERIFY_DEFAULTS.term_chunks_max, 33554432);
}
END_TEST

int main(void)
{
	TCase *c = verify_tests("verify");
	tcase_add_loop_test(c, test_captured, 0, (int)CAPTURED_UPLOADS_N);
	tcase_add_test(c, test_answers);
	tcase_add_test(c, test_strict);
	tcase_add_test(c, test_footer_cut);
	tcase_add_test(c, test_external);
	tcase_add_test(c, test_file_without_terms_names_its_hash);
	tcase_add_test(c, test_header_of_another_version);
	tcase_add_test(c, test_empty_files);
	tcase_add_test(c, test_limits_of_options);
	tcase_add_test(c, test_limits_of_xorbs);
	tcase_add_test(c, test_too_many_chunks);
	tcase_add_test(c, test_progress);
	tcase_add_loop_test(c, test_store_fails, 0, 2);
	tcase_add_test(c, test_no_memory);
	tcase_add_test(c, test_defaults);
	return verify_run("verify", c, NULL);
}
