/* Lets a call wait for the mirrored hub. While the call runs, it notes the repository, revision or file that is not
 * here. Then its request waits without a thread, and the call runs again once the mirror has an answer. */
#ifndef CAIRN_SERVER_HUB_MIRROR_H
#define CAIRN_SERVER_HUB_MIRROR_H

#include "server/ask/hub_repo.h"

/** The repository, revision or file that a call needs and that is not here, and the mirror's answer about it. */
struct hub_lack;
void hub_lack_free(struct hub_lack *lack);

/** Lets the request wait if its call, which has just run, lacks something. @return true: nothing is to be replied now
 */
bool hub_mirror_waits(struct http_request *req, struct hub_call *call);

/** May the asker look for the repository of r? A token of the mirrored hub opens nothing else.
 * @return false: the call has failed (key.unknown) */
bool hub_mirror_takes(struct hub_repo *r, enum cairn_hub_access need);
/** After hub_repo_find()'s look into the index: notes that a repository is lacking, if the mirrored hub may have it.
 * A name that leads to another one by an alias is replaced, and looked up again. At the gate of a mirrored repository,
 * the mirrored hub is asked whether it lets the asker's token in.
 * @param need  what the asker wants to do  @return as hub_repo_find(); the call has failed unless it is found */
bool hub_mirror_find(struct hub_repo *r, enum cairn_hub_access need);
/** Finds where the mirrored hub redirects a name without an owner, that of r. Else the call fails, or waits for that
 * hub.
 * @return hub_mirror_target() is set */
bool hub_mirror_find_unowned(struct hub_repo *r);
/** Does the same for the namespace of r, if it may be the name of a repository without an owner, and the name of r one
 * of its calls. @return false: the call waits, or has failed; status CAIRN_OK: it is none */
bool hub_mirror_find_call(struct hub_repo *r);
/** Returns "account/name". */
const char *hub_mirror_target(const struct hub_call *call);
/** Before a revision of a mirrored repository is looked up: notes that the mirrored hub is to be asked for it, unless
 * that was done lately. @param raw  how the address goes on from the revision; NULL: main @return false: the call has
 * failed, and waits */
bool hub_mirror_refresh(struct hub_repo *r, const char *raw);
/** After a failed lookup: puts the reason why the mirrored hub could not be asked in the place of "unknown". */
void hub_mirror_explain(struct hub_repo *r);
/** Notes that the bytes of a file of a mirrored repository are lacking. @return true: they are on their way, and
 * hub_mirror_open_file() may follow; false: the call has failed, and waits */
bool hub_mirror_want_file(struct hub_repo *r, const char *path, const struct cairn_index_entry *entry);
/** Reads the file of the last want. @return as cairn_mirror_reader_open(); with CAIRN_E_NOT_FOUND the file may be
 * wanted once more */
CAIRN_MUST_USE enum cairn_status hub_mirror_open_file(struct hub_repo *r, const struct cairn_byte_range *range,
						      struct cairn_file_extent *extent,
						      struct cairn_mirror_reader **out);

/** Adds the header X-Cairn-Mirror to the reply to a call about a mirrored repository. */
void hub_mirror_say(struct http_request *req, struct hub_call *call);
/** Replies a failure that is of the mirrored hub. @return false: it is of something else */
bool hub_mirror_reply(struct http_request *req, const struct hub_call *call);

#endif
