#include "hub/new_bytes.h"

#include <stdlib.h>
#include <string.h>

enum { NEW_WORDS = CAIRN_XORB_CHUNKS_MAX / 64 };

/* A xorb that a changed file is made of. */
struct new_xorb {
	int64_t id;
	uint64_t had[NEW_WORDS]; /* a bit for each chunk that was there before */
};

/* A file of the commit before. */
struct new_file {
	enum cairn_index_entry_kind kind;
	struct cairn_git_oid oid;
	struct cairn_hash file;
};

struct new_run {
	struct cairn_cas *cas;
	char owner[CAIRN_INDEX_OWNER_BYTES];
	const struct cairn_hub_changes *changes;
	struct cairn_new_bytes *out;
	struct new_xorb *xorbs; /* owned, as the next two; by their numbers, once all are known */
	uint32_t n_xorbs;
	struct new_file *before; /* CAIRN_NEW_FILES_MAX of room */
	uint32_t n_before;
	const struct cairn_index_term *term; /* whose new chunks are added up */
	const struct new_xorb *xorb;
	uint64_t bytes;
	uint32_t terms_left, parts_left;
};

void cairn_new_bytes_fini(struct cairn_new_bytes *counted)
{
	free(counted->bytes);
	*counted = (struct cairn_new_bytes){0};
}

static void new_run_free(struct new_run *run)
{
	free(run->xorbs);
	free(run->before);
}

/* @return CAIRN_E_NOT_FOUND there is nothing to read: it is no such file, or its bytes were deleted */
static enum cairn_status new_read(struct new_run *run, enum cairn_index_entry_kind kind, const struct cairn_hash *file,
				  struct cairn_index_file *out)
{
	if (kind != CAIRN_INDEX_XET)
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = cairn_index_file(cairn_cas_index(run->cas), file, run->owner, true, out);
	run->out->unknown = run->out->unknown || out->n_terms > run->terms_left;
	run->terms_left -= run->out->unknown ? 0 : out->n_terms;
	return status;
}

static bool new_is_read(const struct cairn_hub_change *change)
{
	return change->kind != CAIRN_HUB_REMOVED && change->after.has_file;
}

/* --- xorbs of the changed files ----------------------------------------------------------------------------------- */

static int new_by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static enum cairn_status new_add_ids(int64_t **ids, size_t *n, const struct cairn_index_file *file)
{
	int64_t *grown = realloc(*ids, (*n + file->n_terms + 1) * sizeof(*grown));
	if (!grown)
		return CAIRN_E_NOMEM;
	*ids = grown;
	for (uint32_t i = 0; i < file->n_terms; i++)
		grown[(*n)++] = file->terms[i].xorb_id;
	qsort(grown, *n, sizeof(*grown), new_by_id);
	size_t unique = 0;
	for (size_t i = 0; i < *n; i++)
		if (unique == 0 || grown[unique - 1] != grown[i])
			grown[unique++] = grown[i];
	*n = unique;
	return CAIRN_OK;
}

static enum cairn_status new_find_xorbs(struct new_run *run)
{
	int64_t *ids = NULL;
	size_t n = 0;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < run->changes->n && status == CAIRN_OK && !run->out->unknown; i++) {
		const struct cairn_hub_change *change = &run->changes->all[i];
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		if (!new_is_read(change))
			continue;
		status = new_read(run, change->after.kind, &change->after.file, &file);
		if (status == CAIRN_OK)
			status = new_add_ids(&ids, &n, &file);
		run->out->unknown = run->out->unknown || n > CAIRN_NEW_XORBS_MAX;
		if (status == CAIRN_E_NOT_FOUND)
			status = CAIRN_OK;
	}
	if (status == CAIRN_OK && !run->out->unknown) {
		run->xorbs = calloc(n + 1, sizeof(*run->xorbs));
		status = run->xorbs ? CAIRN_OK : CAIRN_E_NOMEM;
	}
	for (size_t i = 0; run->xorbs && i < n; i++)
		run->xorbs[run->n_xorbs++].id = ids[i];
	free(ids);
	return status;
}

static struct new_xorb *new_xorb_of(const struct new_run *run, const struct cairn_index_term *term)
{
	return bsearch(&term->xorb_id, run->xorbs, run->n_xorbs, sizeof(*run->xorbs), new_by_id);
}

static bool new_had(const struct new_xorb *xorb, uint32_t chunk)
{
	return xorb->had[chunk / 64] >> chunk % 64 & 1;
}

static void new_mark(struct new_xorb *xorb, const struct cairn_index_term *term)
{
	for (uint32_t chunk = term->start; chunk < term->end && chunk < CAIRN_XORB_CHUNKS_MAX; chunk++)
		xorb->had[chunk / 64] |= UINT64_C(1) << chunk % 64;
}

/* --- the commit before -------------------------------------------------------------------------------------------- */

static void new_take_before(void *ctx, const struct cairn_index_entry *entry)
{
	struct new_run *run = ctx;
	if (entry->kind == CAIRN_INDEX_FOLDER || (entry->kind == CAIRN_INDEX_XET && !entry->has_file))
		return;
	if (run->n_before == CAIRN_NEW_FILES_MAX) {
		run->out->more = true;
		return;
	}
	run->before[run->n_before++] = (struct new_file){entry->kind, entry->oid, entry->file};
}

