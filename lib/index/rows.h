/* Reads and writes the blobs of the schema: chunk lists (list.spans, list.hashes) and terms (file.terms). */
#ifndef CAIRN_INDEX_ROWS_H
#define CAIRN_INDEX_ROWS_H

#include "index/index.h"

enum {
	CAIRN_ROWS_SPAN_BYTES = 8, /* u32 unpacked length, u32 end in the object */
	/* u64 xorb number, u16 start, u16 end, u32 unpacked bytes, u32 first byte, u32 end byte */
	CAIRN_ROWS_TERM_BYTES = 24,
	CAIRN_ROWS_TERM_BYTES_BEFORE_5 = 16, /* up to version 4 of the schema: without the last two */
};

/** Writes list.spans to out: CAIRN_ROWS_SPAN_BYTES for each chunk. (list.hashes is the array itself.) */
void cairn_rows_put_spans(uint8_t *out, const struct cairn_chunk_list *list);

/** Reads list.spans. @param[out] spans  room for n
 * @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_rows_spans(struct cairn_span *spans, uint32_t n, const uint8_t *bytes,
						  size_t len);

/** Reads a whole row of list into list, reusing its arrays. @return CAIRN_OK; CAIRN_E_DAMAGED;
 *  CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_rows_list(struct cairn_chunk_list *list, const uint8_t *spans, size_t spans_len,
						 const uint8_t *hashes, size_t hashes_len);

void cairn_rows_put_term(uint8_t out[static CAIRN_ROWS_TERM_BYTES], const struct cairn_index_term *term);
/** Does what cairn_rows_put_term() does, for a shard that is being registered. @param term  verified, with at most
 * CAIRN_XORB_CHUNKS_MAX chunks
 * @param xorb_id  number of its xorb */
void cairn_rows_put_new_term(uint8_t out[static CAIRN_ROWS_TERM_BYTES], const struct cairn_index_new_term *term,
			     int64_t xorb_id);

/** Returns the size of a term in an index of this version of the schema. */
size_t cairn_rows_term_bytes(int64_t version);

/** Reads file.terms. @param[out] terms  *n terms, owned by the caller; NULL: none
 * @param term_bytes  size of each: cairn_rows_term_bytes() @return as cairn_rows_list() */
CAIRN_MUST_USE enum cairn_status cairn_rows_terms(struct cairn_index_term **terms, uint32_t *n, const uint8_t *bytes,
						  size_t len, size_t term_bytes);

/** Checks the bytes of an inline file: its length must be the row's, and its git id must begin with the row's key.
 * @return CAIRN_OK; CAIRN_E_DAMAGED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_rows_inline(int64_t key, int64_t size_bytes, const uint8_t *bytes, size_t len);

enum { CAIRN_ROWS_INLINE_TEXT_BYTES = 480 };
/** Writes a message that an inline file is damaged. Names are cut to fit.
 * @param content  number of its row @param folder, name  its path in one of its commits; "": unknown */
void cairn_rows_inline_text(char out[static CAIRN_ROWS_INLINE_TEXT_BYTES], int64_t content, const char *account,
			    const char *repo, const char *folder, const char *name);

#endif
