/* Repositories of the mirrored hub, for the operator: GET /v1/mirror/repositories, and GET
 * /v1/mirror/repositories/{type}/{namespace}/{name} with the files of main. */
#include "server/hub/hub_mirror_list.h"
#include "base/decimal.h"
#include "base/json.h"
#include "mirror/operate.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/hub/hub_mirror_place.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIST_LIMIT_DEFAULT = 100,
	LIST_ENTRIES_MAX = 100000, /* a page ends with the repository that makes it count this many entries */
	LIST_ANSWER_BYTES_MAX = 4 * 1024 * 1024, /* enough for 512 escaped paths of 1 KiB, or for patterns */
};

struct list_request {
	struct route_job job;
	uint32_t limit;
	int64_t from_id; /* where a list of repositories begins */
	struct hub_mirror_place place;
	char after[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status;
	struct cairn_diag diag;
	struct cairn_buf buf;
	struct cairn_json_out w;
};

static void list_free(void *state)
{
	struct list_request *l = state;
	if (l)
		cairn_buf_fini(&l->buf);
	free(l);
}

static void list_reply_bad(struct http_request *req)
{
	http_reply_error(req, 400, "mirror.argument", "limit is 1 to 512, after is the \"next\" of an earlier answer",
			 NULL);
}

/* Makes the state of a request. @return NULL: an error was replied */
static struct list_request *list_new(struct http_request *req, void (*run)(struct route_job *job),
				     void (*reply)(struct http_request *req, struct route_job *job))
{
	struct list_request *l = route_job_new(req, sizeof(*l), run, reply);
	if (!l)
		return NULL;
	l->buf = cairn_buf_init(LIST_ANSWER_BYTES_MAX);
	l->w = cairn_json_out_init(&l->buf);
	l->job.work.lane = CAIRN_LANE_HEAVY; /* counting entries takes long */
	l->job.for_reply = true;
	if (route_limit(req, LIST_LIMIT_DEFAULT, CAIRN_INDEX_PAGE_MAX, &l->limit))
		return l;
	list_reply_bad(req);
	return NULL;
}

static void list_end(struct list_request *l)
{
	cairn_json_close(&l->w);
	cairn_buf_add(&l->buf, "\n", 1);
}

static void list_put_counts(struct cairn_json_out *w, const struct cairn_mirror_counts *counts)
{
	cairn_json_put_u64(w, "files", counts->n_files);
	cairn_json_put_u64(w, "bytes", counts->bytes);
	cairn_json_put_u64(w, "files_here", counts->n_here);
	cairn_json_put_u64(w, "bytes_here", counts->here_bytes);
	cairn_json_put_u64(w, "files_coming", counts->n_coming);
	cairn_json_put_u64(w, "bytes_coming", counts->coming_bytes);
}

static void list_put_include(struct cairn_json_out *w, const char *patterns)
{
	char pattern[CAIRN_INDEX_INCLUDE_MAX + 1];
	cairn_json_open_array(w, "include");
	while (cairn_mirror_next_pattern(&patterns, pattern))
		cairn_json_put_text(w, NULL, pattern);
	cairn_json_close(w);
}

/* Writes the member "ahead": how far the fetching in advance of a repository has come; null if none is set. @param
 * counts  the files to fetch in advance; NULL: they were not counted */
static void list_put_ahead(struct cairn_json_out *w, const struct app *app, const struct cairn_index_mirrored *m,
			   const struct cairn_mirror_counts *counts)
{
	struct cairn_mirror_ahead now;
	char revision[CAIRN_INDEX_REF_NAME_MAX + 1];
	int64_t every_s = m->ahead.every_s == CAIRN_INDEX_AHEAD_ONCE_S ? 0 : m->ahead.every_s;
	if (m->ahead.every_s == 0 && m->fetched.at_unix_s == 0) {
		cairn_json_put_text(w, "ahead", NULL);
		return;
	}
	cairn_mirror_ahead_state(app->mirror, m, &now);
	cairn_mirror_ahead_revision(m->ahead.include, revision);
	cairn_json_open_object(w, "ahead");
	cairn_json_put_text(w, "state", now.is_over ? "done" : now.is_running ? "fetching" : "waiting");
	cairn_json_put_u64(w, "every_s", (uint64_t)every_s);
	cairn_json_put_text(w, "revision", revision);
	list_put_include(w, cairn_mirror_ahead_patterns(m->ahead.include));
	if (counts)
		list_put_counts(w, counts);
	cairn_json_put_u64(w, "failed", now.n_failed);
	cairn_json_put_text(w, "rule", now.rule[0] ? now.rule : NULL);
	cairn_json_put_text(w, "message", now.rule[0] ? now.message : NULL);
	cairn_json_close(w);
}

/* Counts the files to fetch in advance. There are none before the first lookup of their revision.
 * @param all  the counts of main, which are not counted again */
static enum cairn_status list_count_ahead(struct app *app, const struct cairn_index_mirrored *m,
					  const struct cairn_index_commit *head, const struct cairn_mirror_counts *all,
					  struct cairn_mirror_counts *out)
{
	const char *patterns = cairn_mirror_ahead_patterns(m->ahead.include);
	struct cairn_index_commit commit = {.id = 0};
	enum cairn_status status = cairn_mirror_find_wanted(&app->hub, m, &commit);
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	if (status == CAIRN_E_NOT_FOUND)
		commit.id = 0;
	if (commit.id == head->id && !patterns[0]) {
		*out = *all;
		return CAIRN_OK;
	}
	return cairn_mirror_count(&app->hub, app->mirror, m->repo.id, &commit, patterns, out);
}

enum cairn_status hub_mirror_put_repo(struct cairn_json_out *w, const char *name, struct app *app,
				      const struct cairn_index_mirrored *m, const struct cairn_index_commit *head)
{
	static const char *const STATES[] = {[CAIRN_INDEX_MIRROR_THERE] = "there",
					     [CAIRN_INDEX_MIRROR_GONE] = "gone",
					     [CAIRN_INDEX_MIRROR_PRIVATE] = "private",
					     [CAIRN_INDEX_MIRROR_DISABLED] = "disabled"};
	char text[CAIRN_INDEX_ALIAS_MAX + 1], main[CAIRN_GIT_OID_CHARS + 1];
	const struct cairn_index_repo *repo = &m->repo;
	struct cairn_mirror_counts counts, wanted;
	enum cairn_status status = cairn_mirror_count(&app->hub, app->mirror, repo->id, head, "", &counts);
	if (status == CAIRN_OK && name)
		status = list_count_ahead(app, m, head, &counts, &wanted);
	if (status != CAIRN_OK)
		return status;
	cairn_json_open_object(w, name);
	(void)snprintf(text, sizeof(text), "%s/%s", repo->account_name, repo->name);
	cairn_git_oid_text(main, &head->oid);
	cairn_json_put_text(w, "type", hub_kind_segment(repo->kind));
	cairn_json_put_text(w, "name", text);
	cairn_json_put_text(w, "main", head->id != 0 ? main : NULL);
	cairn_json_put_u64(w, "looked", (uint64_t)m->looked_unix_s);
	cairn_json_put_text(w, "state", STATES[m->state]);
	cairn_json_put_bool(w, "gated", repo->gate != CAIRN_INDEX_GATE_NONE);
	list_put_counts(w, &counts);
	cairn_json_put_u64(w, "stored_bytes", m->stored_bytes);
	cairn_json_put_bool(w, "kept", m->ahead.keeps);
	list_put_ahead(w, app, m, name ? &wanted : NULL);
	cairn_json_close(w);
	return CAIRN_OK;
}

/* --- repositories ------------------------------------------------------------------------------------------------- */

struct list_repos {
	uint32_t n;
	struct cairn_index_mirrored all[]; /* limit of them */
};

static void list_note_repo(void *ctx, const struct cairn_index_mirrored *mirrored)
{
	struct list_repos *repos = ctx;
	repos->all[repos->n++] = *mirrored;
}

/* Writes repositories until LIST_ENTRIES_MAX entries were counted. Leaves out repositories that are removed meanwhile.
 * @param[in,out] next_id  of the page */
static enum cairn_status list_put_repos(struct list_request *l, const struct list_repos *repos, int64_t *next_id)
{
	struct cairn_index_repo repo;
	struct cairn_index_commit head;
	uint64_t n_entries = 0;
	for (uint32_t i = 0; i < repos->n; i++) {
		if (n_entries >= LIST_ENTRIES_MAX) {
			*next_id = repos->all[i - 1].repo.id;
			break;
		}
		const struct cairn_index_mirrored *m = &repos->all[i];
		enum cairn_status status = cairn_mirror_find_repo(&l->job.app->hub, m->repo.kind, m->repo.account_name,
								  m->repo.name, &repo, &head, &l->diag);
		if (status == CAIRN_E_NOT_FOUND)
			continue;
		if (status == CAIRN_OK)
			status = hub_mirror_put_repo(&l->w, NULL, l->job.app, m, &head);
		if (status != CAIRN_OK)
			return status;
		n_entries += repo.n_files;
	}
	return CAIRN_OK;
}

static void list_run(struct route_job *job)
{
	struct list_request *l = (struct list_request *)job;
	int64_t next_id = 0;
	char next[CAIRN_DECIMAL_TEXT_MAX + 2];
	struct list_repos *repos = calloc(1, sizeof(*repos) + l->limit * sizeof(repos->all[0]));
	l->status =
		repos ? cairn_mirror_each_repo(&job->app->hub, l->from_id, l->limit, list_note_repo, repos, &next_id)
		      : CAIRN_E_NOMEM;
	cairn_json_open_object(&l->w, NULL);
	cairn_json_open_array(&l->w, "repositories");
	if (repos && l->status == CAIRN_OK)
		l->status = list_put_repos(l, repos, &next_id);
	cairn_json_close(&l->w);
	(void)snprintf(next, sizeof(next), "%" PRId64, next_id);
	cairn_json_put_text(&l->w, "next", next_id != 0 ? next : NULL);
	list_end(l);
	free(repos);
}

static void list_reply(struct http_request *req, struct route_job *job)
{
	struct list_request *l = (struct list_request *)job;
	route_reply_made(req, l->status, &l->buf);
}

static void list_get(struct http_request *req)
{
	struct list_request *l = list_new(req, list_run, list_reply);
	const char *after = http_query_arg(req, "after");
	uint64_t from = 0;
	if (!l)
		return;
	if (after && !cairn_decimal_parse(after, 1, INT64_MAX, &from)) {
		list_reply_bad(req);
		return;
	}
	l->from_id = (int64_t)from;
	route_job_start(req);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void list_put_file(void *ctx, const char *path, const struct cairn_mirror_file *file)
{
	static const char *const STATES[] = {[CAIRN_MIRROR_FILE_HERE] = "here",
					     [CAIRN_MIRROR_FILE_COMING] = "coming",
					     [CAIRN_MIRROR_FILE_FAILED] = "failed",
					     [CAIRN_MIRROR_FILE_PART] = "part",
					     [CAIRN_MIRROR_FILE_ABSENT] = "absent"};
	struct list_request *l = ctx;
	bool failed = file->state == CAIRN_MIRROR_FILE_FAILED;
	cairn_json_open_object(&l->w, NULL);
	cairn_json_put_text(&l->w, "path", path);
	cairn_json_put_u64(&l->w, "size", file->size_bytes);
	cairn_json_put_text(&l->w, "state", STATES[file->state]);
	cairn_json_put_u64(&l->w, "bytes_here", file->here_bytes);
	if (failed) {
		cairn_json_put_text(&l->w, "rule", file->diag.rule);
		cairn_json_put_text(&l->w, "message", file->diag.text);
		cairn_json_put_u64(&l->w, "until", (uint64_t)file->until_unix_s);
	}
	cairn_json_close(&l->w);
	(void)snprintf(l->after, sizeof(l->after), "%s", path);
}

/* Only the first page has the state of the repository. */
static void list_run_files(struct route_job *job)
{
	struct list_request *l = (struct list_request *)job;
	struct app *app = job->app;
	struct cairn_index_mirrored m;
	struct cairn_index_commit head;
	char after[CAIRN_INDEX_PATH_MAX + 1];
	bool more = false;
	memcpy(after, l->after, sizeof(after));
	cairn_json_open_object(&l->w, NULL);
	l->status = cairn_mirror_find(&app->hub, l->place.kind, l->place.namespace, l->place.name, &m, &head, &l->diag);
	if (l->status == CAIRN_OK && !after[0])
		l->status = hub_mirror_put_repo(&l->w, "repository", app, &m, &head);
	cairn_json_open_array(&l->w, "files");
	if (l->status == CAIRN_OK)
		l->status = cairn_mirror_each_file(&app->hub, app->mirror, m.repo.id, &head, after, l->limit,
						   list_put_file, l, &more);
	cairn_json_close(&l->w);
	cairn_json_put_text(&l->w, "next", more ? l->after : NULL);
	list_end(l);
}

static void list_reply_files(struct http_request *req, struct route_job *job)
{
	struct list_request *l = (struct list_request *)job;
	if (l->status != CAIRN_OK)
		http_reply_status(req, l->status, &l->diag);
	else
		route_reply_made(req, l->status, &l->buf);
}

static void list_get_files(struct http_request *req)
{
	struct list_request *l = list_new(req, list_run_files, list_reply_files);
	const char *after = http_query_arg(req, "after");
	if (!l)
		return;
	if (!hub_mirror_take_place(req, &l->place))
		return;
	if (after && snprintf(l->after, sizeof(l->after), "%s", after) >= (int)sizeof(l->after))
		list_reply_bad(req);
	else
		route_job_start(req);
}

const struct http_route ROUTES_MIRROR_LIST[] = {
	ROUTE_GET("/v1/mirror/repositories", "mirrored", CAIRN_TOKEN_ADMIN, list_get, list_free),
	ROUTE_GET("/v1/mirror/repositories/{type}/{namespace}/{name}", "mirrored", CAIRN_TOKEN_ADMIN, list_get_files,
		  list_free),
	{0},
};
