/* Internal to the HTTP service: the request and the server, shared by the http*.c files. Routes use http.h. */
#ifndef CAIRN_SERVER_HTTP_REQUEST_H
#define CAIRN_SERVER_HTTP_REQUEST_H

#include "base/buf.h"
#include "server/http/auth.h"
#include "server/http/http.h"
#include "server/http/http_conn.h"
#include "server/http/http_head.h"
#include "server/http/http_waits.h"
#include "server/http/rate.h"
#include "server/http/router.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

enum {
	HTTP_TARGET_LOG_BYTES = 300,    /* length of the target in the access log */
	HTTP_DRAIN_BYTES_MAX = 1 << 20, /* largest refused body that is read to keep the connection */
	HTTP_ADDED_ROOM_BYTES = 384,
};

enum http_stage {
	HTTP_STAGE_HEAD,    /* headers are coming */
	HTTP_STAGE_BODY,    /* the head was accepted, or was refused while its body is read and dropped */
	HTTP_STAGE_WAITING, /* suspended by http_suspend() */
	HTTP_STAGE_LINGER,  /* answered past the library; the rest of the body is dropped */
	HTTP_STAGE_REPLIED, /* the library has the reply */
};

/** A header that the route added to the coming reply. Name and value each end with a zero. Stored in the request's own
 * room while there is space. */
struct http_added {
	struct http_added *next;
	const char *value; /* points into text */
	char text[];
};

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

struct http_server;

/** A thread that serves connections, and its counts (http_accept.h). */
struct http_thread {
	struct http_server *server;
	struct MHD_Daemon *daemon; /* the library's daemon with this one thread */
	struct http_kept *miss; /* reply for unknown chunks; one per thread, so that threads share no reference count */
	atomic_int n_slots;     /* connections that were handed to it and are not closed */
	atomic_int n_open;      /* connections that have begun and are not closed */
	atomic_uint n_handed;   /* all connections that were ever handed to it */
	unsigned n_handed_before; /* n_handed at the last tick */
	atomic_uint n_requests;   /* requests under way; each thread counts its own, so that threads do not contend */
	uint32_t id_next, id_end; /* request numbers reserved for this thread */
	char apart[64];
};

/** Gives a connected socket, which is taken over, to a thread. @return false: the thread has no room, or no memory */
typedef bool http_hand_over(struct http_thread *thread, int fd, const struct sockaddr *address, socklen_t len);

/** The thread that accepts connections (http_accept.h). */
struct http_accept {
	http_hand_over *hand_over;
	int listen_fd, wake; /* wake is an eventfd */
	atomic_bool full;    /* the thread waits for a slot */
	atomic_bool stopping;
	bool running;
	pthread_t thread;
};

struct http_server {
	struct http_server_options options; /* immutable, as are all members up to conns */
	char *public_url;                   /* NULL: taken from the Host header */
	struct http_thread *threads;
	unsigned n_threads, processors;
	struct http_accept accept;
	struct http_conns *conns;
	struct http_waits waits;
	struct rate *address_rate, *token_rate; /* NULL: no limit */
	uint32_t id_prefix;
	bool library_is_lax; /* this version accepts wrong ends of lines (http_library.c) */
	atomic_uint id_next;
	atomic_uint n_suspended;
	atomic_bool started;
	atomic_bool draining; /* replies close their connection, and new connections are refused */
	atomic_bool drained;  /* no further request may wait */
	atomic_bool closing;  /* streams must not wait, either */
	pthread_t ticker;
	pthread_mutex_t lock; /* guards stopping */
	pthread_cond_t wake;  /* signalled when stopping changes, and while draining when a request ends */
	bool stopping;
};

