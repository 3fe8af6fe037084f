#include "server/route/api_key.h"

#include "token/token.h"

#include <stdio.h>
#include <string.h>

static const char PREFIX[] = "hf_cairn_";
enum { HUB_BYTES = 3 }; /* of the prefix: clients want it, keys are good without */

enum cairn_status api_key_make(char out[static API_KEY_TEXT_BYTES])
{
	uint8_t random[API_KEY_RANDOM_BYTES];
	enum cairn_status status = cairn_random(random, sizeof(random));
	if (status != CAIRN_OK)
		return status;
	memcpy(out, PREFIX, sizeof(PREFIX) - 1);
	cairn_base64url_encode(out + sizeof(PREFIX) - 1, random, sizeof(random));
	explicit_bzero(random, sizeof(random));
	return CAIRN_OK;
}

enum cairn_status api_key_digest(const char *key, uint8_t out[static CAIRN_SHA256_BYTES])
{
	const char *own = strncmp(key, PREFIX, HUB_BYTES) == 0 ? key + HUB_BYTES : key;
	const char *begins = PREFIX + HUB_BYTES;
	size_t len = strlen(own);
	if (len != API_KEY_TEXT_BYTES - 1 - HUB_BYTES || strncmp(own, begins, strlen(begins)) != 0)
		return CAIRN_E_FORMAT;
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *d = cairn_sha256_new();
	if (!d)
		return CAIRN_E_NOMEM;
	cairn_sha256_add(d, own, len);
	cairn_sha256_end(d, out);
	return CAIRN_OK;
}

unsigned api_key_scopes(const char *text)
{
	static const struct {
		const char *word;
		unsigned bit;
	} words[] = {{"read", CAIRN_TOKEN_READ}, {"write", CAIRN_TOKEN_WRITE}, {"admin", CAIRN_TOKEN_ADMIN}};
	unsigned bits = 0;
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, " "), i = 0;
		while (i < 3 && !(strlen(words[i].word) == len && strncmp(words[i].word, p, len) == 0))
			i++;
		if (i == 3)
			return 0;
		bits |= words[i].bit;
		p += len + strspn(p + len, " ");
	}
	return bits;
}

/* Letters, digits, "-", "_" and "."; not "." or "..". */
static bool api_key_is_name(const char *at, size_t len)
{
	static const char GOOD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	return len > 0 && strspn(at, GOOD) >= len && strspn(at, ".") < len;
}

bool api_key_repo(char *out, size_t out_len, const char *repo)
{
	static const char *const TYPES[] = {"models/", "datasets/", "spaces/", NULL};
	const char *type = "models/", *name = repo;
	for (size_t i = 0; TYPES[i]; i++) {
		if (strncmp(repo, TYPES[i], strlen(TYPES[i])) == 0 && strchr(repo + strlen(TYPES[i]), '/')) {
			type = TYPES[i];
			name = repo + strlen(type);
		}
	}
	out[0] = '\0';
	if (*repo == '\0')
		return true;
	const char *slash = strchr(name, '/');
	if (!slash || strchr(slash + 1, '/') || !api_key_is_name(name, (size_t)(slash - name)) ||
	    !api_key_is_name(slash + 1, strlen(slash + 1)))
		return false;
	int n = snprintf(out, out_len, "%s%s", type, name);
	return n >= 0 && (size_t)n < out_len;
}
