/* Memory for the bodies of uploads. Longer pieces are kept for the next body, because the C library would return them
 * to the kernel, and new pages cost more than the bytes that are copied into them. All pieces that are kept have at
 * most CAIRN_SPOOL_KEPT_BYTES. cairn_spool_memory_trim() frees pieces that nobody has used for a while.
 *
 * One pool for the process. Any thread. */
#ifndef CAIRN_STORE_SPOOL_MEMORY_H
#define CAIRN_STORE_SPOOL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_SPOOL_SHORT_BYTES = 128 * 1024,      /* the C library itself keeps pieces for bodies up to this length */
	CAIRN_SPOOL_KEPT_BYTES = 16 * 1024 * 1024, /* most bytes of all pieces that wait for a body */
};

/** Returns how long a piece for so many bytes is: at most a quarter more, so that bodies of similar lengths use each
 * other's pieces. 0: there is no such piece. */
size_t cairn_spool_memory_room(uint64_t bytes);

/** Takes memory, with undefined bytes. @param room  as cairn_spool_memory_room() returned it @return NULL: no memory */
uint8_t *cairn_spool_memory_take(size_t room);

/** Gives a piece back; NULL is harmless. @param room  as it was taken */
void cairn_spool_memory_give_back(uint8_t *piece, size_t room);

/** Returns the bytes of all pieces that wait for a body. */
uint64_t cairn_spool_memory_kept_bytes(void);

/** Frees the pieces that have waited since the last call. */
void cairn_spool_memory_trim(void);

#endif
