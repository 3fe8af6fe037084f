/* The HTTP/1.1 service: delivers requests, sends replies, and lets requests wait without a thread. Only http_mhd.c,
 * http_kept.c, http_reply.c, http_values.c and http_wait.c use libmicrohttpd. */
#ifndef CAIRN_SERVER_HTTP_H
#define CAIRN_SERVER_HTTP_H

#include "base/buf.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A request's life. All callbacks of one request run on one thread, never two at once, except for http_resume() and the
 * stream calls, which come from any thread.
 *   route->head()   the head has arrived and the token was checked: prepare for the body (http_set_state()).
 *   route->body()   called for each piece of the body, as it arrives. Only if the route takes a body.
 *   route->done()   the body is complete: reply now, or http_suspend() and reply from the callback given there.
 *   route->free()   the request has ended, however it ended: release the state. Called once if there is one.
 * Any of head(), body(), done() and the resumed callback may reply (http_reply_...). After a reply only free() is
 * called.
 * A reply before the body is complete must be an error. It must not borrow from the state, which is released at once.
 * If at most 1 MiB is still to come, the rest is read and dropped before the reply. A longer body costs the connection.
 * If head() refuses, the body is not read. If body() refuses, the reply is sent at once and the rest dropped. */
struct cairn_workers;
struct http_request;
struct http_server;

/** The form of errors, which a route chooses. Errors of paths without a route have the first form, unless the option
 * `family` chooses another. */
enum http_error_shape {
	HTTP_ERRORS_CAS, /* {"error":{"code","message","offset"?,"expected"?,"actual"?},"request_id"} */
	/* {"error":message,"code","request_id"}, and the message as X-Error-Message: the clients would show an object
	   as "[object Object]" */
	HTTP_ERRORS_HUB,
	/* {"message","code","request_id"}, and a 401 asks for "Basic", as git sends a user's name and key that way */
	HTTP_ERRORS_LFS,
	/* a page for browsers (error_page of the options), the first form for others; also for paths without a route */
	HTTP_ERRORS_PAGE,
};

/** The error for a path without a route. All static. */
struct http_unknown {
	const char *code; /* value of X-Error-Code; NULL: without that header */
	const char *rule, *message;
};

/** The errors for a family of paths without a route. All static. */
struct http_family {
	/** Returns the error for a path. @return NULL: the path is not of this family */
	const struct http_unknown *(*unknown)(const char *path);
	enum http_error_shape errors;
};

/** A resource and a method. The router searches static tables of these: first patterns with a fixed first segment, then
 * older patterns, then the others. */
struct http_route {
	const char *method; /* "GET"; GET also answers HEAD unless there is a HEAD route of its own */
	/* "/v1/xorbs/{prefix}/{hash}": {name} matches one segment of unreserved characters. {name%} matches one with
	 * escapes, which are not decoded. {name*}, at the end, matches one or more segments, with escapes and the
	 * characters that clients leave unescaped ("!$&'()*+,;=:@"). Paths with it may have 4,096 bytes, others 512. */
	const char *pattern;
	const char *const *older; /* patterns under which older clients know the resource; NULL-terminated, or NULL */
	const char *name;         /* label of metrics and access log: the pattern's resource, never a raw path */
	enum http_error_shape errors;
	bool probe;        /* for load balancers: answered even if the address has too many connections */
	unsigned scope;    /* enum cairn_token_scope that a token needs; 0: no token */
	uint64_t body_max; /* largest body, in bytes */
	uint64_t (*body_max_of)(void *app); /* returns the limit that a setting gives; NULL: body_max is the limit */
	void (*head)(struct http_request *req);                                   /* may be NULL */
	void (*body)(struct http_request *req, const uint8_t *bytes, size_t len); /* NULL: the route takes no body */
	void (*done)(struct http_request *req);
	void (*free)(void *state); /* may be NULL */
};

enum http_method_kind { HTTP_GET, HTTP_HEAD, HTTP_OTHER };

struct auth_identity; /* auth.h */
struct cairn_hash;    /* hash.h */
struct cors;          /* cors.h */
struct hosts;         /* hosts.h */

/** Returns the application handle given to http_server_start(). */
void *http_app(const struct http_request *req);

/** Returns the request's server. Requests may arrive before http_server_start() has returned the server. */
const struct http_server *http_server_of(const struct http_request *req);