/** Made when the request line is complete. Freed when the library reports the end of the request. */
struct http_request {
	struct http_server *server;
	struct http_thread *thread; /* the thread that serves the request */
	struct MHD_Connection *conn;
	const char *target; /* the library's; http_request_new() notes its length, because the library cuts it later */
	size_t target_len;
	struct http_conn *peer; /* record of the connection; outlives the request */
	/* The client's address for limits: the peer's, or the one that a trusted proxy names. */
	unsigned char client[HTTP_CONN_KEY_BYTES];
	char client_address[HTTP_ADDRESS_BYTES]; /* named by a trusted proxy, for people; "": use the peer's */
	bool has_client;                         /* false: no network address, so the request is not counted */
	enum http_stage stage;
	enum http_target_kind target_kind;
	bool has_route_state; /* head() was called, so free() must be called */
	bool close_after;     /* no keep-alive: the connection may be out of sync, or is not wanted */
	bool complete;        /* the whole body has arrived */
	bool expects_100;     /* the client waits for 100 Continue before it sends the body */
	bool is_stream;
	bool queued;                      /* a worker took the request */
	bool has_client_id;               /* id was sent by the client */
	bool response_is_kept;            /* the response is a kept one, owned elsewhere */
	atomic_bool held;                 /* http_hold_body() was called, and the body not resumed since */
	bool is_ahead;                    /* the route has already read the first byte that the library passes next */
	unsigned code;                    /* status of the reply; 0: none so far */
	struct MHD_Response *response;    /* made, but not yet passed to the library */
	void (*reply_release)(void *ctx); /* called when the request has ended; may be NULL */
	void *reply_ctx;
	const char *busy_rule, *busy_text; /* set by http_explain_busy(); NULL: not set */
	struct cairn_buf raw;              /* a reply that is sent past the library */
	struct http_added *added;
	size_t added_bytes; /* used bytes of added_room */
	void (*resumed)(struct http_request *req);
	void *state;
	/* Headers, owned by the library; NULL: absent. */
	const char *origin, *host, *authorization, *if_match, *if_none_match, *cookies;
	int64_t started_us, body_started_ms;
	/* held_ms: when the body was held, or the reply had no bytes; held_deadline_ms: the reply's deadline before. */
	int64_t held_ms, held_deadline_ms;
	struct http_place place; /* reserved by http_may_wait() */
	uint64_t queued_us;      /* time that the request waited for workers */
	uint64_t body_len;       /* as announced; UINT64_MAX: chunked */
	uint64_t body_limit;     /* the route refuses a longer body */
	uint64_t received, reply_bytes;
	uint64_t linger_max; /* in HTTP_STAGE_LINGER: the connection is cut once received exceeds this */
	char id[HTTP_ID_BYTES_MAX + 1];
	struct router_match match;
	/* Members from here on are not cleared at the start; their texts only get a final zero. */
	alignas(struct http_added) char added_room[HTTP_ADDED_ROOM_BYTES];
	char session_id[HTTP_ID_BYTES_MAX + 1];
	char method[16]; /* cut; none of our methods is longer */
	char user_agent[128];
	struct auth_identity identity;
	char target_log[HTTP_TARGET_LOG_BYTES];
	/* The path as sent, without the query; values of `match` point into it. Has room for one byte more than the
	 * longest path, so that a longer one is noticed. */
	char path[ROUTER_TAILED_BYTES_MAX + 2];
};

/** Makes a request for a target, with the memory of the connection's previous request. @return NULL without memory */
struct http_request *http_request_new(struct http_conn *peer, const char *target);

/** Frees the added headers and the request, whose memory goes back to its connection. The library frees the rest. */
void http_request_free(struct http_request *req);

/** Returns how many bytes of the body are still to come; UINT64_MAX: unknown. */
uint64_t http_request_body_left(const struct http_request *req);

/** Releases the route's state. */
void http_request_release(struct http_request *req);

/** Visits the headers that every reply to this request has. @param content_type  NULL: none */
void http_request_headers(const struct http_request *req, const char *content_type,
			  void (*add)(void *ctx, const char *name, const char *value), void *ctx);

/** Appends a whole response with a JSON body, which is sent past the library. */
void http_request_raw(const struct http_request *req, unsigned code, const struct cairn_buf *body,
		      struct cairn_buf *out);

/** Did the route add a header of this name to the coming reply? */
bool http_request_has_added(const struct http_request *req, const char *name);

/** Returns the family in the options that has the path. @return NULL: none */
const struct http_family *http_request_family(const struct http_request *req);

/** Sets id: the client's id if it is valid, else prefix and number as 16 hexadecimal digits. */
void http_request_set_id(struct http_request *req, const char *from_client, uint32_t prefix, uint32_t number);

#endif
