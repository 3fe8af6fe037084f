/* The cutter cuts and hashes a file as the reference client does, in whatever pieces the file arrives. */
#include "support/cut_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Cuts the bytes, at most `piece` at a time. The end is passed separately, as for a body. */
static enum cairn_status cut(struct cairn_cutter *c, const struct vec_bytes *bytes, size_t piece, struct cut_seen *seen)
{
	enum cairn_status status = CAIRN_OK;
	size_t at = 0, room;
	while (status == CAIRN_OK && at < bytes->len) {
		uint8_t *to = cairn_cutter_room(c, &room);
		size_t n = bytes->len - at < piece ? bytes->len - at : piece;
		ck_assert_uint_gt(room, 0);
		n = n < room ? n : room;
		memcpy(to, bytes->bytes + at, n);
		at += n;
		status = cairn_cutter_take(c, n, false, cut_see_chunk, seen, NULL);
	}
	return status == CAIRN_OK ? cairn_cutter_take(c, 0, true, cut_see_chunk, seen, NULL) : status;
}

static void check_file(const json_t *f, size_t piece)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes bytes = vec_make(vec_get(f, "spec"));
	CLEANUP(cairn_cutter_freep) struct cairn_cutter *c = cairn_cutter_new();
	CLEANUP(cut_seen_fini) struct cut_seen seen = cut_seen_new(f);
	struct cairn_cutter_file file;
	ck_assert_int_eq(cut(c, &bytes, piece, &seen), CAIRN_OK);
	cairn_cutter_end(c, &file);
	cut_file_is(f, &seen, &file);
}

START_TEST(files_come_in_pieces)
{
	static const size_t pieces[] = {1000, 65536, 1000 * 1000, SIZE_MAX};
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	size_t n_done = 0;
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *f = json_array_get(files, i);
		if (vec_u64(f, "size") > 4 * 1000 * 1000)
			continue; /* the chunker's test covers this file */
		for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++)
			check_file(f, pieces[k]);
		n_done++;
	}
	ck_assert_uint_gt(n_done, 10);
}
END_TEST

START_TEST(a_visitor_can_end_it)
{
	CLEANUP(vec_json_freep) json_t *files = vec_json("files.json");
	CLEANUP(cairn_cutter_freep) struct cairn_cutter *c = cairn_cutter_new();
	const json_t *f = vec_find(files, "name", "mixed");
	CLEANUP(vec_bytes_fini) struct vec_bytes bytes = vec_make(vec_get(f, "spec"));
	CLEANUP(cut_seen_fini) struct cut_seen seen = cut_seen_new(f);
	seen.answer_at_2 = CAIRN_E_BUSY;
	ck_assert_int_eq(cut(c, &bytes, SIZE_MAX, &seen), CAIRN_E_BUSY);
	ck_assert_uint_eq(seen.n, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cutter");
	TCase *tc = tcase_create("cutter");
	tcase_add_test(tc, files_come_in_pieces);
	tcase_add_test(tc, a_visitor_can_end_it);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
