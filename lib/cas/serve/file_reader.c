#include "cas/serve/file_reader.h"

#include "cas/internal.h"
#include "cas/list_cache.h"
#include "cas/object/mend.h"
#include "cas/object/sound_copy.h"
#include "cas/object/stored.h"
#include "hash/merkle.h"

#include <stdlib.h>
#include <string.h>

enum {
	READER_TERMS = 1024, /* terms in a window, at least */
	READER_WINDOWS = 32, /* most windows of a file: each reads all of its terms */
	READER_LEFT = 3,     /* xorbs that stay open besides the current one, because terms alternate between xorbs */
	READER_LISTS_BYTES = 512 * 1024 /* room for one list of the greatest length, or for a dozen usual ones */
};

struct reader_xorb {
	int64_t id; /* 0: no xorb */
	struct cairn_hash hash;
	struct cairn_store_object *object;   /* owned; NULL: not open */
	const struct cairn_chunk_list *kept; /* a counted reference (verified_lists.h); NULL: none */
};

struct cairn_file_reader {
	struct cairn_cas *cas;
	char *viewer; /* owned; NULL: may read all files */
	struct cairn_hash file;
	uint64_t at, end; /* the bytes of the file that are still to be returned */

	struct cairn_index_term *window;       /* owned */
	uint32_t n_window, window_terms, term; /* number of its terms, and its room; index of the current term */

	/* The current term. Before its first chunk is found, chunk == chunks_end. */
	uint64_t skip;              /* bytes of the term before the next byte */
	uint32_t chunk, chunks_end; /* remaining chunks of the term */

	struct reader_xorb xorb;              /* xorb of the current term */
	struct reader_xorb left[READER_LEFT]; /* xorbs of terms before it */
	unsigned n_left;                      /* number of xorbs ever left: the next replaces the oldest */
	const struct cairn_chunk_list *list;  /* list of xorb: borrowed from lists or kept. NULL: no list */
	struct cairn_list_cache lists;        /* lists that yield their xorbs' hashes */

	bool whole; /* the whole file is read */
	bool wrong; /* the chunks of the file do not yield its hash */
	struct cairn_merkle merkle;

	const uint8_t *raw; /* the rest of the current chunk: in block or in the codec's memory */
	size_t n_raw;
	struct cairn_codec *codec;
	uint8_t block[CAS_BLOCK_BYTES];
};

static void reader_close_xorb(struct reader_xorb *xorb)
{
	cairn_store_object_freep(&xorb->object);
	cas_verified_list_unrefp(&xorb->kept);
	xorb->id = 0;
}

static void reader_close_left(struct cairn_file_reader *r)
{
	for (unsigned i = 0; i < READER_LEFT; i++)
		reader_close_xorb(&r->left[i]);
}

void cairn_file_reader_free(struct cairn_file_reader *r)
{
	if (!r)
		return;
	free(r->viewer);
	free(r->window);
	reader_close_xorb(&r->xorb);
	reader_close_left(r);
	cairn_list_cache_fini(&r->lists);
	cairn_codec_free(r->codec);
	free(r);
}

void cairn_file_reader_freep(struct cairn_file_reader **r)
{
	cairn_file_reader_free(*r);
	*r = NULL;
}

/* --- terms -------------------------------------------------------------------------------------------------------- */

/* Allocates the window, larger for a file of many terms: otherwise the time to read it would grow with their square. */
static enum cairn_status reader_make_window(struct cairn_file_reader *r, uint32_t n_terms)
{
	uint32_t room = n_terms / READER_WINDOWS + 1;
	if (room < READER_TERMS)
		room = READER_TERMS;
	if (room <= r->window_terms)
		return CAIRN_OK;
	free(r->window);
	r->window = malloc(room * sizeof(*r->window));
	r->window_terms = r->window ? room : 0;
	return r->window ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Copies some of the file's terms into the window, from the one that contains the next byte. Finds that by the byte,
 * not by number: after another upload, the same file may have other terms. */
static enum cairn_status reader_keep_terms(struct cairn_file_reader *r, const struct cairn_index_file *file)
{
	uint64_t at = 0;
	uint32_t first = 0;
	for (uint32_t i = 0; i < file->n_terms; i++) {
		if (at <= r->at) {
			first = i;
			r->skip = r->at - at;
		}
		at += file->terms[i].unpacked_bytes;
	}
	if (at != file->size_bytes || file->n_terms == 0)
		return CAIRN_E_CONFLICT;
	enum cairn_status status = reader_make_window(r, file->n_terms);
	if (status != CAIRN_OK)
		return status;
	r->n_window = file->n_terms - first < r->window_terms ? file->n_terms - first : r->window_terms;
	memcpy(r->window, file->terms + first, r->n_window * sizeof(*r->window));
	return CAIRN_OK;
}

static enum cairn_status reader_read_window(struct cairn_file_reader *r)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	r->n_window = r->term = 0;
	enum cairn_status status = cairn_index_file(r->cas->index, &r->file, r->viewer, true, &file);
	return status == CAIRN_OK ? reader_keep_terms(r, &file) : cas_index_status(status);
}

