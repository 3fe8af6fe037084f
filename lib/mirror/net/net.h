/* Sends requests to the upstream from one thread, with a limit to the time, the headers and the body of each answer.
 * Follows no redirect. Only this room uses libcurl; it knows nothing of hubs. */
#ifndef CAIRN_MIRROR_NET_NET_H
#define CAIRN_MIRROR_NET_NET_H

#include "base/buf.h"
#include "mirror/net/upstream.h"

enum {
	MIRROR_CALLS_MAX = 80,               /* under way and waiting, all together */
	MIRROR_HEADERS_BYTES_MAX = 64 << 10, /* of an answer */
	MIRROR_VALUE_BYTES = 200,            /* of a header that is kept; a longer one counts as absent */
	MIRROR_RETRY_S_MAX = 600,            /* of Retry-After */
	MIRROR_TRICKLE_BYTES = 1024,
};

/** The thread and its connections. */
struct mirror_net;

/** A request and its answer. The caller sets the first group, and owns the call, which it leaves alone until done(). */
struct mirror_call {
	const char *path;             /* begins with "/"; borrowed */
	const struct mirror_hop *hop; /* where a redirect led, instead of the upstream and path; borrowed. NULL: none */
	/* Sent as "Authorization: Bearer", to the upstream itself and to no other host that a hop leads to; borrowed
	 * by mirror_net_ask(). NULL, "": none */
	const char *token;
	size_t body_bytes_max;
	int64_t deadline_ms; /* for all of it: names, TLS, the last byte of the body. 0: none, but silence_s */
	unsigned silence_s;  /* for which the answer may trickle with less than MIRROR_TRICKLE_BYTES a second. 0: any */
	uint64_t range_first, range_end; /* bytes to ask for, end exclusive; both 0: all */
	/* Takes the body of an answer with 206, instead of body: on net's thread, as it comes. code and content_range
	 * are set. @return false: end the call (mirror.long). NULL: none */
	bool (*take)(struct mirror_call *call, const uint8_t *bytes, size_t len);
	void (*done)(
		struct mirror_call *call); /* on net's thread, once; must not wait. The call is the caller's again */

	/* CAIRN_OK: there is an answer, with any code. Else diag says why not: CAIRN_E_BUSY (mirror.unreachable,
	 * mirror.silent, mirror.stopped), CAIRN_E_DENIED (mirror.tls, mirror.inward), CAIRN_E_LIMIT (mirror.long),
	 * CAIRN_E_NOMEM */
	enum cairn_status status;
	struct cairn_diag diag;
	unsigned code;
	int64_t took_ms;
	struct cairn_buf body;                  /* mirror_call_fini() */
	char error_code[MIRROR_VALUE_BYTES];    /* the header X-Error-Code; "": none */
	char location[MIRROR_ADDRESS_BYTES];    /* of a redirect, Location; "": none */
	char link[MIRROR_ADDRESS_BYTES];        /* the header Link; "": none */
	char content_range[MIRROR_VALUE_BYTES]; /* the header Content-Range; "": none */
	unsigned retry_after_s;                 /* at most MIRROR_RETRY_S_MAX; 0: the answer does not say */

	struct net_transfer *transfer; /* net's */
};

/** Releases the body. NULL is not allowed; a zeroed call is. */
void mirror_call_fini(struct mirror_call *call);

/** All is borrowed. */
struct mirror_net_options {
	const struct mirror_upstream *upstream;
	const char *ca;          /* file of the authorities for the upstream's certificate; NULL: the system's */
	const char *proxy;       /* as mirror_proxy_parse(); NULL: none */
	void (*tick)(void *ctx); /* on net's thread, at least once a second; must not wait */
	void *ctx;
};

/** Starts the thread. Connects to nothing. @return CAIRN_OK; CAIRN_E_NOMEM also without a thread */
CAIRN_MUST_USE enum cairn_status mirror_net_start(struct mirror_net **out, const struct mirror_net_options *options);

/** Sends a GET. Any thread. @return CAIRN_OK: done() will be called; CAIRN_E_BUSY: too many calls are under way, or net
 * is stopping (mirror.stopped); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_net_ask(struct mirror_net *net, struct mirror_call *call,
						struct cairn_diag *diag);

/** @param[out] up  the last call that ended had an answer; also before the first one  @param[out] body_bytes  received
 * since the start */
void mirror_net_stats(const struct mirror_net *net, bool *up, uint64_t *body_bytes);

/** Ends all calls, whose done() get mirror.stopped, and the thread. Later calls are refused. Once. */
void mirror_net_stop(struct mirror_net *net);
/** After mirror_net_stop(). NULL is harmless. */
void mirror_net_free(struct mirror_net *net);

#endif
