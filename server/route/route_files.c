/* Files: HEAD /v1/files/{hash}, GET /v1/files/by-sha256/{sha256}, GET /v1/files. */
#include "base/json.h"
#include "cas/file.h"
#include "cas/losses.h"
#include "cas/serve/info.h"
#include "cas/service/owner.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILES_LIMIT_DEFAULT = 100,
	FILES_ANSWER_BYTES_MAX = 2 * 1024 * 1024, /* two pages of rows of at most 1 KiB, and some reserve */
	FILES_LOST_LOOKED_MAX = 4096,             /* most lost files that one answer checks */
	FILES_REPO_BYTES = 256,
	FILES_HASH_DIGITS = 64,
};

struct files_request {
	struct route_job job;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* used for the lookup if the hash is not */
	enum cairn_status status;
	struct cairn_cas_file file; /* the file found; its hash may be the one looked up */
};

static void files_read_row(struct route_job *job)
{
	struct files_request *f = (struct files_request *)job;
	struct cairn_cas_who who = auth_cas_identity(http_identity(job->req));
	f->status = cairn_cas_file(job->app->cas, &who, &f->file.hash, &f->file);
}

static void files_reply_head(struct http_request *req, struct route_job *job)
{
	const struct files_request *f = (const struct files_request *)job;
	if (f->status == CAIRN_OK)
		http_reply_empty(req, 200, f->file.size_bytes);
	else
		route_reply_no_file(req, f->status);
}

static void files_head(struct http_request *req)
{
	struct files_request f = {.job = {.run = files_read_row, .reply = files_reply_head}};
	if (route_hash(req, &f.file.hash))
		route_ask(req, &f.job, sizeof(f));
}

static void files_find_by_sha256(struct route_job *job)
{
	struct files_request *f = (struct files_request *)job;
	struct cairn_cas_who who = auth_cas_identity(http_identity(job->req));
	f->status = cairn_cas_file_by_sha256(job->app->cas, &who, f->sha256, &f->file);
}

static void files_reply_by_sha256(struct http_request *req, struct route_job *job)
{
	const struct files_request *f = (const struct files_request *)job;
	char hash[CAIRN_HASH_TEXT_BYTES], sha256[65], json[256];
	if (f->status != CAIRN_OK) {
		route_reply_no_file(req, f->status);
		return;
	}
	cairn_hash_text(hash, &f->file.hash);
	cairn_hex_text(sha256, f->sha256, sizeof(f->sha256));
	(void)snprintf(json, sizeof(json),
		       "{\"hash\":\"%s\",\"size\":%" PRIu64 ",\"sha256\":\"%s\",\"sha256_proved\":%s}", hash,
		       f->file.size_bytes, sha256, f->file.sha256_is_proved ? "true" : "false");
	http_reply_json(req, 200, json);
}

