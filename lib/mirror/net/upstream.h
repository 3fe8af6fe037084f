/* Checks the address of an upstream, its redirects, and the addresses to which connections may go. Pure. */
#ifndef CAIRN_MIRROR_NET_UPSTREAM_H
#define CAIRN_MIRROR_NET_UPSTREAM_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/socket.h>

enum {
	MIRROR_HOST_BYTES = 254,
	MIRROR_URL_BYTES = MIRROR_HOST_BYTES + 16,
	MIRROR_ADDRESS_BYTES = 4096, /* a URL from an upstream, with the zero; signed ones are long */
};

/** Classes of addresses, by the machines that answer there, from the least to the most dangerous. */
enum mirror_reach {
	MIRROR_REACH_PUBLIC,  /* anybody's machine on the internet */
	MIRROR_REACH_PRIVATE, /* a machine of the operator's network */
	MIRROR_REACH_LOCAL,   /* this machine, this link (metadata services are there), or several machines at once */
};

/** An upstream. Plain value. */
struct mirror_upstream {
	char url[MIRROR_URL_BYTES];   /* "https://host" or "https://host:port": no slash at the end */
	char host[MIRROR_HOST_BYTES]; /* a name or an address; of IPv6 without brackets */
	uint16_t port;
	enum mirror_reach reach; /* most dangerous class of addresses to connect to */
	const char *hosts;       /* of redirects, after mirror_hosts_check(); borrowed. NULL: those of a known hub */
};

/**
 * Parses https://HOST[:PORT]. A path, a user or a query is refused, and http unless the host is this machine, because
 * nothing but TLS protects what is sent. A name may lead to a machine of the operator's network, since TLS proves that
 * it is the named one, but never to this machine; "localhost" and loopback addresses may.
 * @return CAIRN_OK; CAIRN_E_USAGE (mirror.url, mirror.insecure)
 */
CAIRN_MUST_USE enum cairn_status mirror_upstream_parse(struct mirror_upstream *out, const char *text,
						       struct cairn_diag *diag);

/** Checks a list of hosts to which an upstream may redirect for files: names, addresses of IPv4, or "*.NAME" for all
 * hosts below a name, separated by blanks or commas. @return CAIRN_OK; CAIRN_E_USAGE (mirror.hosts) */
CAIRN_MUST_USE enum cairn_status mirror_hosts_check(const char *hosts, struct cairn_diag *diag);

/** Checks pins of an upstream's public key: sha256// and the base64 of 32 bytes; several are separated by ";".
 * @return CAIRN_OK; CAIRN_E_USAGE (mirror.pin), also for an upstream without TLS */
CAIRN_MUST_USE enum cairn_status mirror_pin_check(const char *pin, const struct mirror_upstream *upstream,
						  struct cairn_diag *diag);

/** The target of a redirect. Plain value. */
struct mirror_hop {
	char url[MIRROR_ADDRESS_BYTES];
	enum mirror_reach reach; /* most dangerous class of addresses to connect to */
	bool is_own;             /* the target is the upstream itself, so it gets tokens */
};

/**
 * Decides whether to follow a redirect of an upstream. A target on the upstream's own host is followed. Any other host
 * must be in the upstream's list, or, without a list, hold the files of a known hub (of huggingface.co the hosts below
 * huggingface.co and hf.co). Connections to it need https, unless the upstream has no TLS itself, the upstream's port
 * and a public address. For a host that the list has by its whole name, the addresses allowed are those of the
 * upstream.
 * @param location  an address, or a path at the host of the request before
 * @param before    that request's hop; NULL: it went to the upstream
 * @return CAIRN_OK; CAIRN_E_DENIED (mirror.elsewhere)
 */
CAIRN_MUST_USE enum cairn_status mirror_hop_judge(struct mirror_hop *out, const struct mirror_upstream *upstream,
						  const struct mirror_hop *before, const char *location,
						  struct cairn_diag *diag);

/** Checks a proxy, http://HOST:PORT. It may be anywhere, since the operator named it, and TLS goes through it to the
 * upstream. @param[out] port  of the proxy  @return CAIRN_OK; CAIRN_E_USAGE (mirror.proxy) */
CAIRN_MUST_USE enum cairn_status mirror_proxy_parse(uint16_t *port, const char *text, struct cairn_diag *diag);

/** Classifies an IPv4 or IPv6 address. An IPv6 address that embeds an IPv4 address gets the class of that; any other
 * family is MIRROR_REACH_LOCAL. */
enum mirror_reach mirror_reach_of(const struct sockaddr *address);

#endif
