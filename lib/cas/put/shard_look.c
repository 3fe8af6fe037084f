#include "cas/put/shard_look.h"

#include "shard/reader.h"

#include <stdlib.h>

enum {
	LOOK_XORBS = CAIRN_INDEX_LOOK_XORBS_MAX,
	LOOK_NAMES = CAIRN_INDEX_LOOK_XORBS_MAX + CAIRN_INDEX_LOOK_FILES_MAX,
	LOOK_TERMS_MAX = 10000, /* a shard with more terms is not small */
};

/* --- the xorbs and files of a shard ------------------------------------------------------------------------------- */

static bool look_has_xorb(const struct cairn_index_look *asked, const struct cairn_hash *xorb)
{
	for (uint32_t i = 0; i < asked->n_xorbs; i++)
		if (cairn_hash_equal(&asked->xorbs[i], xorb))
			return true;
	return false;
}

static bool look_add_xorb(struct cas_shard_look *look, const struct cairn_hash *xorb)
{
	if (look->asked.n_xorbs == LOOK_XORBS)
		return false;
	look->names[look->asked.n_xorbs++] = *xorb;
	return true;
}

/* Adds each described xorb once, however often it is described: each one costs reads.
 * @return all of them fit */
static bool look_add_described(struct cas_shard_look *look, struct cairn_shard_reader *r)
{
	struct cairn_shard_xorb xorb;
	bool more, room = true;
	uint32_t n = 0;
	while (room && cairn_shard_next_xorb(r, &xorb, &more, NULL) == CAIRN_OK && more)
		room = n++ < LOOK_XORBS && (look_has_xorb(&look->asked, &xorb.hash) || look_add_xorb(look, &xorb.hash));
	look->asked.n_described = look->asked.n_xorbs;
	return room;
}

/* Adds xorbs that only terms name. Mostly, a term's xorb is that of the term before it. */
static bool look_add_terms(struct cas_shard_look *look, const struct cairn_shard_file *file, uint32_t *n_terms)
{
	struct cairn_hash last = {0};
	*n_terms += file->n_terms;
	if (*n_terms > LOOK_TERMS_MAX)
		return false;
	for (uint32_t i = 0; i < file->n_terms; i++) {
		struct cairn_shard_term term = cairn_shard_file_term(file, i);
		bool new = !cairn_hash_equal(&last, &term.xorb) && !look_has_xorb(&look->asked, &term.xorb);
		if (new && !look_add_xorb(look, &term.xorb))
			return false;
		last = term.xorb;
	}
	return true;
}

static bool look_add_files(struct cas_shard_look *look, struct cairn_shard_reader *r)
{
	struct cairn_shard_file file;
	uint32_t n_terms = 0;
	bool more;
	while (cairn_shard_next_file(r, &file, &more, NULL) == CAIRN_OK && more) {
		if (look->asked.n_files == CAIRN_INDEX_LOOK_FILES_MAX || file.n_terms > LOOK_TERMS_MAX ||
		    !look_add_terms(look, &file, &n_terms))
			return false;
		look->names[LOOK_XORBS + look->asked.n_files++] = file.hash;
	}
	return true;
}

static bool look_skip_files(struct cairn_shard_reader *r)
{
	struct cairn_shard_file file;
	bool more = true;
	uint32_t n = 0;
	while (more && n++ <= CAIRN_INDEX_LOOK_FILES_MAX)
		if (cairn_shard_next_file(r, &file, &more, NULL) != CAIRN_OK)
			return false;
	return !more;
}

static bool look_read(struct cas_shard_look *look, const uint8_t *bytes, size_t len)
{
	struct cairn_shard_reader files, xorbs;
	if (cairn_shard_reader_init(&files, bytes, len, NULL) != CAIRN_OK)
		return false;
	xorbs = files;
	return look_skip_files(&xorbs) && look_add_described(look, &xorbs) && look_add_files(look, &files);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

static enum cairn_status look_gather(struct cas_shard_look *look, const uint8_t *bytes, size_t len)
{
	struct cairn_index_look *asked = &look->asked;
	look->names = malloc(LOOK_NAMES * sizeof(*look->names));
	asked->found = calloc(LOOK_XORBS, sizeof(*asked->found));
	if (!look->names || !asked->found)
		return CAIRN_E_NOMEM;
	asked->xorbs = look->names;
	asked->files = look->names + LOOK_XORBS;
	if (!look_read(look, bytes, len))
		asked->n_xorbs = asked->n_described = asked->n_files = 0;
	return CAIRN_OK;
}

enum cairn_status cas_shard_look(struct cairn_index *ix, struct cas_shard_look *look, bool names, const uint8_t *bytes,
				 size_t len)
{
	enum cairn_status status = names ? look_gather(look, bytes, len) : CAIRN_OK;
	return status == CAIRN_OK ? cairn_index_look_at_shard(ix, &look->asked) : status;
}

const struct cairn_index_seen_xorb *cas_shard_look_find(const struct cas_shard_look *look,
							const struct cairn_hash *xorb)
{
	const struct cairn_index_look *asked = &look->asked;
	for (uint32_t i = 0; i < asked->n_xorbs; i++)
		if (cairn_hash_equal(&asked->xorbs[i], xorb))
			return asked->found[i].id != 0 ? &asked->found[i] : NULL;
	return NULL;
}

void cas_shard_look_fini(struct cas_shard_look *look)
{
	for (uint32_t i = 0; i < look->asked.n_described; i++)
		cairn_chunk_list_fini(&look->asked.found[i].places);
	free(look->asked.found);
	free(look->names);
	look->asked.found = NULL;
	look->asked.n_xorbs = look->asked.n_described = 0;
	look->names = NULL;
}
