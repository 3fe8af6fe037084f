/* What the chunks and hashes of a file must be as it is cut: those of the reference client, as files.json has them.
 * Every call ends the running Check test when they are not. */
#ifndef CAIRN_TESTS_SUPPORT_CUT_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_CUT_FIXTURE_H

#include "dedupe/cutter.h"
#include "support/vectors.h"

/** The chunks of a file, of which n were seen. */
struct cut_seen {
	size_t n, n_want;
	struct cairn_hash *hashes;
	uint64_t *lengths;
	enum cairn_status answer_at_2; /* what the second visit answers */
};

/** @param file  of files.json */
struct cut_seen cut_seen_new(const json_t *file);
/** For CLEANUP(). */
void cut_seen_fini(struct cut_seen *seen);

/** A visitor of the cutter: the chunk is the next one. @param ctx  the cut_seen */
enum cairn_status cut_see_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				struct cairn_diag *diag);

/** All were seen, and this came of the whole. */
void cut_file_is(const json_t *file, const struct cut_seen *seen, const struct cairn_cutter_file *got);

#endif
