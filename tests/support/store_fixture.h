/* Fixtures for tests of stores: a store in a folder of its own, and objects of short texts, each under the hash of a
 * name. Every call that returns no status ends the running Check test if it fails. */
#ifndef CAIRN_TESTS_SUPPORT_STORE_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_STORE_FIXTURE_H

#include "store/store.h"
#include "support/tempdir.h"

/** A store. The test chooses how it is opened. */
struct store_fixture {
	struct tempdir dir;
	struct cairn_store *store;
};
void store_fixture_fini(struct store_fixture *f);

/** Returns the hash under which the object of that name is stored. */
struct cairn_hash store_hash_of(const char *name);

/** Puts an object, in two pieces. @return the status of the first failing step */
enum cairn_status store_put(struct cairn_store *s, const char *name, const char *bytes, bool *existed);
/** Puts an object that must not exist yet. */
void store_put_new(struct cairn_store *s, const char *name, const char *bytes);

/** Checks that the object has these bytes, at most 64. */
void store_object_is(struct cairn_store *s, const char *name, const char *want);

/** Returns 1000 for each object, plus the sum of their bytes. */
uint64_t store_sum(struct cairn_store *s);

#endif
