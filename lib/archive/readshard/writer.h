/* Writes a Read Shard: objects in the order given, then the index, the hash function, and last the header. */
#ifndef CAIRN_ARCHIVE_READSHARD_WRITER_H
#define CAIRN_ARCHIVE_READSHARD_WRITER_H

#include "archive/readshard/format.h"
#include "base/status.h"

#include <stddef.h>

/** A shard being written. Needs about 60 bytes of memory per object and a buffer of 1 MiB. For one thread at a time. */
struct cairn_readshard_writer;

/** Begins a shard. The same objects in the same order always give the same bytes. Readers refuse the file until
 * cairn_readshard_writer_end() is done.
 * @param fd  an empty file open for writing; borrowed @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_writer_new(struct cairn_readshard_writer **out, int fd);

/** Adds an object. @return CAIRN_OK; CAIRN_E_LIMIT over CAIRN_READSHARD_OBJECTS_MAX; CAIRN_E_IO; CAIRN_E_FULL;
 * CAIRN_E_NOMEM. After a failure no more objects can be added. */
CAIRN_MUST_USE enum cairn_status cairn_readshard_writer_add(struct cairn_readshard_writer *w,
							    const uint8_t key[static CAIRN_READSHARD_KEY_BYTES],
							    const uint8_t *bytes, size_t len);

/** Adds the first len bytes of a file, copied within the kernel if possible. @return as cairn_readshard_writer_add();
 * CAIRN_E_IO also if the file is shorter */
CAIRN_MUST_USE enum cairn_status cairn_readshard_writer_add_fd(struct cairn_readshard_writer *w,
							       const uint8_t key[static CAIRN_READSHARD_KEY_BYTES],
							       int from_fd, uint64_t len);

/** Writes the rest and makes the content durable, but not the file's name.
 * @return CAIRN_OK; CAIRN_E_CONFLICT two keys are equal, diag names the key; CAIRN_E_LIMIT as cairn_chd_build();
 *         CAIRN_E_FORMAT the result does not read back; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_writer_end(struct cairn_readshard_writer *w, struct cairn_diag *diag);

void cairn_readshard_writer_free(struct cairn_readshard_writer *w);
void cairn_readshard_writer_freep(struct cairn_readshard_writer **w);

#endif
