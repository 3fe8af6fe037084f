/* Cuts the bytes of a file into chunks as the stock clients do, and hashes them. Does no I/O: the owner puts the file's
 * bytes into a window of fixed size, piece by piece. */
#ifndef CAIRN_DEDUPE_CUTTER_H
#define CAIRN_DEDUPE_CUTTER_H

#include "hash/crypto.h"
#include "hash/hash.h"

/** A cutter. Takes about 1 MiB. For one thread at a time. */
struct cairn_cutter;

/** The result: length and hashes of the file. */
struct cairn_cutter_file {
	struct cairn_hash hash; /* file hash */
	uint8_t sha256[CAIRN_SHA256_BYTES];
	uint64_t bytes;
	uint64_t n_chunks;
};

/** Called for each chunk in order. raw is valid during the call. @return CAIRN_OK; any other status ends the cutting */
typedef enum cairn_status cairn_cutter_visit(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
					     struct cairn_diag *diag);

/** Makes a cutter. @return NULL without memory */
struct cairn_cutter *cairn_cutter_new(void);
/** c may be NULL. */
void cairn_cutter_free(struct cairn_cutter *c);
void cairn_cutter_freep(struct cairn_cutter **c);

/** Returns the address in the window for the next bytes of the file. @param[out] len  room there, never 0 */
uint8_t *cairn_cutter_room(struct cairn_cutter *c, size_t *len);

/** Cuts the chunks that are certain after n more bytes.
 * @param n      at most the room that cairn_cutter_room() returned
 * @param ended  these are the file's last bytes, so all are cut
 * @return CAIRN_OK; the status of visit(), after which only cairn_cutter_free() may be called */
CAIRN_MUST_USE enum cairn_status cairn_cutter_take(struct cairn_cutter *c, size_t n, bool ended,
						   cairn_cutter_visit *visit, void *ctx, struct cairn_diag *diag);

/** Returns the length and hashes of the file, after its last bytes. Call once. */
void cairn_cutter_end(struct cairn_cutter *c, struct cairn_cutter_file *out);

#endif
