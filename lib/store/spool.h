/* Holds an incoming body in memory, or in a file without a name. A file keeps memory from growing with the body, and
 * nothing remains of it if the process or the client dies. But creating and dropping a file takes as long as verifying
 * 50 KB, and its pages cost three times as much as memory that is reused (spool_memory.h). So a body of up to 8 MiB is
 * held in memory, as long as all such bodies together have room there. */
#ifndef CAIRN_STORE_SPOOL_H
#define CAIRN_STORE_SPOOL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_SPOOL_MEMORY_BYTES = 8 * 1024 * 1024,       /* longest body held in memory */
	CAIRN_SPOOL_MEMORY_BYTES_ALL = 32 * 1024 * 1024,  /* for all spools of the process; beyond it they use files */
	CAIRN_SPOOL_LONG_BYTES = 2 * 1024 * 1024,         /* a longer body leaves memory to shorter ones: */
	CAIRN_SPOOL_MEMORY_BYTES_LONG = 24 * 1024 * 1024, /* it uses a file if all spools together would exceed this */
};

/** Owned by one thread at a time. */
struct cairn_spool;

/** @param dir  folder on the file system that takes the bytes; borrowed
 * @param bytes_max  limit for the body
 * @param bytes_expected  its length, if known; UINT64_MAX: use a file from the start. A longer body moves to a file
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_spool_new(struct cairn_spool **out, const char *dir, uint64_t bytes_max,
						 uint64_t bytes_expected);

/** Appends bytes. @return CAIRN_OK; CAIRN_E_LIMIT past bytes_max; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_spool_write(struct cairn_spool *s, const uint8_t *bytes, size_t len);

uint64_t cairn_spool_bytes(const struct cairn_spool *s);

/** Returns whether the body is in a file, not in memory. */
bool cairn_spool_is_file(const struct cairn_spool *s);

/** Gives what was written, until the spool is freed. A file is read into memory, not mapped: a disk's read error in
 * mapped memory would end the process (SIGBUS). No write may follow.
 * @param[out] bytes  never NULL on success, also when empty; untouched on failure, as is len
 * @return CAIRN_OK; CAIRN_E_IO: the disk failed, or the file is shorter than what was written; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_spool_read(struct cairn_spool *s, const uint8_t **bytes, size_t *len);

/** Hands over the descriptor, to send the bytes from; the caller closes it. Only for a spool that used a file from the
 * start. Afterwards only cairn_spool_free() may be called. */
int cairn_spool_take_fd(struct cairn_spool *s);

void cairn_spool_free(struct cairn_spool *s);
void cairn_spool_freep(struct cairn_spool **s);

#endif
