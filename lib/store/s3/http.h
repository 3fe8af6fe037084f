/* HTTP requests to one server, with an end to each wait. Knows nothing of S3. */
#ifndef CAIRN_STORE_S3_HTTP_H
#define CAIRN_STORE_S3_HTTP_H

#include "base/buf.h"

enum {
	S3_HTTP_CONNECT_MS = 2000,  /* to reach the server, TLS included */
	S3_HTTP_SILENCE_MS = 3000,  /* without S3_HTTP_MOVES_BYTES in either direction */
	S3_HTTP_MOVES_BYTES = 1024, /* after the first byte: one that trickles is as good as silent */
	S3_HTTP_PROBE_MS = 500,     /* a server that is silent is tried again by one request in so long */
	S3_HTTP_IDLE_MAX = 64,      /* connections that are kept for the next request */
	S3_HTTP_RANGE_BYTES = 80,   /* of a Content-Range of three numbers */
	S3_HTTP_VALUE_BYTES = 256,  /* of an ETag or a date */
};

/** Connections to a server. Any thread. */
struct s3_http;

/** A request, and what comes of it. The caller sets the first two groups. All borrowed. */
struct s3_http_call {
	const char *method;
	const char *url;
	const char *const *headers; /* "Name: value" */
	size_t n_headers;
	const uint8_t *body; /* of a PUT: these bytes, or */
	int body_fd;         /* what is in this file from its beginning; where body is NULL */
	uint64_t body_bytes;

	/* Where the body of an answer goes: 206 into place, which it must fill; any other into answer. */
	uint8_t *into;
	size_t into_bytes;
	struct cairn_buf *answer;

	unsigned code; /* out */
	size_t n_into; /* out: bytes of into that came; over into_bytes: more than there is room for */
	char range[S3_HTTP_RANGE_BYTES]; /* out: the header Content-Range; empty when there is none, or a longer one */
	char etag[S3_HTTP_VALUE_BYTES];  /* out: likewise the header ETag */
	char modified[S3_HTTP_VALUE_BYTES]; /* out: likewise the header Last-Modified */
};

/** @param ca  file of the authorities that a server's certificate must be of, borrowed for as long as this lives and
 * read with each new connection; "": the system's  @return NULL without memory */
struct s3_http *s3_http_new(const char *ca);
/** After all calls. NULL is harmless. */
void s3_http_free(struct s3_http *h);

/**
 * Send a request and wait for the answer, at most S3_HTTP_CONNECT_MS and S3_HTTP_SILENCE_MS after the last byte. One
 * that fails at once, as on a connection that the server has given up, is sent a second time. While the server is
 * silent all but one in S3_HTTP_PROBE_MS fail without a wait, so that those who queue behind each other do not add up
 * their waits.
 * @return CAIRN_OK  there is an answer, with whatever code
 *         CAIRN_E_BUSY  there is none; diag says why (store.silent)
 *         CAIRN_E_IO    the body cannot be read
 *         CAIRN_E_LIMIT the answer is longer than its buffer
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status s3_http_send(struct s3_http *h, struct s3_http_call *call, struct cairn_diag *diag);

#endif
