/* HTTP/1.1 service: requests in, replies out, waiting without a thread. http_mhd.c, http_kept.c,
 * http_reply.c, http_values.c and http_wait.c alone know libmicrohttpd. */
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
 *   route->head()   the head has arrived and the token was checked. Looks at it, prepares for the body
 * (http_set_state()). route->body()   each piece of the body, as it arrives. Only when the route takes a body.
 *   route->done()   the body is complete: reply now, or http_suspend() and reply from the callback given there.
 *   route->free()   the request has ended, however it ended: release the state. Called once if there is one.
 * Any of head(), body(), done() and the resumed callback may reply (http_reply_...). A reply before the body is
 * complete is an error, and borrows nothing of the state, which is released at once. Where at most 1 MiB is still to
 * come, that is swallowed, and the reply given then. A longer body costs the connection: refused by head() it is not
 * read, refused by body() the reply is sent at once and the rest swallowed. After a reply no further callback but
 * free() comes.
 */
struct cairn_workers;
struct http_request;
struct http_server;

/** How the errors of a family of routes look to its clients. What is refused before a route is found looks as the
 * first, but where family of the options says otherwise. */
enum http_error_shape {
	HTTP_ERRORS_CAS, /* {"error":{"code","message","offset"?,"expected"?,"actual"?},"request_id"} */
	/* {"error":message,"code","request_id"}, and the message as X-Error-Message: the clients show an "error" that
	 * is an object as "[object Object]" */
	HTTP_ERRORS_HUB,
	/* {"message","code","request_id"}, and a 401 asks for "Basic", which is what git has a user's name and key for
	 */
	HTTP_ERRORS_LFS,
	/* to a browser a page (error_page of the options), to others as the first; so is what has no route */
	HTTP_ERRORS_PAGE,
};

/** What is said about a path that no route has. All static. */
struct http_unknown {
	const char *code; /* value of X-Error-Code; NULL: without that header */
	const char *rule, *message;
};

/** How a family of paths is refused where no route has them. All static. */
struct http_family {
	/** Is the path one of the family's? @return NULL: it is not */
	const struct http_unknown *(*unknown)(const char *path);
	enum http_error_shape errors;
};

/** One resource and method. Static tables of these make the router: first
 * patterns whose first segment is fixed are looked at, then the older ones, then the others. */
struct http_route {
	const char *method; /* "GET"; GET also answers HEAD unless there is a HEAD route of its own */
	/* "/v1/xorbs/{prefix}/{hash}": {name} stands for one segment of unreserved characters, {name%} for one that may
	 * also have escapes, which are handed out as they were sent. {name*}, at the end, stands for a tail: one
	 * segment or more, with escapes and the characters that clients leave unescaped ("!$&'()*+,;=:@"); such a path
	 * may have 4,096 bytes, others have 512. */
	const char *pattern;
	const char *const *older; /* patterns under which older clients know the resource; NULL-terminated, or NULL */
	const char *name;         /* label of metrics and access log: the pattern's resource, never a raw path */
	enum http_error_shape errors;
	bool probe;     /* a balancer asks it: answered also when its address has too many connections */
	unsigned scope; /* enum cairn_token_scope that a token needs; 0: no token */
	uint64_t (*body_max)(void *app);        /* largest body; NULL: the route takes none */
	void (*head)(struct http_request *req); /* may be NULL */
	void (*body)(struct http_request *req, const uint8_t *bytes, size_t len);
	void (*done)(struct http_request *req);
	void (*free)(void *state); /* may be NULL */
};

enum http_method_kind { HTTP_GET, HTTP_HEAD, HTTP_OTHER };

struct auth_identity; /* auth.h */
struct cairn_hash;    /* hash.h */
struct cors;          /* cors.h */
struct hosts;         /* hosts.h */

/* --- the request -------------------------------------------------------------------------------------------------- */

/** The application handle given to http_server_start(). */
void *http_app(const struct http_request *req);

/** The server that the request came to. Requests may come before http_server_start() has returned it. */
const struct http_server *http_server_of(const struct http_request *req);

/** State of the route, handed to route->free() at the end. */
void http_set_state(struct http_request *req, void *state);
void *http_state(const struct http_request *req);

/** Value of a {name} of the pattern, as it was sent. Never NULL for a name of the
 * pattern. */
const char *http_path_arg(const struct http_request *req, const char *name);

