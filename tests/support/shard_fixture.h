/* What each test of what a shard registers begins with: an index that has two xorbs. */
#ifndef CAIRN_TESTS_SHARD_FIXTURE_H
#define CAIRN_TESTS_SHARD_FIXTURE_H

#include "support/index_fixture.h"

#include <check.h>

/** Made anew for each test of sx_tests(). */
extern struct shard_fixture {
	struct cairn_index *ix;
	struct fx_xorb a, b; /* of 20 and 30 chunks; stored */
} sx;

/** A case with the fixture. */
TCase *sx_tests(void);
/** Run it with the engine in argv. @return the status of the program */
int sx_run(int argc, char **argv, const char *suite_name, TCase *t);

/** The number of a xorb's row. */
int64_t sx_xorb_id(const struct fx_xorb *x);

#endif
