#include "store/backend.h"

#include <string.h>

static const struct store_scheme {
	const char *prefix;
	enum cairn_status (*open)(struct cairn_store **out, const char *rest, const struct cairn_store_options *options,
				  struct cairn_diag *diag);
	enum cairn_status (*reach)(const char *rest, const char *credentials, struct cairn_store_reach *out,
				   struct cairn_diag *diag); /* NULL: nothing */
} STORE_SCHEMES[] = {
	{"files:", store_fs_open, NULL},
	{"memory:", store_mem_open, NULL},
	{"s3:", store_s3_open, store_s3_reach},
};

/* @param[out] rest  what follows the scheme  @return NULL: it is not ours */
static const struct store_scheme *store_scheme_of(const char *url, const char **rest, struct cairn_diag *diag)
{
	for (size_t i = 0; i < sizeof(STORE_SCHEMES) / sizeof(STORE_SCHEMES[0]); i++) {
		size_t len = strlen(STORE_SCHEMES[i].prefix);
		*rest = url + len;
		if (strncmp(url, STORE_SCHEMES[i].prefix, len) == 0)
			return &STORE_SCHEMES[i];
	}
	(void)cairn_fail(diag, CAIRN_E_USAGE, "store.url", CAIRN_NO_OFFSET,
			 "there is no store \"%s\"; give files:DIR, memory: or s3://BUCKET/PREFIX", url);
	return NULL;
}

enum cairn_status cairn_store_open(struct cairn_store **out, const char *url, const struct cairn_store_options *options,
				   struct cairn_diag *diag)
{
	static const struct cairn_store_options TO_WRITE = {0};
	const char *rest;
	*out = NULL;
	const struct store_scheme *scheme = store_scheme_of(url, &rest, diag);
	return scheme ? scheme->open(out, rest, options ? options : &TO_WRITE, diag) : CAIRN_E_USAGE;
}

enum cairn_status cairn_store_reach(const char *url, const char *credentials, struct cairn_store_reach *out,
				    struct cairn_diag *diag)
{
	const char *rest;
	*out = (struct cairn_store_reach){.port = 0};
	const struct store_scheme *scheme = store_scheme_of(url, &rest, diag);
	if (!scheme)
		return CAIRN_E_USAGE;
	return scheme->reach ? scheme->reach(rest, credentials, out, diag) : CAIRN_OK;
}
