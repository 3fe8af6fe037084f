/* The keys of dedupe answers. */
#ifndef CAIRN_CAS_DEDUPE_KEY_H
#define CAIRN_CAS_DEDUPE_KEY_H

#include "data_dir/secret.h"

/** The key of a dedupe scope in an epoch (HKDF): two scopes cannot compare their answers, nor can two epochs. Never
 * zero.
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_dedupe_key(const struct cairn_secret *secret, const char *scope, uint64_t epoch,
						  struct cairn_hash *out);

#endif
