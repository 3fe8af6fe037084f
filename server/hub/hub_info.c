/* A repository: GET /api/{type}/{namespace}/{name} and …/revision/{revision}. */
#include "server/hub/hub_info.h"

#include "cas/service/public_id.h"
#include "server/ask/hub_entry.h"
#include "server/ask/hub_reply.h"
#include "server/hub/hub_routes.h"

#include <stdlib.h>
#include <string.h>

enum {
	INFO_ANSWER_BYTES_MAX = 32 << 20,
	INFO_SIBLINGS_MAX = 60000, /* clients read the tree's pages if a repository lists more than 50,000 */
};

struct info_request {
	struct hub_repo repo;
	struct hub_entries page; /* owned */
	const char *revision;    /* as the address has it; NULL: main. The request's */
	bool blobs;
};

static void info_free(void *state)
{
	struct info_request *i = state;
	if (!i)
		return;
	hub_entries_fini(&i->page);
	hub_repo_fini(&i->repo);
	free(i);
}

void hub_info_put(const struct cairn_cas *cas, struct cairn_json_out *w, const struct cairn_index_repo *repo)
{
	static const char *const GATES[] = {
		[CAIRN_INDEX_GATE_AUTO] = "auto",
		[CAIRN_INDEX_GATE_MANUAL] = "manual",
	};
	char id[CAIRN_PUBLIC_ID_TEXT_BYTES], when[HUB_TIME_BYTES];
	cairn_public_id(cas, CAIRN_PUBLIC_REPO, repo->id, id);
	cairn_json_put_text(w, "_id", id);
	hub_repo_put_id(w, "id", repo);
	if (repo->kind == CAIRN_INDEX_MODEL)
		hub_repo_put_id(w, "modelId", repo);
	cairn_json_put_text(w, "author", repo->account_name);
	cairn_json_put_bool(w, "private", repo->is_private);
	if (repo->gate == CAIRN_INDEX_GATE_NONE)
		cairn_json_put_bool(w, "gated", false);
	else
		cairn_json_put_text(w, "gated", GATES[repo->gate]);
	cairn_json_put_bool(w, "disabled", false);
	cairn_json_put_text(w, "createdAt", hub_time(when, repo->created_unix_ms));
	cairn_json_put_text(w, "lastModified", hub_time(when, repo->updated_unix_ms));
	cairn_json_put_u64(w, "downloads", 0);
	cairn_json_put_u64(w, "likes", 0);
	cairn_json_open_array(w, "tags");
	cairn_json_close(w);
	if (repo->kind == CAIRN_INDEX_SPACE)
		cairn_json_put_text(w, "sdk", repo->sdk);
}

static void info_put_sibling(struct cairn_json_out *w, const struct hub_entry *e, bool blobs)
{
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "rfilename", e->path);
	if (blobs) {
		cairn_git_oid_text(oid, &e->entry.oid);
		cairn_json_put_text(w, "blobId", oid);
		cairn_json_put_u64(w, "size", e->entry.size_bytes);
		if (e->entry.kind == CAIRN_INDEX_XET)
			hub_entry_put_lfs(w, "sha256", &e->entry);
	}
	cairn_json_close(w);
}

/* Writes the files page by page, so that few entries are in memory. */
static void info_put_siblings(struct info_request *i, struct cairn_json_out *w)
{
	struct hub_call *call = &i->repo.call;
	char after[CAIRN_INDEX_PATH_MAX + 1] = "", next[CAIRN_INDEX_PATH_MAX + 1] = "";
	uint32_t n = 0;
	cairn_json_open_array(w, "siblings");
	do {
		struct cairn_hub_tree_page page = {
			.folder = "", .recursive = true, .after = after, .limit = CAIRN_HUB_TREE_PAGE_MAX};
		call->status = cairn_hub_list_tree(call->job.app->cas, &i->repo.commit, &page, hub_entries_visit,
						   &i->page, next, &call->diag);
		if (call->status == CAIRN_OK)
			call->status = i->page.status;
		for (uint32_t at = 0; at < i->page.n && n < INFO_SIBLINGS_MAX && call->status == CAIRN_OK; at++) {
			const struct hub_entry *e = &i->page.all[at];
			if (e->entry.kind == CAIRN_INDEX_FOLDER)
				continue;
			info_put_sibling(w, e, i->blobs);
			n++;
		}
		hub_entries_fini(&i->page);
		memcpy(after, next, sizeof(after));
	} while (call->status == CAIRN_OK && next[0] && n < INFO_SIBLINGS_MAX);
	cairn_json_close(w);
}

static void info_write(struct hub_call *call)
{
	struct info_request *i = (struct info_request *)call;
	if (!hub_repo_find_commit(&i->repo, CAIRN_HUB_SEE, i->revision))
		return;
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&w, NULL);
	hub_info_put(call->job.app->cas, &w, &i->repo.repo);
	cairn_json_put_text(&w, "sha", call->commit);
	cairn_json_put_u64(&w, "usedStorage", i->repo.commit.bytes);
	info_put_siblings(i, &w);
	cairn_json_close(&w);
}

static void info_get_at(struct http_request *req, const char *revision)
{
	struct info_request *i = hub_repo_new_git(req, sizeof(*i), info_write, hub_repo_show);
	if (!i)
		return;
	i->repo.call.answer = cairn_buf_init(INFO_ANSWER_BYTES_MAX);
	i->revision = revision;
	i->blobs = hub_says_yes(http_query_arg(req, "blobs"));
	route_job_start(req);
}

static void info_get(struct http_request *req)
{
	info_get_at(req, NULL);
}

static void info_get_revision(struct http_request *req)
{
	info_get_at(req, http_path_arg(req, "revision"));
}

const struct http_route ROUTES_INFO[] = {
	HUB_GET("/api/{type}/{namespace}/{name}", "repo", info_get, info_free),
	HUB_GET("/api/{type}/{namespace}/{name}/revision/{revision*}", "repo-revision", info_get_revision, info_free),
	{0},
};