/** The pattern that the request's path matched. Never NULL in a route's callbacks. */
const char *http_pattern(const struct http_request *req);

/** A query argument, decoded; NULL when absent. http_query_each() calls visit for every one of that name, in order,
 *  until it answers false. */
const char *http_query_arg(const struct http_request *req, const char *name);
void http_query_each(const struct http_request *req, const char *name, bool (*visit)(void *ctx, const char *value),
		     void *ctx);

/** A query argument that is a number, by cairn_decimal_parse(). @param[in,out] out  left alone when it is absent
 *  @return false: it is there, but no number from min to max; nothing was replied, and out is left alone */
bool http_query_number(const struct http_request *req, const char *name, uint64_t min, uint64_t max, uint64_t *out);
/** Likewise where it says no more than which part of a list is wanted, and clients know that nonsense is as nothing.
 *  @return 0: it is absent, or no number up to max */
uint64_t http_query_number_or_0(const struct http_request *req, const char *name, uint64_t max);

/** A request header; NULL when absent. Names are case-insensitive. */
const char *http_header(const struct http_request *req, const char *name);
/** If-None-Match, as by http_header(), but already found. */
const char *http_if_none_match(const struct http_request *req);
/** Does it name an ETag, alone or in a list, or all ("*")? @param if_none_match  NULL: it was not sent
 *  @param etag  with its quotes */
bool http_has_etag(const char *if_none_match, const char *etag);
/** Is it there more than once? Then nobody can tell which one who passes requests on has looked at. */
bool http_header_is_repeated(const struct http_request *req, const char *name);

enum http_method_kind http_method(const struct http_request *req);

/** The address of whoever is connected, as text; "-": none, it came through a socket of the file system. */
const char *http_peer_address(const struct http_request *req);

/** Was it sent by a page of this very server, by its header Origin, scheme and host? Browsers send one with each form.
 */
bool http_is_own_origin(const struct http_request *req);

/** Content-Length; UINT64_MAX for a chunked body. */
uint64_t http_content_length(const struct http_request *req);

/** Whose request it is. Never NULL in a route's callbacks (without authentication: the operator). */
const struct auth_identity *http_identity(const struct http_request *req);

/** Who sends, where what each has under way is counted: the bearer of the token, or the address. */
void http_sender(const struct http_request *req, struct cairn_hash *out);
/** Whose turn it is when work waits (base/workers.h): a number for the sender. */
uint64_t http_turn(const struct http_request *req);

/** X-Request-Id of the request, or else its X-Amzn-Trace-Id, if that is a sane one; else made here. In every reply and
 * log line. */
const char *http_request_id(const struct http_request *req);

/** "http://host[:port]" that the client used, from the Host header, or the configured public URL. Into out, cut. */
void http_base_url(const struct http_request *req, char *out, size_t out_len);

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/**
 * Stop watching the connection until http_resume(); resumed() then runs on the request's thread and replies. Call from
 * done() or a resumed callback, last of all but handing the request to another thread.
 * @return false: the server is closing; a 503 was replied, hand nothing over
 */
bool http_suspend(struct http_request *req, void (*resumed)(struct http_request *req));

/**
 * From body(), last of all but handing the request to another thread: no more of the body comes before http_resume();
 * the next piece of it, or done(), finds what the other thread has left. The client gets as much more time for the
 * rest. Not of a chunked body.
 * @return false: the server is closing, a 503 was replied; or the connection is lost. Hand nothing over
 */
bool http_hold_body(struct http_request *req);

/** A suspended request got its worker: for so long it had waited. Before http_resume() only. */
void http_note_queued(struct http_request *req, uint64_t queued_us);

/** Wake a suspended or held request, from any thread. The last touch of the request and its state by that thread. */
void http_resume(struct http_request *req);

/** Has the client of a suspended request gone? A hint, for long work. Before http_resume() only. */
bool http_client_gone(const struct http_request *req);

/* --- replies: exactly one for each request ------------------------------------------------------------------------ */

/** Add a header to the reply that comes. Values are copied. */
void http_reply_header(struct http_request *req, const char *name, const char *value);

/** A status with a JSON text (copied). */
void http_reply_json(struct http_request *req, unsigned code, const char *json);

/**
 * An error, in the shape of the route's family.
 * @param rule     machine-readable code; diag's rule is taken instead if it has one
 * @param message  for a person; diag's text is taken instead if it has one
 * @param diag     may be NULL
 */
