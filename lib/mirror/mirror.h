/* The mirror of an upstream hub. */
#ifndef CAIRN_MIRROR_MIRROR_H
#define CAIRN_MIRROR_MIRROR_H

#include "base/status.h"

/** Any thread. */
struct cairn_mirror;

struct cairn_mirror_options {
	const char *upstream; /* https://HOST[:PORT] */
	const char *ca;       /* file of the authorities for the upstream's certificate; NULL: the system's */
	const char *proxy;    /* http://HOST:PORT of the way to the upstream; NULL: none */
};

/** Finds the port that connecting to an upstream needs: the proxy's, if there is one. @return CAIRN_OK; CAIRN_E_USAGE
 * (mirror.url, mirror.insecure, mirror.proxy) */
CAIRN_MUST_USE enum cairn_status cairn_mirror_port(const struct cairn_mirror_options *options, uint16_t *port,
						   struct cairn_diag *diag);

/** Opens a mirror, with a thread of its own. Sends nothing to the upstream. @param options  upstream is copied, the
 * rest borrowed
 * @return as cairn_mirror_port(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_mirror_open(struct cairn_mirror **out,
						   const struct cairn_mirror_options *options, struct cairn_diag *diag);

/** Ends all calls to the upstream; all that wait are told. Later ones fail at once. Once; NULL is harmless. */
void cairn_mirror_stop(struct cairn_mirror *mirror);
/** Stops a mirror if that was not done, and frees it. NULL is harmless. */
void cairn_mirror_free(struct cairn_mirror *mirror);

/** Whether the upstream answers as a hub does. Plain value. */
struct cairn_mirror_line {
	bool up;
	int64_t asked_unix_s;
	uint64_t took_ms;
	unsigned code;          /* of the upstream's answer; 0: none */
	struct cairn_diag diag; /* why it is not up */
};

/** A question about the line. The caller sets done, and leaves it alone until done() is called, once, on any thread.
 * done() must not wait. */
struct cairn_mirror_look {
	void (*done)(struct cairn_mirror_look *look);
	struct cairn_mirror_line line; /* out */
	struct cairn_mirror_look *next;
};

/** Asks whether the line is up. All who ask at the same time, or within CAIRN_MIRROR_FRESH_MS, share one request to the
 * upstream, so that nobody can make a daemon ask it often. Takes up to 5 seconds. */
void cairn_mirror_look(struct cairn_mirror *mirror, struct cairn_mirror_look *look);
enum { CAIRN_MIRROR_FRESH_MS = 5000 };

/** The upstream's address, without a slash at the end. Lives as long as the mirror. */
const char *cairn_mirror_upstream(const struct cairn_mirror *mirror);

#endif