/* Finds the first needed chunk of the current term. @param list  yields the xorb's hash */
static enum cairn_status reader_place(struct cairn_file_reader *r, const struct cairn_chunk_list *list)
{
	const struct cairn_index_term *term = &r->window[r->term];
	if (term->start >= term->end || term->end > list->n ||
	    cairn_chunk_list_bytes(list, term->start, term->end) != term->unpacked_bytes)
		return CAIRN_E_CONFLICT;
	r->chunk = term->start;
	r->chunks_end = term->end;
	while (r->skip > 0 && list->spans[r->chunk].unpacked_bytes <= r->skip)
		r->skip -= list->spans[r->chunk++].unpacked_bytes;
	return CAIRN_OK;
}

/* --- xorbs -------------------------------------------------------------------------------------------------------- */

/* Leaves the current xorb, which stays open for a while. @return true: the xorb `id` was open, and is current */
static bool reader_leave_xorb(struct cairn_file_reader *r, int64_t id)
{
	struct reader_xorb xorb = r->xorb;
	r->list = NULL;
	for (unsigned i = 0; i < READER_LEFT; i++) {
		if (r->left[i].id == id) {
			r->xorb = r->left[i];
			r->left[i] = xorb;
			return true;
		}
	}
	r->xorb = (struct reader_xorb){0};
	if (xorb.id != 0) {
		struct reader_xorb *oldest = &r->left[r->n_left++ % READER_LEFT];
		reader_close_xorb(oldest);
		*oldest = xorb;
	}
	return false;
}

static bool reader_list_is_right(const struct cairn_file_reader *r, const struct cairn_chunk_list *list)
{
	struct cairn_hash root;
	if (list->n == 0)
		return false;
	cairn_chunk_list_root(list, &root);
	return cairn_hash_equal(&root, &r->xorb.hash);
}

/* Finds the list by which the current object was verified. @return NULL: none is cached */
static const struct cairn_chunk_list *reader_find_kept(struct cairn_file_reader *r)
{
	if (r->xorb.object && !r->xorb.kept)
		r->xorb.kept = cas_verified_lists_get(r->cas->verified_lists, &r->xorb.hash,
						      cairn_store_object_identity(r->xorb.object));
	return r->xorb.kept;
}

/* Caches the list for other readers and for fetches. */
static void reader_keep_list(struct cairn_file_reader *r, const struct cairn_chunk_list *list)
{
	if (r->xorb.object && list->spans[list->n - 1].end == cairn_store_object_bytes(r->xorb.object))
		cas_verified_lists_put(r->cas->verified_lists, &r->xorb.hash,
				       cairn_store_object_identity(r->xorb.object), list);
}

/* Finds the list of the current xorb. @return CAIRN_OK, with r->list NULL if the index has no right list;
 * CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_NOMEM */
static enum cairn_status reader_find_list(struct cairn_file_reader *r)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	r->list = cairn_list_cache_find(&r->lists, &r->xorb.hash, NULL);
	if (!r->list)
		r->list = reader_find_kept(r);
	if (r->list)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_chunk_list_by_id(r->cas->index, r->xorb.id, &list);
	if (status != CAIRN_OK || !reader_list_is_right(r, &list))
		return cas_index_status(status);
	reader_keep_list(r, &list);
	return cairn_list_cache_put(&r->lists, &r->xorb.hash, r->xorb.id, &list, &r->list);
}

