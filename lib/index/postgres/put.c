/* Queries and errors shared by the files that register a shard. */
#include "index/postgres/put.h"

enum cairn_status cairn_pg_put_conflict(struct cairn_pg_put *p, const struct cairn_hash *xorb, const char *what)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, xorb);
	return cairn_fail(&p->put->write.diag, CAIRN_E_CONFLICT, "xorb.differs", CAIRN_NO_OFFSET, "xorb %s %s", text,
			  what);
}
