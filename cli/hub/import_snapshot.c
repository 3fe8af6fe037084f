#include "cli/hub/import_snapshot.h"

#include "cli/common/cli.h"
#include "cli/hub/import_commit.h"
#include "cli/hub/import_trace.h"
#include "hub/path.h"

#include <stdio.h>
#include <string.h>

/* The result of importing a snapshot. */
struct snapshot_done {
	char commit[IMPORT_ID_CHARS + 1];
	char head[IMPORT_ID_CHARS + 1]; /* head of the branch */
	bool was_there;
};

enum cairn_status import_check_all(struct import *im, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < im->source.n && status == CAIRN_OK; i++) {
		CLEANUP(import_files_fini) struct import_files files = IMPORT_FILES_NONE;
		const struct manifest *m = &files.folder.manifest;
		status = import_files_read(&files, &im->source, &im->source.snapshots[i], true, diag);
		for (size_t file = 0; file < m->n && status == CAIRN_OK; file++) {
			const char *fault = cairn_hub_file_fault(m->files[file].path);
			if (fault)
				status = cairn_fail(diag, CAIRN_E_FORMAT, "import.path", CAIRN_NO_OFFSET,
						    "%.100s: %s; rename the file", m->files[file].path, fault);
		}
	}
	return status;
}

/* Reports a snapshot. @param was_there  the commit existed, and the branch was at it */
static void snapshot_report(struct report *r, const struct import_snapshot *snapshot, const struct snapshot_done *done,
			    const char *place, const char *head, bool was_there)
{
	bool kept = snapshot->id[0] && strcmp(snapshot->id, done->commit) == 0,
	     is_head = strcmp(head, done->commit) == 0;
	if (!r->is_json) {
		cli_line("%s %s%s%s%s%s%s", done->commit, place, was_there ? " (was there)" : "",
			 snapshot->id[0] && !kept ? " was " : "", snapshot->id[0] && !kept ? snapshot->id : "",
			 is_head ? "" : "; the branch is left at ", is_head ? "" : head);
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "commit", done->commit);
	cairn_json_put_text(&r->json, "revision", place);
	cairn_json_put_text(&r->json, "head", head);
	cairn_json_put_text(&r->json, "snapshot", snapshot->id[0] ? snapshot->id : NULL);
	cairn_json_put_bool(&r->json, "id_kept", kept);
	cairn_json_put_bool(&r->json, "was_there", was_there);
	cairn_json_close(&r->json);
	report_flush(r);
}

/* Commits a snapshot. @param parent  head of the branch; "": any head @param keeps_id  the commit keeps its id */
static enum cairn_status snapshot_commit(struct import *im, const struct import_snapshot *snapshot, const char *branch,
					 const char *parent, bool keeps_id, struct snapshot_done *done,
					 struct cairn_diag *diag)
{
	CLEANUP(import_files_fini) struct import_files files = IMPORT_FILES_NONE;
	char title[128];
	(void)snprintf(title, sizeof(title), snapshot->id[0] ? "Import snapshot %s" : "Import", snapshot->id);
	struct import_commit commit = {.files = &files,
				       .branch = branch,
				       .title = im->args->message ? im->args->message : title,
				       .id = keeps_id ? snapshot->id : NULL,
				       .snapshot = im->source.is_cache ? snapshot->id : NULL,
				       .parent = parent,
				       .is_exact = im->source.is_cache};
	enum cairn_status status = import_files_read(&files, &im->source, snapshot, false, diag);
	uint64_t bytes = 0;
	for (size_t i = 0; i < files.folder.manifest.n; i++)
		bytes += files.folder.manifest.files[i].size_bytes;
	progress_init(&commit.progress, !im->args->quiet && !im->args->server.verbose, bytes, "sent");
	if (status == CAIRN_OK)
		status = import_commit_send(&im->repo, &commit, done->commit, diag);
	memcpy(done->head, done->commit, sizeof(done->head));
	return status;
}

