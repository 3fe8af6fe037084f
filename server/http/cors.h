/* CORS: the origins whose pages may call, and the headers that allow it (fetch.spec.whatwg.org). Pure. No cookies are
 * involved: a page sends a token itself, so it gains no access through its user's browser. */
#ifndef CAIRN_SERVER_CORS_H
#define CAIRN_SERVER_CORS_H

#include "base/status.h"

#include <stddef.h>

enum {
	CORS_ORIGINS_MAX = 64,
	CORS_HEADERS_MAX = 4, /* largest number of headers that one call returns */
};

/** Origins whose pages may call. Zeroed: none. Immutable once made; any thread. */
struct cors {
	bool any;
	size_t n;
	const char *origins[CORS_ORIGINS_MAX]; /* point into text */
	char *text;                            /* owned */
};

/** Reads a list of origins, separated by blanks or commas: "https://a.example http://localhost:3000", or "*" for any.
 * @param list  NULL or empty: none
 * @return CAIRN_OK; CAIRN_E_USAGE with the word that is no origin in diag; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cors_init(struct cors *out, const char *list, struct cairn_diag *diag);
void cors_fini(struct cors *cors);

/** May pages of this origin call? */
bool cors_allows(const struct cors *cors, const char *origin);

struct cors_header {
	const char *name, *value; /* borrowed: static, or one of the arguments */
};

/** Returns the headers that every reply has, errors included. @param origin  of the request; NULL: none. @return the
 * number of headers */
size_t cors_reply(const struct cors *cors, const char *origin, struct cors_header out[static CORS_HEADERS_MAX]);

/** Returns the further headers of the answer to a preflight. @param asked  its Access-Control-Request-Method; NULL: not
 * a preflight @param methods  those that the resource takes, separated by commas @return the number of headers; 0: not
 * a preflight, or the origin may not call */
size_t cors_preflight(const struct cors *cors, const char *origin, const char *asked, const char *methods,
		      struct cors_header out[static CORS_HEADERS_MAX]);

#endif
