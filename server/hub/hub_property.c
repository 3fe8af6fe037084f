#include "server/hub/hub_property.h"

#include "server/ask/hub_reply.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned bit; /* 0: a property of the public hub that has no meaning here */
} PROPERTIES[] = {
	{"author", HUB_AUTHOR},
	{"private", HUB_PRIVATE},
	{"gated", HUB_GATED},
	{"disabled", HUB_DISABLED},
	{"createdAt", HUB_CREATED},
	{"lastModified", HUB_MODIFIED},
	{"downloads", HUB_DOWNLOADS},
	{"likes", HUB_LIKES},
	{"sdk", HUB_SDK},
	{"tags", HUB_TAGS},
	{"pipeline_tag", HUB_TASK},
	{"library_name", HUB_LIBRARY},
	{"cardData", HUB_CARD_DATA},
	{"config", HUB_CONFIG},
	{"sha", HUB_SHA},
	{"siblings", HUB_SIBLINGS},
	{"usedStorage", HUB_STORAGE},
	{"safetensors", HUB_TENSORS},
	{"baseModels", 0},
	{"childrenModelCount", 0},
	{"citation", 0},
	{"datasets", 0},
	{"description", 0},
	{"downloadsAllTime", 0},
	{"evalResults", 0},
	{"gguf", 0},
	{"inference", 0},
	{"inferenceProviderMapping", 0},
	{"lastModifiedBy", 0},
	{"mainSize", 0},
	{"mask_token", 0},
	{"model-index", 0},
	{"models", 0},
	{"paperswithcode_id", 0},
	{"region", 0},
	{"resourceGroup", 0},
	{"runtime", 0},
	{"securityRepoStatus", 0},
	{"spaces", 0},
	{"subdomain", 0},
	{"transformersInfo", 0},
	{"trendingScore", 0},
	{"widgetData", 0},
	{"xetEnabled", 0},
};
enum { N_PROPERTIES = sizeof(PROPERTIES) / sizeof(PROPERTIES[0]) };

struct property_reading {
	unsigned found;
	bool any, unknown;
};

static bool property_take(void *ctx, const char *name)
{
	struct property_reading *r = ctx;
	r->any = true;
	for (unsigned i = 0; i < N_PROPERTIES; i++) {
		if (strcmp(PROPERTIES[i].name, name) == 0) {
			r->found |= PROPERTIES[i].bit;
			return true;
		}
	}
	r->unknown = true;
	return false;
}

bool hub_properties_read(struct http_request *req, unsigned otherwise, unsigned *out)
{
	struct property_reading r = {0};
	http_query_each(req, "expand", property_take, &r);
	http_query_each(req, "expand[]", property_take, &r);
	if (r.unknown) {
		hub_reply_error(req, 400, NULL, "query.expand",
				"expand names a property that no repository has, such as author, tags or siblings");
		return false;
	}
	*out = r.any ? r.found : otherwise;
	return true;
}

const char *hub_property_name(enum hub_property property)
{
	for (unsigned i = 0; i < N_PROPERTIES; i++)
		if (PROPERTIES[i].bit == (unsigned)property)
			return PROPERTIES[i].name;
	return "";
}
