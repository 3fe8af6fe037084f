/* A file that goes. */
#include "index/postgres/write.h"

static const char FILE_DROP_REFERENCES[] = "DELETE FROM reference WHERE file = $1";
static const char FILE_DROP[] = "DELETE FROM file WHERE id = $1";

enum cairn_status cairn_pg_drop_file(struct cairn_pg_tx *tx, int64_t file)
{
	struct cairn_pg_args args = {0};
	cairn_pg_int8(&args, file);
	tx->counts.files--;
	(void)cairn_pg_queue(&tx->pg, FILE_DROP_REFERENCES, &args);
	return cairn_pg_run(&tx->pg, FILE_DROP, &args, NULL);
}
