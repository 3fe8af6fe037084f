#include "hub/old_bytes.h"

#include "hub/stretches.h"

#include <stdlib.h>
#include <string.h>

enum { OLD_STEPS_MAX = 1 << 22 /* pairs of stretches compared */ };

/* A file of the commit before. */
struct old_file {
	char *path; /* owned */
	enum cairn_index_entry_kind kind;
	struct cairn_git_oid oid;
	struct cairn_hash file;
};

struct old_run {
	const struct cairn_hub *hub;
	const struct cairn_hub_changes *changes;
	/* by number of file: first the files of the commit before, then the changes */
	struct cairn_stretches stretches;
	struct old_file *before; /* owned; room for CAIRN_OLD_FILES_MAX */
	uint64_t *common;        /* owned; for each change and each file before, the bytes in common */
	uint32_t n_before;
	uint64_t steps_left;
	bool unknown;
	enum cairn_status status; /* set during a visit */
};

void cairn_old_bytes_fini(struct cairn_old_bytes *old)
{
	for (uint32_t i = 0; old->of && i < old->n; i++)
		free(old->of[i].path);
	free(old->of);
	*old = (struct cairn_old_bytes){0};
}

static void old_run_fini(struct old_run *run)
{
	cairn_stretches_fini(&run->stretches);
	for (uint32_t i = 0; run->before && i < run->n_before; i++)
		free(run->before[i].path);
	free(run->before);
	free(run->common);
}

static bool old_take_before(void *ctx, const struct cairn_index_entry *entry)
{
	struct old_run *run = ctx;
	if (entry->kind == CAIRN_INDEX_FOLDER || (entry->kind == CAIRN_INDEX_XET && !entry->has_file))
		return true;
	run->unknown = run->unknown || run->n_before == CAIRN_OLD_FILES_MAX;
	if (run->unknown)
		return false;
	struct old_file file = {cairn_hub_entry_path_new(entry), entry->kind, entry->oid, entry->file};
	run->status = file.path ? CAIRN_OK : CAIRN_E_NOMEM;
	if (file.path)
		run->before[run->n_before++] = file;
	return run->status == CAIRN_OK;
}

static enum cairn_status old_list_before(struct old_run *run, const struct cairn_index_commit *before)
{
	struct cairn_diag unsaid = {0};
	enum cairn_status status = cairn_hub_list_all(run->hub, before, old_take_before, run, &unsaid);
	/* the commit may have no files */
	return status == CAIRN_OK || status == CAIRN_E_NOT_FOUND ? run->status : status;
}

static bool old_is_stored(const struct cairn_hub_change *change)
{
	return change->kind != CAIRN_HUB_REMOVED && change->after.kind == CAIRN_INDEX_XET && change->after.has_file;
}

static enum cairn_status old_read_files(struct old_run *run)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < run->n_before && status == CAIRN_OK; i++)
		if (run->before[i].kind == CAIRN_INDEX_XET)
			status = cairn_stretches_add(&run->stretches, &run->before[i].file, i);
	for (uint32_t i = 0; i < run->changes->n && status == CAIRN_OK; i++)
		if (old_is_stored(&run->changes->all[i]))
			status = cairn_stretches_add(&run->stretches, &run->changes->all[i].after.file,
						     run->n_before + i);
	run->unknown = run->unknown || run->stretches.unknown;
	return status;
}

static uint64_t *old_common(struct old_run *run, uint32_t change, uint32_t before)
{
	return &run->common[(size_t)change * run->n_before + before];
}

/* Estimates how many bytes of one stretch are in the other, by the chunks that they share. */
static uint64_t old_overlap(const struct cairn_stretch *of, const struct cairn_stretch *other)
{
	uint32_t start = of->start > other->start ? of->start : other->start;
	uint32_t end = of->end < other->end ? of->end : other->end;
	return start < end ? (uint64_t)of->bytes * (end - start) / (uint32_t)(of->end - of->start) : 0;
}

