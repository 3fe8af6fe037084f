/* Direct changes to a SQLite index, for tests. */
#ifndef CAIRN_TESTS_INDEX_SQLITE_H
#define CAIRN_TESTS_INDEX_SQLITE_H

/** Runs statements on the index of a data folder, even while it is open elsewhere. */
void fx_sql(const char *dir, const char *statements);

#endif
