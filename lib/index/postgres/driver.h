/* The driver for PostgreSQL: passes statements to the connection, which prepares and pipelines them. */
#ifndef CAIRN_INDEX_POSTGRES_DRIVER_H
#define CAIRN_INDEX_POSTGRES_DRIVER_H

#include "index/postgres/connection.h"

/** Returns the connection as records use it. */
struct cairn_db *cairn_pg_db(struct cairn_pg *pg);

#endif
