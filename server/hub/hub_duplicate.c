/* Copies a repository: POST /api/{type}/{namespace}/{name}/duplicate. Copies large files for commits of another
 * repository: POST …/lfs-files/duplicate. */
#include "hub/duplicate.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DUPLICATE_BODY_BYTES_MAX = 65536,
	DUPLICATE_FILES_BODY_BYTES_MAX =
		4 << 20, /* enough for this many files with the longest paths, some of them escaped */
	DUPLICATE_ID_BYTES = 2 * CAIRN_INDEX_REPO_NAME_MAX + 3,
};

struct duplicate_request {
	struct hub_repo repo;
	bool says_private, is_private;
	char to[DUPLICATE_ID_BYTES]; /* the target, "namespace/name" */
};

static void duplicate_put_made(struct hub_repo *repo, enum cairn_status status)
{
	struct cairn_json_out w = hub_repo_open_made(repo, status);
	hub_repo_put_id(&w, "id", &repo->repo);
	cairn_json_close(&w);
}

static void duplicate_run(struct hub_call *call)
{
	struct duplicate_request *d = (struct duplicate_request *)call;
	struct hub_repo *repo = &d->repo;
	struct cairn_index_repo made;
	if (!hub_repo_find(repo, CAIRN_HUB_READ))
		return;
	char *name = strchr(d->to, '/');
	*name++ = '\0';
	const struct cairn_hub_new_repo copy = {.kind = repo->kind, .account = d->to, .name = name};
	if (!d->says_private && hub_call_makes_private(call, d->to))
		d->says_private = d->is_private = true;
	call->status = cairn_hub_duplicate(&call->job.app->hub, &call->asker, &repo->repo, &copy,
					   d->says_private ? &d->is_private : NULL, &made, &call->diag);
	if (call->status != CAIRN_OK && (call->status != CAIRN_E_CONFLICT || made.id == 0))
		return;
	repo->repo = made;
	duplicate_put_made(repo, call->status);
	repo->code = call->status == CAIRN_OK ? 200 : 409;
	call->status = CAIRN_OK;
}

static void duplicate_head(struct http_request *req)
{
	struct duplicate_request *d = hub_repo_new_git(req, sizeof(*d), duplicate_run, hub_repo_show);
	hub_repo_begin_write(req, d);
}

static void duplicate_done(struct http_request *req)
{
	struct duplicate_request *d = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&d->repo.body);
	const char *to = cairn_json_text_of(json, "repository");
	const char *visibility = cairn_json_text_of(json, "visibility");
	d->says_private = visibility || cairn_json_bool_of(json, "private", &d->is_private);
	if (visibility)
		d->is_private = strcmp(visibility, "public") != 0;
	if (to && strchr(to, '/') && strlen(to) < sizeof(d->to)) {
		(void)snprintf(d->to, sizeof(d->to), "%s", to);
		d->repo.call.job.work.lane = CAIRN_LANE_HEAVY; /* a copy of many files takes long */
		route_job_start(req);
	} else {
		hub_reply_error(req, 400, NULL, "repo.body", "send {\"repository\":\"namespace/name\"}");
	}
}

struct duplicate_files {
	struct hub_repo repo; /* the source repository */
	enum cairn_index_repo_kind kind;
	char to[DUPLICATE_ID_BYTES]; /* the target, "namespace/name" */
	uint32_t n;
	struct cairn_index_adopted files[CAIRN_INDEX_ADOPTED_MAX];
};

