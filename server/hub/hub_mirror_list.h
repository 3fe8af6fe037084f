/* Shows the state of mirrored repositories to operators. */
#ifndef CAIRN_SERVER_HUB_MIRROR_LIST_H
#define CAIRN_SERVER_HUB_MIRROR_LIST_H

#include "base/json.h"
#include "mirror/operate.h"
#include "server/app.h"

/** Writes a mirrored repository as an object. Call on a worker, because it counts the files of main. @param name
 * member name of the object, which then also counts the files to fetch in advance; NULL: it is in an array
 * @param head  newest commit of main; id 0: main has none @return CAIRN_OK; if nothing was written: errors of the index
 */
CAIRN_MUST_USE enum cairn_status hub_mirror_put_repo(struct cairn_json_out *w, const char *name, struct app *app,
						     const struct cairn_index_mirrored *m,
						     const struct cairn_index_commit *head);

#endif
