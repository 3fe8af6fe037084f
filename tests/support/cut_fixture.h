/* The expected chunks and hashes of a file as it is cut: the reference client's, from files.json. Every call fails the
 * running Check test if the results differ. */
#ifndef CAIRN_TESTS_SUPPORT_CUT_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_CUT_FIXTURE_H

#include "dedupe/cutter.h"
#include "support/vectors.h"

/** The expected chunks of a file, and how many of them were seen. */
struct cut_seen {
	size_t n, n_want;
	struct cairn_hash *hashes;
	uint64_t *lengths;
	enum cairn_status answer_at_2; /* what the second visit returns */
};

/** Reads the expected chunks of a file from its entry in files.json. No chunk was seen yet. */
struct cut_seen cut_seen_new(const json_t *file);
void cut_seen_fini(struct cut_seen *seen);

/** A visitor for the cutter: checks that the chunk is the next one. @param ctx  the cut_seen */
enum cairn_status cut_see_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				struct cairn_diag *diag);

/** Checks that all chunks were seen, and that the results for the whole file are right. */
void cut_file_is(const json_t *file, const struct cut_seen *seen, const struct cairn_cutter_file *got);

#endif
