#include "server/hub/hub_mirror_place.h"

#include <stdio.h>

bool hub_mirror_take_place(struct http_request *req, struct hub_mirror_place *out)
{
	out->namespace = http_path_arg(req, "namespace");
	out->name = http_path_arg(req, "name");
	out->kind = hub_kind_of_segment(http_path_arg(req, "type"));
	if (out->kind != 0)
		return true;
	http_reply_error(req, 404, "repo.unknown", "repositories are models, datasets, spaces or kernels", NULL);
	return false;
}

const char *hub_mirror_text(char out[static HUB_MIRROR_TEXT_BYTES], const struct hub_mirror_place *place)
{
	if (place->name)
		(void)snprintf(out, HUB_MIRROR_TEXT_BYTES, "%s/%s/%s", hub_kind_segment(place->kind), place->namespace,
			       place->name);
	else
		(void)snprintf(out, HUB_MIRROR_TEXT_BYTES, "%s", place->namespace);
	return out;
}