/** Ignores a piece of a body. For the member `body` of a route that accepts a body but does not need it. */
void http_ignore_body(struct http_request *req, const uint8_t *bytes, size_t len);

/** Sets the state of the route, which route->free() gets at the end. */
void http_set_state(struct http_request *req, void *state);
void *http_state(const struct http_request *req);

/** Returns the value of a {name} of the pattern, as it was sent; never NULL. */
const char *http_path_arg(const struct http_request *req, const char *name);

/** Returns the pattern that the request's path matched. Never NULL in a route's callbacks. */
const char *http_pattern(const struct http_request *req);

/** Returns the first query argument of this name, decoded; NULL: absent. http_query_each() calls `visit` for each
 * argument of that name, in order, until `visit` returns false. */
const char *http_query_arg(const struct http_request *req, const char *name);
void http_query_each(const struct http_request *req, const char *name, bool (*visit)(void *ctx, const char *value),
		     void *ctx);

/** Visits all query arguments, decoded, in order. */
void http_query_each_pair(const struct http_request *req, void (*visit)(void *ctx, const char *name, const char *value),
			  void *ctx);

/** Reads a query argument as a number, with cairn_decimal_parse(). Does not reply.
 * @param[in,out] out  unchanged if the argument is absent
 * @return false: the argument is present, but no number from `min` to `max`; `out` is unchanged */
bool http_query_number(const struct http_request *req, const char *name, uint64_t min, uint64_t max, uint64_t *out);
/** Does what http_query_number() does, but ignores bad values, as clients expect of lists that are divided into pages.
 * @return 0: absent, or no number up to `max` */
uint64_t http_query_number_or_0(const struct http_request *req, const char *name, uint64_t max);

/** Returns a request header; NULL: absent. Names of headers ignore case. */
const char *http_header(const struct http_request *req, const char *name);
/** Return If-None-Match and Cookie, as http_header() does, but without a search. */
const char *http_if_none_match(const struct http_request *req);
const char *http_cookies(const struct http_request *req);
/** Does If-None-Match name an ETag, alone or in a list, or all ("*")?
 * @param if_none_match  NULL: not sent
 * @param etag           with its quotes */
bool http_has_etag(const char *if_none_match, const char *etag);
/** Does If-Match name other ETags, but not this one? Then the client has a part of other bytes: refuse the request with
 * http_reply_other_etag(). Weak ETags ("W/...") name no bytes. */
bool http_wants_other_etag(const struct http_request *req, const char *etag);
/** Is a header repeated? Then it is unknown which of its values a proxy checked. */
bool http_header_is_repeated(const struct http_request *req, const char *name);

enum http_method_kind http_method(const struct http_request *req);

/** Returns the address of the peer, as text; "-": the peer uses a Unix socket. */
const char *http_peer_address(const struct http_request *req);
/** Returns the address of the client, as text: the peer's address, or the one that a trusted proxy names; "-": none. */
const char *http_client_address(const struct http_request *req);

/** Did a page of this server send the request? Checks the Origin header, which browsers send with each form. */
bool http_is_own_origin(const struct http_request *req);

/** Returns Content-Length; UINT64_MAX for a chunked body. */
uint64_t http_content_length(const struct http_request *req);

/** Returns the identity of the request. Never NULL in a route's callbacks (without authentication: the operator). */
const struct auth_identity *http_identity(const struct http_request *req);

/** Computes the hash of the sender, for limits on work under way: the bearer of the token, or the address. */
void http_sender(const struct http_request *req, struct cairn_hash *out);
/** Returns a number for the sender, with which the workers take turns between senders (base/workers.h). */
uint64_t http_turn(const struct http_request *req);

/** Counts the request for the account that a signed address names, or for the API key if it names no account (0:
 * none), as if that key had been sent. @return false: the account or key exceeds its rate; an error was replied */
bool http_count_for(struct http_request *req, int64_t account, int64_t key);

/** Returns the id for replies and logs: X-Request-Id, else X-Amzn-Trace-Id, if valid; else an id of this server. */
const char *http_request_id(const struct http_request *req);

/** Writes the "http://host[:port]" that the client used, from Host, or the configured public URL. Cut to out_len. */
void http_base_url(const struct http_request *req, char *out, size_t out_len);

/** Stops watching the connection until http_resume(). resumed() then runs on the request's thread, and replies. Call
 * from done() or a resumed callback. After this call, do nothing but hand the request to another thread.
 * @return false: the server is closing; a 503 was replied, and the request must not be handed over */
