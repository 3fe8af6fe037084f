/* What tests of stores share: a store in a folder of its own, and objects of a few bytes of text, each under the hash
 * of a name. Every call ends the running Check test when it fails, unless it hands a status out. */
#ifndef CAIRN_TESTS_SUPPORT_STORE_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_STORE_FIXTURE_H

#include "store/store.h"
#include "support/tempdir.h"

/** The test says how it is opened. */
struct store_fixture {
	struct tempdir dir;
	struct cairn_store *store;
};
/** For CLEANUP(). */
void store_fixture_fini(struct store_fixture *f);

/** The hash that the object of that name is put under. */
struct cairn_hash store_hash_of(const char *name);

/** Put it, in two pieces. @return what the first failing step said */
enum cairn_status store_put(struct cairn_store *s, const char *name, const char *bytes, bool *existed);
/** It must not have been there. */
void store_put_new(struct cairn_store *s, const char *name, const char *bytes);

/** Its bytes must be those; at most 64. */
void store_object_is(struct cairn_store *s, const char *name, const char *want);

/** 1000 for each object plus all their bytes. */
uint64_t store_sum(struct cairn_store *s);

#endif
