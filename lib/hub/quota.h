/* Quotas, which the operator sets. They are checked before an upload, so that no client sends much and is refused at
 * the end; the index's writer decides (index/quota.h). Without a hub a repository is the name in tokens. */
#ifndef CAIRN_HUB_QUOTA_H
#define CAIRN_HUB_QUOTA_H

#include "hub/hub.h"
#include "index/quota.h"

/** Returns the bytes that a file of this size counts for a quota. */
uint64_t cairn_hub_file_counts(uint64_t size_bytes);

/** Checks whether the quotas leave room for more bytes. @return CAIRN_OK; CAIRN_E_DENIED (quota.repo, quota.account);
 * as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_room(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						      uint64_t more_bytes, struct cairn_diag *diag);

/** A file that a client wants to upload, as far as its content is known. Borrowed. */
struct cairn_hub_wanted {
	uint64_t size_bytes;
	const char *sample; /* its first bytes, in base64; NULL: not given */
};

/** Checks for room as cairn_hub_check_room() does, for files to upload. A file that may need no room does not count, so
 * that no client is refused wrongly: one with a size that the repository already has, or with the size and sample of
 * another file. @param wanted  is reordered */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_upload(const struct cairn_hub *hub,
							const struct cairn_index_repo *repo,
							struct cairn_hub_wanted *wanted, size_t n,
							struct cairn_diag *diag);

/** Reads the quota of a place: "account", or "models/account/name" (any kind), which is a repository of the hub, or
 * else the owner with that name in tokens. @return CAIRN_OK; CAIRN_E_USAGE not a place (quota.place);
 * CAIRN_E_NOT_FOUND (account.unknown, repo.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_quota(const struct cairn_hub *hub, const char *place,
						 struct cairn_index_room *out, struct cairn_diag *diag);

/** Sets the quota of a place. Waits for the index's writer.
 * @param limit_bytes  at most INT64_MAX, or CAIRN_INDEX_NO_QUOTA
 * @param has_hub  refuse a name that neither the hub nor an owner has; else accept it: its repository may be made later
 * @return as cairn_hub_quota(); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_quota(const struct cairn_hub *hub, const char *place, bool has_hub,
						     uint64_t limit_bytes, struct cairn_diag *diag);

enum { CAIRN_HUB_QUOTAS_PAGE_MAX = 512 }; /* rows of one call of cairn_hub_each_quota() */

/** Visits all places that have a quota, as cairn_index_each_quota() does. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_quota(const struct cairn_hub *hub, const char *after, uint32_t limit,
						      cairn_index_visit_quota *visit, void *ctx, bool *more);

#endif