bool http_suspend(struct http_request *req, void (*resumed)(struct http_request *req));

/** Pauses the body until http_resume(). Call in body(). After this call, do nothing but hand the request to another
 * thread. The next body() or done() sees that thread's results. The pause does not count for the client's deadline.
 * @return false: the server is closing and a 503 was replied, or the connection is lost; the request must not be handed
 *         over */
bool http_hold_body(struct http_request *req);

/** Notes how long a suspended request waited for its worker. Call only before http_resume(). */
void http_note_queued(struct http_request *req, uint64_t queued_us);

/** Wakes a suspended or held request, from any thread. The caller must not touch request or state afterwards. */
void http_resume(struct http_request *req);

/** Has the client of a suspended request gone? A hint, for long work. Call only before http_resume(). */
bool http_client_gone(const struct http_request *req);

/* --- replies: exactly one for each request ------------------------------------------------------------------------ */

/** Adds a header to the coming reply. Values are copied. */
void http_reply_header(struct http_request *req, const char *name, const char *value);

/** Replies with a status and a JSON text, which is copied. */
void http_reply_json(struct http_request *req, unsigned code, const char *json);

/** Replies an error, in the form that the route chose.
 * @param rule     machine-readable code, unless diag has a rule
 * @param message  text for a person, unless diag has a text
 * @param diag     may be NULL */
void http_reply_error(struct http_request *req, unsigned code, const char *rule, const char *message,
		      const struct cairn_diag *diag);

/** Logs an error that is the server's fault. Only for replies without http_reply_error(), which logs by itself. */
void http_request_log_failure(const struct http_request *req, unsigned code, const char *rule, const char *cause);

/** Replies 412 to a request for bytes with another ETag. */
void http_reply_other_etag(struct http_request *req);

/** Sets what a CAIRN_E_BUSY without a rule means in replies to this request. Both texts must outlive the request. */
void http_explain_busy(struct http_request *req, const char *rule, const char *text);

/** Maps a library status to HTTP (errors.c), and replies as http_reply_error() does. The status is not CAIRN_OK. */
void http_reply_status(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag);

/** Replies with a status but no body (204, 304, 404 of a HEAD). @param content_length  for HEAD; UINT64_MAX: none */
void http_reply_empty(struct http_request *req, unsigned code, uint64_t content_length);

/** Replies with the bytes of a buffer, which are taken over. The buffer is then empty, with the same maximum. The
 * caller handles the buffer's errors. */
void http_reply_buf(struct http_request *req, unsigned code, const char *content_type, struct cairn_buf *buf);

/** Replies with bytes that stay valid until release(ctx) is called (NULL: static bytes). */
void http_reply_bytes(struct http_request *req, unsigned code, const char *content_type, const uint8_t *bytes,
		      size_t len, void (*release)(void *ctx), void *ctx);

/** A reply that is made once and sent to many requests. Any thread. */
struct http_kept;
/** Makes a kept reply with status 200. The bytes are borrowed until it is freed. @return NULL without memory */
struct http_kept *http_kept_new(const char *content_type, const uint8_t *bytes, size_t len);
/** Makes a kept reply without a body (304, 404). @return NULL without memory */
struct http_kept *http_kept_empty_new(unsigned code);
/** Adds a header to a kept reply. Call before the first request gets the reply. @return false without memory */
CAIRN_MUST_USE bool http_kept_header(struct http_kept *kept, const char *name, const char *value);
/** Frees a kept reply. All requests that got it must have ended. NULL is harmless. */
void http_kept_free(struct http_kept *kept);
/** Can this request get a kept reply? Only if its reply needs no headers of its own: the client sent no id, no pages of
 * other origins may call (Vary), the connection stays open, and the route added no header. */
bool http_is_plain(const struct http_request *req);
/** Replies to a plain request with a kept reply, without X-Request-Id; the log still has the id. release(ctx) is called
 * when the request has ended. */
void http_reply_kept(struct http_request *req, const struct http_kept *kept, void (*release)(void *ctx), void *ctx);
/** Replies an empty 404. A plain request gets it without X-Request-Id, as from http_reply_kept(). */
void http_reply_miss(struct http_request *req);

/** Replies with a part of a file, sent without copying. Takes `fd` over, and closes it at the end. */
void http_reply_file(struct http_request *req, unsigned code, const char *content_type, int fd, uint64_t offset,
		     uint64_t len);

