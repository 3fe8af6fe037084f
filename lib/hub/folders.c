#include "hub/folders.h"

#include "hub/stretches.h"

#include <stdlib.h>
#include <string.h>

enum {
	FOLDERS_NOBODY = UINT32_MAX, /* no file has the chunk, or it was counted already */
	FOLDERS_PARTS_MAX = 1 << 11, /* stretches counted chunk by chunk, which reads the chunk list of their xorbs */
	FOLDERS_STEPS_MAX = 1 << 24, /* chunks of all these stretches */
};

struct folders_run {
	const struct cairn_hub *hub;
	struct cairn_folders *out;
	struct cairn_stretches stretches;
	struct cairn_hash *hashes; /* owned, like the next array; one for each file */
	uint32_t *holders;         /* for each chunk of a xorb: the smallest folder with all files that have it */
	uint32_t n_files, folder, parts_left;
	uint64_t steps_left;
	enum cairn_status status; /* set during a visit */
};

void cairn_folders_fini(struct cairn_folders *folders)
{
	for (uint32_t i = 0; i < folders->n; i++)
		free(folders->all[i].path);
	free(folders->all);
	*folders = (struct cairn_folders){.unknown = folders->unknown};
}

static void folders_run_fini(struct folders_run *run)
{
	cairn_stretches_fini(&run->stretches);
	free(run->hashes);
	free(run->holders);
}

/* Finds the folder of a path. Entries come folder by folder, so this is mostly the folder of the entry before. */
static uint32_t folders_find(struct folders_run *run, const char *path)
{
	const struct cairn_folders *out = run->out;
	if (strcmp(out->all[run->folder].path, path) == 0)
		return run->folder;
	for (uint32_t i = 0; i < out->n; i++)
		if (!out->all[i].is_file && strcmp(out->all[i].path, path) == 0)
			return run->folder = i;
	return run->folder = 0; /* unreachable: a folder's entry comes before the entries in it */
}

static void folders_add(struct folders_run *run, char *path, uint32_t parent, bool is_file)
{
	struct cairn_folders *out = run->out;
	if (!path) {
		run->status = CAIRN_E_NOMEM;
		return;
	}
	uint32_t depth = out->n > 0 ? out->all[parent].depth + 1 : 0;
	out->all[out->n++] = (struct cairn_folder){path, parent, depth, is_file, 0};
}

static bool folders_take(void *ctx, const struct cairn_index_entry *entry)
{
	struct folders_run *run = ctx;
	bool is_file = entry->kind != CAIRN_INDEX_FOLDER;
	if (is_file && (entry->kind != CAIRN_INDEX_XET || !entry->has_file))
		return true;
	run->out->unknown = run->out->unknown || run->out->n == CAIRN_FOLDERS_MAX ||
			    (is_file && run->n_files == CAIRN_FOLDERS_FILES_MAX);
	if (run->out->unknown)
		return false;
	uint32_t parent = folders_find(run, entry->folder);
	if (is_file)
		run->hashes[run->n_files++] = entry->file;
	folders_add(run, cairn_hub_entry_path_new(entry), parent, is_file);
	return run->status == CAIRN_OK;
}

static enum cairn_status folders_list(struct folders_run *run, const struct cairn_index_commit *commit)
{
	struct cairn_diag unsaid = {0};
	enum cairn_status status = cairn_hub_list_all(run->hub, commit, folders_take, run, &unsaid);
	/* the commit may have no files */
	return status == CAIRN_OK || status == CAIRN_E_NOT_FOUND ? run->status : status;
}

/* Finds the smallest folder that contains both. */
static uint32_t folders_common(const struct cairn_folders *out, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (out->all[a].depth >= out->all[b].depth)
			a = out->all[a].parent;
		else
			b = out->all[b].parent;
	}
	return a;
}

static void folders_mark(struct folders_run *run, const struct cairn_stretch *stretch)
{
	for (uint32_t chunk = stretch->start; chunk < stretch->end && chunk < CAIRN_XORB_CHUNKS_MAX; chunk++) {
		uint32_t *holder = &run->holders[chunk];
		*holder = *holder == FOLDERS_NOBODY ? stretch->file : folders_common(run->out, *holder, stretch->file);
	}
}

struct folders_part {
	struct folders_run *run;
	const struct cairn_stretch *stretch;
};

static enum cairn_status folders_take_spans(void *ctx, const struct cairn_index_spans *spans)
{
	const struct folders_part *part = ctx;
	struct folders_run *run = part->run;
	for (uint32_t chunk = part->stretch->start; chunk < part->stretch->end && chunk < spans->n_chunks; chunk++) {
		if (spans->spans && run->holders[chunk] != FOLDERS_NOBODY)
			run->out->all[run->holders[chunk]].bytes += spans->spans[chunk].unpacked_bytes;
		run->holders[chunk] = FOLDERS_NOBODY;
	}
	return CAIRN_OK;
}

