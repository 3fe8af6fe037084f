/* Quotas: the size of a repository is updated with each row that changes it. */
#include "index/postgres/hub.h"
#include "index/postgres/own.h"

static const char QUOTA_COUNT[] = "UPDATE repo SET stored = stored + $2 WHERE scope = $1";

/* --- counting ----------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_pg_count_stored(struct cairn_pg_tx *tx, int64_t scope, int64_t bytes)
{
	struct cairn_pg_args args = {0};
	int64_t n;
	if (scope == 0 || bytes == 0)
		return CAIRN_OK;
	cairn_pg_int8(&args, scope);
	cairn_pg_int8(&args, bytes);
	enum cairn_status status = cairn_pg_run(&tx->pg, QUOTA_COUNT, &args, &n);
	if (status == CAIRN_OK && n > 0)
		cairn_records_grow(&tx->records, scope, bytes);
	return status;
}
