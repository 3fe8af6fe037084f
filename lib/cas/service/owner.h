/* Names of owners of files, as operators write them. */
#ifndef CAIRN_CAS_SERVICE_OWNER_H
#define CAIRN_CAS_SERVICE_OWNER_H

#include "cas/cas.h"
#include "cas/service/repo.h"
#include "index/hub/hub.h"

/** Writes the full name as cairn_repo_full_name() does, but also accepts buckets/ and kernels/ before a name. Pure.
 * @param[out] out  the full form; "" stays @return false: repo is not a valid name */
bool cairn_cas_owner_name(char *out, size_t size, const char *repo);

/** Is this owner, in the form of tokens, a repository of the hub? Pure. */
bool cairn_cas_owner_is_of_hub(const char *owner);

/** Finds the owner with a name: the repository of the hub that has or had the name, or else the owner in tokens.
 * @param name  from cairn_cas_owner_name(); "" is the operator
 * @param[out] owner  CAIRN_CAS_OWNER_TEXT_MAX + 1 bytes
 * @param[out] in_hub  the owner is a repository of the hub
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_find_owner(struct cairn_cas *cas, const char *name, char *owner,
						      bool *in_hub);

#endif
