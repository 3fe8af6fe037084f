#include "hub/footprint.h"

#include "hub/places.h"
#include "hub/tree.h"
#include "index/operate.h"

#include <stdlib.h>
#include <string.h>

struct foot_file {
	struct cairn_hash hash;
	uint64_t size_bytes;
	bool named;
};

struct foot_run {
	const struct cairn_hub *hub;
	const struct cairn_index_repo *repo;
	struct cairn_footprint *out;
	struct foot_file *files; /* owned, like the next array; sorted by hash */
	struct cairn_git_oid *refs;
	uint32_t n_files, n_refs, n_entries;
};

static void foot_run_fini(struct foot_run *run)
{
	free(run->files);
	free(run->refs);
}

static void foot_take_file(void *ctx, const struct cairn_index_owned *file)
{
	struct foot_run *run = ctx;
	if (run->n_files == CAIRN_FOOTPRINT_FILES_MAX)
		run->out->unknown = true;
	else
		run->files[run->n_files++] = (struct foot_file){.hash = file->hash, .size_bytes = file->size_bytes};
}

static enum cairn_status foot_list_files(struct foot_run *run)
{
	struct cairn_index_owned_after after = {0};
	char owner[CAIRN_INDEX_OWNER_BYTES];
	bool more = true;
	cairn_index_repo_owner(owner, run->repo->id);
	while (more && !run->out->unknown) {
		enum cairn_status status = cairn_index_each_owned(run->hub->index, owner, &after, CAIRN_INDEX_PAGE_MAX,
								  foot_take_file, run, &more);
		if (status != CAIRN_OK || run->n_files == 0)
			return status;
		after.hash = &run->files[run->n_files - 1].hash;
	}
	return CAIRN_OK;
}

static bool foot_take_ref(void *ctx, const struct cairn_index_ref_row *ref)
{
	struct foot_run *run = ctx;
	run->out->unknown = run->out->unknown || run->n_refs == CAIRN_FOOTPRINT_REFS_MAX;
	if (!run->out->unknown)
		run->refs[run->n_refs++] = ref->commit;
	return !run->out->unknown;
}

static int foot_by_hash(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct cairn_hash)); /* each begins with its hash */
}

static bool foot_take_entry(void *ctx, const struct cairn_index_entry *entry)
{
	struct foot_run *run = ctx;
	run->out->unknown = run->out->unknown || run->n_entries++ == CAIRN_FOOTPRINT_ENTRIES_MAX;
	if (entry->kind == CAIRN_INDEX_XET && entry->has_file && run->n_files > 0) {
		struct foot_file *file = bsearch(&entry->file, run->files, run->n_files, sizeof(*file), foot_by_hash);
		if (file)
			file->named = true;
	}
	return !run->out->unknown;
}

static enum cairn_status foot_list_commit(struct foot_run *run, const struct cairn_index_commit *commit)
{
	struct cairn_diag unsaid = {0};
	enum cairn_status status = cairn_hub_list_all(run->hub, commit, foot_take_entry, run, &unsaid);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* the commit has no files */
}

static enum cairn_status foot_list_refs(struct foot_run *run)
{
	enum cairn_status status = cairn_hub_each_ref(run->hub, run->repo, foot_take_ref, run);
	for (uint32_t i = 0; status == CAIRN_OK && i < run->n_refs && !run->out->unknown; i++) {
		struct cairn_index_commit commit;
		char oid[CAIRN_GIT_OID_CHARS + 1];
		cairn_git_oid_text(oid, &run->refs[i]);
		status = cairn_index_find_commit(run->hub->index, run->repo->id, oid, CAIRN_INDEX_ALL_COMMITS, &commit);
		if (status == CAIRN_OK)
			status = foot_list_commit(run, &commit);
		else if (status == CAIRN_E_NOT_FOUND) /* the ref was moved meanwhile */
			status = CAIRN_OK;
	}
	return status;
}

/* Counts the named files first, so that only the remaining bytes of other files count. */
static enum cairn_status foot_count(struct foot_run *run, struct cairn_places *places)
{
	struct cairn_footprint *out = run->out;
	struct cairn_hash *hashes = calloc((size_t)run->n_files + 1, sizeof(*hashes));
	if (!hashes)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < run->n_files; i++)
		hashes[i] = run->files[i].hash;
	enum cairn_status status = cairn_places_of(places, hashes, run->n_files);
	for (int named = 1; named >= 0; named--)
		for (uint32_t i = 0; i < run->n_files && status == CAIRN_OK; i++) {
			const struct foot_file *file = &run->files[i];
			if (file->named != named)
				continue;
			out->seen_bytes += file->size_bytes;
			*(named ? &out->n_named : &out->n_past) += 1;
			status = cairn_places_count(places, &file->hash, named ? &out->named_bytes : &out->past_bytes);
		}
	free(hashes);
	return status;
}

enum cairn_status cairn_hub_footprint(struct cairn_footprint *out, const struct cairn_hub *hub,
				      const struct cairn_index_repo *repo)
{
	CLEANUP(foot_run_fini) struct foot_run run = {.hub = hub, .repo = repo, .out = out};
	CLEANUP(cairn_places_fini) struct cairn_places places;
	*out = (struct cairn_footprint){0};
	cairn_places_init(&places, hub->index, repo);
	run.files = calloc(CAIRN_FOOTPRINT_FILES_MAX, sizeof(*run.files));
	run.refs = calloc(CAIRN_FOOTPRINT_REFS_MAX, sizeof(*run.refs));
	if (!run.files || !run.refs)
		return CAIRN_E_NOMEM;
	enum cairn_status status = foot_list_files(&run);
	if (status == CAIRN_OK && !out->unknown)
		status = foot_list_refs(&run);
	if (status == CAIRN_OK && !out->unknown)
		status = foot_count(&run, &places);
	out->unknown = out->unknown || places.unknown;
	return status;
}
