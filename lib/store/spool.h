/* Where a body on its way in waits: in a file without a name, so that memory does not grow with it, and nothing is left
 * behind when the process or the client dies. A short one, as most shards are, waits in memory instead: making such a
 * file and dropping it again takes as long as verifying 50 KB, and its pages cost three times what memory does that is
 * kept: eight pieces of those that bodies before had. */
#ifndef CAIRN_STORE_SPOOL_H
#define CAIRN_STORE_SPOOL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_SPOOL_MEMORY_BYTES = 2 * 1024 * 1024,      /* a body of so much at most waits in memory */
	CAIRN_SPOOL_MEMORY_BYTES_ALL = 32 * 1024 * 1024, /* of all spools of the process; then they take files */
};

/** Owned by one thread at a time. */
struct cairn_spool;

/**
 * @param dir  folder on the file system that takes the bytes; borrowed
 * @param bytes_max  more is refused
 * @param bytes_expected  how long it will be, if that is known; UINT64_MAX: it takes a file from the start. One that
 *                        grows beyond it moves to a file
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_spool_new(struct cairn_spool **out, const char *dir, uint64_t bytes_max,
						 uint64_t bytes_expected);

/** Append bytes. @return CAIRN_OK; CAIRN_E_LIMIT past bytes_max; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_spool_write(struct cairn_spool *s, const uint8_t *bytes, size_t len);

uint64_t cairn_spool_bytes(const struct cairn_spool *s);

/** Is it a file now, or does it wait in memory? */
bool cairn_spool_is_file(const struct cairn_spool *s);

/**
 * Gives what was written, until the spool is freed. A file is read into memory, not mapped: a disk's read error in
 * mapped memory would end the process (SIGBUS). No write may follow.
 * @param[out] bytes  never NULL on success, also when empty; untouched on failure, as is len
 * @return CAIRN_OK; CAIRN_E_IO: the disk failed, or the file is shorter than what was written; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_spool_read(struct cairn_spool *s, const uint8_t **bytes, size_t *len);

/** Take the descriptor out, to send the bytes from; the caller closes it. Only of a spool that took a file from the
 * start. Nothing but cairn_spool_free() may follow. */
int cairn_spool_take_fd(struct cairn_spool *s);

void cairn_spool_free(struct cairn_spool *s);
void cairn_spool_freep(struct cairn_spool **s);

#endif
