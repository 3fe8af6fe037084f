#include "server/http/hosts.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* Extracts the name of "name:port", "1.2.3.4" or "[::1]:port", without brackets and a final dot; empty: none. */
static void hosts_name(char out[static HOSTS_NAME_BYTES], const char *host)
{
	bool brackets = host[0] == '[';
	const char *name = brackets ? host + 1 : host;
	size_t len = strcspn(name, brackets ? "]/" : ":/");
	if (!brackets && len > 0 && name[len - 1] == '.')
		len--;
	if (len >= HOSTS_NAME_BYTES)
		len = 0;
	memcpy(out, name, len);
	out[len] = '\0';
}

void hosts_init(struct hosts *out, const char *public_url, bool addresses)
{
	const char *host = public_url ? strstr(public_url, "://") : NULL;
	*out = (struct hosts){.addresses = addresses};
	if (host)
		hosts_name(out->public_name, host + 3);
}

/* Is this an IP address? @param[out] loopback  it means this machine @return false: not an address */
static bool hosts_address(const char *name, bool *loopback)
{
	struct in_addr four;
	struct in6_addr six;
	if (inet_pton(AF_INET, name, &four) == 1) {
		*loopback = ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
		return true;
	}
	if (inet_pton(AF_INET6, name, &six) != 1)
		return false;
	*loopback = IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == IN_LOOPBACKNET);
	return true;
}

bool hosts_allow(const struct hosts *hosts, const char *host)
{
	char name[HOSTS_NAME_BYTES];
	bool loopback;
	hosts_name(name, host);
	if (!name[0])
		return false;
	/* the cheap tests come first, because every request passes here */
	if (strcmp(name, "127.0.0.1") == 0 || strcasecmp(name, "localhost") == 0 ||
	    strcasecmp(name, hosts->public_name) == 0)
		return true;
	return hosts_address(name, &loopback) && (loopback || hosts->addresses);
}
