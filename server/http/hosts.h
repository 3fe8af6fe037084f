/* Checks the Host header of a server without tokens, against DNS rebinding. Any site can make its name resolve to this
 * machine once its page is loaded. The browser then lets the page read this server's answers. Only the Host header
 * reveals this. Addresses, and names that always mean this machine, cannot be abused. Pure. */
#ifndef CAIRN_SERVER_HOSTS_H
#define CAIRN_SERVER_HOSTS_H

#include <stdbool.h>

enum { HOSTS_NAME_BYTES = 256 }; /* of a name, with its zero */

struct hosts {
	char public_name[HOSTS_NAME_BYTES]; /* of the public URL; empty: none */
	bool addresses;                     /* all addresses are allowed, not only loopback ones */
};

/** @param public_url  as the setting; NULL: none */
void hosts_init(struct hosts *out, const char *public_url, bool addresses);

/** Is the host localhost, in 127.0.0.0/8, [::1], the public URL's host or, if allowed, any address?
 *  @param host  from the header, with or without a port */
bool hosts_allow(const struct hosts *hosts, const char *host);

#endif
