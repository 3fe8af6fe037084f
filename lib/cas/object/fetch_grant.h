/* Fetch grants: signed, expiring permissions in fetch URLs to read byte ranges of one xorb without a token. */
#ifndef CAIRN_CAS_OBJECT_FETCH_GRANT_H
#define CAIRN_CAS_OBJECT_FETCH_GRANT_H

#include "cas/cas.h"

enum {
	CAIRN_FETCH_RANGES_MAX = 256,           /* ranges in one grant */
	CAIRN_FETCH_RANGES_TEXT_MAX = 256 * 40, /* "first-last,first-last..." */
	CAIRN_FETCH_SIGNATURE_TEXT_BYTES = 64 + 1,
};

struct cairn_fetch_range {
	uint64_t first, last; /* bytes, last inclusive, as in HTTP */
};

/**
 * Signs a grant: cairn_hash_mac(), with a key of the server's secret, over xorb, ranges and expiry as in the URL.
 * @param ranges  "first-last,first-last...", decimal, without spaces
 * @param[out] out  64 hexadecimal digits and a zero
 * @return CAIRN_OK; CAIRN_E_LIMIT ranges too long */
CAIRN_MUST_USE enum cairn_status cairn_fetch_sign(const struct cairn_cas *cas, const struct cairn_hash *xorb,
						  const char *ranges, int64_t expires_unix_s,
						  char out[static CAIRN_FETCH_SIGNATURE_TEXT_BYTES]);

/** Signs the message of another kind of grant, with the same key. The message must never equal that of a fetch grant.
 * @param[out] out  64 hexadecimal digits and a zero */
void cairn_fetch_mac(const struct cairn_cas *cas, const void *message, size_t len,
		     char out[static CAIRN_FETCH_SIGNATURE_TEXT_BYTES]);

/** Checks a grant. The signature covers every part.
 * @return CAIRN_OK; CAIRN_E_DENIED with rule "fetch.signature" or "fetch.expired" */
CAIRN_MUST_USE enum cairn_status cairn_fetch_check(const struct cairn_cas *cas, const struct cairn_hash *xorb,
						   const char *ranges, const char *expires, const char *signature,
						   int64_t now_unix_s, struct cairn_diag *diag);

/** Parses "first-last,first-last...". @return number of ranges; 0: malformed, empty, descending, or more than max */
size_t cairn_fetch_ranges_parse(struct cairn_fetch_range *out, size_t max, const char *text);

#endif
