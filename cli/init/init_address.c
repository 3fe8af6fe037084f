/* Reads the address that clients use, and derives where the daemon must listen. */
#include "base/decimal.h"
#include "cli/init/init.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ADDRESS_PROXIED_PORT = 8080, ADDRESS_PRIVILEGED_PORTS = 1024 };

struct address_parts {
	bool https;
	char host[256]; /* as in the address: an IPv6 address has brackets */
	unsigned port;
	const char *path; /* from its first slash on; may be empty */
};

struct address_host {
	bool is_loopback;   /* only clients on this machine reach it */
	const char *listen; /* only clients on this machine can reach it */
};

static enum cairn_status address_refuse(const char *url, const char *why, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "init.url", CAIRN_NO_OFFSET,
			  "--url takes http://HOST:PORT or https://HOST:PORT, not \"%.120s\": %s", url, why);
}

/* Reads the port after the host, or else takes the scheme's. @return an error message; NULL: none */
static const char *address_read_port(const char *text, size_t len, struct address_parts *out)
{
	char digits[INIT_PORT_BYTES];
	uint64_t port = 0;
	out->port = out->https ? 443 : 80;
	if (len == 0)
		return NULL;
	int n = snprintf(digits, sizeof(digits), "%.*s", (int)(len - 1), text + 1);
	if (text[0] != ':' || n < 0 || (size_t)n >= sizeof(digits) || !cairn_decimal_parse(digits, 1, 65535, &port))
		return "the port is no number from 1 to 65535";
	out->port = (unsigned)port;
	return NULL;
}

/* Splits an address. @return an error message; NULL: none */
static const char *address_split(const char *url, struct address_parts *out)
{
	static const char HOST[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
	static const char PATH[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	out->https = strncmp(url, "https://", 8) == 0;
	if (!out->https && strncmp(url, "http://", 7) != 0)
		return "it has to begin with http:// or https://";
	const char *host = url + (out->https ? 8 : 7);
	size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strspn(host, HOST);
	bool is_host = host[0] == '[' ? strspn(host + 1, "0123456789abcdefABCDEF:.") + 2 == len : len > 0;
	if (!is_host || len >= sizeof(out->host))
		return "there is no host in it";
	(void)snprintf(out->host, sizeof(out->host), "%.*s", (int)len, host);
	size_t port_len = strcspn(host + len, "/");
	out->path = host + len + port_len;
	if (strspn(out->path, PATH) != strlen(out->path))
		return "its path has characters other than letters, digits, -, ., _, ~ and /";
	return address_read_port(host + len, port_len, out);
}

/* Checks a host. A name with only digits and dots must be a valid IPv4 address. @return an error message; NULL: none */
static const char *address_check_host(const char *host, struct address_host *out)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	struct in_addr v4;
	*out = (struct address_host){.is_loopback = false};
	if (host[0] == '[') {
		int n = snprintf(text, sizeof(text), "%.*s", (int)strlen(host) - 2, host + 1);
		if (n < 0 || (size_t)n >= sizeof(text) || inet_pton(AF_INET6, text, &v6) != 1)
			return "there is no IPv6 address between [ and ]";
		out->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6);
		out->listen = "[::1]";
	} else if (host[strspn(host, "0123456789.")] == '\0') {
		if (inet_pton(AF_INET, host, &v4) != 1)
			return "an IPv4 address is four numbers from 0 to 255 with dots between them";
		out->is_loopback = ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
		out->listen = host;
	} else {
		out->is_loopback = strcasecmp(host, "localhost") == 0;
		out->listen = "127.0.0.1";
	}
	return NULL;
}

/* Returns the address for all networks. [::] accepts IPv4, too, but some containers have no IPv6. */
static const char *address_of_all(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 ? "[::]" : "0.0.0.0";
}

enum cairn_status init_address_read(const char *url, bool has_certificate, struct init_address *out,
				    struct cairn_diag *diag)
{
	struct address_parts parts;
	struct address_host host;
	const char *wrong = address_split(url, &parts);
	size_t len = strlen(url);
	while (len > 0 && url[len - 1] == '/')
		len--;
	if (!wrong)
		wrong = address_check_host(parts.host, &host);
	if (!wrong && len >= sizeof(out->url))
		wrong = "it is too long";
	if (wrong)
		return address_refuse(url, wrong, diag);
	*out = (struct init_address){.https = parts.https, .loopback = host.is_loopback};
	(void)snprintf(out->url, sizeof(out->url), "%.*s", (int)len, url);
	out->behind_proxy = parts.https && !has_certificate;
	if (!parts.https && has_certificate)
		return address_refuse(url, "with a certificate it begins with https://", diag);
	if (!out->behind_proxy && parts.path[strspn(parts.path, "/")] != '\0')
		return address_refuse(url, "only a proxy can serve the daemon below a path", diag);
	out->port = out->behind_proxy ? ADDRESS_PROXIED_PORT : parts.port;
	const char *listen = out->behind_proxy ? "127.0.0.1" : host.is_loopback ? host.listen : address_of_all();
	(void)snprintf(out->listen, sizeof(out->listen), "%s:%u", listen, out->port);
	return CAIRN_OK;
}