static enum cairn_status new_list_before(struct new_run *run, const struct cairn_index_commit *before)
{
	char next[CAIRN_INDEX_PATH_MAX + 1] = "", after[CAIRN_INDEX_PATH_MAX + 1];
	struct cairn_diag unsaid = {0};
	run->before = calloc(CAIRN_NEW_FILES_MAX, sizeof(*run->before));
	if (!run->before)
		return CAIRN_E_NOMEM;
	do {
		const struct cairn_hub_tree_page page = {
			.folder = "", .recursive = true, .after = after, .limit = CAIRN_HUB_TREE_PAGE_MAX};
		memcpy(after, next, sizeof(after));
		enum cairn_status status =
			cairn_hub_list_tree(run->cas, before, &page, new_take_before, run, next, &unsaid);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* it has no files */
	} while (next[0] && !run->out->more);
	return CAIRN_OK;
}

static enum cairn_status new_mark_before(struct new_run *run)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < run->n_before && status == CAIRN_OK && run->n_xorbs > 0 && !run->out->unknown; i++) {
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		status = new_read(run, run->before[i].kind, &run->before[i].file, &file);
		for (uint32_t k = 0; k < file.n_terms && status == CAIRN_OK; k++) {
			struct new_xorb *xorb = new_xorb_of(run, &file.terms[k]);
			if (xorb)
				new_mark(xorb, &file.terms[k]);
		}
		if (status == CAIRN_E_NOT_FOUND)
			status = CAIRN_OK;
	}
	run->out->n_files = run->n_before;
	return status;
}

/* --- what is new -------------------------------------------------------------------------------------------------- */

static enum cairn_status new_take_spans(void *ctx, const struct cairn_index_spans *places)
{
	struct new_run *run = ctx;
	for (uint32_t chunk = run->term->start; chunk < run->term->end && chunk < places->n_chunks; chunk++)
		if (places->spans && !new_had(run->xorb, chunk))
			run->bytes += places->spans[chunk].unpacked_bytes;
	return CAIRN_OK;
}

static enum cairn_status new_count_term(struct new_run *run, const struct cairn_index_term *term, uint64_t *bytes)
{
	static const uint32_t FIRST[2] = {0, 0};
	struct new_xorb *xorb = new_xorb_of(run, term);
	uint32_t n = 0;
	if (!xorb) /* the file came to others meanwhile */
		return CAIRN_OK;
	for (uint32_t chunk = term->start; chunk < term->end; chunk++)
		n += !new_had(xorb, chunk);
	run->bytes = n == (uint32_t)(term->end - term->start) ? term->unpacked_bytes : 0;
	run->term = term;
	run->xorb = xorb;
	enum cairn_status status = CAIRN_OK;
	bool is_part = n > 0 && run->bytes == 0;
	run->out->unknown = run->out->unknown || (is_part && run->parts_left-- == 0);
	if (is_part && !run->out->unknown)
		status = cairn_index_spans(cairn_cas_index(run->cas), &term->xorb_id, 1, FIRST, new_take_spans, run);
	*bytes += run->bytes;
	new_mark(xorb, term);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status new_count_file(struct new_run *run, const struct cairn_hub_change *change, uint64_t *bytes)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	enum cairn_status status = new_read(run, change->after.kind, &change->after.file, &file);
	for (uint32_t i = 0; i < file.n_terms && status == CAIRN_OK && !run->out->unknown; i++)
		status = new_count_term(run, &file.terms[i], bytes);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Text that the index keeps is had as a whole or not at all. */
static bool new_had_text(const struct new_run *run, uint32_t change)
{
	const struct cairn_git_oid *oid = &run->changes->all[change].after.oid;
	for (uint32_t i = 0; i < run->n_before; i++)
		if (run->before[i].kind == CAIRN_INDEX_INLINE && memcmp(&run->before[i].oid, oid, sizeof(*oid)) == 0)
			return true;
	for (uint32_t i = 0; i < change; i++)
		if (run->changes->all[i].kind != CAIRN_HUB_REMOVED &&
		    memcmp(&run->changes->all[i].after.oid, oid, sizeof(*oid)) == 0)
			return true;
	return false;
}

static enum cairn_status new_count(struct new_run *run)
{
	enum cairn_status status = CAIRN_OK;
	run->out->bytes = calloc((size_t)run->changes->n + 1, sizeof(*run->out->bytes));
	if (!run->out->bytes)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < run->changes->n && status == CAIRN_OK && !run->out->unknown; i++) {
		const struct cairn_hub_change *change = &run->changes->all[i];
		if (new_is_read(change))
			status = new_count_file(run, change, &run->out->bytes[i]);
		else if (change->kind != CAIRN_HUB_REMOVED && change->after.kind == CAIRN_INDEX_INLINE &&
			 !new_had_text(run, i))
			run->out->bytes[i] = change->after.size_bytes;
	}
	return status;
}

enum cairn_status cairn_hub_count_new(struct cairn_new_bytes *out, struct cairn_cas *cas,
				      const struct cairn_index_repo *repo, const struct cairn_index_commit *before,
				      const struct cairn_hub_changes *changes)
{
	CLEANUP(new_run_free)
	struct new_run run = {.cas = cas,
			      .changes = changes,
			      .out = out,
			      .terms_left = CAIRN_NEW_TERMS_MAX,
			      .parts_left = CAIRN_NEW_PARTS_MAX};
	*out = (struct cairn_new_bytes){0};
	cairn_index_repo_owner(run.owner, repo->id);
	enum cairn_status status = new_find_xorbs(&run);
	if (status == CAIRN_OK && before && !out->unknown)
		status = new_list_before(&run, before);
	if (status == CAIRN_OK && !out->unknown)
		status = new_mark_before(&run);
	if (status == CAIRN_OK && !out->unknown)
		status = new_count(&run);
	if (status != CAIRN_OK)
		cairn_new_bytes_fini(out);
	else if (out->unknown) {
		free(out->bytes);
		out->bytes = NULL;
	}
	return status;
}
