#include "support/cut_fixture.h"

#include <check.h>
#include <stdlib.h>

struct cut_seen cut_seen_new(const json_t *file)
{
	struct cut_seen seen = {0};
	seen.n_want = vec_pairs(vec_get(file, "chunks"), &seen.hashes, &seen.lengths);
	return seen;
}

void cut_seen_fini(struct cut_seen *seen)
{
	free(seen->hashes);
	free(seen->lengths);
}

enum cairn_status cut_see_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				struct cairn_diag *diag)
{
	struct cut_seen *seen = ctx;
	struct cairn_hash again;
	(void)diag;
	ck_assert_uint_lt(seen->n, seen->n_want);
	cairn_hash_chunk(&again, raw, len);
	ck_assert(cairn_hash_equal(hash, &seen->hashes[seen->n]) && cairn_hash_equal(hash, &again));
	ck_assert_uint_eq(len, seen->lengths[seen->n]);
	seen->n++;
	return seen->n == 2 ? seen->answer_at_2 : CAIRN_OK;
}

void cut_file_is(const json_t *file, const struct cut_seen *seen, const struct cairn_cutter_file *got)
{
	struct cairn_hash want = vec_hash(file, "file_hash");
	char sha256[2 * CAIRN_SHA256_BYTES + 1];
	cairn_hex_text(sha256, got->sha256, CAIRN_SHA256_BYTES);
	ck_assert_uint_eq(seen->n, seen->n_want);
	ck_assert_uint_eq(got->n_chunks, seen->n_want);
	ck_assert_uint_eq(got->bytes, vec_u64(file, "size"));
	ck_assert_str_eq(sha256, vec_string(file, "sha256"));
	ck_assert(cairn_hash_equal(&got->hash, &want));
}