void http_reply_error(struct http_request *req, unsigned code, const char *rule, const char *message,
		      const struct cairn_diag *diag);

/** Log an answer that is the server's fault, which http_reply_error() does by itself: for those who reply it otherwise.
 */
void http_request_log_failure(const struct http_request *req, unsigned code, const char *rule, const char *cause);

/** The one mapping of library statuses to HTTP (errors.c) and http_reply_error() in one. status is not CAIRN_OK. */
void http_reply_status(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag);

/** A status without a body (204, 304, 404 of a HEAD). content_length: for HEAD answers; UINT64_MAX:
 * none of its own. */
void http_reply_empty(struct http_request *req, unsigned code, uint64_t content_length);

/** What a buffer has, which is taken over: it is empty then, and of the same maximum. Its errors are the caller's. */
void http_reply_buf(struct http_request *req, unsigned code, const char *content_type, struct cairn_buf *buf);

/** Bytes that stay valid until release(ctx) is called (NULL: static). */
void http_reply_bytes(struct http_request *req, unsigned code, const char *content_type, const uint8_t *bytes,
		      size_t len, void (*release)(void *ctx), void *ctx);

/** A reply that is made once, for many requests; any thread. */
struct http_kept;
/** Make one: 200, with bytes that are borrowed until it is freed. @return NULL without memory */
struct http_kept *http_kept_new(const char *content_type, const uint8_t *bytes, size_t len);
/** Make one without a body (304, 404). @return NULL without memory */
struct http_kept *http_kept_empty_new(unsigned code);
/** Add a header, before it is given to anybody. @return false without memory */
CAIRN_MUST_USE bool http_kept_header(struct http_kept *kept, const char *name, const char *value);
/** Only when no request that was given it is left. NULL is harmless. */
void http_kept_free(struct http_kept *kept);
/** Does this request's reply need no header that others do not? It does where the client sent an id of its own, which
 * it is to see again, where pages of other origins may call (Vary), where the connection has to close, and where the
 * route added any. */
bool http_is_plain(const struct http_request *req);
/** Reply to a plain request with it, and so without X-Request-Id; the log has the request by its id all the same.
 * release(ctx) when the request has ended. */
void http_reply_kept(struct http_request *req, const struct http_kept *kept, void (*release)(void *ctx), void *ctx);
/** An empty 404; to a plain request without X-Request-Id, as by http_reply_kept(). */
void http_reply_miss(struct http_request *req);

/** A part of a file, sent without copying; fd is taken over (closed at the end). */
void http_reply_file(struct http_request *req, unsigned code, const char *content_type, int fd, uint64_t offset,
		     uint64_t len);

/** A body of known length that read() delivers: how many of at most max bytes at offset pos were written to out; -1:
 * failed, the connection is cut. release(ctx) at the end. For multipart/byteranges. */
void http_reply_reader(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		       ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max), void (*release)(void *ctx),
		       void *ctx);

/** The same for bytes that take a while to come: read() runs on one of the workers, and the connection waits without
 *  holding up others. One block waits to be sent. If no worker takes the work, the connection is cut. */
void http_reply_pumped(struct http_request *req, unsigned code, const char *content_type, uint64_t len,
		       ssize_t (*read)(void *ctx, uint64_t pos, uint8_t *out, size_t max), void (*release)(void *ctx),
		       void *ctx, struct cairn_workers *workers);

/** A body in frames over time (NDJSON). Two owners: the connection and whoever feeds it. Any thread may feed. */
struct http_stream;

/** Begin such a reply with status 200. The caller's reference ends with http_stream_finish(). @return NULL without
 * memory (an error was replied) */
struct http_stream *http_reply_stream(struct http_request *req, const char *content_type);

/** Send a frame (copied; at most 64 KiB wait: an unsent progress frame is replaced by a newer one).
 *  @return false: the client has gone; go on or give up, but still finish */
bool http_stream_frame(struct http_stream *s, const char *frame, size_t len);

/** Send a last frame, end the body and release the caller's reference. */
void http_stream_finish(struct http_stream *s, const char *frame, size_t len);

/* --- the server --------------------------------------------------------------------------------------------------- */

