/* Reads any single chunk of a FOLD file, verifies it, and repairs it from its parity if needed. */
#ifndef CAIRN_ARCHIVE_FOLD_READER_H
#define CAIRN_ARCHIVE_FOLD_READER_H

#include "archive/fold/index.h"

/** An opened file, with its index in memory. Owned by one thread at a time. */
struct cairn_fold;

/** The source of the file's bytes: memory if bytes is not NULL, else a descriptor. Borrowed while the file is open. */
struct cairn_fold_source {
	int fd;
	const uint8_t *bytes;
	uint64_t len;
};

/** Reads header and index, and checks all that needs no chunk: cairn_fold_index_parse().
 * @param[out] out  owned by the caller, cairn_fold_close(); NULL on failure
 * @return CAIRN_OK
 *         CAIRN_E_FORMAT    not a FOLD file, unfinished, cut off, or its index is not valid: rule and offset in diag
 *         CAIRN_E_LIMIT     over a limit of format.h
 *         CAIRN_E_MISMATCH  a hash over the index does not agree
 *         CAIRN_E_IO, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_open(struct cairn_fold **out, const struct cairn_fold_source *source,
						 struct cairn_diag *diag);
void cairn_fold_close(struct cairn_fold *f);
void cairn_fold_closep(struct cairn_fold **f);

/** Returns the index. Borrowed. */
const struct cairn_fold_index *cairn_fold_index_of(const struct cairn_fold *f);

/** The layout of a chunk's data and parity in the file. */
enum cairn_fold_layout {
	CAIRN_FOLD_PLAIN, /* all stored bytes, then the parity, if any: files without parity, short chunks, and long
			     chunks of pyfolds 1.0, whose parity is useless */
	CAIRN_FOLD_WOVEN, /* code word after code word, each data and parity */
	CAIRN_FOLD_APART, /* all stored bytes, then the parity of each word: the later dialect */
};

/** The content of a chunk. Zeroed is empty. */
struct cairn_fold_data {
	uint8_t *bytes; /* owned, free(): the content; NULL if its length is 0 or it was not requested */
	uint64_t len;
	uint8_t *comp; /* owned, free(): the compressed bytes; equal to bytes if the chunk is stored */
	enum cairn_fold_layout layout;
	uint64_t n_wrong; /* bytes repaired, in data and parity */
};
void cairn_fold_data_fini(struct cairn_fold_data *data);

struct cairn_fold_read_options {
	bool check_parity; /* also report damage of the parity alone */
	bool keep_comp;    /* return the compressed bytes as well */
};

/** Reads a chunk into memory (up to three times its length). Its header must match the index, and its bytes their
 * CRC-32C and SHA-256, if necessary after a repair from the parity. They must decompress to their length.
 * @param options  NULL: none
 * @return CAIRN_OK; CAIRN_E_FORMAT; CAIRN_E_LIMIT; CAIRN_E_MISMATCH damaged beyond repair; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_read(struct cairn_fold *f, const struct cairn_fold_chunk *chunk,
						 const struct cairn_fold_read_options *options,
						 struct cairn_fold_data *out, struct cairn_diag *diag);

/** Opens an unfinished file, to recover its chunks one by one with cairn_fold_scan().
 * @return CAIRN_OK; CAIRN_E_FORMAT not a FOLD file, or finished; CAIRN_E_LIMIT as cairn_fold_header_get(); CAIRN_E_IO;
 *         CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_open_unfinished(struct cairn_fold **out,
							    const struct cairn_fold_source *source,
							    struct cairn_diag *diag);

/** Reads the chunk whose header is at an offset, using only the file's bytes. Repairs nothing.
 * @param parity  the N of the file's writer; 0: none
 * @param[out] chunk  all members but the name, with the SHA-256 of the bytes
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no whole and undamaged chunk; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_scan(struct cairn_fold *f, uint64_t at, unsigned parity,
						 struct cairn_fold_chunk *chunk, struct cairn_fold_data *out);

#endif
