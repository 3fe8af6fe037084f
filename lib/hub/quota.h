/* Quotas: what the operator sets, and what is asked before anything is sent, so that nobody sends much to be refused at
 * the end. The index's writer decides: index/quota.h. */
#ifndef CAIRN_HUB_QUOTA_H
#define CAIRN_HUB_QUOTA_H

#include "cas/cas.h"
#include "index/quota.h"

/** Is there room for so many bytes more? @return CAIRN_OK; CAIRN_E_DENIED (quota.repo, quota.account); CAIRN_E_IO;
 *  CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_room(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						      uint64_t more_bytes, struct cairn_diag *diag);

/** A file that somebody wants to upload, of whose content only this is known. Borrowed. */
struct cairn_hub_wanted {
	uint64_t size_bytes;
	const char *sample; /* its first bytes, in base64; NULL: not told */
};

/** Likewise for files that somebody wants to upload. One of a size that the repository has already may be the same, as
 * may two of the same size and sample: what may need no room is not counted, so that nobody is refused who need not
 * be. @param wanted  put in another order */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_upload(struct cairn_cas *cas, const struct cairn_index_repo *repo,
							struct cairn_hub_wanted *wanted, size_t n,
							struct cairn_diag *diag);

/** The quota of a place: "account", or "models/account/name" with any kind. @return CAIRN_OK; CAIRN_E_USAGE it is none
 *  (quota.place); CAIRN_E_NOT_FOUND (account.unknown, repo.unknown); CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_quota(struct cairn_cas *cas, const char *place, struct cairn_index_room *out,
						 struct cairn_diag *diag);

/** Set it. Waits for the index's writer. @param limit_bytes  at most INT64_MAX, or CAIRN_INDEX_NO_QUOTA
 *  @return likewise; CAIRN_E_BUSY; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_quota(struct cairn_cas *cas, const char *place, uint64_t limit_bytes,
						     struct cairn_diag *diag);

#endif
