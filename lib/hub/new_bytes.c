#include "hub/new_bytes.h"

#include "hub/places.h"

#include <stdlib.h>
#include <string.h>

/* A file of the commit before. */
struct new_file {
	enum cairn_index_entry_kind kind;
	struct cairn_git_oid oid;
	struct cairn_hash file;
};

struct new_run {
	const struct cairn_hub *hub;
	const struct cairn_hub_changes *changes;
	struct cairn_new_bytes *out;
	struct cairn_places places;
	struct new_file *before; /* owned; room for CAIRN_NEW_FILES_MAX */
	uint32_t n_before;
};

void cairn_new_bytes_fini(struct cairn_new_bytes *counted)
{
	free(counted->bytes);
	*counted = (struct cairn_new_bytes){0};
}

static void new_run_fini(struct new_run *run)
{
	cairn_places_fini(&run->places);
	free(run->before);
}

static bool new_has_chunks(const struct cairn_hub_change *change)
{
	return change->kind != CAIRN_HUB_REMOVED && change->after.kind == CAIRN_INDEX_XET && change->after.has_file;
}

static enum cairn_status new_find_chunks(struct new_run *run)
{
	struct cairn_hash *files = calloc((size_t)run->changes->n + 1, sizeof(*files));
	uint32_t n = 0;
	if (!files)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < run->changes->n; i++)
		if (new_has_chunks(&run->changes->all[i]))
			files[n++] = run->changes->all[i].after.file;
	enum cairn_status status = cairn_places_of(&run->places, files, n);
	free(files);
	return status;
}

static bool new_take_before(void *ctx, const struct cairn_index_entry *entry)
{
	struct new_run *run = ctx;
	if (entry->kind == CAIRN_INDEX_FOLDER || (entry->kind == CAIRN_INDEX_XET && !entry->has_file))
		return true;
	run->out->more = run->n_before == CAIRN_NEW_FILES_MAX;
	if (!run->out->more)
		run->before[run->n_before++] = (struct new_file){entry->kind, entry->oid, entry->file};
	return !run->out->more;
}

static enum cairn_status new_list_before(struct new_run *run, const struct cairn_index_commit *before)
{
	struct cairn_diag unsaid = {0};
	run->before = calloc(CAIRN_NEW_FILES_MAX, sizeof(*run->before));
	if (!run->before)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_hub_list_all(run->hub, before, new_take_before, run, &unsaid);
	run->out->n_files = run->n_before;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* the commit has no files */
}

static enum cairn_status new_pass_before(struct new_run *run)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < run->n_before && status == CAIRN_OK; i++)
		if (run->before[i].kind == CAIRN_INDEX_XET)
			status = cairn_places_pass(&run->places, &run->before[i].file);
	return status;
}

/* Did the commit before, or an earlier change, have this inline text? Inline text counts as a whole. */
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
	for (uint32_t i = 0; i < run->changes->n && status == CAIRN_OK; i++) {
		const struct cairn_hub_change *change = &run->changes->all[i];
		if (new_has_chunks(change))
			status = cairn_places_count(&run->places, &change->after.file, &run->out->bytes[i]);
		else if (change->kind != CAIRN_HUB_REMOVED && change->after.kind == CAIRN_INDEX_INLINE &&
			 !new_had_text(run, i))
			run->out->bytes[i] = change->after.size_bytes;
	}
	return status;
}

enum cairn_status cairn_hub_count_new(struct cairn_new_bytes *out, const struct cairn_hub *hub,
				      const struct cairn_index_repo *repo, const struct cairn_index_commit *before,
				      const struct cairn_hub_changes *changes)
{
	CLEANUP(new_run_fini) struct new_run run = {.hub = hub, .changes = changes, .out = out};
	*out = (struct cairn_new_bytes){0};
	cairn_places_init(&run.places, hub->index, repo);
	enum cairn_status status = new_find_chunks(&run);
	if (status == CAIRN_OK && before)
		status = new_list_before(&run, before);
	if (status == CAIRN_OK)
		status = new_pass_before(&run);
	if (status == CAIRN_OK)
		status = new_count(&run);
	out->unknown = run.places.unknown;
	if (status != CAIRN_OK) {
		cairn_new_bytes_fini(out);
	} else if (out->unknown) {
		free(out->bytes);
		out->bytes = NULL;
	}
	return status;
}
