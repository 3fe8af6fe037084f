/* The index in PostgreSQL. */
#ifndef CAIRN_INDEX_POSTGRES_POSTGRES_H
#define CAIRN_INDEX_POSTGRES_POSTGRES_H

#include "index/backend.h"

extern const struct cairn_index_backend CAIRN_POSTGRES;

#endif
