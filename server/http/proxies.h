/* The trusted proxies, which may name the user and the client of a request. Pure. */
#ifndef CAIRN_SERVER_PROXIES_H
#define CAIRN_SERVER_PROXIES_H

#include "base/status.h"

#include <stdint.h>

enum { PROXIES_MAX = 64 };

/** Trusted addresses and networks. Zeroed: none. Plain value; immutable once made, any thread. */
struct proxies {
	bool local; /* peers on a Unix socket are trusted */
	unsigned n;
	struct {
		uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
		unsigned bits;       /* length of the prefix */
	} nets[PROXIES_MAX];
};

/** Reads a list of addresses ("10.1.2.3", "::1"), networks ("10.0.0.0/8") and the word "unix", separated by blanks or
 * commas. @param list  NULL or empty: none @return CAIRN_OK; CAIRN_E_USAGE: diag has the word that is none of these */
CAIRN_MUST_USE enum cairn_status proxies_init(struct proxies *out, const char *list, struct cairn_diag *diag);

/** Is this peer trusted? @param address  of the peer, as text; "-": a Unix socket */
bool proxies_trust(const struct proxies *proxies, const char *address);

/**
 * Finds the client behind trusted proxies: the last address of X-Forwarded-For that is not a trusted proxy itself. Each
 * proxy appends the address of its peer, so everything that a client sent stands before that.
 * @param peer         address of the peer, as in proxies_trust()
 * @param forwarded    value of the last X-Forwarded-For; NULL: absent
 * @param[out] client  IPv4 as ::ffff:a.b.c.d
 * @return false: the peer is not trusted, or names no address */
bool proxies_find_client(const struct proxies *proxies, const char *peer, const char *forwarded,
			 uint8_t client[static 16]);

#endif
