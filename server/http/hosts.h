/* By which names a server is called that asks for no tokens. A page of any site may have its name lead to this machine
 * once it is loaded (DNS rebinding): for the browser it is then a page of this server, and reads what it answers. Only
 * the Host header tells. Names that lead nowhere else cannot be had that way, nor can addresses. Pure. */
#ifndef CAIRN_SERVER_HOSTS_H
#define CAIRN_SERVER_HOSTS_H

#include <stdbool.h>

enum { HOSTS_NAME_BYTES = 256 }; /* of a name, with its zero */

struct hosts {
	char public_name[HOSTS_NAME_BYTES]; /* of the public URL; empty: none */
	bool addresses;                     /* addresses are taken, too, and not only loopback ones */
};

/** @param public_url  as the setting; NULL: none */
void hosts_init(struct hosts *out, const char *public_url, bool addresses);

/** Is it one of localhost, 127.0.0.0/8, [::1], the public URL's host or, where these are taken, an address?
 *  @param host  of the header, with a port or without */
bool hosts_allow(const struct hosts *hosts, const char *host);

#endif
