/* What the contracts of what a shard registers share: each test begins with an index that has two xorbs. */
#ifndef CAIRN_TESTS_SHARD_FIXTURE_H
#define CAIRN_TESTS_SHARD_FIXTURE_H

#include "support/index_fixture.h"

#include <check.h>

/** A case whose tests begin with fx_set_up_two(). */
TCase *sx_tests(void);
/** Run it with the engine in argv. @return the status of the program */
int sx_run(int argc, char **argv, const char *suite_name, TCase *t);

/** The number of a xorb's row. */
int64_t sx_xorb_id(const struct fx_xorb *x);

#endif