/** What the access log wants to know. */
struct http_summary {
	const char *method;
	const char *target;     /* raw, cut; signatures in it are hidden */
	const char *route;      /* route's name; "none" when no route matched */
	unsigned code;          /* 0: the client went before an answer */
	uint64_t request_bytes; /* of the body */
	uint64_t reply_bytes;   /* of the body, as announced */
	uint64_t duration_us;
	bool queued;            /* it waited for a worker */
	uint64_t queued_us;     /* for so long */
	const char *address;    /* of the client, as text */
	const char *session_id; /* X-Xet-Session-Id, checked; NULL */
	const char *user_agent; /* NULL */
};

struct http_server_options {
	int listen_fd;                        /* listening, non-blocking; taken over */
	unsigned connections_max;             /* in all */
	unsigned connections_per_address_max; /* over it: 429 and close */
	unsigned idle_timeout_s;              /* between bytes, and for an idle connection */
	unsigned head_timeout_s;              /* from the first byte of a head to its end */
	unsigned request_timeout_s;           /* for the whole of a body to arrive */
	size_t head_bytes_max;                /* request line and headers */
	uint64_t rate_per_address;            /* requests a second, over it: 429; 0: no limit */
	uint64_t rate_per_token;              /* the same for requests with one token */
	uint64_t rate_burst_s;                /* how many seconds' worth of them may come at once */
	/** HTTPS: write to a session of GnuTLS what the library does not know of. @return false: not all could be
	 * taken; NULL: HTTP */
	bool (*tls_send)(void *session, const void *bytes, size_t len);
	void (*tls_retrieve)(void); /* HTTPS: GnuTLS's gnutls_certificate_retrieve_function2, cast; NULL: HTTP */
	/** HTTPS: as a client on a connected socket, send and read at least one byte of the reply. The socket has
	 * timeouts.
	 * @return bytes read; 0: none. NULL: HTTP */
	size_t (*tls_ask)(int fd, const void *bytes, size_t len, char *reply, size_t reply_max);
	const char *public_url;    /* NULL: what the client's Host header says */
	const struct cors *cors;   /* pages of other origins that may call; borrowed; NULL: none */
	const struct hosts *hosts; /* names that the Host header may have; borrowed; NULL: any */
	const struct http_route *const
		*routes; /* NULL-terminated array of tables, each ended by an entry without a method */
	void *app;
	/** Check the Authorization header (NULL: absent) against a route's scope. @return false: code and diag are set
	 */
	bool (*authorise)(void *app, const char *authorization, unsigned scope, struct auth_identity *out,
			  unsigned *code, struct cairn_diag *diag);
	/** Reply an error to a browser, as a page. @param message  static  @return false: nothing was replied.
	 * NULL: browsers are told what others are */
	bool (*error_page)(struct http_request *req, unsigned code, const char *message);
	/** unknown NULL: each path without a route is refused as HTTP_ERRORS_CAS */
	struct http_family family;
	/** Called once for each ended request, for metrics and the access log. */
	void (*ended)(void *app, const struct http_request *req, const struct http_summary *summary);
	/** Called each second from one thread: heartbeats and the like. May be NULL. */
	void (*tick)(void *app);
};

/** Start serving on threads of its own. SIGPIPE must be ignored and SIGTERM/SIGHUP blocked before.
 *  @return CAIRN_OK; CAIRN_E_USAGE options; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status http_server_start(struct http_server **out, const struct http_server_options *options,
						   struct cairn_diag *diag);

/** Stop accepting; requests in flight go on, replies close their connections. Returns when none is left, or after
 *  timeout_ms; from then on http_suspend() answers false. */
void http_server_drain(struct http_server *server, unsigned timeout_ms);

/** Wait at most timeout_ms for requests to end, then stop, and free the server. Every suspended request must have been
 *  resumed before (the owner finishes its workers first).
 *  @return false: one was not. The server's threads run on with all that they use, so the process can only exit */
CAIRN_MUST_USE bool http_server_stop(struct http_server *server, unsigned timeout_ms);

/**
 * Ask the server for something as a client would, on each of its threads: does an answer come, whatever it says? From
 * one thread at a time. Threads that have all the connections they may have are not asked.
 * @param timeout_ms  for each of them
 * @return false: one gave none in time, or the server drains
 */
bool http_server_answers(struct http_server *server, unsigned timeout_ms);

struct http_server_stats {
	unsigned connections;
	unsigned requests;                           /* under way */
	uint64_t connections_refused;                /* over connections_per_address_max, so far */
	uint64_t over_address_rate, over_token_rate; /* requests answered 429, so far */
};
void http_server_stats(const struct http_server *server, struct http_server_stats *out);

#endif
