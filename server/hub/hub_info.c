/* Describes a repository: GET /api/{type}/{namespace}/{name} and …/revision/{revision}. */
#include "server/hub/hub_info.h"

#include "cas/service/public_id.h"
#include "hub/kept_card.h"
#include "hub/tensor_files.h"
#include "server/ask/hub_entry.h"
#include "server/ask/hub_reply.h"
#include "server/hub/hub_routes.h"
#include "server/hub/hub_unowned.h"

#include <stdlib.h>
#include <string.h>

enum {
	INFO_ANSWER_BYTES_MAX = 32 << 20,
	INFO_SIBLINGS_MAX = 60000, /* clients read the pages of the tree if a repository lists more than 50,000 files */
};

struct info_request {
	struct hub_repo repo;
	const char *revision; /* as in the address; NULL: main. Borrowed from the request */
	unsigned wanted;      /* enum hub_property */
	bool blobs;
	struct cairn_json_out w;
};

/* --- properties --------------------------------------------------------------------------------------------------- */

static void info_put_gate(struct cairn_json_out *w, const struct cairn_index_repo *repo)
{
	static const char *const GATES[] = {
		[CAIRN_INDEX_GATE_AUTO] = "auto",
		[CAIRN_INDEX_GATE_MANUAL] = "manual",
	};
	if (repo->gate == CAIRN_INDEX_GATE_NONE)
		cairn_json_put_bool(w, "gated", false);
	else
		cairn_json_put_text(w, "gated", GATES[repo->gate]);
}

static void info_put_times(struct cairn_json_out *w, const struct cairn_index_repo *repo, unsigned wanted)
{
	char when[HUB_TIME_BYTES];
	if (wanted & HUB_CREATED)
		cairn_json_put_text(w, "createdAt", hub_time(when, repo->created_unix_ms));
	if (wanted & HUB_MODIFIED)
		cairn_json_put_text(w, "lastModified", hub_time(when, repo->updated_unix_ms));
}

void hub_info_put(const struct cairn_cas *cas, struct cairn_json_out *w, const struct cairn_index_repo *repo,
		  unsigned wanted)
{
	char id[CAIRN_PUBLIC_ID_TEXT_BYTES];
	cairn_public_id(cas, CAIRN_PUBLIC_REPO, repo->id, id);
	cairn_json_put_text(w, "_id", id);
	hub_repo_put_id(w, "id", repo);
	if (repo->kind == CAIRN_INDEX_MODEL)
		hub_repo_put_id(w, "modelId", repo);
	if (wanted & HUB_AUTHOR)
		cairn_json_put_text(w, "author", repo->account_name);
	if (wanted & HUB_PRIVATE)
		cairn_json_put_bool(w, "private", repo->is_private);
	if (wanted & HUB_GATED)
		info_put_gate(w, repo);
	if (wanted & HUB_DISABLED)
		cairn_json_put_bool(w, "disabled", false);
	info_put_times(w, repo, wanted);
	if (wanted & HUB_DOWNLOADS)
		cairn_json_put_u64(w, "downloads", 0);
	if (wanted & HUB_LIKES)
		cairn_json_put_u64(w, "likes", 0);
	if ((wanted & HUB_SDK) && repo->kind == CAIRN_INDEX_SPACE)
		cairn_json_put_text(w, "sdk", repo->sdk);
}

