/* Files: HEAD /v1/files/{hash}, GET /v1/files/by-sha256/{sha256}. */
#include "cas/file.h"
#include "server/route/route_args.h"
#include "server/route/route_job.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct files_request {
	struct route_job job;
	uint8_t sha256[32]; /* asked for, where the hash is not */
	enum cairn_status status;
	struct cairn_cas_file file; /* its hash may be what is asked for */
};

/* --- by hash ------------------------------------------------------------------------------------------------------ */

static void files_look(struct route_job *job)
{
	struct files_request *f = (struct files_request *)job;
	struct cairn_cas_who who = auth_who(http_identity(job->req));
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
	struct files_request f = {.job = {.run = files_look, .reply = files_reply_head}};
	if (route_hash(req, &f.file.hash))
		route_ask(req, &f.job, sizeof(f));
}

/* --- by SHA-256 --------------------------------------------------------------------------------------------------- */

static void files_look_by_sha256(struct route_job *job)
{
	struct files_request *f = (struct files_request *)job;
	struct cairn_cas_who who = auth_who(http_identity(job->req));
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
	(void)snprintf(json, sizeof(json), "{\"hash\":\"%s\",\"size\":%" PRIu64 ",\"sha256\":\"%s\"}", hash,
		       f->file.size_bytes, sha256);
	http_reply_json(req, 200, json);
}

static void files_by_sha256(struct http_request *req)
{
	struct files_request f = {.job = {.run = files_look_by_sha256, .reply = files_reply_by_sha256}};
	const char *text = http_path_arg(req, "sha256");
	if (cairn_hex_parse(f.sha256, sizeof(f.sha256), text, strlen(text)) != CAIRN_OK)
		http_reply_error(req, 400, "sha256.text", "a SHA-256 has 64 hexadecimal digits, as sha256sum prints it",
				 NULL);
	else
		route_ask(req, &f.job, sizeof(f));
}

const struct http_route ROUTES_FILES[] = {
	{.method = "HEAD",
	 .pattern = "/v1/files/{hash}",
	 .name = "files",
	 .scope = CAIRN_TOKEN_READ,
	 .done = files_head,
	 .free = free},
	{.method = "GET",
	 .pattern = "/v1/files/by-sha256/{sha256}",
	 .name = "files-by-sha256",
	 .scope = CAIRN_TOKEN_READ,
	 .done = files_by_sha256,
	 .free = free},
	{0},
};
