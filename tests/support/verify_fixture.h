/* What each test of the verifier begins with: three made-up xorbs, a store that has them, and a shard to write. */
#ifndef CAIRN_TESTS_SUPPORT_VERIFY_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_VERIFY_FIXTURE_H

#include "support/made.h"

#include <check.h>

#define WITH_ALL (CAIRN_SHARD_FILE_WITH_VERIFICATION | CAIRN_SHARD_FILE_WITH_METADATA)

/** Made anew for each test of verify_tests(). */
extern struct verify_fixture {
	struct cairn_diag diag; /* of the last call below */
	struct cairn_verify_summary sum;
	struct cairn_shard_writer w;
	struct made_xorb xorbs[3]; /* of 20, 1 and 300 chunks */
	struct made_store store;
} v;

/** A case with the fixture. */
TCase *verify_tests(const char *name);
/** The same where the hashes of stored xorbs are not at hand, only the places of their chunks. */
TCase *verify_tests_of_places(void);
/** Run one case, and the second unless it is NULL. @return the status of the program */
int verify_run(const char *suite_name, TCase *first, TCase *second);

/** Write two files over the three xorbs, of which the first n_described are described. */
void make_shard(size_t n_described);
/** Begin another shard. */
void begin_again(void);
/** Verify the shard at hand, which was ended. @param options  NULL: the defaults */
enum cairn_status verify_with(const struct cairn_verify_options *options);
/** End the shard at hand and verify it. */
enum cairn_status verify_made(const struct cairn_verify_options *options);
/** End the shard at hand and verify it with one allocation after the other failing: each time it must not be judged,
 * and nothing be handed on; at last it must be right. @return how many times one failed */
unsigned verify_without_memory(const struct cairn_verify_options *options);
/** Xorbs are kept elsewhere: none must be stored. */
struct cairn_verify_options external_options(void);

/** The shard was refused by this rule, at this place. */
void expect_refused(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset);
/** And nothing is told but what the sender wrote. */
void expect_told_nothing(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset);

#endif