void hub_info_put_card(struct cairn_json_out *w, const struct cairn_index_card *card, unsigned wanted)
{
	if (wanted & HUB_TAGS)
		cairn_json_put_raw(w, "tags", card->tags[0] ? card->tags : "[]");
	if ((wanted & HUB_TASK) && card->task[0])
		cairn_json_put_text(w, "pipeline_tag", card->task);
	if ((wanted & HUB_LIBRARY) && card->library[0])
		cairn_json_put_text(w, "library_name", card->library);
	if ((wanted & HUB_CARD_DATA) && card->data[0])
		cairn_json_put_raw(w, "cardData", card->data);
	if ((wanted & HUB_CONFIG) && card->config[0])
		cairn_json_put_raw(w, "config", card->config);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

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

enum cairn_status hub_info_put_siblings(const struct cairn_hub *hub, struct cairn_json_out *w,
					const struct cairn_index_commit *commit, const struct hub_siblings *how,
					struct cairn_diag *diag)
{
	char after[CAIRN_INDEX_PATH_MAX + 1] = "", next[CAIRN_INDEX_PATH_MAX + 1] = "";
	enum cairn_status status;
	uint32_t n = 0;
	bool has_room = true;
	cairn_json_open_array(w, "siblings");
	do {
		CLEANUP(hub_entries_fini) struct hub_entries page = {0};
		struct cairn_hub_tree_page which = {
			.folder = "", .recursive = true, .after = after, .limit = CAIRN_HUB_TREE_PAGE_MAX};
		status = cairn_hub_list_tree(hub, commit, &which, hub_entries_visit, &page, next, diag);
		if (status == CAIRN_OK)
			status = page.status;
		for (uint32_t at = 0; at < page.n && has_room && status == CAIRN_OK; at++) {
			const struct hub_entry *e = &page.all[at];
			if (e->entry.kind == CAIRN_INDEX_FOLDER)
				continue;
			info_put_sibling(w, e, how->blobs);
			has_room = ++n < how->n_max && w->buf->len < how->bytes_max;
		}
		memcpy(after, next, sizeof(after));
	} while (status == CAIRN_OK && next[0] && has_room);
	cairn_json_close(w);
	return status;
}

/* --- the card ----------------------------------------------------------------------------------------------------- */

static void info_visit_card(void *ctx, const struct cairn_index_card *card)
{
	struct info_request *i = ctx;
	hub_info_put_card(&i->w, card, i->wanted);
}

/* Hides what a gate protects. A gate protects the files. The metadata at the start of README.md is shown to all who see
 * the repository, as on the public hub, so that they learn what they may request access to. */
static enum cairn_status info_hide_content(struct info_request *i)
{
	struct hub_call *call = &i->repo.call;
	enum cairn_hub_access access = CAIRN_HUB_READ;
	enum cairn_status status = CAIRN_OK;
	if (i->repo.repo.gate != CAIRN_INDEX_GATE_NONE)
		status = cairn_hub_access_to(&call->job.app->hub, &call->asker, &i->repo.repo, &access);
	if (access < CAIRN_HUB_READ)
		i->wanted &= ~(unsigned)(HUB_CONFIG | HUB_TENSORS);
	return status;
}

/* Writes the card. The index keeps the card of main. Any other, or one not kept yet, is read from the files. */
static enum cairn_status info_put_card(struct info_request *i)
{
	CLEANUP(cairn_hub_metadata_fini) struct cairn_hub_metadata metadata = {0};
	struct hub_repo *r = &i->repo;
	const struct cairn_hub *hub = &r->call.job.app->hub;
	bool is_main = !i->revision || strcmp(i->revision, CAIRN_HUB_MAIN) == 0;
	enum cairn_status status = CAIRN_OK;
	if ((i->wanted & HUB_OF_CARD) == 0)
		return status;
	status = is_main ? cairn_hub_kept_card(hub, &r->repo, info_visit_card, i) : CAIRN_E_NOT_FOUND;
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = cairn_hub_read_metadata(hub, &r->repo, &r->commit, &metadata);
	if (status == CAIRN_OK)
		info_visit_card(i, &metadata.card);
	return status;
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

static enum cairn_status info_put_tensors(struct info_request *i)
{
	struct hub_repo *r = &i->repo;
	const struct cairn_hub_tensor_source from = {
		.hub = &r->call.job.app->hub, .repo = &r->repo, .commit = &r->commit};
	struct cairn_tensors sums;
	enum cairn_status status = cairn_hub_sum_tensors(&from, &sums);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	cairn_json_open_object(&i->w, "safetensors");
	cairn_json_open_object(&i->w, "parameters");
	for (unsigned type = 0; type < sums.n_types; type++)
		cairn_json_put_u64(&i->w, sums.types[type].name, sums.types[type].n_values);
	cairn_json_close(&i->w);
	cairn_json_put_u64(&i->w, "total", sums.n_values);
	cairn_json_close(&i->w);
	return CAIRN_OK;
}

static void info_write(struct hub_call *call)
{
	struct info_request *i = (struct info_request *)call;
	struct hub_repo *r = &i->repo;
	const struct hub_siblings how = {
		.n_max = INFO_SIBLINGS_MAX, .bytes_max = INFO_ANSWER_BYTES_MAX, .blobs = i->blobs};
	if ((!i->revision && hub_unowned_takes(r)) || !hub_repo_find_commit(r, CAIRN_HUB_SEE, i->revision))
		return;
	i->w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&i->w, NULL);
	hub_info_put(call->job.app->cas, &i->w, &r->repo, i->wanted);
	if (i->wanted & HUB_SHA)
		cairn_json_put_text(&i->w, "sha", call->commit);
	if (i->wanted & HUB_STORAGE)
		cairn_json_put_u64(&i->w, "usedStorage", r->commit.bytes);
	call->status = info_hide_content(i);
	if (call->status == CAIRN_OK)
		call->status = info_put_card(i);
	if (call->status == CAIRN_OK && (i->wanted & HUB_TENSORS))
		call->status = info_put_tensors(i);
	if (call->status == CAIRN_OK && (i->wanted & HUB_SIBLINGS))
		call->status = hub_info_put_siblings(&call->job.app->hub, &i->w, &r->commit, &how, &call->diag);
	cairn_json_close(&i->w);
}

static void info_get_at(struct http_request *req, const char *revision)
{
	unsigned wanted;
	if (!hub_properties_read(req, HUB_FULL, &wanted))
		return;
	struct info_request *i = hub_repo_new_git(req, sizeof(*i), info_write, hub_repo_show);
	if (!i)
		return;
	i->repo.call.answer = cairn_buf_init(INFO_ANSWER_BYTES_MAX);
	i->revision = revision;
	i->wanted = wanted;
	i->blobs = hub_query_is_true(http_query_arg(req, "blobs"));
	if (i->blobs)
		i->wanted |= HUB_SIBLINGS;
	if (i->wanted & HUB_TENSORS)
		i->repo.call.job.work.lane = CAIRN_LANE_HEAVY;
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
	HUB_GET("/api/{type}/{namespace}/{name}", "repo", info_get, hub_repo_free),
	HUB_GET("/api/{type}/{namespace}/{name}/revision/{revision*}", "repo-revision", info_get_revision,
		hub_repo_free),
	{0},
};
