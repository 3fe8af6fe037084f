#include "cas/dedupe_key.h"

#include "base/bytes.h"
#include "hash/crypto.h"

#include <string.h>

enum cairn_status cairn_dedupe_key(const struct cairn_secret *secret, const char *scope, uint64_t epoch,
				   struct cairn_hash *out)
{
	/* The scope is the only part of variable length and comes last, so no two inputs look alike. */
	static const char LABEL[] = "cairn dedupe key 1";
	uint8_t info[sizeof(LABEL) + 8 + 256];
	size_t scope_len = strnlen(scope, 256);
	memcpy(info, LABEL, sizeof(LABEL));
	cairn_put_u64le(info + sizeof(LABEL), epoch);
	memcpy(info + sizeof(LABEL) + 8, scope, scope_len);
	enum cairn_status status = cairn_hkdf_sha256(out->b, sizeof(out->b), secret->bytes, secret->len, info,
						     sizeof(LABEL) + 8 + scope_len);
	if (status == CAIRN_OK && cairn_hash_is_zero(out))
		out->b[0] = 1; /* zero would mean "not keyed"; it comes up once in 2^256 */
	return status;
}
