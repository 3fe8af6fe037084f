#include "cas/service/trim.h"

#include "cas/internal.h"

enum cairn_status cairn_cas_trim(struct cairn_cas *cas, enum cairn_index_trimmed what, int64_t before_unix_s,
				 bool (*stop)(void *ctx), void *stop_ctx, uint64_t *n_dropped)
{
	enum cairn_status status = CAIRN_OK;
	bool more = true;
	*n_dropped = 0;
	while (status == CAIRN_OK && more && !stop(stop_ctx)) {
		struct cairn_index_trim trim = {.what = what, .before_unix_s = before_unix_s};
		status = cairn_index_trim(cas->index, &trim);
		more = status == CAIRN_OK && trim.n_dropped > 0;
		*n_dropped += more ? trim.n_dropped : 0;
	}
	return status;
}
