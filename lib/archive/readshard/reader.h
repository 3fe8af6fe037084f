/* Reads a Read Shard: finds an object with one hash and one read of the index. */
#ifndef CAIRN_ARCHIVE_READSHARD_READER_H
#define CAIRN_ARCHIVE_READSHARD_READER_H

#include "archive/readshard/format.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/** An open shard: its file or borrowed bytes, and its hash function in memory (about 1.3 bytes per object). Reads slots
 * on demand, never by a mapping: a truncated file or a failing disk would end the process by SIGBUS. Any thread may
 * use it, also during deletions (delete.h). */
struct cairn_readshard;

/** The header's numbers. */
struct cairn_readshard_header {
	uint64_t n_objects; /* objects written; deletions do not lower it */
	uint64_t objects_at, objects_bytes;
	uint64_t index_at, index_bytes;
	uint64_t function_at;
};

/** A slot of the index. */
struct cairn_readshard_slot {
	bool is_live; /* false: free or deleted; then the rest is zero */
	uint8_t key[CAIRN_READSHARD_KEY_BYTES];
	uint64_t at;       /* offset of the object's size */
	uint64_t bytes_at; /* offset of its first byte */
	uint64_t bytes;
};

/** Opens a file and checks its header and hash function. Slots are checked when they are read.
 * @param fd  open for reading; duplicated, so that the caller may close it
 * @param[out] out  owned by the caller, cairn_readshard_free()
 * @return CAIRN_OK; CAIRN_E_FORMAT with rule, offset and values in diag; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_open(struct cairn_readshard **out, int fd, struct cairn_diag *diag);

/** Does the same as cairn_readshard_open() for bytes in memory, which must outlive the shard. @return CAIRN_OK;
 * CAIRN_E_FORMAT; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_open_bytes(struct cairn_readshard **out, const uint8_t *bytes,
							    size_t len, struct cairn_diag *diag);
void cairn_readshard_free(struct cairn_readshard *s);
void cairn_readshard_freep(struct cairn_readshard **s);

const struct cairn_readshard_header *cairn_readshard_header_of(const struct cairn_readshard *s);

/** Returns the length that the file had when it was opened. */
uint64_t cairn_readshard_len(const struct cairn_readshard *s);

/** Reads exactly len bytes of the file. @return CAIRN_OK; CAIRN_E_IO they cannot be read, or the file was cut */
CAIRN_MUST_USE enum cairn_status cairn_readshard_read(const struct cairn_readshard *s, uint64_t at, uint8_t *out,
						      size_t len, struct cairn_diag *diag);

/** Returns the end of the hash function. Bytes after it, as on devices and in preallocated files, are ignored. */
uint64_t cairn_readshard_end(const struct cairn_readshard *s);

/** Returns the number of slots of the index. */
uint32_t cairn_readshard_n_slots(const struct cairn_readshard *s);

/** Returns the slot for a key, whether or not the shard has the key. */
uint32_t cairn_readshard_slot_of(const struct cairn_readshard *s, const uint8_t key[static CAIRN_READSHARD_KEY_BYTES]);

/** Returns the offset of a slot in the file. */
uint64_t cairn_readshard_slot_at(const struct cairn_readshard *s, uint32_t slot);

/** Reads a slot. @return CAIRN_OK; CAIRN_E_FORMAT object outside its section; CAIRN_E_IO as cairn_readshard_read() */
CAIRN_MUST_USE enum cairn_status cairn_readshard_slot(const struct cairn_readshard *s, uint32_t slot,
						      struct cairn_readshard_slot *out, struct cairn_diag *diag);

/** Finds an object. @return CAIRN_OK; CAIRN_E_NOT_FOUND absent or deleted; as cairn_readshard_slot() */
CAIRN_MUST_USE enum cairn_status cairn_readshard_find(const struct cairn_readshard *s,
						      const uint8_t key[static CAIRN_READSHARD_KEY_BYTES],
						      struct cairn_readshard_slot *out, struct cairn_diag *diag);

/** Checks that an object just found still exists. Reads only its slot. @return CAIRN_OK; CAIRN_E_NOT_FOUND it was
 * deleted; CAIRN_E_IO as cairn_readshard_slot() */
CAIRN_MUST_USE enum cairn_status cairn_readshard_find_again(const struct cairn_readshard *s,
							    const struct cairn_readshard_slot *found,
							    struct cairn_diag *diag);

/** Lists the live objects in the order of the file, with 8 bytes of memory for each.
 * @param[out] slots  their slots; owned by the caller, free()
 * @return CAIRN_OK; CAIRN_E_FORMAT and CAIRN_E_IO as cairn_readshard_slot(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_list(const struct cairn_readshard *s, uint32_t **slots, uint32_t *n,
						      struct cairn_diag *diag);

/** Checks that an object begins after the previous ones. @param[in,out] end  end of the previous objects; then of this
 * object @return CAIRN_OK; CAIRN_E_FORMAT "readshard.overlap" with both places */
CAIRN_MUST_USE enum cairn_status cairn_readshard_check_behind(const struct cairn_readshard_slot *object, uint32_t slot,
							      uint64_t *end, struct cairn_diag *diag);

/** Checks that all live objects are within their section and do not overlap. Remembers a success, because later changes
 * only remove objects. Not for two threads at once.
 * @return CAIRN_OK; CAIRN_E_FORMAT "readshard.overlap", or as cairn_readshard_slot(); CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_check_disjoint(struct cairn_readshard *s, struct cairn_diag *diag);

/** The counts of cairn_readshard_verify(). */
struct cairn_readshard_summary {
	uint32_t n_objects; /* live objects */
	uint64_t n_deleted;
	uint64_t bytes;          /* bytes of objects, without their size fields */
	uint64_t trailing_bytes; /* bytes after the hash function */
};

/** Checks all that opening skips: sections without gaps, each key in its slot by the function, each object within its
 * section and without overlap, and the sums. The caller checks contents: the format has no checksums.
 * @return CAIRN_OK; CAIRN_E_FORMAT with rule, offset and values in diag; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_readshard_verify(const struct cairn_readshard *s,
							struct cairn_readshard_summary *out, struct cairn_diag *diag);

#endif
