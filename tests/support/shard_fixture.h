/* Fixtures for the contracts of registering shards: each test begins with an index of two xorbs. */
#ifndef CAIRN_TESTS_SHARD_FIXTURE_H
#define CAIRN_TESTS_SHARD_FIXTURE_H

#include "support/index_fixture.h"

#include <check.h>

/** Makes a test case whose tests begin with fx_set_up_two(). */
TCase *sx_tests(void);
/** Runs the test case with the engine in argv. @return the exit status of the program */
int sx_run(int argc, char **argv, const char *suite_name, TCase *t);

/** Returns the number of a xorb's row. */
int64_t sx_xorb_id(const struct fx_xorb *x);

#endif
