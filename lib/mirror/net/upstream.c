#include "mirror/net/upstream.h"

#include "base/base64.h"
#include "base/decimal.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define UPSTREAM_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"
#define UPSTREAM_HEX     "0123456789abcdefABCDEF:."

/* --- addresses ---------------------------------------------------------------------------------------------------- */

/* A network: its first bits, as bytes. Networks of the registries of special addresses (RFC 6890 and later). */
struct upstream_network {
	uint8_t bytes[16];
	unsigned bits;
	enum mirror_reach reach;
};

static const struct upstream_network NETWORKS_V4[] = {
	{{0}, 8, MIRROR_REACH_LOCAL},               /* this network; 0.0.0.0 is this machine */
	{{127}, 8, MIRROR_REACH_LOCAL},             /* loopback */
	{{169, 254}, 16, MIRROR_REACH_LOCAL},       /* link-local, metadata services */
	{{224}, 3, MIRROR_REACH_LOCAL},             /* multicast, reserved, broadcast */
	{{10}, 8, MIRROR_REACH_PRIVATE},            /* private use */
	{{172, 16}, 12, MIRROR_REACH_PRIVATE},      /* private use */
	{{192, 168}, 16, MIRROR_REACH_PRIVATE},     /* private use */
	{{100, 64}, 10, MIRROR_REACH_PRIVATE},      /* shared by a provider's customers */
	{{192, 0, 0}, 24, MIRROR_REACH_PRIVATE},    /* protocol assignments */
	{{192, 0, 2}, 24, MIRROR_REACH_PRIVATE},    /* documentation */
	{{198, 18}, 15, MIRROR_REACH_PRIVATE},      /* benchmarks */
	{{198, 51, 100}, 24, MIRROR_REACH_PRIVATE}, /* documentation */
	{{203, 0, 113}, 24, MIRROR_REACH_PRIVATE},  /* documentation */
};

static const struct upstream_network NETWORKS_V6[] = {
	{{0xfc}, 7, MIRROR_REACH_PRIVATE},                    /* unique local */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, MIRROR_REACH_PRIVATE}, /* documentation */
	{{0x20, 0x01, 0, 0}, 32, MIRROR_REACH_LOCAL},         /* Teredo: leads anywhere */
	{{0x20}, 3, MIRROR_REACH_PUBLIC},                     /* global unicast; all others are special */
};

/* Prefixes of IPv6 that an address of IPv4 follows. */
static const struct upstream_network EMBEDDINGS[] = {
	{{[10] = 0xff, 0xff}, 96, 0},      /* mapped */
	{{0}, 96, 0},                      /* compatible; with it ::1 and :: become 0.0.0.1 and 0.0.0.0 */
	{{0x00, 0x64, 0xff, 0x9b}, 96, 0}, /* NAT64 */
	{{0x20, 0x02}, 16, 0},             /* 6to4 */
};

static bool upstream_begins(const uint8_t *address, const struct upstream_network *network)
{
	unsigned whole = network->bits / 8, rest = network->bits % 8;
	if (memcmp(address, network->bytes, whole) != 0)
		return false;
	return rest == 0 || (address[whole] ^ network->bytes[whole]) >> (8 - rest) == 0;
}

static enum mirror_reach upstream_reach_in(const uint8_t *address, const struct upstream_network *networks, size_t n,
					   enum mirror_reach otherwise)
{
	for (size_t i = 0; i < n; i++)
		if (upstream_begins(address, &networks[i]))
			return networks[i].reach;
	return otherwise;
}

static enum mirror_reach upstream_reach_v4(const uint8_t *address)
{
	return upstream_reach_in(address, NETWORKS_V4, sizeof(NETWORKS_V4) / sizeof(NETWORKS_V4[0]),
				 MIRROR_REACH_PUBLIC);
}

static enum mirror_reach upstream_reach_v6(const uint8_t *address)
{
	for (size_t i = 0; i < sizeof(EMBEDDINGS) / sizeof(EMBEDDINGS[0]); i++)
		if (upstream_begins(address, &EMBEDDINGS[i]))
			return upstream_reach_v4(address + EMBEDDINGS[i].bits / 8);
	return upstream_reach_in(address, NETWORKS_V6, sizeof(NETWORKS_V6) / sizeof(NETWORKS_V6[0]),
				 MIRROR_REACH_LOCAL);
}

enum mirror_reach mirror_reach_of(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		return upstream_reach_v4((const uint8_t *)&v4.sin_addr);
	}
	if (address->sa_family != AF_INET6)
		return MIRROR_REACH_LOCAL;
	memcpy(&v6, address, sizeof(v6));
	return upstream_reach_v6(v6.sin6_addr.s6_addr);
}

/* --- upstreams ---------------------------------------------------------------------------------------------------- */

static enum cairn_status upstream_refuse(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "mirror.url", CAIRN_NO_OFFSET,
			  "%s; an upstream is https://HOST or https://HOST:PORT, such as https://huggingface.co", what);
}

