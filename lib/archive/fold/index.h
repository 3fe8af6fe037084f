/* Parses the index of a FOLD file, and checks that its parts agree. */
#ifndef CAIRN_ARCHIVE_FOLD_INDEX_H
#define CAIRN_ARCHIVE_FOLD_INDEX_H

#include "archive/fold/format.h"
#include "base/buf.h"

/** A place in the index's text. */
struct cairn_fold_span {
	size_t at, len;
};

/** A parsed index. Zeroed is empty. Immutable once parsed. */
struct cairn_fold_index {
	struct cairn_buf text;           /* owned: the JSON */
	uint64_t at;                     /* offset of the text in the file */
	struct cairn_fold_chunk *chunks; /* owned, in the order of the index */
	size_t n_chunks;
	uint32_t *by_name;      /* owned: numbers of the chunks, sorted by name */
	struct cairn_buf names; /* owned: the chunks' names point into it */
	char version[16];       /* "1.2.0" */
	bool has_metadata, has_created;
	struct cairn_fold_span metadata; /* text of an object */
	struct cairn_fold_span created;  /* text of a number: seconds since 1970 */
	bool has_prefix;                 /* hashes are written as sha256:..., as the later dialect does */
	bool has_manifest, has_merkle;   /* the index has this hash, and it agrees */
	uint8_t manifest_hash[CAIRN_SHA256_BYTES];
	uint8_t merkle_root[CAIRN_SHA256_BYTES];
};

void cairn_fold_index_fini(struct cairn_fold_index *ix);

/** Parses ix->text, which is at offset ix->at in the file, and checks all that can be checked without the chunks. Every
 * entry has its fields, and names differ. Chunks lie between header and index and do not overlap. chunk_hashes has
 * exactly the chunks with their hashes; manifest_hash and merkle_root agree. Memory: about four times the text.
 * @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_LIMIT, CAIRN_E_MISMATCH with rule and offset in diag; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_index_parse(struct cairn_fold_index *ix, struct cairn_diag *diag);

/** Finds a chunk by name. @return NULL: no chunk has this name */
const struct cairn_fold_chunk *cairn_fold_index_find(const struct cairn_fold_index *ix, const char *name);

/** Reads a member of the metadata that is a string. @param[out] text  owned by the caller, ended by a zero; NULL: no
 * such member
 * @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT the text does not fit into the buffer */
CAIRN_MUST_USE enum cairn_status cairn_fold_index_text(const struct cairn_fold_index *ix, const char *name,
						       char **text);

/** Computes the SHA-256 of the metadata in canonical form without manifest_hash.
 * @param metadata  the text of an object
 * @return CAIRN_OK; CAIRN_E_FORMAT not an object; CAIRN_E_LIMIT too long, or too deep; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fold_manifest_hash(uint8_t out[static CAIRN_SHA256_BYTES], const void *metadata,
							  size_t len);

#endif