/* Opens the object of a xorb, unless its row says that it is lost. */
static enum cairn_status reader_open_xorb(struct cairn_file_reader *r, int64_t id)
{
	struct cairn_index_xorb row;
	enum cairn_status status = cas_index_status(cairn_index_xorb_by_id(r->cas->index, id, &row));
	if (status != CAIRN_OK)
		return status;
	r->xorb.id = id;
	r->xorb.hash = row.hash;
	if (row.stored_bytes > 0) /* the first copy; damage shows when it is read */
		(void)!cas_open_copy(r->cas, &row, 0, &r->xorb.object);
	return CAIRN_OK;
}

/* Moves to the xorb of the current term. */
static enum cairn_status reader_enter_xorb(struct cairn_file_reader *r)
{
	int64_t id = r->window[r->term].xorb_id;
	if (r->xorb.id == id)
		return CAIRN_OK;
	enum cairn_status status = reader_leave_xorb(r, id) ? CAIRN_OK : reader_open_xorb(r, id);
	if (status == CAIRN_OK)
		status = reader_find_list(r);
	if (status != CAIRN_OK)
		reader_close_xorb(&r->xorb);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_E_CONFLICT : status;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* Reads the current chunk from this object. @param list  yields the xorb's hash */
static enum cairn_status reader_try(struct cairn_file_reader *r, struct cairn_store_object *object,
				    const struct cairn_chunk_list *list)
{
	enum cairn_status status = r->chunk == r->chunks_end ? reader_place(r, list) : CAIRN_OK;
	return status == CAIRN_OK ? cas_read_chunk(object, r->codec, list, r->chunk, r->block, &r->raw) : status;
}

static enum cairn_status reader_judge(void *ctx, struct cairn_store_object *copy, const struct cairn_chunk_list *list,
				      bool *damaged, struct cairn_diag *diag)
{
	struct cairn_file_reader *r = ctx;
	(void)damaged;
	if (!reader_list_is_right(r, list))
		return cairn_fail(diag, CAIRN_E_DAMAGED, "xorb.list", CAIRN_NO_OFFSET,
				  "the index's chunk list of a xorb does not give its hash; run cairn fsck");
	enum cairn_status status = reader_try(r, copy, list);
	if (status == CAIRN_E_DAMAGED)
		return cairn_fail(diag, status, "object.damaged", cas_chunk_begin(list, r->chunk),
				  "the stored bytes are not what was uploaded; upload the file again");
	if (status == CAIRN_E_IO)
		return cairn_fail(diag, status, "object.unreadable", cas_chunk_begin(list, r->chunk),
				  "the disk cannot read it");
	return status;
}

/* Reads the chunk from any sound copy, by any right list. Uses the copy and the list for later chunks, too. */
static enum cairn_status reader_read_elsewhere(struct cairn_file_reader *r, struct cairn_diag *diag)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	const struct cas_judge judge = {.ctx = r, .judge = reader_judge};
	cairn_store_object_freep(&r->xorb.object);
	enum cairn_status status = cas_judged_copy(r->cas, &r->xorb.hash, &judge, &r->xorb.object, &list, diag);
	if (status == CAIRN_OK)
		status = cairn_list_cache_put(&r->lists, &r->xorb.hash, r->xorb.id, &list, &r->list);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_E_CONFLICT : status;
}

/* Checks before the last chunk is returned that a file which is read whole has its hash. */
static enum cairn_status reader_judge_file(struct cairn_file_reader *r)
{
	struct cairn_hash root, hash;
	if (!r->whole)
		return CAIRN_OK;
	cairn_merkle_add(&r->merkle, &r->list->hashes[r->chunk], r->n_raw);
	if (r->at + r->n_raw < r->end)
		return CAIRN_OK;
	cairn_merkle_root(&r->merkle, &root);
	cairn_hash_file(&hash, &root);
	r->wrong = !cairn_hash_equal(&hash, &r->file);
	if (r->wrong)
		r->n_raw = 0;
	return r->wrong ? CAIRN_E_CONFLICT : CAIRN_OK;
}