/** Replies with a body of known length that read() delivers; for multipart/byteranges. read() writes up to `max` bytes
 * of the body, from offset `pos` on, to `out`, and returns their number. If it returns -1, the connection is cut.
 * release(ctx) is called at the end. */
void http_reply_reader(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		       ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max), void (*release)(void *ctx),
		       void *ctx);

/** A body that waits for bytes after its source returned HTTP_NOT_YET. The source calls wake() to continue it. */
struct http_waiter {
	void (*wake)(struct http_waiter *waiter);
};
enum { HTTP_NOT_YET = -2 };

/** A source of a body's bytes. Workers call read() and wait(), never both at the same time. */
struct http_source {
	/* Writes at most `max` bytes of the body, from offset `pos` on, to `out`.
	 * @return the number of bytes; HTTP_NOT_YET: the bytes at `pos` have not come; -1: it failed, and the
	 *         connection is cut */
	ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max);
	/* Called after HTTP_NOT_YET. Keeps `waiter`. When read() has bytes at `pos`, or fails, the source calls wake()
	 * once, from any thread, but not from wait() itself, and without any lock that wait() or leave() takes. The
	 * member is NULL if read() never returns HTTP_NOT_YET.
	 * @return false: read() has bytes by now, or fails; `waiter` was not kept */
	bool (*wait)(void *ctx, uint64_t pos, struct http_waiter *waiter);
	/* Forgets `waiter`. @return false: it is not kept, because wake() was called or is about to be */
	bool (*leave)(void *ctx, struct http_waiter *waiter);
	void (*release)(void *ctx); /* called at the end; may be NULL */
	void *ctx;
	uint64_t bytes; /* length of the body */
};

/** Replies with a body of known length from a slow source. read() runs on a worker, so the waiting connection does not
 * delay others. Buffers one block; while the source has no bytes yet, it has no buffer and no thread waits. If no
 * worker takes the work, the connection is cut. A source that may return HTTP_NOT_YET needs http_may_wait(). */
void http_reply_pumped(struct http_request *req, unsigned code, const char *content_type,
		       const struct http_source *source, struct cairn_workers *workers);

/** Reserves a place, until the request ends, for a body that may have to wait for its bytes. There are three quarters
 * as many places as connections_max allows connections; one sender gets at most a third of the places.
 * @return false: no place is free; refuse the request */
CAIRN_MUST_USE bool http_may_wait(struct http_request *req);

/** A body of frames sent over time (NDJSON). Connection and feeder own a reference each. Any thread may feed. */
struct http_stream;

/** Begins a stream as the reply, with status 200. The caller's reference ends with http_stream_finish(). @return NULL
 * without memory (an error was replied) */
struct http_stream *http_reply_stream(struct http_request *req, const char *content_type);

/** Sends a frame, which is copied. At most 64 KiB wait to be sent: a newer frame replaces an unsent one. @return false:
 * the client has gone; continue or stop, but call http_stream_finish() */
bool http_stream_frame(struct http_stream *s, const char *frame, size_t len);

/** Sends a last frame, ends the body and releases the caller's reference. */
void http_stream_finish(struct http_stream *s, const char *frame, size_t len);

/* --- the server --------------------------------------------------------------------------------------------------- */

/** The facts of a request for the access log. */
struct http_summary {
	const char *method;
	const char *target;     /* raw and cut; signatures in it are hidden */
	const char *route;      /* the route's name; "none": no route matched */
	unsigned code;          /* status; 0: the client left before the reply */
	uint64_t request_bytes; /* length of the request's body */
	uint64_t reply_bytes;   /* length of the reply's body, as announced */
	uint64_t duration_us;
	bool queued;            /* the request waited for a worker */
	uint64_t queued_us;     /* how long it waited for workers */
	const char *address;    /* address of the client, as text */
	const char *session_id; /* X-Xet-Session-Id, checked; NULL: absent */
	const char *user_agent; /* NULL: absent */
};

