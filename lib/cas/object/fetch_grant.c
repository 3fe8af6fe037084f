#include "cas/object/fetch_grant.h"

#include "cas/internal.h"
#include "hash/crypto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cairn_fetch_mac(const struct cairn_cas *cas, const void *message, size_t len,
		     char out[static CAIRN_FETCH_SIGNATURE_TEXT_BYTES])
{
	struct cairn_hash mac;
	cairn_hash_mac(&mac, cas->fetch_key, message, len);
	cairn_hex_text(out, mac.b, sizeof(mac.b));
}

static enum cairn_status fetch_mac(const struct cairn_cas *cas, const struct cairn_hash *xorb, const char *ranges,
				   const char *expires, char out[static CAIRN_FETCH_SIGNATURE_TEXT_BYTES])
{
	char message[CAIRN_FETCH_RANGES_TEXT_MAX + 128];
	size_t expires_len = strlen(expires), ranges_len = strlen(ranges);
	if (CAIRN_HASH_TEXT_BYTES + expires_len + 1 + ranges_len > sizeof(message))
		return CAIRN_E_LIMIT;
	/* No part can contain a newline, so no two grants have the same message. */
	cairn_hash_text(message, xorb);
	char *end = message + CAIRN_HASH_TEXT_BYTES - 1;
	*end++ = '\n';
	end = mempcpy(end, expires, expires_len);
	*end++ = '\n';
	end = mempcpy(end, ranges, ranges_len);
	cairn_fetch_mac(cas, message, (size_t)(end - message), out);
	return CAIRN_OK;
}

enum cairn_status cairn_fetch_sign(const struct cairn_cas *cas, const struct cairn_hash *xorb, const char *ranges,
				   int64_t expires_unix_s, char out[static CAIRN_FETCH_SIGNATURE_TEXT_BYTES])
{
	char expires[32];
	(void)snprintf(expires, sizeof(expires), "%" PRId64, expires_unix_s);
	return fetch_mac(cas, xorb, ranges, expires, out);
}

enum cairn_status cairn_fetch_check(const struct cairn_cas *cas, const struct cairn_hash *xorb, const char *ranges,
				    const char *expires, const char *signature, int64_t now_unix_s,
				    struct cairn_diag *diag)
{
	char wanted[CAIRN_FETCH_SIGNATURE_TEXT_BYTES];
	enum cairn_status status = fetch_mac(cas, xorb, ranges, expires, wanted);
	if (status != CAIRN_OK || strlen(signature) != sizeof(wanted) - 1 ||
	    !cairn_secret_equal(signature, wanted, sizeof(wanted) - 1))
		return cairn_fail(diag, CAIRN_E_DENIED, "fetch.signature", CAIRN_NO_OFFSET,
				  "this URL was not signed here, or was changed; ask for the reconstruction again");
	int64_t expires_unix_s = strtoll(expires, NULL, 10); /* signed, like the value that was printed above */
	if (now_unix_s >= expires_unix_s) {
		(void)cairn_fail(diag, CAIRN_E_DENIED, "fetch.expired", CAIRN_NO_OFFSET,
				 "this URL has expired; ask for the reconstruction again");
		char now[32];
		(void)snprintf(now, sizeof(now), "%" PRId64, now_unix_s);
		cairn_diag_values(diag, expires, now);
		return CAIRN_E_DENIED;
	}
	return CAIRN_OK;
}

/* Parses a decimal number at *text and steps over it. A number of seventeen digits exceeds the size of any object. */
static bool fetch_number(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t n = 0;
	while (*p >= '0' && *p <= '9' && p - *text < 18)
		n = n * 10 + (uint64_t)(*p++ - '0');
	bool ok = p > *text && p - *text < 18;
	*text = p;
	*out = n;
	return ok;
}

size_t cairn_fetch_ranges_parse(struct cairn_fetch_range *out, size_t max, const char *text)
{
	size_t n = 0;
	for (;; text++) {
		struct cairn_fetch_range range;
		if (n == max || !fetch_number(&text, &range.first) || *text++ != '-' ||
		    !fetch_number(&text, &range.last) || range.last < range.first)
			return 0;
		out[n++] = range;
		if (*text == '\0')
			return n;
		if (*text != ',')
			return 0;
	}
}
