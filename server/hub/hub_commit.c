/* Changes a repository's contents: POST /api/{type}/{namespace}/{name}/preupload/{revision} and …/commit/{revision}. */
#include "hub/path.h"
#include "hub/pull.h"
#include "hub/quota.h"
#include "hub/revision.h"
#include "hub/stranger.h"
#include "hub/upload.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* enough for the 256 files that clients ask about, with about 1 KiB each */
	COMMIT_PREUPLOAD_BYTES_MAX = 8 << 20,
	COMMIT_PREUPLOAD_FILES_MAX = 1000,
	COMMIT_BYTES_MAX = 64 << 20, /* includes the contents of files that are kept in the index */
	COMMIT_URL_BYTES = HUB_BASE_BYTES + 2 * CAIRN_INDEX_REPO_NAME_MAX + 128,
};

struct commit_request {
	struct hub_repo repo;
	const char *raw;                 /* the revision in the address; borrowed from the request */
	bool is_pull;                    /* create_pr: the commit opens a new pull request */
	int64_t number;                  /* number of that pull request */
	struct cairn_hub_commit lines;   /* the parsed commit; owned */
	uint8_t *attributes, *ignore;    /* text of .gitattributes and of .gitignore; owned */
	struct cairn_hub_wanted *wanted; /* files that must go to the store; owned */
	size_t n_wanted;
	char revision[CAIRN_HUB_REVISION_MAX + 1];
};

static void commit_free(void *state)
{
	struct commit_request *c = state;
	if (!c)
		return;
	cairn_hub_commit_fini(&c->lines);
	free(c->attributes);
	free(c->ignore);
	free(c->wanted);
	hub_repo_fini(&c->repo);
	free(c);
}

/* Returns the revision that gets the commit. @return NULL: a new pull request gets it */
static const char *commit_place(const struct commit_request *c)
{
	return c->is_pull ? NULL : c->raw;
}

static void commit_begin(struct http_request *req, void (*run)(struct hub_call *call))
{
	struct commit_request *c = hub_repo_new_git(req, sizeof(*c), run, hub_repo_show);
	if (!c)
		return;
	c->raw = http_path_arg(req, "revision");
	c->is_pull = hub_query_is_true(http_query_arg(req, "create_pr"));
	hub_repo_begin_proposal(req, c, commit_place(c));
}

/* Takes the patterns that the client sends; else the patterns of the revision. */
static enum cairn_status commit_take_patterns(struct commit_request *c, const struct cairn_json *json,
					      const char *member, const char *path, uint8_t **owned,
					      struct cairn_hub_patterns *out)
{
	const char *text = cairn_json_text_of(json, member);
	if (!text)
		return cairn_hub_read_patterns(&c->repo.call.job.app->hub, &c->repo.commit, path, owned, out);
	*out = (struct cairn_hub_patterns){.text = text, .len = strlen(text), .steps_left = CAIRN_HUB_PATTERN_STEPS};
	if (out->len > CAIRN_INDEX_INLINE_MAX)
		return cairn_fail(&c->repo.call.diag, CAIRN_E_USAGE, "preupload.patterns", CAIRN_NO_OFFSET,
				  "%s has %zu bytes; at most %d are taken", member, out->len, CAIRN_INDEX_INLINE_MAX);
	return CAIRN_OK;
}

/* Writes the hash of the stored file at the path, so that a client sees that it has sent this file before. @param[out]
 * same_size the stored file has the size of the client's file */
static enum cairn_status commit_put_hash(struct commit_request *c, struct cairn_json_out *w,
					 const struct cairn_hub_upload *upload, bool *same_size)
{
	struct cairn_index_entry entry;
	struct cairn_diag unsaid = {0};
	char text[2 * sizeof(entry.sha256) + 1];
	enum cairn_status status =
		cairn_hub_find_entry(&c->repo.call.job.app->hub, &c->repo.commit, upload->path, &entry, &unsaid);
	*same_size = false;
	if (status != CAIRN_OK || entry.kind == CAIRN_INDEX_FOLDER)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	*same_size = entry.size_bytes == upload->size_bytes;
	/* An upload is skipped only if a writer of this repository claimed this SHA-256, and it was not disproved. */
	if (entry.kind == CAIRN_INDEX_XET && entry.belief < CAIRN_INDEX_SAID)
		return CAIRN_OK;
	if (entry.kind == CAIRN_INDEX_XET)
		cairn_hex_text(text, entry.sha256, sizeof(entry.sha256));
	else
		cairn_git_oid_text(text, &entry.oid);
	cairn_json_put_text(w, "oid", text);
	return CAIRN_OK;
}

