#include "index/sqlite/statement.h"

#include <stdlib.h>

extern const struct cairn_statement __start_cairn_write_sql[], __stop_cairn_write_sql[];
extern const struct cairn_statement __start_cairn_read_sql[], __stop_cairn_read_sql[];

struct cairn_statement_list cairn_writes(void)
{
	return (struct cairn_statement_list){__start_cairn_write_sql,
					     (size_t)(__stop_cairn_write_sql - __start_cairn_write_sql)};
}

struct cairn_statement_list cairn_reads(void)
{
	return (struct cairn_statement_list){__start_cairn_read_sql,
					     (size_t)(__stop_cairn_read_sql - __start_cairn_read_sql)};
}

enum cairn_status cairn_prepare(struct cairn_prepared *out, sqlite3 *db, struct cairn_statement_list list)
{
	out->list = list;
	out->stmt = calloc(list.n, sizeof(sqlite3_stmt *));
	if (!out->stmt)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < list.n; i++) {
		const char *text = list.first[i].text;
		int rc = sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &out->stmt[i], NULL);
		if (rc != SQLITE_OK)
			return cairn_sql_status(db, rc);
	}
	return CAIRN_OK;
}

void cairn_prepared_fini(struct cairn_prepared *p)
{
	for (size_t i = 0; p->stmt && i < p->list.n; i++)
		(void)sqlite3_finalize(p->stmt[i]);
	free(p->stmt);
	*p = (struct cairn_prepared){0};
}
