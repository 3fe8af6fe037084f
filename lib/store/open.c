#include "store/backend.h"

#include <string.h>

static const struct store_scheme {
	const char *prefix;
	enum cairn_status (*open)(struct cairn_store **out, const char *rest, const struct cairn_store_options *options,
				  struct cairn_diag *diag);
} STORE_SCHEMES[] = {{"files:", store_fs_open}, {"memory:", store_mem_open}};

enum cairn_status cairn_store_open(struct cairn_store **out, const char *url, const struct cairn_store_options *options,
				   struct cairn_diag *diag)
{
	static const struct cairn_store_options TO_WRITE = {0};
	*out = NULL;
	for (size_t i = 0; i < sizeof(STORE_SCHEMES) / sizeof(STORE_SCHEMES[0]); i++) {
		const struct store_scheme *scheme = &STORE_SCHEMES[i];
		size_t len = strlen(scheme->prefix);
		if (strncmp(url, scheme->prefix, len) == 0)
			return scheme->open(out, url + len, options ? options : &TO_WRITE, diag);
	}
	return cairn_fail(diag, CAIRN_E_USAGE, "store.url", CAIRN_NO_OFFSET,
			  "there is no store \"%s\"; give files:DIR or memory:", url);
}
