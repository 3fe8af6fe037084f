/* Fixtures for tests of the verifier: three made-up xorbs, a store that has them, and a shard to write. */
#ifndef CAIRN_TESTS_SUPPORT_VERIFY_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_VERIFY_FIXTURE_H

#include "support/made.h"

#include <check.h>

#define WITH_ALL (CAIRN_SHARD_FILE_WITH_VERIFICATION | CAIRN_SHARD_FILE_WITH_METADATA)

/** The fixture, made anew for each test of verify_tests(). */
extern struct verify_fixture {
	struct cairn_diag diag; /* of the last call below */
	struct cairn_verify_summary sum;
	struct cairn_shard_writer w;
	struct made_xorb xorbs[3]; /* with 20, 1 and 300 chunks */
	struct made_store store;
} v;

/** Makes a test case with the fixture. */
TCase *verify_tests(const char *name);
/** Makes a test case whose store has only the places of chunks, not their hashes. */
TCase *verify_tests_of_places(void);
/** Runs one test case, and the second unless it is NULL. @return the exit status of the program */
int verify_run(const char *suite_name, TCase *first, TCase *second);

/** Writes two files over the three xorbs. The first n_described xorbs are described. */
void make_shard(size_t n_described);
/** Begins another shard. */
void begin_again(void);
/** Verifies the current, ended shard. @param options  NULL: the defaults */
enum cairn_status verify_with(const struct cairn_verify_options *options);
/** Ends the current shard and verifies it. */
enum cairn_status verify_made(const struct cairn_verify_options *options);
/** Ends the current shard and verifies it repeatedly, with each allocation failing in turn. After a failure there must
 * be no verdict and no records. Without one, the shard must be accepted. @return how many times an allocation failed */
unsigned verify_without_memory(const struct cairn_verify_options *options);
/** Returns options for xorbs that are kept elsewhere, none of which must be stored. */
struct cairn_verify_options external_options(void);

/** Checks that the shard was refused by this rule, at this offset. */
void expect_refused(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset);
/** Checks the status, and that the refusal contains only values that the sender wrote. */
void expect_told_nothing(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset);

#endif
