/* Lets a call of the hub wait for the mirrored hub. While the call runs, it notes the repository, revision or file that
 * it lacks. Then its request waits without a thread. The call runs again when the mirror has fetched the missing part,
 * or has failed. */
#ifndef CAIRN_SERVER_HUB_MIRROR_H
#define CAIRN_SERVER_HUB_MIRROR_H

#include "server/ask/hub_repo.h"

/** A repository, revision or file that a call needs and that is not here, and the outcome of its fetch. */
struct hub_lack;
void hub_lack_free(struct hub_lack *lack);

/** If the call that has just run noted something that it lacks, lets the request wait. @return true: the request waits;
 * reply nothing */
bool hub_mirror_waits(struct http_request *req, struct hub_call *call);

/** May the asker's request look for the repository of r? An asker with a token of the mirrored hub may look only for a
 * repository that is mirrored, or could be. @return false: the call has failed (key.unknown) */
bool hub_mirror_takes(struct hub_repo *r, enum cairn_hub_access need);
/** Finds whose the asker's token of the mirrored hub is. @return JSON, which lives as long as the call; NULL: the call
 * has failed (key.unknown), or waits */
const char *hub_mirror_owner(struct hub_call *call);
/** Called after hub_repo_find() read the index. If the repository is not here, and the mirrored hub may have it, notes
 * that the call lacks it. An alias is replaced by its target, which is looked up. If a mirrored repository has a gate,
 * the mirrored hub is asked whether the asker's token may read it.
 * @param need  the access that the asker needs @return as hub_repo_find(); false: the call has failed, or waits */
bool hub_mirror_find(struct hub_repo *r, enum cairn_hub_access need);
/** Finds the repository to which the mirrored hub redirects r's name, which has no account in front. @return true:
 * hub_mirror_target() returns it; false: the call has failed, or waits */
bool hub_mirror_find_unowned(struct hub_repo *r);
/** Does what hub_mirror_find_unowned() does, for the namespace of r. The address may be that of a repository without an
 * account, and r's name the name of a call on it. @return false: the call has failed, or waits; status CAIRN_OK: the
 * address has another form */
bool hub_mirror_find_call(struct hub_repo *r);
/** Returns the repository that hub_mirror_find_unowned() found, "account/name". */
const char *hub_mirror_target(const struct hub_call *call);
/** Call before a revision of a mirrored repository is looked up. Notes that the mirrored hub has to be asked for the
 * revision, unless it was asked lately. @param raw  the address from the revision on; NULL: main @return false: the
 * call waits */
bool hub_mirror_refresh(struct hub_repo *r, const char *raw);
/** Call after a failed lookup. If the mirrored hub could not be asked, the call fails for that reason instead of
 * "unknown". */
void hub_mirror_explain(struct hub_repo *r);
/** Notes that the bytes of a file of a mirrored repository are not here. @return true: its first bytes have come, so
 * hub_mirror_open_file() may follow; false: the call has failed, or waits */
bool hub_mirror_want_file(struct hub_repo *r, const char *path, const struct cairn_index_entry *entry);
/** Opens the file that hub_mirror_want_file() noted. @return as cairn_mirror_reader_open(); after CAIRN_E_NOT_FOUND the
 * file may be noted once more */
CAIRN_MUST_USE enum cairn_status hub_mirror_open_file(struct hub_repo *r, const struct cairn_byte_range *range,
						      struct cairn_file_extent *extent,
						      struct cairn_mirror_reader **out);

/** Adds the header X-Cairn-Mirror to the reply to a call about a mirrored repository. */
void hub_mirror_say(struct http_request *req, struct hub_call *call);
/** Replies to an operator's command whose lookup at the mirrored hub failed. @param want  not CAIRN_OK */
void hub_mirror_reply_look(struct http_request *req, const struct cairn_mirror_want *want);
/** Replies to a call that failed because of the mirrored hub. @return false: the failure has another reason */
bool hub_mirror_reply(struct http_request *req, const struct hub_call *call);

#endif
