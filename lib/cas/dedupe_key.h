/* Derives the keys of dedupe answers. */
#ifndef CAIRN_CAS_DEDUPE_KEY_H
#define CAIRN_CAS_DEDUPE_KEY_H

#include "data_dir/secret.h"
#include "index/index.h"

#include <pthread.h>

/** Derives keys from a secret, and caches the last one, because deriving takes a third of the time of an answer. A
 * client may learn by timing that another scope was answered meanwhile, but not which answer it got. */
struct cairn_dedupe_keys {
	const struct cairn_secret *secret; /* borrowed */
	pthread_mutex_t lock;              /* guards the cached key below */
	char scope[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint64_t epoch;
	struct cairn_hash last; /* zero: no key yet */
};

void cairn_dedupe_keys_init(struct cairn_dedupe_keys *keys, const struct cairn_secret *secret);
void cairn_dedupe_keys_fini(struct cairn_dedupe_keys *keys);

/** Derives the key of a dedupe scope in an epoch (HKDF), so that answers of two scopes or two epochs cannot be
 * compared. The key is never zero. Any thread.
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_dedupe_key(struct cairn_dedupe_keys *keys, const char *scope, uint64_t epoch,
						  struct cairn_hash *out);

#endif
