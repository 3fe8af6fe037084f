/* Statements over a connection to PostgreSQL. */
#ifndef CAIRN_INDEX_POSTGRES_DRIVER_H
#define CAIRN_INDEX_POSTGRES_DRIVER_H

#include "index/postgres/connection.h"

/** The same connection, for records. */
struct cairn_db *cairn_pg_db(struct cairn_pg *pg);

#endif