static void files_by_sha256(struct http_request *req)
{
	struct files_request f = {.job = {.run = files_find_by_sha256, .reply = files_reply_by_sha256}};
	const char *text = http_path_arg(req, "sha256");
	if (cairn_hex_parse(f.sha256, sizeof(f.sha256), text, strlen(text)) != CAIRN_OK)
		http_reply_error(req, 400, "sha256.text", "a SHA-256 has 64 hexadecimal digits, as sha256sum prints it",
				 NULL);
	else
		route_ask(req, &f.job, sizeof(f));
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

struct files_list {
	struct route_job job;
	char repo[FILES_REPO_BYTES]; /* owner of the files; "": the operator */
	bool is_named;               /* the operator named a repository, which may not exist */
	bool all;                    /* list the files of all owners */
	bool shows_time;             /* show the time of upload, which only the operator may see */
	bool lost;                   /* list only lost files */
	bool is_partial;             /* of lost files: the answers together may miss some */
	uint32_t limit, n;           /* number of rows: the limit, and so far */
	bool has_after, has_after_repo;
	struct cairn_hash after; /* begin after this file: from the request; then the last row's */
	char after_repo[FILES_REPO_BYTES];
	enum cairn_status status;
	struct cairn_buf buf;
	struct cairn_json_out json;
};

static void files_list_free(void *state)
{
	struct files_list *f = state;
	if (f)
		cairn_buf_fini(&f->buf);
	free(f);
}

static void files_list_visit(void *ctx, const struct cairn_cas_owned *file)
{
	struct files_list *f = ctx;
	char text[2 * 32 + 1];
	cairn_json_open_object(&f->json, NULL);
	cairn_hash_text(text, &file->hash);
	cairn_json_put_text(&f->json, "hash", text);
	cairn_json_put_u64(&f->json, "size", file->size_bytes);
	cairn_json_put_text(&f->json, "repo", f->is_named ? f->repo : f->all ? file->shown : file->owner);
	cairn_hex_text(text, file->sha256, sizeof(file->sha256));
	cairn_json_put_text(&f->json, "sha256", file->has_sha256 ? text : NULL);
	cairn_json_put_bool(&f->json, "sha256_proved", file->has_sha256 && file->sha256_is_proved);
	cairn_json_put_bool(&f->json, "lost", f->lost || cairn_losses_has(f->job.app->cas, &file->hash));
	/* The same bytes may have come from another repository before, which only the operator may learn. */
	if (f->shows_time)
		cairn_json_put_u64(&f->json, "at", (uint64_t)file->at_unix_s);
	cairn_json_close(&f->json);
	f->n++;
	f->after = file->hash;
	(void)snprintf(f->after_repo, sizeof(f->after_repo), "%s", file->owner);
}

/* Lists lost files. All owners of a file are in one answer, so that the next answer begins after the file. @param owner
 * lists only files of this owner; NULL: all */
static enum cairn_status files_list_lost(struct files_list *f, const char *owner, bool *more)
{
	struct cairn_cas *cas = f->job.app->cas;
	const struct cairn_cas_who who = {.owner = owner};
	const struct cairn_info_asker asker = {.who = &who, .all = !owner, .limit = CAIRN_INFO_LIMIT_MAX};
	struct cairn_losses_sum sum;
	struct cairn_hash file, after = f->after;
	bool has_after = f->has_after, unsaid = false;
	enum cairn_status status = CAIRN_OK;
	*more = false;
	cairn_losses_sum(cas, &sum); /* before the files, because the search may change the sum */
	f->is_partial = sum.more || sum.is_stale;
	if (owner && !sum.more && cairn_losses_of_owner(cas, owner) == 0)
		return CAIRN_OK;
	for (uint32_t n = 0; status == CAIRN_OK; n++) {
		if (cairn_losses_files(cas, has_after ? &after : NULL, &file, 1) == 0)
			return CAIRN_OK;
		*more = n == FILES_LOST_LOOKED_MAX || f->n >= f->limit;
		if (*more)
			break;
		status = cairn_info_owners(cas, &asker, &file, files_list_visit, f, &unsaid);
		f->is_partial = f->is_partial || unsaid;
		after = file;
		has_after = true;
	}
	f->after = after;
	return status;
}

static void files_list_run(struct route_job *job)
{
	struct files_list *f = (struct files_list *)job;
	const struct cairn_hash hash = f->after;
	char repo[FILES_REPO_BYTES], next[CAIRN_HASH_TEXT_BYTES + FILES_REPO_BYTES];
	char owner[CAIRN_CAS_OWNER_TEXT_MAX + 1];
	bool more = false, in_hub = false;
	memcpy(repo, f->after_repo, sizeof(repo));
	(void)snprintf(owner, sizeof(owner), "%s", f->repo);
	f->status = f->is_named ? cairn_cas_find_owner(job->app->cas, f->repo, owner, &in_hub) : CAIRN_OK;
	const struct cairn_cas_files_after after = {.hash = f->has_after ? &hash : NULL,
						    .owner = f->has_after_repo ? repo : NULL};
	f->json = cairn_json_out_init(&f->buf);
	cairn_json_open_object(&f->json, NULL);
	cairn_json_open_array(&f->json, "files");
	size_t empty_len = f->buf.len;
	if (f->status == CAIRN_OK && f->lost)
		f->status = files_list_lost(f, f->all ? NULL : owner, &more);
	else if (f->status == CAIRN_OK)
		f->status = cairn_cas_each_file(job->app->cas, f->all ? NULL : owner, &after, f->limit,
						files_list_visit, f, &more);
	if (f->status == CAIRN_OK && f->is_named && !in_hub && f->repo[0] && !f->has_after && !f->lost &&
	    f->buf.len == empty_len)
		f->status = CAIRN_E_NOT_FOUND;
	cairn_json_close(&f->json);
	cairn_hash_text(next, &f->after);
	if (f->all && !f->lost)
		(void)snprintf(next + FILES_HASH_DIGITS, sizeof(next) - FILES_HASH_DIGITS, ":%s", f->after_repo);
	cairn_json_put_text(&f->json, "next", more ? next : NULL);
	if (f->lost)
		cairn_json_put_bool(&f->json, "complete", !f->is_partial);
	cairn_json_close(&f->json);
	cairn_buf_printf(&f->buf, "\n");
}

static void files_list_reply(struct http_request *req, struct route_job *job)
{
	struct files_list *f = (struct files_list *)job;
	if (f->status == CAIRN_E_NOT_FOUND)
		http_reply_error(req, 404, "repo.unknown",
				 "there is no repository of this name, and no file is registered under it", NULL);
	else
		route_reply_made(req, f->status, &f->buf);
}

/* Parses where a list begins: "HASH", or "HASH:REPO" in a list of all owners. @return false: neither */
static bool files_take_after(struct files_list *f, const char *text)
{
	if (!text)
		return true;
	size_t len = strlen(text);
	f->has_after = len >= FILES_HASH_DIGITS && cairn_hash_parse(&f->after, text, FILES_HASH_DIGITS) == CAIRN_OK;
	f->has_after_repo = f->has_after && f->all && text[FILES_HASH_DIGITS] == ':';
	if (!f->has_after_repo)
		return f->has_after && len == FILES_HASH_DIGITS;
	const char *repo = text + FILES_HASH_DIGITS + 1;
	return snprintf(f->after_repo, sizeof(f->after_repo), "%s", repo) < (int)sizeof(f->after_repo);
}

/* Finds the owner whose files are listed, and checks the asker's rights. @return false: an error was replied */
static bool files_take_repo(struct http_request *req, struct files_list *f)
{
	const struct auth_identity *who = http_identity(req);
	const char *repo = http_query_arg(req, "repo");
	f->shows_time = !who->repo[0] && (who->scopes & CAIRN_TOKEN_ADMIN);
	f->all = f->shows_time && !repo;
	f->is_named = f->shows_time && repo;
	if (repo && !cairn_cas_owner_name(f->repo, sizeof(f->repo), repo)) {
		http_reply_error(req, 400, "repo.name",
				 "repo is namespace/name, with models/, datasets/, spaces/, kernels/ or buckets/ "
				 "before it; empty: the operator's",
				 NULL);
		return false;
	}
	if (!repo)
		(void)snprintf(f->repo, sizeof(f->repo), "%s", who->repo);
	/* Anybody may read a public repository of the hub. Uploads in no commit are listed for writers only. */
	bool may_list = !cairn_cas_owner_is_of_hub(who->repo) || (who->scopes & CAIRN_TOKEN_WRITE);
	if (f->shows_time || (may_list && strcmp(f->repo, who->repo) == 0))
		return true;
	http_reply_error(req, 403, "files.repo",
			 "the token lists the files of its own repository; ask for one without repo and with the scope "
			 "admin",
			 NULL);
	return false;
}

static void files_refuse_argument(struct http_request *req)
{
	http_reply_error(req, 400, "files.argument",
			 "limit is 1 to 512, after is the \"next\" of an earlier answer, lost is 1 if it is given",
			 NULL);
}

static void files_list(struct http_request *req)
{
	struct files_list *f = route_job_new(req, sizeof(*f), files_list_run, files_list_reply);
	if (!f)
		return;
	f->buf = cairn_buf_init(FILES_ANSWER_BYTES_MAX);
	f->job.work.lane = CAIRN_LANE_HEAVY; /* with many files this takes long */
	f->job.for_reply = true;
	if (!route_limit(req, FILES_LIMIT_DEFAULT, CAIRN_FILES_PAGE_MAX, &f->limit)) {
		files_refuse_argument(req);
		return;
	}
	const char *lost = http_query_arg(req, "lost");
	f->lost = lost != NULL;
	if (lost && strcmp(lost, "1") != 0) {
		files_refuse_argument(req);
		return;
	}
	if (!files_take_repo(req, f))
		return;
	if (files_take_after(f, http_query_arg(req, "after")))
		route_job_start(req);
	else
		files_refuse_argument(req);
}

const struct http_route ROUTES_FILES[] = {
	ROUTE_GET("/v1/files", "files-list", CAIRN_TOKEN_READ, files_list, files_list_free),
	ROUTE_HEAD("/v1/files/{hash}", "files", CAIRN_TOKEN_READ, files_head, free),
	ROUTE_GET("/v1/files/by-sha256/{sha256}", "files-by-sha256", CAIRN_TOKEN_READ, files_by_sha256, free),
	{0},
};