struct http_server_options {
	int listen_fd;                        /* a listening, non-blocking socket; taken over */
	unsigned connections_max;             /* largest number of all connections */
	unsigned connections_per_address_max; /* further connections get 429 and are closed */
	unsigned idle_timeout_s;              /* longest pause between bytes, and of an idle connection */
	unsigned head_timeout_s;              /* longest time from the first byte of a head to its end */
	unsigned request_timeout_s; /* longest time for a body to arrive, unless it comes at 64 KiB a second or more */
	size_t head_bytes_max;      /* longest request line and headers together */
	uint64_t rate_per_address;  /* requests a second from one address; above, 429; 0: no limit */
	uint64_t rate_per_token;    /* requests a second with one token; above, 429; 0: no limit */
	uint64_t rate_burst_s;      /* how many seconds' worth of requests may come at once */
	/** Writes to a session of GnuTLS, past the HTTP library. NULL: plain HTTP. @return false: not all was taken */
	bool (*tls_send)(void *session, const void *bytes, size_t len);
	void (*tls_retrieve)(void); /* HTTPS: GnuTLS's gnutls_certificate_retrieve_function2, cast; NULL: HTTP */
	/** Sends as an HTTPS client on a connected socket with timeouts, and reads at least one byte of the reply.
	 * NULL: the server speaks HTTP. @return number of bytes read; 0: none */
	size_t (*tls_ask)(int fd, const void *bytes, size_t len, char *reply, size_t reply_max);
	const char *public_url;    /* NULL: taken from the client's Host header */
	const struct cors *cors;   /* other origins whose pages may call; borrowed; NULL: none */
	const struct hosts *hosts; /* allowed names in the Host header; borrowed; NULL: any */
	/** Trusted proxies: their X-Forwarded-For names the client of a request without a key. Borrowed; NULL: none. */
	const struct proxies *proxies;
	const struct http_route *const
		*routes; /* NULL-terminated array of tables, each ended by an entry without a method */
	void *app;
	/** Checks the Authorization header (NULL: absent) against a scope. @return false: code and diag are set */
	bool (*authorise)(void *app, const char *authorization, unsigned scope, struct auth_identity *out,
			  unsigned *code, struct cairn_diag *diag);
	/** Finds the identity of a request without Authorization, from its cookies or the headers of a proxy. May leave
	 * `out` unchanged. NULL: such requests count for the address. */
	void (*recognise)(void *app, const struct http_request *req, struct auth_identity *out);
	/** Replies an error to a browser, as a page. @param message  static @return false: nothing was replied. NULL:
	 * browsers get the same errors as other clients */
	bool (*error_page)(struct http_request *req, unsigned code, const char *message);
	/** The errors of paths without a route. If its member `unknown` is NULL, all of them have the form
	 * HTTP_ERRORS_CAS. */
	struct http_family family;
	/** Called once for each ended request, for metrics and the access log. */
	void (*ended)(void *app, const struct http_request *req, const struct http_summary *summary);
	/** Called each second from one thread: heartbeats and the like. May be NULL. */
	void (*tick)(void *app);
};

/** Starts serving on its own threads. SIGPIPE must be ignored, and SIGTERM and SIGHUP blocked. @return CAIRN_OK;
 * CAIRN_E_USAGE: invalid options; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status http_server_start(struct http_server **out, const struct http_server_options *options,
						   struct cairn_diag *diag);

/** Stops accepting connections. Requests in flight continue, and their replies close the connections. Returns when no
 * request is left, or after timeout_ms. Afterwards http_suspend() returns false, and no body waits for its bytes. */
void http_server_drain(struct http_server *server, unsigned timeout_ms);

/** Waits at most timeout_ms for requests to end, then stops and frees the server. All suspended requests must have been
 * resumed, so finish the workers first. @return false: a request was not resumed. The server's threads keep running and
 * using the server, so the process can only exit */
CAIRN_MUST_USE bool http_server_stop(struct http_server *server, unsigned timeout_ms);

/** Tests whether each of the server's threads still answers: sends a request to it as a client would, and accepts any
 * status. Skips threads that have no room for a connection. Call from one thread at a time. @param timeout_ms  for each
 * thread @return false: a thread did not answer in time, or the server drains */
bool http_server_answers(struct http_server *server, unsigned timeout_ms);

struct http_server_stats {
	unsigned connections;
	unsigned requests;                           /* requests under way */
	unsigned waiting;                            /* requests whose body waits for its bytes */
	uint64_t connections_refused;                /* connections refused for connections_per_address_max, so far */
	uint64_t over_address_rate, over_token_rate; /* requests answered 429, so far */
};
void http_server_stats(const struct http_server *server, struct http_server_stats *out);

#endif
