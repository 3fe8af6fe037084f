#include "index/daemon/session.h"

#include "index/backend.h"

enum cairn_status cairn_index_session(struct cairn_index *ix, const uint8_t digest[static CAIRN_SHA256_BYTES],
				      int64_t now_unix_s, struct cairn_index_session *out)
{
	return ix->backend->session(ix, digest, now_unix_s, out);
}
