/* Contents of files in repositories. A content is removed with its last entry. */
#ifndef CAIRN_INDEX_POSTGRES_CONTENT_H
#define CAIRN_INDEX_POSTGRES_CONTENT_H

#include "index/postgres/write.h"

/** Queues changes of contents' numbers of entries by +1 or -1, and the removal of contents without entries.
 * @param contents, times  arrays of equal length; contents may repeat @return for cairn_pg_used() */
unsigned cairn_pg_queue_use(struct cairn_pg_tx *tx, struct cairn_pg_array *contents, struct cairn_pg_array *times);
/** Reads the results of cairn_pg_queue_use() after the exchange. @param owner  owner of the repository's files */
void cairn_pg_used(struct cairn_pg_tx *tx, unsigned queued, int64_t owner);

#endif
