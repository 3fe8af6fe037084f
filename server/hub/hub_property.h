/* The properties of a repository that clients select, with expand or with flags such as full. */
#ifndef CAIRN_SERVER_HUB_PROPERTY_H
#define CAIRN_SERVER_HUB_PROPERTY_H

#include "server/http/http.h"

enum hub_property {
	HUB_AUTHOR = 1 << 0,
	HUB_PRIVATE = 1 << 1,
	HUB_GATED = 1 << 2,
	HUB_DISABLED = 1 << 3,
	HUB_CREATED = 1 << 4,
	HUB_MODIFIED = 1 << 5,
	HUB_DOWNLOADS = 1 << 6,
	HUB_LIKES = 1 << 7,
	HUB_SDK = 1 << 8,
	HUB_TAGS = 1 << 9,
	HUB_TASK = 1 << 10,
	HUB_LIBRARY = 1 << 11,
	HUB_CARD_DATA = 1 << 12,
	HUB_CONFIG = 1 << 13,
	HUB_SHA = 1 << 14,
	HUB_SIBLINGS = 1 << 15,
	HUB_STORAGE = 1 << 16,
	/* every description of a repository has these, unless the client selects others */
	HUB_BRIEF = (1 << 12) - 1,
	/* those that come from the card */
	HUB_OF_CARD = HUB_TAGS | HUB_TASK | HUB_LIBRARY | HUB_CARD_DATA | HUB_CONFIG,
	/* the description of a single repository has all of these */
	HUB_FULL = (1 << 17) - 1,
	/* read from files, so only for a single model, if the client selects it */
	HUB_TENSORS = 1 << 17,
};

/** Reads the repeated query arguments expand, or expand[]: names of properties. Names that only the public hub knows
 * are accepted. @param otherwise  the result if the arguments are absent @return false: an error was replied */
bool hub_properties_read(struct http_request *req, unsigned otherwise, unsigned *out);
const char *hub_property_name(enum hub_property property);

#endif
