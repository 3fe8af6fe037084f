/* The repository that an operator's command names. */
#ifndef CAIRN_SERVER_HUB_MIRROR_PLACE_H
#define CAIRN_SERVER_HUB_MIRROR_PLACE_H

#include "server/ask/hub_repo.h"
#include "server/http/http.h"

/** The repository in the path of an operator's command. Plain value; borrowed from the request. */
struct hub_mirror_place {
	enum cairn_index_repo_kind kind;
	const char *namespace, *name;
};
/** Parses the path /v1/mirror/repositories/{type}/{namespace}/{name}. @return false: 404 was replied (repo.unknown) */
bool hub_mirror_take_place(struct http_request *req, struct hub_mirror_place *out);

enum { HUB_MIRROR_TEXT_BYTES = CAIRN_INDEX_ALIAS_MAX + 32 };
/** Writes the name for the log: "models/far/words"; without a name, that of the namespace. Cut to fit. @return out */
const char *hub_mirror_text(char out[static HUB_MIRROR_TEXT_BYTES], const struct hub_mirror_place *place);

#endif
