/* Sends requests to a server. The only includer of libcurl. */
#ifndef CAIRN_CLI_CLIENT_H
#define CAIRN_CLI_CLIENT_H

#include "base/json.h"

#include <stdatomic.h>

/** A connection to one server, reused from request to request. Owned by one thread. */
struct client;

struct client_options {
	bool verbose;      /* print each exchange to standard error: method, path, status, bytes, time */
	const char *url;   /* "http://host:port", with or without a path */
	const char *token; /* NULL: none */
	unsigned retries;  /* retries of a 429, a 5xx except 501, or a lost connection to a server that answered */
};

enum client_method { CLIENT_GET, CLIENT_HEAD, CLIENT_POST, CLIENT_DELETE };

/** @return CAIRN_OK; CAIRN_E_USAGE the URL is neither http nor https; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status client_new(struct client **out, const struct client_options *options,
					    struct cairn_diag *diag);
void client_freep(struct client **c);

/** Limits each try of this client to 30 s without a byte, not 300, and reports that on standard error. For requests
 * that a healthy server answers at once, unlike uploads, downloads and long work. */
void client_hurry(struct client *c);

/** Does the client use an API key (hf_...), rather than a token or nothing? */
bool client_has_key(const struct client *c);

/** Makes a client for the same server and token, for another thread. c may be in use, and must outlive the new client:
 * both share whether the server was ever reached. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status client_new_like(struct client **out, const struct client *c);

/** Sends a request and waits for its answer. Tries again when that may help: after the time in Retry-After (at most a
 * minute), else after half a second, doubled each time. @param path  begins with "/" @param body  of a POST @param
 * answer  emptied first; then gets the body of a 2xx answer @return CAIRN_OK: 2xx; CAIRN_E_NOT_FOUND: 404;
 * CAIRN_E_DENIED: 401, 403; CAIRN_E_FORMAT: any other 4xx, the server refuses the request; CAIRN_E_BUSY: the server
 * cannot be reached, or answers 429 or 5xx after all tries; CAIRN_E_LIMIT: the answer is longer than answer may grow;
 * CAIRN_E_NOMEM; all with the server's message in diag */
CAIRN_MUST_USE enum cairn_status client_request(struct client *c, enum client_method method, const char *path,
						const uint8_t *body, size_t body_len, struct cairn_buf *answer,
						struct cairn_diag *diag);

/** Gets the bytes first to last (inclusive) of path. Sends a GET with a Range header. @return as client_request();
 * CAIRN_E_FORMAT also: the range begins after the last byte */
CAIRN_MUST_USE enum cairn_status client_get_range(struct client *c, const char *path, uint64_t first, uint64_t last,
						  struct cairn_buf *answer, struct cairn_diag *diag);

/* most values of a JSON answer: 150 MB, 100 times a page of a list */
enum { CLIENT_VALUES_MAX = 1024 * 1024 };

/** Parses an answer, except plans, which are longer. @return CAIRN_OK; CAIRN_E_FORMAT: not JSON, or too many values */
CAIRN_MUST_USE enum cairn_status client_json(struct cairn_json **out, const struct cairn_buf *answer);

/** Asks for a length with a HEAD. @return as client_request(); CAIRN_E_BUSY: the answer has no length */
CAIRN_MUST_USE enum cairn_status client_head_bytes(struct client *c, const char *path, uint64_t *out,
						   struct cairn_diag *diag);

/** Receives the bytes of a fetch, in order. @return CAIRN_OK, or a status that ends the fetch */
typedef enum cairn_status client_take(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag);

/** A range of a signed URL: bytes first..last, inclusive. */
struct client_range {
	const char *url; /* the whole URL; http or https */
	uint64_t first, last;
};

/** Reads a range from a signed URL. Sends no token and no header of ours except Range, and follows no redirects. If the
 * connection is lost, the fetch continues from its position. The number of retries limits failures in a row without a
 * byte.
 * @return CAIRN_OK all bytes of the range were taken; CAIRN_E_DENIED 401, 403: the URL has expired; CAIRN_E_MISMATCH
 *         the answer is another range; otherwise as client_request(), or the status of take() */
CAIRN_MUST_USE enum cairn_status client_fetch(struct client *c, const struct client_range *range, client_take *take,
					      void *ctx, struct cairn_diag *diag);

/** Makes the client stop as soon as `stop` is true: it retries nothing, and ends running requests with any status. */
void client_give_up_at_once(struct client *c, const atomic_bool *stop);

/** Stores in `sent` how many bytes of the current request's body are sent, beginning with 0 at each try. @param sent
 * borrowed, read by any thread; NULL: do not store them */
void client_watch(struct client *c, _Atomic uint64_t *sent);

/** Returns how many bytes the bodies of requests with a 2xx answer had. */
uint64_t client_bytes_sent(const struct client *c);

#endif