/* Writes the answer about a file. Fails if the patterns exceed their step limit, since their result is then unknown. */
static enum cairn_status commit_put_file(struct commit_request *c, struct cairn_json_out *w,
					 const struct cairn_json *file, struct cairn_hub_patterns *attributes,
					 struct cairn_hub_patterns *ignore)
{
	struct cairn_diag *diag = &c->repo.call.diag;
	struct cairn_hub_upload upload = {.path = cairn_json_text_of(file, "path"),
					  .sample = cairn_json_text_of(file, "sample")};
	int64_t size = 0;
	if (!upload.path)
		return cairn_fail(diag, CAIRN_E_USAGE, "repo.body", CAIRN_NO_OFFSET, "each file has a path");
	const char *fault = cairn_hub_file_fault(upload.path);
	if (fault) /* refuse now what the commit would refuse */
		return cairn_fail(diag, CAIRN_E_FORMAT, "commit.name", CAIRN_NO_OFFSET, "%s", fault);
	(void)cairn_json_i64_of(file, "size", &size);
	upload.size_bytes = size > 0 ? (uint64_t)size : 0;
	bool is_inline = cairn_hub_upload_is_inline(&upload, attributes);
	bool is_ignored = cairn_hub_pattern_is_ignored(ignore, upload.path);
	if (attributes->steps_left == 0 || ignore->steps_left == 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "preupload.patterns", CAIRN_NO_OFFSET,
				  "the patterns of %s are too much work; ask about fewer files at once",
				  ignore->steps_left == 0 ? ".gitignore" : ".gitattributes");
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "path", upload.path);
	cairn_json_put_text(w, "uploadMode", is_inline ? "regular" : "lfs");
	cairn_json_put_bool(w, "shouldIgnore", is_ignored);
	bool same_size;
	enum cairn_status status = commit_put_hash(c, w, &upload, &same_size);
	cairn_json_close(w);
	/* The sizes of files sent within the commit are checked by the commit. */
	if (status == CAIRN_OK && !is_inline && !is_ignored && !same_size)
		c->wanted[c->n_wanted++] =
			(struct cairn_hub_wanted){.size_bytes = upload.size_bytes, .sample = upload.sample};
	return status;
}

/* Has the quota room for the files that must go to the store? A stranger's files count for the stranger's account, not
 * for the repository. */
static enum cairn_status commit_check_wanted(struct commit_request *c)
{
	struct hub_call *call = &c->repo.call;
	const struct cairn_hub *hub = &call->job.app->hub;
	struct cairn_index_repo place = c->repo.repo;
	enum cairn_status status = CAIRN_OK;
	if (c->n_wanted > 0 && hub_repo_is_stranger(&c->repo))
		status = cairn_hub_find_proposals(hub, &call->asker, &c->repo.repo, &place, &call->diag);
	return status == CAIRN_OK ? cairn_hub_check_upload(hub, &place, c->wanted, c->n_wanted, &call->diag) : status;
}

static enum cairn_status commit_put_files(struct commit_request *c, struct cairn_json_out *w,
					  const struct cairn_json *json)
{
	const struct cairn_json *files = cairn_json_get(json, "files");
	struct cairn_hub_patterns attributes, ignore;
	enum cairn_status status =
		commit_take_patterns(c, json, "gitAttributes", ".gitattributes", &c->attributes, &attributes);
	if (status == CAIRN_OK)
		status = commit_take_patterns(c, json, "gitIgnore", ".gitignore", &c->ignore, &ignore);
	c->wanted = calloc(cairn_json_count(files) + 1, sizeof(*c->wanted));
	if (!c->wanted)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < cairn_json_count(files) && status == CAIRN_OK; i++)
		status = commit_put_file(c, w, cairn_json_at(files, i), &attributes, &ignore);
	return status == CAIRN_OK ? commit_check_wanted(c) : status;
}

