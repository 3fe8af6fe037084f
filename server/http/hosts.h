/* Checks the Host header of a server without tokens, against DNS rebinding. Any site can make its name resolve to this
 * machine after its page was loaded. The browser then lets that page read this server's answers, and only the Host
 * header reveals the attack. Addresses, and names that always mean this machine, cannot be abused. Pure. */
#ifndef CAIRN_SERVER_HOSTS_H
#define CAIRN_SERVER_HOSTS_H

#include <stdbool.h>

enum { HOSTS_NAME_BYTES = 256 }; /* longest name with its final zero */

struct hosts {
	char public_name[HOSTS_NAME_BYTES]; /* host of the public URL; empty: none */
	bool addresses;                     /* all addresses are allowed, not only those of loopback */
};

/** Sets the host names that count as this server. @param public_url  as the setting; NULL: none */
void hosts_init(struct hosts *out, const char *public_url, bool addresses);

/** Is the host localhost, in 127.0.0.0/8, [::1], the public URL's host or, if allowed, any address?
 *  @param host  from the header, with or without a port */
bool hosts_allow(const struct hosts *hosts, const char *host);

#endif
