/* Finds the route for a method and a raw request target. Pure: no I/O, no HTTP library. */
#ifndef CAIRN_SERVER_ROUTER_H
#define CAIRN_SERVER_ROUTER_H

#include "server/http/http.h"

enum {
	ROUTER_ARGS_MAX = 4,
	ROUTER_PATH_BYTES_MAX = 512,    /* longest path; longer ones match only patterns with {name*} */
	ROUTER_TAILED_BYTES_MAX = 4096, /* longest path that matches a pattern with {name*} */
};

/** The route of a request, and the values in its path. Borrows the target. */
struct router_match {
	const struct http_route *route;
	unsigned n_args;
	struct {
		const char *name; /* points into the pattern */
		size_t name_len;
		const char *value; /* points into the target; ends with a zero */
	} args[ROUTER_ARGS_MAX];
};

enum router_result {
	ROUTER_FOUND,
	ROUTER_NOT_FOUND,      /* 404; also for a path with characters that no such route accepts */
	ROUTER_WRONG_METHOD,   /* 405; allow lists the resource's methods */
	ROUTER_UNKNOWN_METHOD, /* 501: neither a method of HTTP nor of any route */
};

/**
 * Finds the route of a request.
 * @param target  raw, as sent ("/v1/chunks/default/…?x=y"); an absolute-form target is not served. If a route is found,
 *                zeros are written into the target: afterwards only the values of the match may be read
 * @param plain   the target is known to have only letters, digits and "-._~/"
 * @param allow   for ROUTER_WRONG_METHOD: "GET, HEAD", cut to allow_len */
enum router_result router_find(const struct http_route *const *tables, const char *method, char *target, bool plain,
			       struct router_match *out, char *allow, size_t allow_len);

#endif
