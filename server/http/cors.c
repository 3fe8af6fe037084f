#include "server/http/cors.h"

#include <stdlib.h>
#include <string.h>

static const char CORS_SEPARATORS[] = " \t,";
static const char CORS_LETTERS[] = "abcdefghijklmnopqrstuvwxyz";
static const char CORS_NAME[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";

/* Our headers that a page may read; browsers hide most others. */
#define CORS_EXPOSED                                                                                                   \
	"Accept-Ranges, Content-Length, Content-Range, ETag, Retry-After, WWW-Authenticate, X-Request-Id, "            \
	"X-Xet-Access-Token, X-Xet-Cas-Url, X-Xet-Token-Expiration"
/* Headers that the clients of the protocol send. */
#define CORS_ACCEPTED                                                                                                  \
	"Authorization, Content-Type, If-Match, If-None-Match, If-Range, Range, X-Range-Dirty, X-Request-Id, X-Xet-Session-Id"
#define CORS_MAX_AGE_S "7200" /* no browser keeps the answer longer */

/* Skips ":PORT", if present. @return false: not a port */
static bool cors_skip_port(const char **p)
{
	if (**p != ':')
		return true;
	size_t n = strspn(*p + 1, "0123456789");
	unsigned long port = n > 0 && n <= 5 ? strtoul(*p + 1, NULL, 10) : 0;
	*p += 1 + n;
	return port > 0 && port <= 65535;
}

/* Is it "scheme://host[:port]" as browsers write it: in lower case, with nothing behind it? */
static bool cors_is_origin(const char *text)
{
	size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
	if (!strchr(CORS_LETTERS, text[0]) || scheme == 0 || strncmp(text + scheme, "://", 3) != 0)
		return false;
	const char *p = text + scheme + 3;
	size_t host = 0;
	if (*p == '[') {
		host = strspn(p + 1, "0123456789abcdef:.") + 2;
		if (p[host - 1] != ']')
			return false;
	} else {
		host = strspn(p, CORS_NAME);
	}
	p += host;
	return host > 0 && cors_skip_port(&p) && *p == '\0';
}

static enum cairn_status cors_add(struct cors *cors, const char *word, struct cairn_diag *diag)
{
	if (strcmp(word, "*") == 0) {
		cors->any = true;
		return CAIRN_OK;
	}
	if (!cors_is_origin(word))
		return cairn_fail(
			diag, CAIRN_E_USAGE, "cors_origins", CAIRN_NO_OFFSET,
			"\"%.100s\" is not an origin; use http://HOST[:PORT] or https://HOST[:PORT] without a "
			"path, or * for any",
			word);
	if (cors->n == CORS_ORIGINS_MAX)
		return cairn_fail(diag, CAIRN_E_USAGE, "cors_origins", CAIRN_NO_OFFSET,
				  "more than %d origins; name fewer, or * for any", (int)CORS_ORIGINS_MAX);
	cors->origins[cors->n++] = word;
	return CAIRN_OK;
}

enum cairn_status cors_init(struct cors *out, const char *list, struct cairn_diag *diag)
{
	*out = (struct cors){0};
	if (!list)
		return CAIRN_OK;
	out->text = strdup(list);
	if (!out->text)
		return CAIRN_E_NOMEM;
	for (char *p = out->text; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	enum cairn_status status = CAIRN_OK;
	char *rest = NULL;
	for (char *word = strtok_r(out->text, CORS_SEPARATORS, &rest); word && status == CAIRN_OK;
	     word = strtok_r(NULL, CORS_SEPARATORS, &rest))
		status = cors_add(out, word, diag);
	if (status != CAIRN_OK)
		cors_fini(out);
	return status;
}

void cors_fini(struct cors *cors)
{
	free(cors->text);
	*cors = (struct cors){0};
}

/* Returns the value of the header that allows an origin. @return NULL: the origin may not call */
static const char *cors_allowed(const struct cors *cors, const char *origin)
{
	if (cors->any)
		return "*";
	for (size_t i = 0; i < cors->n; i++)
		if (strcmp(cors->origins[i], origin) == 0)
			return origin;
	return NULL;
}

bool cors_allows(const struct cors *cors, const char *origin)
{
	return cors_allowed(cors, origin);
}

size_t cors_reply(const struct cors *cors, const char *origin, struct cors_header out[static CORS_HEADERS_MAX])
{
	size_t n = 0;
	/* for caches: the reply depends on the origin, even if there is none */
	if (cors->n > 0 && !cors->any)
		out[n++] = (struct cors_header){"Vary", "Origin"};
	const char *allowed = origin ? cors_allowed(cors, origin) : NULL;
	if (!allowed)
		return n;
	out[n++] = (struct cors_header){"Access-Control-Allow-Origin", allowed};
	out[n++] = (struct cors_header){"Access-Control-Expose-Headers", CORS_EXPOSED};
	return n;
}

size_t cors_preflight(const struct cors *cors, const char *origin, const char *asked, const char *methods,
		      struct cors_header out[static CORS_HEADERS_MAX])
{
	if (!asked || !origin || !cors_allowed(cors, origin))
		return 0;
	out[0] = (struct cors_header){"Access-Control-Allow-Methods", methods};
	out[1] = (struct cors_header){"Access-Control-Allow-Headers", CORS_ACCEPTED};
	out[2] = (struct cors_header){"Access-Control-Max-Age", CORS_MAX_AGE_S};
	return 3;
}
