/* Sends HTTP requests to one server, with a limit to each wait. Independent of S3. */
#ifndef CAIRN_STORE_S3_HTTP_H
#define CAIRN_STORE_S3_HTTP_H

#include "base/buf.h"

enum {
	S3_HTTP_CONNECT_MS = 2000,  /* longest time to connect, TLS included */
	S3_HTTP_SILENCE_MS = 3000,  /* longest time without S3_HTTP_MOVES_BYTES sent or received */
	S3_HTTP_MOVES_BYTES = 1024, /* fewer bytes in S3_HTTP_SILENCE_MS count as silence */
	S3_HTTP_PROBE_MS = 500,     /* a silent server gets one trial request in this time */
	S3_HTTP_IDLE_MAX = 64,      /* most idle connections kept */
	S3_HTTP_RANGE_BYTES = 80,   /* room for a Content-Range of three numbers */
	S3_HTTP_VALUE_BYTES = 256,  /* room for an ETag or a date */
};

/** Connections to a server. Any thread. */
struct s3_http;

/** A request and its result. The caller sets the first two groups. All borrowed. */
struct s3_http_call {
	const char *method;
	const char *url;
	const char *const *headers; /* "Name: value" */
	size_t n_headers;
	const uint8_t *body; /* of a PUT: these bytes, or */
	int body_fd;         /* or this file, from its beginning; used if body is NULL */
	uint64_t body_bytes;

	/* The body of a 206 answer goes into `into` and must fill it; any other body goes into answer. */
	uint8_t *into;
	size_t into_bytes;
	struct cairn_buf *answer;

	unsigned code;                      /* out */
	size_t n_into;                      /* out: bytes received for into; over into_bytes: the body was too long */
	char range[S3_HTTP_RANGE_BYTES];    /* out: the header Content-Range; empty: none, or too long */
	char etag[S3_HTTP_VALUE_BYTES];     /* out: as range, the header ETag */
	char modified[S3_HTTP_VALUE_BYTES]; /* out: as range, the header Last-Modified */
};

/** @param ca  file of the authorities that may sign the server's certificate, borrowed while the object lives and read
 * for each new connection; "": the system's  @return NULL without memory */
struct s3_http *s3_http_new(const char *ca);
/** Call after all requests have ended. NULL is harmless. */
void s3_http_free(struct s3_http *h);

/** Sends a request and waits for the answer: at most S3_HTTP_CONNECT_MS to connect, and S3_HTTP_SILENCE_MS after the
 * last byte. A request that fails at once is sent a second time, since the server may have closed a kept connection.
 * While the server is silent, all requests but one in S3_HTTP_PROBE_MS fail without a wait, so that queued callers do
 * not add up their waits.
 * @return CAIRN_OK  there is an answer, with any code
 *         CAIRN_E_BUSY  no answer; diag says why (store.silent)
 *         CAIRN_E_IO    the body cannot be read
 *         CAIRN_E_LIMIT the answer is longer than its buffer
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status s3_http_send(struct s3_http *h, struct s3_http_call *call, struct cairn_diag *diag);

#endif