static void duplicate_put_failed(struct duplicate_files *d)
{
	char text[2 * sizeof(d->files[0].sha256) + 1];
	struct cairn_json_out w = cairn_json_out_init(&d->repo.call.answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_open_array(&w, "failed");
	for (uint32_t i = 0; i < d->n; i++) {
		if (!d->files[i].failed)
			continue;
		cairn_hex_text(text, d->files[i].sha256, sizeof(d->files[i].sha256));
		cairn_json_open_object(&w, NULL);
		cairn_json_put_text(&w, "sha256", text);
		cairn_json_put_text(&w, "error", "the source has no such file, or not with this SHA-256: upload it");
		cairn_json_close(&w);
	}
	cairn_json_close(&w);
	cairn_json_close(&w);
}

static bool duplicate_take_file(struct duplicate_files *d, const struct cairn_json *json)
{
	struct cairn_index_adopted *file = &d->files[d->n++];
	const char *hash = cairn_json_text_of(json, "xetHash");
	const char *sha256 = cairn_json_text_of(json, "sha256");
	return hash && sha256 && cairn_hash_parse(&file->file, hash, strlen(hash)) == CAIRN_OK &&
	       cairn_hex_parse(file->sha256, sizeof(file->sha256), sha256, strlen(sha256)) == CAIRN_OK;
}

/* Reads the target. Refuses a bucket: its files have no SHA-256, so no commit could refer to them. */
static bool duplicate_take_target(struct duplicate_files *d, const struct cairn_json *target)
{
	const char *kind = cairn_json_text_of(target, "type");
	const char *to = cairn_json_text_of(target, "name");
	if (!kind || !to || !strchr(to, '/') || strlen(to) >= sizeof(d->to))
		return false;
	(void)snprintf(d->to, sizeof(d->to), "%s", to);
	d->kind = hub_kind_of_name(kind);
	return d->kind != 0 && d->kind != CAIRN_INDEX_BUCKET;
}

static bool duplicate_take_files(struct duplicate_files *d, const struct cairn_json *files)
{
	bool good = cairn_json_is_array(files) && cairn_json_count(files) <= CAIRN_INDEX_ADOPTED_MAX;
	for (size_t i = 0; good && i < cairn_json_count(files); i++)
		good = duplicate_take_file(d, cairn_json_at(files, i));
	return good;
}

static bool duplicate_take(struct duplicate_files *d)
{
	struct hub_call *call = &d->repo.call;
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json_list(&d->repo.body);
	if (!duplicate_take_target(d, cairn_json_get(json, "target")) ||
	    !duplicate_take_files(d, cairn_json_get(json, "files")))
		call->status = cairn_fail(
			&call->diag, CAIRN_E_USAGE, "repo.body", CAIRN_NO_OFFSET,
			"send {\"target\":{\"type\":\"model\",\"name\":\"namespace/name\"},\"files\":[{\"xetHash\":HASH,"
			"\"sha256\":SHA256}, ...]}, with at most 1,000");
	return call->status == CAIRN_OK;
}

static void duplicate_files_run(struct hub_call *call)
{
	struct duplicate_files *d = (struct duplicate_files *)call;
	const struct cairn_hub *hub = &call->job.app->hub;
	struct cairn_index_repo target;
	if (!duplicate_take(d) || !hub_repo_find(&d->repo, CAIRN_HUB_READ))
		return;
	char *name = strchr(d->to, '/');
	*name++ = '\0';
	call->status =
		cairn_hub_find_repo(hub, &call->asker, d->kind, d->to, name, CAIRN_HUB_WRITE, &target, &call->diag);
	if (call->status == CAIRN_OK)
		call->status = cairn_hub_duplicate_files(hub, &call->asker, &d->repo.repo, &target, d->files, d->n,
							 &call->diag);
	if (call->status == CAIRN_OK)
		duplicate_put_failed(d);
}

static void duplicate_files_head(struct http_request *req)
{
	struct duplicate_files *d = hub_repo_new_git(req, sizeof(*d), duplicate_files_run, hub_repo_show);
	hub_repo_begin_write(req, d);
}

const struct http_route ROUTES_DUPLICATE[] = {
	HUB_POST("/api/{type}/{namespace}/{name}/duplicate", "repo-duplicate", DUPLICATE_BODY_BYTES_MAX, duplicate_head,
		 duplicate_done, hub_repo_free),
	HUB_POST("/api/{type}/{namespace}/{name}/lfs-files/duplicate", "repo-duplicate", DUPLICATE_FILES_BODY_BYTES_MAX,
		 duplicate_files_head, hub_repo_done, hub_repo_free),
	{0},
};
