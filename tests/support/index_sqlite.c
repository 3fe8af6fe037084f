#include "support/index_sqlite.h"

#include "index/sqlite/util.h"

#include <check.h>

void fx_sql(const char *dir, const char *statements)
{
	char path[CAIRN_SQL_PATH_BYTES];
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	ck_assert_int_eq(cairn_sql_index_path(path, dir, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE, NULL, NULL), CAIRN_OK);
	ck_assert_msg(cairn_sql_exec(db, statements) == CAIRN_OK, "%s", sqlite3_errmsg(db));
}
