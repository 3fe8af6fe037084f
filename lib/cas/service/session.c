#include "cas/service/session.h"

#include "base/clock.h"
#include "cas/internal.h"
#include "index/daemon/lease.h"

#include <string.h>

bool cairn_cas_keeps_sessions(struct cairn_cas *cas)
{
	return cairn_index_is_shared(cas->index);
}

enum cairn_status cairn_cas_session(struct cairn_cas *cas, const uint8_t digest[static CAIRN_SHA256_BYTES],
				    struct cairn_index_session *out, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_index_session(cas->index, digest, cairn_clock_unix_s(), out);
	return status == CAIRN_E_BUSY ? cas_index_is_silent(diag) : status;
}

enum cairn_status cairn_cas_begin_session(struct cairn_cas *cas, const struct cairn_index_session *session,
					  uint32_t n_max, uint32_t n_of_one_max, struct cairn_diag *diag)
{
	struct cairn_index_begin_session begin = {
		.session = *session, .now_unix_s = cairn_clock_unix_s(), .n_max = n_max, .n_of_one_max = n_of_one_max};
	enum cairn_status status = cairn_index_begin_session(cas->index, &begin);
	*diag = begin.write.diag;
	return status;
}

enum cairn_status cairn_cas_end_session(struct cairn_cas *cas, const uint8_t digest[static CAIRN_SHA256_BYTES],
					struct cairn_diag *diag)
{
	struct cairn_index_end_session end = {.write.done = NULL};
	memcpy(end.digest, digest, sizeof(end.digest));
	enum cairn_status status = cairn_index_end_session(cas->index, &end);
	*diag = end.write.diag;
	return status;
}
