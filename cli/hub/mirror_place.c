#include "cli/hub/mirror_place.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_NAME_MAX = 96, PLACE_PARTS = 3 };
static const char PLACE_GOOD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

/* Returns the length of the name at the beginning of a text. @return 0: there is none */
static size_t place_name_len(const char *text)
{
	size_t len = strspn(text, PLACE_GOOD);
	return len <= PLACE_NAME_MAX ? len : 0;
}

static bool place_is_type(const char *name, size_t len)
{
	static const char *const TYPES[] = {"models", "datasets", "spaces", "kernels"};
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++)
		if (strlen(TYPES[i]) == len && strncmp(TYPES[i], name, len) == 0)
			return true;
	return false;
}

/* Splits a name at its slashes. @return the number of parts; 0: a part is not a name, or there are too many */
static unsigned place_split(const char *place, const char *part[PLACE_PARTS], size_t len[PLACE_PARTS])
{
	unsigned n = 0;
	for (const char *at = place;; at++) {
		if (n == PLACE_PARTS || (len[n] = place_name_len(at)) == 0)
			return 0;
		part[n] = at;
		at += len[n++];
		if (!*at)
			return n;
		if (*at != '/')
			return 0;
	}
}

bool mirror_place_path(char out[static MIRROR_PATH_BYTES], const char *place, const char *more)
{
	const char *part[PLACE_PARTS] = {NULL};
	size_t len[PLACE_PARTS] = {0};
	unsigned n = place_split(place, part, len);
	bool has_type = n == PLACE_PARTS;
	if (n < 2 || has_type != place_is_type(part[0], len[0]))
		return false;
	int written = snprintf(out, MIRROR_PATH_BYTES, "/v1/mirror/repositories/%s%s%s", has_type ? "" : "models/",
			       place, more);
	return written > 0 && written < MIRROR_PATH_BYTES;
}

bool mirror_place_namespace(char out[static MIRROR_PATH_BYTES], const char *name)
{
	size_t len = place_name_len(name);
	if (len == 0 || name[len])
		return false;
	(void)snprintf(out, MIRROR_PATH_BYTES, "/v1/mirror/namespaces/%s", name);
	return true;
}
