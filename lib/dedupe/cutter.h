/* A file's bytes as they come, cut into chunks as the stock clients cut them, and hashed, through a window of fixed
 * size. Does no I/O: its owner puts the bytes into the window. */
#ifndef CAIRN_DEDUPE_CUTTER_H
#define CAIRN_DEDUPE_CUTTER_H

#include "hash/crypto.h"
#include "hash/hash.h"

/** Takes about 1 MiB. Owned by one thread at a time. */
struct cairn_cutter;

/** What the bytes were. */
struct cairn_cutter_file {
	struct cairn_hash hash; /* file hash */
	uint8_t sha256[CAIRN_SHA256_BYTES];
	uint64_t bytes;
	uint64_t n_chunks;
};

/** Called for each chunk in order. raw is valid during the call. @return CAIRN_OK, or what ends the cutting */
typedef enum cairn_status cairn_cutter_visit(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
					     struct cairn_diag *diag);

/** @return NULL without memory */
struct cairn_cutter *cairn_cutter_new(void);
/** NULL is harmless. */
void cairn_cutter_free(struct cairn_cutter *c);
/** For CLEANUP(). */
void cairn_cutter_freep(struct cairn_cutter **c);

/** Where the next bytes of the file belong. @param[out] len  room, never 0 */
uint8_t *cairn_cutter_room(struct cairn_cutter *c, size_t *len);

/**
 * So many bytes were put there: cut what of them is certain.
 * @param n      at most the room
 * @param ended  they are the file's last ones; then all is cut
 * @return CAIRN_OK; what visit answered, and then nothing more may be asked of it
 */
CAIRN_MUST_USE enum cairn_status cairn_cutter_take(struct cairn_cutter *c, size_t n, bool ended,
						   cairn_cutter_visit *visit, void *ctx, struct cairn_diag *diag);

/** What the file was, after its last bytes. Call once. */
void cairn_cutter_end(struct cairn_cutter *c, struct cairn_cutter_file *out);

#endif
