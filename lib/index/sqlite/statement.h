/* Prepared statements. The text of each is next to the function that uses it. A connection prepares all statements of
 * its kind when it is opened, so that a wrong text fails at the start. */
#ifndef CAIRN_INDEX_SQLITE_STATEMENT_H
#define CAIRN_INDEX_SQLITE_STATEMENT_H

#include "index/sqlite/util.h"

/** A statement. Static, because its address identifies it. */
struct cairn_statement {
	const char *name, *text;
};

/* Makes a statement of the writer, or of readers. They lie in a section of their own, where cairn_writes() and
 * cairn_reads() find them all; aligned, so that there is no gap between them. */
#define CAIRN_WRITES(name, text) const struct cairn_statement name CAIRN_OF_WRITES = {#name, text}
#define CAIRN_READS(name, text)  const struct cairn_statement name CAIRN_OF_READS = {#name, text}
#define CAIRN_OF_WRITES          __attribute__((section("cairn_write_sql"), used, aligned(8)))
#define CAIRN_OF_READS           __attribute__((section("cairn_read_sql"), used, aligned(8)))

/** All statements of the writer, or of readers, one after the other. */
struct cairn_statement_list {
	const struct cairn_statement *first;
	size_t n;
};
struct cairn_statement_list cairn_writes(void);
struct cairn_statement_list cairn_reads(void);

/** The prepared statements of a connection. Zeroed: none. For one thread at a time. */
struct cairn_prepared {
	struct cairn_statement_list list;
	sqlite3_stmt **stmt; /* owned; list.n of them */
};

/** Prepares all statements of a list, for cairn_prepared_fini(). @return CAIRN_OK; as cairn_sql_status();
 * CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_prepare(struct cairn_prepared *out, sqlite3 *db,
					       struct cairn_statement_list list);
void cairn_prepared_fini(struct cairn_prepared *p);

/** Returns the address of a prepared statement of the list, which is followed by those after it in an array. */
static inline sqlite3_stmt **cairn_prepared_at(const struct cairn_prepared *p, const struct cairn_statement *s)
{
	return &p->stmt[s - p->list.first];
}

#endif
