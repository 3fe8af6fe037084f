/* Maps errors of PostgreSQL to statuses; no other file does. */
#ifndef CAIRN_INDEX_POSTGRES_ERRORS_H
#define CAIRN_INDEX_POSTGRES_ERRORS_H

#include "base/status.h"

/** Returns the status of an error of PostgreSQL. @param sqlstate  five characters; NULL or empty: the connection was
 * lost, or was silent for too long
 * @return CAIRN_E_CONFLICT a constraint; CAIRN_E_FORMAT a text that it cannot store; CAIRN_E_FULL; CAIRN_E_NOMEM;
 *         CAIRN_E_DAMAGED; CAIRN_E_BUSY a temporary failure; CAIRN_E_IO all others */
enum cairn_status cairn_pg_status(const char *sqlstate);

/** Can a retry of the same transaction, which was not committed, succeed? */
bool cairn_pg_is_temporary(const char *sqlstate);

#endif