/* Counts the chunks not counted yet. Mostly one folder has the whole stretch, and the stretch's length is known. */
static enum cairn_status folders_count(struct folders_run *run, const struct cairn_stretch *stretch)
{
	static const uint32_t FIRST[2] = {0, 0};
	struct folders_part part = {run, stretch};
	uint32_t *holders = run->holders, first = holders[stretch->start];
	bool alike = true, counted = true;
	for (uint32_t chunk = stretch->start; chunk < stretch->end && chunk < CAIRN_XORB_CHUNKS_MAX; chunk++) {
		alike = alike && holders[chunk] == first;
		counted = counted && holders[chunk] == FOLDERS_NOBODY;
	}
	if (counted)
		return CAIRN_OK;
	if (alike) {
		run->out->all[first].bytes += stretch->bytes;
		for (uint32_t chunk = stretch->start; chunk < stretch->end && chunk < CAIRN_XORB_CHUNKS_MAX; chunk++)
			holders[chunk] = FOLDERS_NOBODY;
		return CAIRN_OK;
	}
	run->out->unknown = run->out->unknown || run->parts_left == 0;
	if (run->out->unknown)
		return CAIRN_OK;
	run->parts_left--;
	enum cairn_status status =
		cairn_index_spans(run->stretches.index, &stretch->xorb, 1, FIRST, folders_take_spans, &part);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* the file was deleted meanwhile */
}

static enum cairn_status folders_take_xorb(void *ctx, const struct cairn_stretch *of_xorb, uint32_t n)
{
	struct folders_run *run = ctx;
	enum cairn_status status = CAIRN_OK;
	memset(run->holders, 0xff, CAIRN_XORB_CHUNKS_MAX * sizeof(*run->holders));
	for (uint32_t i = 0; i < n && !run->out->unknown; i++) {
		uint64_t steps = (uint64_t)(of_xorb[i].end - of_xorb[i].start);
		run->out->unknown = steps > run->steps_left;
		run->steps_left -= run->out->unknown ? 0 : steps;
		if (!run->out->unknown && of_xorb[i].start < CAIRN_XORB_CHUNKS_MAX)
			folders_mark(run, &of_xorb[i]);
	}
	for (uint32_t i = 0; i < n && !run->out->unknown && status == CAIRN_OK; i++)
		if (of_xorb[i].start < CAIRN_XORB_CHUNKS_MAX)
			status = folders_count(run, &of_xorb[i]);
	return status;
}

static enum cairn_status folders_read_files(struct folders_run *run)
{
	enum cairn_status status = CAIRN_OK;
	uint32_t n_files = 0;
	for (uint32_t i = 0; i < run->out->n && status == CAIRN_OK; i++)
		if (run->out->all[i].is_file)
			status = cairn_stretches_add(&run->stretches, &run->hashes[n_files++], i);
	run->out->unknown = run->out->unknown || run->stretches.unknown;
	return status;
}

static enum cairn_status folders_weigh(struct folders_run *run, const struct cairn_index_commit *commit)
{
	struct cairn_folders *out = run->out;
	run->hashes = calloc(CAIRN_FOLDERS_FILES_MAX, sizeof(*run->hashes));
	run->holders = calloc(CAIRN_XORB_CHUNKS_MAX, sizeof(*run->holders));
	out->all = calloc(CAIRN_FOLDERS_MAX, sizeof(*out->all));
	if (!run->hashes || !run->holders || !out->all)
		return CAIRN_E_NOMEM;
	folders_add(run, strdup(""), 0, false);
	enum cairn_status status = run->status;
	if (status == CAIRN_OK)
		status = folders_list(run, commit);
	if (status == CAIRN_OK && !out->unknown)
		status = folders_read_files(run);
	if (status == CAIRN_OK && !out->unknown)
		status = cairn_stretches_each(&run->stretches, folders_take_xorb, run);
	for (uint32_t i = out->n; i-- > 1 && status == CAIRN_OK;) /* each comes after its parent */
		out->all[out->all[i].parent].bytes += out->all[i].bytes;
	return status;
}

enum cairn_status cairn_hub_weigh_folders(struct cairn_folders *out, const struct cairn_hub *hub,
					  const struct cairn_index_repo *repo, const struct cairn_index_commit *commit)
{
	CLEANUP(folders_run_fini)
	struct folders_run run = {
		.hub = hub, .out = out, .parts_left = FOLDERS_PARTS_MAX, .steps_left = FOLDERS_STEPS_MAX};
	*out = (struct cairn_folders){0};
	cairn_stretches_init(&run.stretches, hub->index, repo);
	enum cairn_status status = folders_weigh(&run, commit);
	if (status != CAIRN_OK || out->unknown)
		cairn_folders_fini(out);
	return status;
}
