/* Lists and deletes large files: GET /api/{type}/{namespace}/{name}/lfs-files and POST …/lfs-files/batch. */
#include "hub/lfs_files.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILES_BODY_BYTES_MAX = CAIRN_BODY_MEMORY_BYTES, /* enough for 1,000 hashes */
	FILES_URL_BYTES = HUB_BASE_BYTES + 2 * CAIRN_INDEX_REPO_NAME_MAX + 256,
};

struct files_request {
	struct hub_repo repo;
	bool has_after, more, paths;
	struct cairn_hash after; /* begin after this file: from the query; then the last row's */
	uint32_t n;
	uint8_t sha256[CAIRN_HUB_LFS_DELETIONS_MAX][CAIRN_SHA256_BYTES];
};

static void files_put(struct cairn_json_out *w, const struct cairn_hub_lfs_file *file)
{
	char text[2 * sizeof(file->sha256) + 1], when[HUB_TIME_BYTES];
	cairn_hex_text(text, file->sha256, sizeof(file->sha256));
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "fileOid", text);
	cairn_json_put_text(w, "oid", text);
	cairn_json_put_text(w, "filename", file->path ? file->path : "");
	cairn_json_put_u64(w, "size", file->size_bytes);
	cairn_json_put_text(w, "pushedAt", hub_time(when, file->pushed_unix_ms));
	cairn_json_put_text(w, "ref", file->path ? file->ref : NULL);
	cairn_hash_text(text, &file->hash);
	cairn_json_put_text(w, "xetHash", text);
	cairn_json_close(w);
}

static void files_list(struct hub_call *call)
{
	struct files_request *f = (struct files_request *)call;
	CLEANUP(cairn_hub_lfs_files_fini) struct cairn_hub_lfs_files files = {0};
	if (!hub_repo_find(&f->repo, CAIRN_HUB_WRITE))
		return;
	call->status = cairn_hub_lfs_files(&call->job.app->hub, &f->repo.repo, f->has_after ? &f->after : NULL, &files,
					   &call->diag);
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&w, NULL);
	for (uint32_t i = 0; i < files.n; i++)
		files_put(&w, &files.all[i]);
	cairn_json_close(&w);
	f->after = files.last;
	f->more = files.more;
}

static void files_show(struct http_request *req, struct hub_call *call)
{
	const struct files_request *f = (const struct files_request *)call;
	char url[FILES_URL_BYTES], after[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(after, &f->after);
	hub_repo_url(&f->repo, url, sizeof(url), hub_kind_api(f->repo.kind), "/lfs-files");
	if (!f->more || hub_reply_next(req, "%s?cursor=%s", url, after))
		hub_repo_show(req, call);
}

static void files_get(struct http_request *req)
{
	const char *cursor = http_query_arg(req, "cursor");
	struct files_request *f = hub_repo_new_git(req, sizeof(*f), files_list, files_show);
	if (!f)
		return;
	f->has_after = cursor && cairn_hash_parse(&f->after, cursor, strlen(cursor)) == CAIRN_OK;
	route_job_start(req);
}

static void files_delete(struct hub_call *call)
{
	struct files_request *f = (struct files_request *)call;
	if (hub_repo_find(&f->repo, CAIRN_HUB_ADMIN))
		call->status = cairn_hub_lfs_delete(&call->job.app->hub, &call->asker, &f->repo.repo,
						    (const uint8_t(*)[CAIRN_SHA256_BYTES])f->sha256, f->n, f->paths,
						    &call->diag);
	cairn_buf_printf(&call->answer, "{}");
}

static void files_batch_head(struct http_request *req)
{
	struct files_request *f = hub_repo_new_git(req, sizeof(*f), files_delete, hub_repo_show);
	hub_repo_begin_write(req, f);
}

static bool files_take(struct files_request *f, const struct cairn_json *hashes)
{
	if (!cairn_json_is_array(hashes) || cairn_json_count(hashes) > CAIRN_HUB_LFS_DELETIONS_MAX)
		return false;
	for (size_t i = 0; i < cairn_json_count(hashes); i++) {
		const char *text = cairn_json_string(cairn_json_at(hashes, i));
		if (!text || cairn_hex_parse(f->sha256[f->n++], 32, text, strlen(text)) != CAIRN_OK)
			return false;
	}
	return true;
}

static void files_batch_done(struct http_request *req)
{
	struct files_request *f = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json_list(&f->repo.body);
	const struct cairn_json *deletions = cairn_json_get(json, "deletions");
	(void)cairn_json_bool_of(deletions, "rewriteHistory", &f->paths);
	if (files_take(f, cairn_json_get(deletions, "sha")))
		route_job_start(req);
	else
		hub_reply_error(
			req, 400, NULL, "repo.body",
			"send {\"deletions\":{\"sha\":[SHA256, ...],\"rewriteHistory\":true|false}}, with at most "
			"1,000");
}

const struct http_route ROUTES_LFS_FILES[] = {
	HUB_GET("/api/{type}/{namespace}/{name}/lfs-files", "repo-lfs-files", files_get, hub_repo_free),
	HUB_POST("/api/{type}/{namespace}/{name}/lfs-files/batch", "repo-lfs-files", FILES_BODY_BYTES_MAX,
		 files_batch_head, files_batch_done, hub_repo_free),
	{0},
};
