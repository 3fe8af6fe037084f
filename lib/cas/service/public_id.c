#include "cas/service/public_id.h"

#include "base/bytes.h"
#include "cas/internal.h"

#include <string.h>

void cairn_public_id(const struct cairn_cas *cas, enum cairn_public_kind kind, int64_t number,
		     char out[static CAIRN_PUBLIC_ID_TEXT_BYTES])
{
	uint8_t message[1 + 8] = {(uint8_t)kind};
	struct cairn_hash mac;
	cairn_put_u64le(message + 1, (uint64_t)number);
	cairn_hash_mac(&mac, cas->public_key, message, sizeof(message));
	cairn_hex_text(out, mac.b, (CAIRN_PUBLIC_ID_TEXT_BYTES - 1) / 2);
}

void cairn_code_digest(const struct cairn_cas *cas, const char *code, uint8_t out[static CAIRN_HASH_BYTES])
{
	struct cairn_hash mac;
	cairn_hash_mac(&mac, cas->code_key, code, strlen(code));
	memcpy(out, mac.b, sizeof(mac.b));
}