/* Does the repository have a commit of this id on any branch? */
static enum cairn_status snapshot_find(struct import *im, const struct import_snapshot *snapshot, bool *found,
				       struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	*found = false;
	if (!im->repo.is_operator)
		return CAIRN_OK;
	enum cairn_status status = import_repo_find_commit(&im->repo, snapshot->id, &why);
	*found = status == CAIRN_OK;
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		*diag = why;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Would the files of a snapshot replace only files of an earlier import from this cache? */
static enum cairn_status snapshot_may_replace(struct import *im, const char *branch, const struct import_trace *trace,
					      struct cairn_diag *diag)
{
	bool has_files = false;
	enum cairn_status status = import_repo_has_files(&im->repo, branch, &has_files, diag);
	if (status != CAIRN_OK || !has_files)
		return status;
	for (size_t i = 0; i < im->source.n; i++) {
		const char *id = im->source.snapshots[i].id;
		if (strcmp(id, trace->head) == 0 || strcmp(id, trace->head_snapshot) == 0)
			return CAIRN_OK;
	}
	return cairn_fail(diag, CAIRN_E_FORMAT, "import.branch", CAIRN_NO_OFFSET,
			  "the last commit of %.80s (%s) did not come from this cache, whose files would replace all "
			  "that is there: name another --revision, or use --force",
			  branch, trace->head);
}

enum cairn_status import_check_branch(struct import *im, struct cairn_diag *diag)
{
	struct import_trace trace;
	const char *branch = im->args->revision;
	const struct import_snapshot *last = &im->source.snapshots[im->source.n - 1]; /* the snapshot of main */
	if (!im->source.is_cache || im->args->force || !import_repo_ref(&im->repo, "branches", branch))
		return CAIRN_OK;
	enum cairn_status status = import_trace_read(&im->repo, branch, last->id, false, &trace, diag);
	return status == CAIRN_OK && !trace.commit[0] ? snapshot_may_replace(im, branch, &trace, diag) : status;
}

/* Gives a branch the files of a snapshot, unless an earlier commit of the branch had them. */
static enum cairn_status snapshot_onto(struct import *im, const struct import_snapshot *snapshot, const char *branch,
				       struct snapshot_done *done, struct cairn_diag *diag)
{
	struct import_trace trace;
	bool exists = false;
	enum cairn_status status = import_trace_read(&im->repo, branch, snapshot->id, false, &trace, diag);
	if (status != CAIRN_OK)
		return status;
	if (trace.commit[0] && (!im->args->force || strcmp(trace.commit, trace.head) == 0)) {
		memcpy(done->commit, trace.commit, sizeof(done->commit));
		memcpy(done->head, trace.head, sizeof(done->head));
		done->was_there = true;
		return CAIRN_OK;
	}
	if (!im->args->force)
		status = snapshot_may_replace(im, branch, &trace, diag);
	if (status == CAIRN_OK)
		status = snapshot_find(im, snapshot, &exists, diag);
	return status == CAIRN_OK
		       ? snapshot_commit(im, snapshot, branch, trace.head, im->repo.is_operator && !exists, done, diag)
		       : status;
}

enum tag_state { TAG_FREE, TAG_OURS, TAG_TAKEN };

/* Can a tag be used? @param own  our tag for the snapshot @param[out] commit  commit of a tag of this snapshot */
static enum cairn_status snapshot_judge_tag(struct import *im, const struct import_snapshot *snapshot, const char *tag,
					    const char *own, enum tag_state *state,
					    char commit[static IMPORT_ID_CHARS + 1], struct cairn_diag *diag)
{
	struct import_trace trace;
	const char *at = import_repo_ref(&im->repo, "tags", tag);
	bool is_branch = import_repo_ref(&im->repo, "branches", tag) || strcmp(tag, im->args->revision) == 0;
	*state = is_branch ? TAG_TAKEN : TAG_FREE;
	if (is_branch || !at)
		return CAIRN_OK;
	enum cairn_status status = import_trace_read(&im->repo, at, snapshot->id, true, &trace, diag);
	*state = trace.commit[0] || strcmp(tag, own) == 0 ? TAG_OURS : TAG_TAKEN;
	if (*state == TAG_OURS)
		(void)snprintf(commit, IMPORT_ID_CHARS + 1, "%s", at);
	return status;
}

static enum cairn_status snapshot_tag(struct import *im, const struct import_snapshot *snapshot, const char *tag,
				      const char *own, const struct snapshot_done *done, bool *tagged,
				      struct cairn_diag *diag)
{
	char at[IMPORT_ID_CHARS + 1] = "";
	enum tag_state state = TAG_FREE;
	enum cairn_status status = snapshot_judge_tag(im, snapshot, tag, own, &state, at, diag);
	if (status == CAIRN_OK && state == TAG_TAKEN) {
		cli_error("%s of the repository differs from the cache's, and is left as it is", tag);
		return CAIRN_OK;
	}
	if (status == CAIRN_OK && state == TAG_FREE)
		status = import_repo_add_tag(&im->repo, tag, done->commit, diag);
	if (status != CAIRN_OK)
		return status;
	*tagged = true;
	snapshot_report(&im->report, snapshot, done, tag, done->commit, done->was_there && state == TAG_OURS);
	return CAIRN_OK;
}

/* Tags the commit of a snapshot. @param needs_one  use a tag of ours if no name from the cache is free */
static enum cairn_status snapshot_tag_all(struct import *im, const struct import_snapshot *snapshot, const char *own,
					  bool needs_one, const struct snapshot_done *done, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	bool tagged = false;
	for (size_t i = 0; i < snapshot->n_tags && status == CAIRN_OK; i++)
		status = snapshot_tag(im, snapshot, snapshot->tags[i], own, done, &tagged, diag);
	if (status == CAIRN_OK && needs_one && !tagged)
		status = snapshot_tag(im, snapshot, own, own, done, &tagged, diag);
	return status;
}

/* Finds the commit of a snapshot by a tag or by its id. @param[out] done  .commit stays "" if there is none */
static enum cairn_status snapshot_find_done(struct import *im, const struct import_snapshot *snapshot, const char *own,
					    struct snapshot_done *done, struct cairn_diag *diag)
{
	bool found = false;
	enum tag_state state = TAG_FREE;
	enum cairn_status status = snapshot_find(im, snapshot, &found, diag);
	if (found)
		memcpy(done->commit, snapshot->id, sizeof(done->commit));
	for (size_t i = 0; i < snapshot->n_tags && status == CAIRN_OK && !done->commit[0]; i++)
		status = snapshot_judge_tag(im, snapshot, snapshot->tags[i], own, &state, done->commit, diag);
	if (status == CAIRN_OK && !done->commit[0])
		status = snapshot_judge_tag(im, snapshot, own, own, &state, done->commit, diag);
	done->was_there = done->commit[0] != '\0';
	return status;
}

/* Imports a snapshot that is no branch's head, as a line of commits kept by tags. Continues after an interruption. */
static enum cairn_status snapshot_tagged(struct import *im, const struct import_snapshot *snapshot, const char *own,
					 struct cairn_diag *diag)
{
	char branch[IMPORT_ID_CHARS + 16];
	struct snapshot_done done = {0};
	(void)snprintf(branch, sizeof(branch), "import-%s", snapshot->id);
	const char *begun = import_repo_ref(&im->repo, "branches", branch);
	bool has_branch = begun != NULL;
	enum cairn_status status = snapshot_find_done(im, snapshot, own, &done, diag);
	bool is_there = done.commit[0] != '\0';
	if (status == CAIRN_OK && !is_there && !has_branch) {
		status = import_repo_add_branch(&im->repo, branch, NULL, diag);
		has_branch = true;
	}
	if (status == CAIRN_OK && !is_there)
		status = snapshot_onto(im, snapshot, branch, &done, diag);
	if (status == CAIRN_OK)
		status = snapshot_tag_all(im, snapshot, own, true, &done, diag);
	if (status == CAIRN_OK && has_branch && (!is_there || (begun && strcmp(begun, done.commit) == 0)))
		status = import_repo_drop_branch(&im->repo, branch, diag);
	return status;
}

/* Creates the branch. It begins at main for a plain folder; for a cache, at the snapshot's commit, if that exists. */
static enum cairn_status snapshot_make_branch(struct import *im, const struct import_snapshot *snapshot,
					      struct cairn_diag *diag)
{
	bool exists = false;
	const char *branch = im->args->revision;
	if (import_repo_ref(&im->repo, "branches", branch))
		return CAIRN_OK;
	if (!im->source.is_cache)
		return import_repo_add_branch(&im->repo, branch, import_repo_ref(&im->repo, "branches", "main"), diag);
	enum cairn_status status = snapshot_find(im, snapshot, &exists, diag);
	return status == CAIRN_OK ? import_repo_add_branch(&im->repo, branch, exists ? snapshot->id : NULL, diag)
				  : status;
}

/* Imports the snapshot that becomes the branch's head. */
static enum cairn_status snapshot_head(struct import *im, const struct import_snapshot *snapshot, const char *own,
				       struct cairn_diag *diag)
{
	struct snapshot_done done = {0};
	const char *branch = im->args->revision;
	enum cairn_status status = snapshot_make_branch(im, snapshot, diag);
	if (status == CAIRN_OK && im->source.is_cache)
		status = snapshot_onto(im, snapshot, branch, &done, diag);
	else if (status == CAIRN_OK)
		status = snapshot_commit(im, snapshot, branch, "", false, &done, diag);
	if (status != CAIRN_OK)
		return status;
	snapshot_report(&im->report, snapshot, &done, branch, done.head, done.was_there);
	return snapshot_tag_all(im, snapshot, own, false, &done, diag);
}

enum cairn_status import_one(struct import *im, const struct import_snapshot *snapshot, struct cairn_diag *diag)
{
	char own[IMPORT_ID_CHARS + 16];
	(void)snprintf(own, sizeof(own), "snapshot-%s", snapshot->id);
	return snapshot->is_main ? snapshot_head(im, snapshot, own, diag) : snapshot_tagged(im, snapshot, own, diag);
}