static void commit_preupload(struct hub_call *call)
{
	struct commit_request *c = (struct commit_request *)call;
	if (!hub_repo_find_proposed(&c->repo, commit_place(c)) || !hub_repo_find_commit_of_found(&c->repo, c->raw))
		return;
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json_list(&c->repo.body);
	const struct cairn_json *files = cairn_json_get(json, "files");
	if (!cairn_json_is_array(files) || cairn_json_count(files) > COMMIT_PREUPLOAD_FILES_MAX) {
		call->status = cairn_fail(&call->diag, CAIRN_E_USAGE, "repo.body", CAIRN_NO_OFFSET,
					  "send {\"files\":[{\"path\",\"size\",\"sample\"}, ...]}, with at most %d",
					  COMMIT_PREUPLOAD_FILES_MAX);
		return;
	}
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_open_array(&w, "files");
	call->status = commit_put_files(c, &w, json);
	cairn_json_close(&w);
	cairn_json_put_text(&w, "commitOid", call->commit);
	cairn_json_close(&w);
}

static void commit_preupload_head(struct http_request *req)
{
	commit_begin(req, commit_preupload);
}

static void commit_put_made(struct commit_request *c, const struct cairn_git_oid *oid)
{
	struct hub_call *call = &c->repo.call;
	char text[CAIRN_GIT_OID_CHARS + 1], rest[sizeof(text) + 32], url[COMMIT_URL_BYTES];
	cairn_git_oid_text(text, oid);
	(void)snprintf(rest, sizeof(rest), "/commit/%s", text);
	hub_repo_url(&c->repo, url, sizeof(url), hub_kind_web(c->repo.kind), rest);
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_bool(&w, "success", true);
	cairn_json_put_text(&w, "commitOid", text);
	cairn_json_put_text(&w, "commitUrl", url);
	cairn_json_put_text(&w, "hookOutput", "");
	if (c->is_pull) {
		(void)snprintf(rest, sizeof(rest), "/discussions/%" PRId64, c->number);
		hub_repo_url(&c->repo, url, sizeof(url), hub_kind_web(c->repo.kind), rest);
		cairn_json_put_text(&w, "pullRequestUrl", url);
	}
	cairn_json_close(&w);
}

static enum cairn_status commit_to(struct commit_request *c, struct cairn_git_oid *oid)
{
	struct hub_call *call = &c->repo.call;
	const struct cairn_hub *hub = &call->job.app->hub;
	if (c->is_pull)
		return cairn_hub_commit_pull(hub, &call->asker, &c->repo.repo, c->revision, &c->lines, &c->number, oid,
					     &call->diag);
	return cairn_hub_commit(hub, &call->asker, &c->repo.repo, c->revision, &c->lines, oid, &call->diag);
}

static void commit_make(struct hub_call *call)
{
	struct commit_request *c = (struct commit_request *)call;
	const struct cairn_body *body = &c->repo.body.in;
	struct cairn_git_oid oid;
	if (!hub_repo_find_proposed(&c->repo, commit_place(c)))
		return;
	hub_repo_take_revision(c->raw, c->revision);
	call->status = cairn_hub_commit_read(&c->lines, (const char *)body->bytes, body->len, &call->diag);
	c->lines.is_stranger = hub_repo_is_stranger(&c->repo);
	if (call->status == CAIRN_OK)
		call->status = commit_to(c, &oid);
	if (call->status == CAIRN_OK)
		commit_put_made(c, &oid);
}

static void commit_head(struct http_request *req)
{
	commit_begin(req, commit_make);
}

const struct http_route ROUTES_COMMIT[] = {
	HUB_POST("/api/{type}/{namespace}/{name}/preupload/{revision*}", "repo-preupload", COMMIT_PREUPLOAD_BYTES_MAX,
		 commit_preupload_head, hub_repo_done, commit_free),
	HUB_POST("/api/{type}/{namespace}/{name}/commit/{revision*}", "repo-commit", COMMIT_BYTES_MAX, commit_head,
		 hub_repo_done, commit_free),
	{0},
};