static enum cairn_status old_take_xorb(void *ctx, const struct cairn_stretch *of_xorb, uint32_t n)
{
	struct old_run *run = ctx;
	uint32_t n_before = 0;
	while (n_before < n && of_xorb[n_before].file < run->n_before)
		n_before++;
	uint64_t steps = (uint64_t)n_before * (n - n_before);
	run->unknown = run->unknown || steps > run->steps_left;
	run->steps_left -= run->unknown ? 0 : steps;
	for (uint32_t i = n_before; i < n && !run->unknown; i++)
		for (uint32_t k = 0; k < n_before; k++)
			*old_common(run, of_xorb[i].file - run->n_before, of_xorb[k].file) +=
				old_overlap(&of_xorb[i], &of_xorb[k]);
	return CAIRN_OK;
}

/* Counts inline text, which is shared as a whole or not at all. */
static void old_take_texts(struct old_run *run)
{
	for (uint32_t i = 0; i < run->changes->n; i++) {
		const struct cairn_hub_change *change = &run->changes->all[i];
		if (change->kind == CAIRN_HUB_REMOVED || change->after.kind != CAIRN_INDEX_INLINE)
			continue;
		for (uint32_t k = 0; k < run->n_before; k++)
			if (memcmp(&run->before[k].oid, &change->after.oid, sizeof(change->after.oid)) == 0)
				*old_common(run, i, k) = change->after.size_bytes;
	}
}

static enum cairn_status old_choose(struct old_run *run, uint32_t change, struct cairn_old_source *out)
{
	const struct cairn_hub_change *of = &run->changes->all[change];
	uint64_t most = 0;
	uint32_t from = 0;
	for (uint32_t k = 0; k < run->n_before; k++) {
		uint64_t common = *old_common(run, change, k);
		bool is_same = strcmp(run->before[k].path, of->path) == 0;
		if (common > most || (common == most && common > 0 && is_same)) {
			most = common;
			from = k;
		}
	}
	if (most == 0 || of->kind == CAIRN_HUB_REMOVED || of->after.size_bytes == 0)
		return CAIRN_OK;
	double percent = (double)most * 100 / (double)of->after.size_bytes;
	out->percent = percent < 1 ? 1 : percent > 100 ? 100 : (unsigned)percent;
	out->path = strdup(run->before[from].path);
	return out->path ? CAIRN_OK : CAIRN_E_NOMEM;
}

static enum cairn_status old_hand_out(struct old_run *run, struct cairn_old_bytes *out)
{
	enum cairn_status status = CAIRN_OK;
	out->of = calloc((size_t)run->changes->n + 1, sizeof(*out->of));
	out->n = run->changes->n;
	if (!out->of)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < run->changes->n && status == CAIRN_OK; i++)
		status = old_choose(run, i, &out->of[i]);
	return status;
}

static enum cairn_status old_compare(struct old_run *run, struct cairn_old_bytes *out)
{
	enum cairn_status status = old_read_files(run);
	if (status != CAIRN_OK || run->unknown)
		return status;
	run->common = calloc((size_t)run->changes->n * run->n_before + 1, sizeof(*run->common));
	if (!run->common)
		return CAIRN_E_NOMEM;
	status = cairn_stretches_each(&run->stretches, old_take_xorb, run);
	if (status != CAIRN_OK || run->unknown)
		return status;
	old_take_texts(run);
	return old_hand_out(run, out);
}

enum cairn_status cairn_hub_find_old(struct cairn_old_bytes *out, const struct cairn_hub *hub,
				     const struct cairn_index_repo *repo, const struct cairn_index_commit *before,
				     const struct cairn_hub_changes *changes)
{
	CLEANUP(old_run_fini) struct old_run run = {.hub = hub, .changes = changes, .steps_left = OLD_STEPS_MAX};
	*out = (struct cairn_old_bytes){0};
	cairn_stretches_init(&run.stretches, hub->index, repo);
	run.before = calloc(CAIRN_OLD_FILES_MAX, sizeof(*run.before));
	if (!run.before)
		return CAIRN_E_NOMEM;
	enum cairn_status status = old_list_before(&run, before);
	if (status == CAIRN_OK && !run.unknown)
		status = old_compare(&run, out);
	if (status != CAIRN_OK)
		cairn_old_bytes_fini(out);
	return status;
}
