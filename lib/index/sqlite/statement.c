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
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < list.n && status == CAIRN_OK; i++)
		status = cairn_sql_prepare(db, &list.first[i].text, &out->stmt[i], 1);
	return status;
}

void cairn_prepared_fini(struct cairn_prepared *p)
{
	if (p->stmt)
		cairn_sql_finalize(p->stmt, (unsigned)p->list.n);
	free(p->stmt);
	*p = (struct cairn_prepared){0};
}
