/* The keys of dedupe answers. */
#ifndef CAIRN_CAS_DEDUPE_KEY_H
#define CAIRN_CAS_DEDUPE_KEY_H

#include "data_dir/secret.h"
#include "index/index.h"

#include <pthread.h>

/** All keys of a secret, and the one that was derived last: deriving takes a third of the making of an answer. Who
 * measures may learn by it that another scope was answered meanwhile, and nothing of what. */
struct cairn_dedupe_keys {
	const struct cairn_secret *secret; /* borrowed */
	pthread_mutex_t lock;              /* over the last one */
	char scope[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint64_t epoch;
	struct cairn_hash last; /* zero: none so far */
};

void cairn_dedupe_keys_init(struct cairn_dedupe_keys *keys, const struct cairn_secret *secret);
void cairn_dedupe_keys_fini(struct cairn_dedupe_keys *keys);

/** The key of a dedupe scope in an epoch (HKDF): two scopes cannot compare their answers, nor can two epochs. Never
 * zero. Any thread.
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_dedupe_key(struct cairn_dedupe_keys *keys, const char *scope, uint64_t epoch,
						  struct cairn_hash *out);

#endif
