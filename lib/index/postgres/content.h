/* Contents of files in repositories, each as long as an entry has it. */
#ifndef CAIRN_INDEX_POSTGRES_CONTENT_H
#define CAIRN_INDEX_POSTGRES_CONTENT_H

#include "index/postgres/write.h"

/** Contents that entries have once more (1) or once less (-1), and then those of them that no entry has go. Queued.
 * @param contents, times  as many; a content may come more than once @return for cairn_pg_used() */
unsigned cairn_pg_queue_use(struct cairn_pg_tx *tx, struct cairn_pg_array *contents, struct cairn_pg_array *times);
/** After that was exchanged. @param scope  of the repository that they are of */
void cairn_pg_used(struct cairn_pg_tx *tx, unsigned queued, int64_t scope);

#endif