/* @return false: the host is neither a good name nor an address in brackets */
static bool upstream_take_host(struct mirror_upstream *out, const char *text, size_t *used)
{
	bool bracket = *text == '[';
	const char *host = text + bracket;
	size_t len = strspn(host, bracket ? UPSTREAM_HEX : UPSTREAM_LETTERS);
	if (len == 0 || len >= sizeof(out->host) || (bracket && host[len] != ']'))
		return false;
	memcpy(out->host, host, len);
	out->host[len] = '\0';
	*used = len + 2 * (size_t)bracket;
	struct in6_addr address;
	return !bracket || inet_pton(AF_INET6, out->host, &address) == 1;
}

/* Reads ":PORT" and a slash at the end. */
static bool upstream_take_port(uint16_t *out, const char *text)
{
	char digits[8];
	uint64_t port;
	size_t len = *text == ':' ? strspn(text + 1, "0123456789") : 0;
	const char *rest = *text == ':' ? text + 1 + len : text;
	if (strcmp(rest, "") != 0 && strcmp(rest, "/") != 0)
		return false;
	if (*text != ':')
		return true;
	if (len >= sizeof(digits))
		return false;
	memcpy(digits, text + 1, len);
	digits[len] = '\0';
	if (!cairn_decimal_parse(digits, 1, UINT16_MAX, &port))
		return false;
	*out = (uint16_t)port;
	return true;
}

static enum mirror_reach upstream_reach_of_name(const char *host)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	if (strcasecmp(host, "localhost") == 0)
		return MIRROR_REACH_LOCAL;
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
		return mirror_reach_of((const struct sockaddr *)&v4);
	if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
		return mirror_reach_of((const struct sockaddr *)&v6);
	return MIRROR_REACH_PRIVATE;
}

static bool upstream_names_this_machine(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcasecmp(host, "localhost") == 0;
}

enum cairn_status mirror_proxy_parse(uint16_t *port, const char *text, struct cairn_diag *diag)
{
	struct mirror_upstream proxy;
	size_t used;
	*port = 0;
	if (strncmp(text, "http://", 7) == 0 && upstream_take_host(&proxy, text + 7, &used) && text[7 + used] == ':' &&
	    upstream_take_port(port, text + 7 + used))
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_USAGE, "mirror.proxy", CAIRN_NO_OFFSET,
			  "a proxy is http://HOST:PORT, without a path or a user");
}

enum cairn_status mirror_upstream_parse(struct mirror_upstream *out, const char *text, struct cairn_diag *diag)
{
	*out = (struct mirror_upstream){.port = 0};
	size_t used;
	bool tls = strncmp(text, "https://", 8) == 0;
	size_t scheme = tls ? 8 : strncmp(text, "http://", 7) == 0 ? 7 : 0;
	if (scheme == 0)
		return upstream_refuse(diag, "it does not begin with https://");
	if (!upstream_take_host(out, text + scheme, &used))
		return upstream_refuse(diag, "its host is neither a name nor an address");
	out->port = tls ? 443 : 80;
	if (!upstream_take_port(&out->port, text + scheme + used))
		return upstream_refuse(diag, "something other than a port follows its host");
	out->reach = upstream_reach_of_name(out->host);
	if (out->reach == MIRROR_REACH_LOCAL && !upstream_names_this_machine(out->host))
		return upstream_refuse(diag, "its address is of this link, of several machines or of none");
	if (!tls && out->reach != MIRROR_REACH_LOCAL)
		return cairn_fail(diag, CAIRN_E_USAGE, "mirror.insecure", CAIRN_NO_OFFSET,
				  "the upstream %.100s has no TLS, and is not this machine; use https", text);
	size_t len = strlen(text);
	len -= text[len - 1] == '/';
	if (len >= sizeof(out->url))
		return upstream_refuse(diag, "it is too long");
	memcpy(out->url, text, len);
	out->url[len] = '\0';
	return CAIRN_OK;
}

/* --- redirects ---------------------------------------------------------------------------------------------------- */

static bool upstream_ends_with(const char *host, const char *end)
{
	size_t len = strlen(host), end_len = strlen(end);
	return len >= end_len && strcasecmp(host + len - end_len, end) == 0;
}

/* Takes the next host of a list. @return false: there is none, or it is too long for a host */
static bool upstream_next_host(const char **list, char out[static MIRROR_HOST_BYTES])
{
	static const char APART[] = " \t,";
	const char *host = *list + strspn(*list, APART);
	size_t len = strcspn(host, APART);
	if (len == 0 || len >= MIRROR_HOST_BYTES) {
		*list = host;
		return false;
	}
	*list = host + len;
	memcpy(out, host, len);
	out[len] = '\0';
	return true;
}

static bool upstream_is_host(const char *host)
{
	const char *name = strncmp(host, "*.", 2) == 0 ? host + 2 : host;
	return name[0] && name[0] != '.' && !name[strspn(name, UPSTREAM_LETTERS)];
}

