/* What tests do to an index by hand that is SQLite's. */
#ifndef CAIRN_TESTS_INDEX_SQLITE_H
#define CAIRN_TESTS_INDEX_SQLITE_H

/** Run statements on the index of a data folder, beside whoever has it open. */
void fx_sql(const char *dir, const char *statements);

#endif
