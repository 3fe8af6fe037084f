#include "cas/put/shard_lookup.h"

#include "shard/reader.h"

#include <stdlib.h>

enum {
	LOOKUP_XORBS = CAIRN_INDEX_LOOKUP_XORBS_MAX,
	LOOKUP_NAMES = CAIRN_INDEX_LOOKUP_XORBS_MAX + CAIRN_INDEX_LOOKUP_FILES_MAX,
	LOOKUP_TERMS_MAX = 10000, /* a shard with more terms is not small */
};

static bool lookup_has_xorb(const struct cairn_index_shard_lookup *asked, const struct cairn_hash *xorb)
{
	for (uint32_t i = 0; i < asked->n_xorbs; i++)
		if (cairn_hash_equal(&asked->xorbs[i], xorb))
			return true;
	return false;
}

static bool lookup_add_xorb(struct cas_shard_lookup *lookup, const struct cairn_hash *xorb)
{
	if (lookup->asked.n_xorbs == LOOKUP_XORBS)
		return false;
	lookup->names[lookup->asked.n_xorbs++] = *xorb;
	return true;
}

/* Adds each described xorb once, because each one costs reads. @return false: they do not all fit */
static bool lookup_add_described(struct cas_shard_lookup *lookup, struct cairn_shard_reader *r)
{
	struct cairn_shard_xorb xorb;
	bool more, room = true;
	uint32_t n = 0;
	while (room && cairn_shard_next_xorb(r, &xorb, &more, NULL) == CAIRN_OK && more)
		room = n++ < LOOKUP_XORBS &&
		       (lookup_has_xorb(&lookup->asked, &xorb.hash) || lookup_add_xorb(lookup, &xorb.hash));
	lookup->asked.n_described = lookup->asked.n_xorbs;
	return room;
}

/* Adds xorbs that only terms name. A term's xorb is mostly that of the term before it. */
static bool lookup_add_terms(struct cas_shard_lookup *lookup, const struct cairn_shard_file *file, uint32_t *n_terms)
{
	struct cairn_hash last = {0};
	*n_terms += file->n_terms;
	if (*n_terms > LOOKUP_TERMS_MAX)
		return false;
	for (uint32_t i = 0; i < file->n_terms; i++) {
		struct cairn_shard_term term = cairn_shard_file_term(file, i);
		bool new = !cairn_hash_equal(&last, &term.xorb) && !lookup_has_xorb(&lookup->asked, &term.xorb);
		if (new && !lookup_add_xorb(lookup, &term.xorb))
			return false;
		last = term.xorb;
	}
	return true;
}

static bool lookup_add_files(struct cas_shard_lookup *lookup, struct cairn_shard_reader *r)
{
	struct cairn_shard_file file;
	uint32_t n_terms = 0;
	bool more;
	while (cairn_shard_next_file(r, &file, &more, NULL) == CAIRN_OK && more) {
		if (lookup->asked.n_files == CAIRN_INDEX_LOOKUP_FILES_MAX || file.n_terms > LOOKUP_TERMS_MAX ||
		    !lookup_add_terms(lookup, &file, &n_terms))
			return false;
		lookup->names[LOOKUP_XORBS + lookup->asked.n_files++] = file.hash;
	}
	return true;
}

static bool lookup_skip_files(struct cairn_shard_reader *r)
{
	struct cairn_shard_file file;
	bool more = true;
	uint32_t n = 0;
	while (more && n++ <= CAIRN_INDEX_LOOKUP_FILES_MAX)
		if (cairn_shard_next_file(r, &file, &more, NULL) != CAIRN_OK)
			return false;
	return !more;
}

static bool lookup_read(struct cas_shard_lookup *lookup, const uint8_t *bytes, size_t len)
{
	struct cairn_shard_reader files, xorbs;
	if (cairn_shard_reader_init(&files, bytes, len, NULL) != CAIRN_OK)
		return false;
	xorbs = files;
	return lookup_skip_files(&xorbs) && lookup_add_described(lookup, &xorbs) && lookup_add_files(lookup, &files);
}

static enum cairn_status lookup_gather(struct cas_shard_lookup *lookup, const uint8_t *bytes, size_t len)
{
	struct cairn_index_shard_lookup *asked = &lookup->asked;
	lookup->names = malloc(LOOKUP_NAMES * sizeof(*lookup->names));
	asked->found = calloc(LOOKUP_XORBS, sizeof(*asked->found));
	if (!lookup->names || !asked->found)
		return CAIRN_E_NOMEM;
	asked->xorbs = lookup->names;
	asked->files = lookup->names + LOOKUP_XORBS;
	if (!lookup_read(lookup, bytes, len))
		asked->n_xorbs = asked->n_described = asked->n_files = 0;
	return CAIRN_OK;
}

enum cairn_status cas_look_up_shard(struct cairn_index *ix, struct cas_shard_lookup *lookup, bool names,
				    const uint8_t *bytes, size_t len)
{
	enum cairn_status status = names ? lookup_gather(lookup, bytes, len) : CAIRN_OK;
	return status == CAIRN_OK ? cairn_index_look_up_shard(ix, &lookup->asked) : status;
}

const struct cairn_index_seen_xorb *cas_shard_lookup_find(const struct cas_shard_lookup *lookup,
							  const struct cairn_hash *xorb)
{
	const struct cairn_index_shard_lookup *asked = &lookup->asked;
	for (uint32_t i = 0; i < asked->n_xorbs; i++)
		if (cairn_hash_equal(&asked->xorbs[i], xorb))
			return asked->found[i].id != 0 ? &asked->found[i] : NULL;
	return NULL;
}

void cas_shard_lookup_fini(struct cas_shard_lookup *lookup)
{
	for (uint32_t i = 0; i < lookup->asked.n_described; i++)
		cairn_chunk_list_fini(&lookup->asked.found[i].places);
	free(lookup->asked.found);
	free(lookup->names);
	lookup->asked.found = NULL;
	lookup->asked.n_xorbs = lookup->asked.n_described = 0;
	lookup->names = NULL;
}