enum cairn_status mirror_pin_check(const char *pin, const struct mirror_upstream *upstream, struct cairn_diag *diag)
{
	static const char BEGIN[] = "sha256//";
	uint8_t key[32]; /* SHA-256 */
	bool good = strncmp(upstream->url, "https:", 6) == 0;
	for (const char *at = pin; good && at; at = strchr(at, ';')) {
		at += *at == ';';
		size_t n = 0, len = strcspn(at, ";"), begin = sizeof(BEGIN) - 1;
		good = len > begin && strncmp(at, BEGIN, begin) == 0 &&
		       cairn_base64_decode(key, sizeof(key), &n, at + begin, len - begin) == CAIRN_OK &&
		       n == sizeof(key);
	}
	return good ? CAIRN_OK
		    : cairn_fail(
			      diag, CAIRN_E_USAGE, "mirror.pin", CAIRN_NO_OFFSET,
			      "\"%.120s\" is not a pin of an upstream with TLS; a pin is sha256// and 44 characters of base64",
			      pin);
}

enum cairn_status mirror_hosts_check(const char *hosts, struct cairn_diag *diag)
{
	char host[MIRROR_HOST_BYTES];
	const char *at = hosts;
	size_t n = 0;
	bool good = true;
	for (; good && upstream_next_host(&at, host); n++)
		good = upstream_is_host(host);
	if (good && n > 0 && !*at)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_USAGE, "mirror.hosts", CAIRN_NO_OFFSET,
			  "\"%.120s\" is not a list of hosts, such as cdn.example *.files.example", hosts);
}

/* May files of the hub come from a host? @param[out] reach  most dangerous class of its addresses */
static bool upstream_holds_files(const struct mirror_upstream *upstream, const char *host, enum mirror_reach *reach)
{
	static const char KNOWN[] = "*.huggingface.co *.hf.co", OWN[] = ".huggingface.co";
	bool is_known = strcasecmp(upstream->host, OWN + 1) == 0;
	const char *at = upstream->hosts ? upstream->hosts : is_known ? KNOWN : "";
	char one[MIRROR_HOST_BYTES];
	while (upstream_next_host(&at, one)) {
		bool is_below = strncmp(one, "*.", 2) == 0;
		*reach = is_below ? MIRROR_REACH_PUBLIC : upstream->reach;
		if (is_below ? upstream_ends_with(host, one + 1) : strcasecmp(one, host) == 0)
			return true;
	}
	return false;
}

static bool upstream_is_clean(const char *text)
{
	for (; *text; text++)
		if (*text <= 0x20 || *text >= 0x7f)
			return false;
	return true;
}

/* Parses scheme, host and port of a URL. @param[out] out  url is not set @return false: not a URL */
static bool upstream_take_origin(struct mirror_upstream *out, const char *text, bool *tls, size_t *len)
{
	char port[8] = "";
	size_t used = 0;
	*out = (struct mirror_upstream){.port = 0};
	*tls = strncmp(text, "https://", 8) == 0;
	size_t scheme = *tls ? 8 : strncmp(text, "http://", 7) == 0 ? 7 : 0;
	if (scheme == 0 || !upstream_take_host(out, text + scheme, &used))
		return false;
	size_t at = scheme + used, port_len = text[at] == ':' ? 1 + strspn(text + at + 1, "0123456789") : 0;
	*len = at + port_len;
	if (port_len >= sizeof(port) || !strchr("/?", text[*len]))
		return false;
	memcpy(port, text + at, port_len);
	out->port = *tls ? 443 : 80;
	return upstream_take_port(&out->port, port);
}

/* Completes the location of a redirect. A path gets the origin of the previous request, or the upstream's URL if
 * `before` is NULL. A URL stays. @return false: the result is too long, or location is neither a path nor a URL */
static bool upstream_complete(char out[static MIRROR_ADDRESS_BYTES], const struct mirror_upstream *upstream,
			      const struct mirror_hop *before, const char *location)
{
	struct mirror_upstream origin;
	bool tls;
	size_t len = 0;
	const char *base = before ? before->url : upstream->url;
	if (location[0] == '/' && location[1] != '/') {
		if (before && !upstream_take_origin(&origin, base, &tls, &len))
			return false;
		len = before ? len : strlen(base);
	}
	int n = snprintf(out, MIRROR_ADDRESS_BYTES, "%.*s%s", (int)len, base, location);
	return n > 0 && n < MIRROR_ADDRESS_BYTES && upstream_is_clean(out);
}

enum cairn_status mirror_hop_judge(struct mirror_hop *out, const struct mirror_upstream *upstream,
				   const struct mirror_hop *before, const char *location, struct cairn_diag *diag)
{
	struct mirror_upstream to;
	bool tls = false;
	size_t len;
	bool good = upstream_complete(out->url, upstream, before, location) &&
		    upstream_take_origin(&to, out->url, &tls, &len) && to.port == upstream->port;
	good = good && tls == (strncmp(upstream->url, "https", 5) == 0);
	out->is_own = good && strcasecmp(to.host, upstream->host) == 0;
	out->reach = upstream->reach;
	if (out->is_own || (good && upstream_holds_files(upstream, to.host, &out->reach)))
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_DENIED, "mirror.elsewhere", CAIRN_NO_OFFSET,
			  "the upstream redirects a file to \"%.120s\", a host that mirror_hosts does not allow",
			  location);
}
