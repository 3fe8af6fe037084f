/* Reads and writes the blobs of the schema: chunk lists (list.spans, list.hashes) and terms (file.terms). */
#ifndef CAIRN_INDEX_ROWS_H
#define CAIRN_INDEX_ROWS_H

#include "index/index.h"

enum {
	CAIRN_ROWS_SPAN_BYTES = 8, /* u32 unpacked length, u32 end in the object */
	/* u64 xorb id, u16 start, u16 end, u32 unpacked bytes, u32 first byte, u32 end byte */
	CAIRN_ROWS_TERM_BYTES = 24,
	CAIRN_ROWS_TERM_BYTES_BEFORE_5 = 16, /* up to version 4 of the schema: without the last two */
};

/** Write list.spans: CAIRN_ROWS_SPAN_BYTES for each chunk, to out. (list.hashes is the array itself.) */
void cairn_rows_put_spans(uint8_t *out, const struct cairn_chunk_list *list);

/** Read list.spans. @param[out] spans  room for n of them
 *  @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_rows_spans(struct cairn_span *spans, uint32_t n, const uint8_t *bytes,
						  size_t len);

/** Read a whole row of list into list, reusing its arrays. @return CAIRN_OK; CAIRN_E_DAMAGED;
 *  CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_rows_list(struct cairn_chunk_list *list, const uint8_t *spans, size_t spans_len,
						 const uint8_t *hashes, size_t hashes_len);

void cairn_rows_put_term(uint8_t out[static CAIRN_ROWS_TERM_BYTES], const struct cairn_index_term *term);
/** Does what cairn_rows_put_term() does, for a shard that is being registered. @param term  of at most
 * CAIRN_XORB_CHUNKS_MAX chunks: verified
 *  @param xorb_id  of the xorb that it names */
void cairn_rows_put_new_term(uint8_t out[static CAIRN_ROWS_TERM_BYTES], const struct cairn_index_new_term *term,
			     int64_t xorb_id);

/** Returns the size of a term in an index of this version of the schema. */
size_t cairn_rows_term_bytes(int64_t version);

/** Read file.terms. @param[out] terms  owned by the caller, *n of them; NULL when there are none
 *  @param term_bytes  of each: cairn_rows_term_bytes() @return as cairn_rows_list() */
CAIRN_MUST_USE enum cairn_status cairn_rows_terms(struct cairn_index_term **terms, uint32_t *n, const uint8_t *bytes,
						  size_t len, size_t term_bytes);

/** Checks the bytes of an inline file: their number is its row's, and their git id begins with its key.
 *  @return CAIRN_OK; CAIRN_E_DAMAGED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_rows_inline(int64_t key, int64_t size_bytes, const uint8_t *bytes, size_t len);

enum { CAIRN_ROWS_INLINE_TEXT_BYTES = 480 };
/** Writes a message that they are damaged. Names are cut to fit.
 *  @param content  the number of its row @param folder, name  its path in one of its commits; "": not known */
void cairn_rows_inline_text(char out[static CAIRN_ROWS_INLINE_TEXT_BYTES], int64_t content, const char *account,
			    const char *repo, const char *folder, const char *name);

#endif