/* Reads the next chunk, without the bytes to skip. After a failure the reader is as it was before. */
static enum cairn_status reader_next_chunk(struct cairn_file_reader *r, struct cairn_diag *diag)
{
	if (r->wrong)
		return CAIRN_E_CONFLICT;
	enum cairn_status status = r->term == r->n_window ? reader_read_window(r) : CAIRN_OK;
	if (status == CAIRN_OK)
		status = reader_enter_xorb(r);
	if (status == CAIRN_E_BUSY)
		return cas_index_is_silent(diag);
	if (status != CAIRN_OK)
		return status;
	status = r->xorb.object && r->list ? reader_try(r, r->xorb.object, r->list) : CAIRN_E_DAMAGED;
	if (status == CAIRN_E_DAMAGED || status == CAIRN_E_IO || status == CAIRN_E_NOT_FOUND)
		status = reader_read_elsewhere(r, diag);
	if (status == CAIRN_E_BUSY)
		return cas_store_is_silent(diag);
	if (status != CAIRN_OK)
		return status;
	r->raw += r->skip;
	r->n_raw = r->list->spans[r->chunk].unpacked_bytes - (size_t)r->skip;
	r->skip = 0;
	status = reader_judge_file(r);
	r->term += ++r->chunk == r->chunks_end;
	return status;
}

/* --- opening and reading ------------------------------------------------------------------------------------------ */

static enum cairn_status reader_read(struct cairn_file_reader *r, uint8_t *out, size_t max, size_t *n,
				     struct cairn_diag *diag)
{
	for (*n = 0; *n < max && r->at < r->end;) {
		enum cairn_status status = r->n_raw == 0 ? reader_next_chunk(r, diag) : CAIRN_OK;
		if (status != CAIRN_OK)
			return *n > 0 ? CAIRN_OK : status;
		size_t take = r->n_raw < max - *n ? r->n_raw : max - *n;
		if (take > r->end - r->at)
			take = (size_t)(r->end - r->at);
		memcpy(out + *n, r->raw, take);
		r->raw += take;
		r->n_raw -= take;
		r->at += take;
		*n += take;
	}
	return CAIRN_OK;
}

/* Between calls only the current xorb stays open: a connection is counted with one object (daemon.c). */
enum cairn_status cairn_file_reader_read(struct cairn_file_reader *r, uint8_t *out, size_t max, size_t *n,
					 struct cairn_diag *diag)
{
	enum cairn_status status = reader_read(r, out, max, n, diag);
	reader_close_left(r);
	return status;
}

static enum cairn_status reader_init(struct cairn_file_reader *r, const char *viewer)
{
	r->lists.bytes_max = READER_LISTS_BYTES;
	r->codec = cairn_codec_new();
	r->viewer = viewer ? strdup(viewer) : NULL;
	return r->codec && (r->viewer || !viewer) ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Finds the length of the file, and the part of it that the range selects. */
static enum cairn_status reader_measure(struct cairn_file_reader *r, const struct cairn_byte_range *range,
					struct cairn_file_extent *extent)
{
	struct cairn_index_file file;
	enum cairn_status status = cairn_index_file(r->cas->index, &r->file, r->viewer, false, &file);
	*extent = (struct cairn_file_extent){0};
	if (status != CAIRN_OK)
		return cas_index_status(status);
	extent->file_bytes = file.size_bytes;
	if (!cairn_byte_range_find(range, file.size_bytes, &extent->first, &extent->end))
		return CAIRN_E_LIMIT;
	r->at = extent->first;
	r->end = extent->end;
	r->whole = r->at == 0 && r->end == file.size_bytes;
	cairn_merkle_init(&r->merkle);
	return CAIRN_OK;
}

enum cairn_status cairn_file_reader_open(struct cairn_cas *cas, const char *viewer, const struct cairn_hash *file,
					 const struct cairn_byte_range *range, struct cairn_file_extent *extent,
					 struct cairn_file_reader **out, struct cairn_diag *diag)
{
	CLEANUP(cairn_file_reader_freep) struct cairn_file_reader *r = calloc(1, sizeof(*r));
	*out = NULL;
	if (!r)
		return CAIRN_E_NOMEM;
	r->cas = cas;
	r->file = *file;
	enum cairn_status status = reader_init(r, viewer);
	if (status == CAIRN_OK)
		status = reader_measure(r, range, extent);
	if (status == CAIRN_OK && r->at < r->end)
		status = reader_next_chunk(r, diag);
	if (status != CAIRN_OK)
		return status;
	*out = r;
	r = NULL;
	return CAIRN_OK;
}
