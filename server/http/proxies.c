#include "server/http/proxies.h"

#include "base/decimal.h"

#include <arpa/inet.h>
#include <string.h>

enum { PROXIES_WORD_BYTES = 64, PROXIES_V4_BITS = 96 /* bits before an IPv4 address in ::ffff:0:0/96 */ };

/* Parses an address. @return number of bits of an address of its family; 0: not an address */
static unsigned proxies_address(uint8_t out[static 16], const char *text)
{
	static const uint8_t MAPPED[12] = {[10] = 0xff, [11] = 0xff};
	memcpy(out, MAPPED, sizeof(MAPPED));
	if (inet_pton(AF_INET, text, out + sizeof(MAPPED)) == 1)
		return 32;
	return inet_pton(AF_INET6, text, out) == 1 ? 128 : 0;
}

static bool proxies_add(struct proxies *p, char *word)
{
	char *slash = strchr(word, '/');
	if (strcmp(word, "unix") == 0) {
		p->local = true;
		return true;
	}
	if (p->n == PROXIES_MAX)
		return false;
	if (slash)
		*slash = '\0';
	unsigned all = proxies_address(p->nets[p->n].address, word);
	uint64_t bits = all;
	bool good = all > 0 && (!slash || cairn_decimal_parse(slash + 1, 0, all, &bits));
	if (slash)
		*slash = '/';
	if (good)
		p->nets[p->n++].bits = (unsigned)bits + (all == 32 ? PROXIES_V4_BITS : 0);
	return good;
}

enum cairn_status proxies_init(struct proxies *out, const char *list, struct cairn_diag *diag)
{
	static const char SEPARATORS[] = " \t,";
	*out = (struct proxies){0};
	for (const char *p = list ? list : ""; *p; p += strspn(p, SEPARATORS)) {
		char word[PROXIES_WORD_BYTES];
		size_t len = strcspn(p, SEPARATORS);
		size_t kept = len < sizeof(word) ? len : sizeof(word) - 1;
		memcpy(word, p, kept);
		word[kept] = '\0';
		if (len > 0 && (kept < len || !proxies_add(out, word)))
			return cairn_fail(
				diag, CAIRN_E_USAGE, "hub_trusted_proxies", CAIRN_NO_OFFSET,
				"\"%s\" is not an address, a network (10.0.0.0/8) or unix, or there are more than %d "
				"of them",
				word, (int)PROXIES_MAX);
		p += len;
	}
	return CAIRN_OK;
}

static bool proxies_same_bits(const uint8_t *a, const uint8_t *b, unsigned n)
{
	unsigned whole = n / 8, rest = n % 8;
	return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static bool proxies_have(const struct proxies *proxies, const uint8_t address[static 16])
{
	for (unsigned i = 0; i < proxies->n; i++)
		if (proxies_same_bits(proxies->nets[i].address, address, proxies->nets[i].bits))
			return true;
	return false;
}

bool proxies_trust(const struct proxies *proxies, const char *address)
{
	uint8_t peer[16];
	if (strcmp(address, "-") == 0)
		return proxies->local;
	return proxies_address(peer, address) != 0 && proxies_have(proxies, peer);
}

/* Reads an address between two places of a text, with blanks around it. @param text  up to end */
static bool proxies_read_address(uint8_t out[static 16], const char *text, const char *end)
{
	char word[PROXIES_WORD_BYTES];
	while (text < end && (*text == ' ' || *text == '\t'))
		text++;
	while (text < end && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	size_t len = (size_t)(end - text);
	if (len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	return proxies_address(out, word) != 0;
}

bool proxies_find_client(const struct proxies *proxies, const char *peer, const char *forwarded,
			 uint8_t client[static 16])
{
	bool found = false;
	if (!forwarded || !proxies_trust(proxies, peer))
		return false;
	for (const char *end = forwarded + strlen(forwarded), *at = end; at; end = at) {
		uint8_t address[16];
		for (at = end; at > forwarded && at[-1] != ',';)
			at--;
		if (!proxies_read_address(address, at, end))
			return found;
		memcpy(client, address, sizeof(address));
		found = true;
		at = at > forwarded && proxies_have(proxies, address) ? at - 1 : NULL;
	}
	return found;
}
