/* Parses the place of an index: "postgres://...", as libpq understands it, with schema=NAME among its parameters. */
#ifndef CAIRN_INDEX_POSTGRES_PLACE_H
#define CAIRN_INDEX_POSTGRES_PLACE_H

#include "base/status.h"

enum { CAIRN_PG_SCHEMA_BYTES_MAX = 63 };

struct cairn_pg_place {
	char *url; /* owned: the URL without the schema */
	char schema[CAIRN_PG_SCHEMA_BYTES_MAX + 1];
};

/** @param where  the URL after its scheme. @return CAIRN_OK; CAIRN_E_USAGE no such URL (index.url), or it has a
 *               password (index.password), which diag does not repeat; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_place(struct cairn_pg_place *out, const char *where, struct cairn_diag *diag);
void cairn_pg_place_fini(struct cairn_pg_place *place);

#endif
