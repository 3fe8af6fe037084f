/* Sends requests to the upstream from one thread, with a limit to the time, the headers and the body of each answer.
 * Follows no redirect. Only this room uses libcurl; it knows nothing of hubs. */
#ifndef CAIRN_MIRROR_NET_NET_H
#define CAIRN_MIRROR_NET_NET_H

#include "base/buf.h"
#include "mirror/net/upstream.h"

enum {
	MIRROR_CALLS_MAX = 96,               /* calls under way and waiting, together */
	MIRROR_HEADERS_BYTES_MAX = 64 << 10, /* all headers of an answer */
	MIRROR_VALUE_BYTES = 200,            /* a kept header; a longer one counts as absent */
	MIRROR_RETRY_S_MAX = 600,            /* longest Retry-After that counts */
	MIRROR_TRICKLE_BYTES = 1024,
};

/** The thread and its connections. */
struct mirror_net;

/** A request and its answer. The caller sets the first group, and owns the call, but must not touch it until done(). */
struct mirror_call {
	const char *path;             /* begins with "/"; borrowed */
	const struct mirror_hop *hop; /* target of a redirect, used instead of path; borrowed. NULL: none */
	/* Sent as "Authorization: Bearer" to the upstream, and never to another host of a hop; borrowed until
	 * mirror_net_ask() returns. NULL, "": none */
	const char *token;
	/* A token for the host of the hop, sent to that instead; borrowed as token is. NULL: none */
	const char *hop_token;
	size_t body_bytes_max;
	int64_t deadline_ms; /* for the whole call, from the name's lookup to the last byte. 0: silence_s alone */
	unsigned silence_s;  /* longest time at less than MIRROR_TRICKLE_BYTES a second. 0: any */
	uint64_t range_first, range_end; /* bytes to ask for, end exclusive; both 0: all */
	/* Called with the bytes of an answer with 206 as they come, on net's thread; body stays empty. code,
	 * content_range and xet_hash are set. @return false: end the call (mirror.long). NULL: none */
	bool (*take)(struct mirror_call *call, const uint8_t *bytes, size_t len);
	bool take_counts; /* take() counts the bytes that it takes, and net does not */
	void (*done)(
		struct mirror_call *call); /* on net's thread, once; must not wait. The call is the caller's again */

	/* CAIRN_OK: there is an answer, with any code. Else diag says why there is none: CAIRN_E_BUSY
	 * (mirror.unreachable, mirror.silent, mirror.stopped), CAIRN_E_DENIED (mirror.tls, mirror.inward),
	 * CAIRN_E_LIMIT (mirror.long), CAIRN_E_NOMEM */
	enum cairn_status status;
	struct cairn_diag diag;
	unsigned code;
	int64_t took_ms;
	struct cairn_buf body;                  /* mirror_call_fini() */
	char error_code[MIRROR_VALUE_BYTES];    /* the header X-Error-Code; "": none */
	char location[MIRROR_ADDRESS_BYTES];    /* of a redirect, Location; "": none */
	char link[MIRROR_ADDRESS_BYTES];        /* the header Link; "": none */
	char content_range[MIRROR_VALUE_BYTES]; /* the header Content-Range; "": none */
	char xet_hash[MIRROR_VALUE_BYTES];      /* the header X-Xet-Hash; "": none */
	unsigned retry_after_s;                 /* at most MIRROR_RETRY_S_MAX; 0: the answer does not say */

	struct net_transfer *transfer; /* net's */
};

/** Frees the body. The call may be zeroed, but not NULL. */
void mirror_call_fini(struct mirror_call *call);

/** Options of the thread. All pointers are borrowed. */
struct mirror_net_options {
	const struct mirror_upstream *upstream;
	const char *ca;    /* file of the authorities for the upstream's certificate; NULL: the system's */
	const char *pin;   /* of the upstream's own key, after mirror_pin_check(). NULL: none */
	const char *proxy; /* after mirror_proxy_parse(); NULL: none */
	bool is_offline;   /* refuse all calls */
	uint64_t rate_max; /* bytes a second; only calls with take() wait for it, all count. 0: no limit */
	/* On net's thread, at least once a second; must not wait. @return milliseconds until the next call
	 *  */
	int (*tick)(void *ctx);
	void *ctx;
};

/** Starts the thread, which connects to nothing yet. @return CAIRN_OK; CAIRN_E_NOMEM: no memory, or no thread */
CAIRN_MUST_USE enum cairn_status mirror_net_start(struct mirror_net **out, const struct mirror_net_options *options);

/** Fails: nothing is sent to the upstream. @return CAIRN_E_BUSY (mirror.offline) */
CAIRN_MUST_USE enum cairn_status mirror_net_offline(struct cairn_diag *diag);

/** Sends a GET. Any thread. @return CAIRN_OK: done() will be called; CAIRN_E_BUSY: too many calls are under way
 * (mirror.busy), net is stopping (mirror.stopped), or it is offline (mirror.offline); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_net_ask(struct mirror_net *net, struct mirror_call *call,
						struct cairn_diag *diag);

/** Reads counts. @param[out] up  false: the last call had no answer, or net is offline @param[out] body_bytes  received
 * since the start, and not counted by a take() */
void mirror_net_stats(const struct mirror_net *net, bool *up, uint64_t *body_bytes);

/** Ends all calls, with mirror.stopped, and the thread. Later calls are refused. Call it once. */
void mirror_net_stop(struct mirror_net *net);
/** Frees net after mirror_net_stop(). NULL is harmless. */
void mirror_net_free(struct mirror_net *net);

#endif
