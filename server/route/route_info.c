/* GET /v1/info/{hash}: shows what a hash names, and what refers to it. */
#include "base/json.h"
#include "cas/losses.h"
#include "cas/serve/info.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include <stdlib.h>
#include <string.h>

enum {
	INFO_LIMIT_DEFAULT = 100,
	INFO_ANSWER_BYTES_MAX = 4 * 1024 * 1024, /* five lists of at most 512 rows of at most 1 KiB, and some reserve */
};

struct info_request {
	struct route_job job;
	struct cairn_hash hash;
	uint8_t sha256[CAIRN_SHA256_BYTES];
	uint32_t limit;
	bool all; /* the asker is the operator */
	enum cairn_status status;
	bool found, more;
	bool needs_lost;               /* valid while the job runs */
	struct cairn_info_asker asker; /* while it runs */
	struct cairn_buf buf;
	struct cairn_json_out json;
};

static void info_free(void *state)
{
	struct info_request *f = state;
	if (f)
		cairn_buf_fini(&f->buf);
	free(f);
}

static void info_put_hash(struct info_request *f, const char *name, const struct cairn_hash *hash)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	cairn_json_put_text(&f->json, name, text);
}

static void info_visit_file(void *ctx, const struct cairn_cas_owned *file)
{
	struct info_request *f = ctx;
	char sha256[65];
	cairn_json_open_object(&f->json, NULL);
	info_put_hash(f, "hash", &file->hash);
	cairn_json_put_u64(&f->json, "size", file->size_bytes);
	if (file->owner)
		cairn_json_put_text(&f->json, "repo", file->shown);
	cairn_hex_text(sha256, file->sha256, sizeof(file->sha256));
	cairn_json_put_text(&f->json, "sha256", file->has_sha256 ? sha256 : NULL);
	cairn_json_put_bool(&f->json, "sha256_proved", file->has_sha256 && file->sha256_is_proved);
	if (f->all)
		cairn_json_put_u64(&f->json, "at", (uint64_t)file->at_unix_s);
	cairn_json_close(&f->json);
}

static void info_put_xorb(struct info_request *f, const struct cairn_info_xorb *xorb)
{
	cairn_json_put_u64(&f->json, "chunks", xorb->n_chunks);
	cairn_json_put_u64(&f->json, "size", xorb->unpacked_bytes);
	cairn_json_put_u64(&f->json, "stored", xorb->stored_bytes);
	bool lost = xorb->stored_bytes == 0 && f->job.app->config.xorbs != CONFIG_XORBS_EXTERNAL;
	cairn_json_put_bool(&f->json, "lost", lost);
	f->needs_lost = f->needs_lost || lost;
	if (!f->all)
		return;
	cairn_json_put_u64(&f->json, "at", (uint64_t)xorb->at_unix_s);
	cairn_json_put_bool(&f->json, "retired", xorb->retired);
	cairn_json_put_bool(&f->json, "withdrawn", xorb->withdrawn);
}

static void info_visit_xorb(void *ctx, const struct cairn_info_xorb *xorb)
{
	struct info_request *f = ctx;
	cairn_json_open_object(&f->json, NULL);
	info_put_hash(f, "hash", &xorb->hash);
	info_put_xorb(f, xorb);
	cairn_json_close(&f->json);
}

static void info_visit_place(void *ctx, const struct cairn_info_place *place)
{
	struct info_request *f = ctx;
	cairn_json_open_object(&f->json, NULL);
	info_put_hash(f, "xorb", &place->xorb);
	cairn_json_put_u64(&f->json, "at", place->at);
	cairn_json_put_u64(&f->json, "size", place->unpacked_bytes);
	if (place->scope)
		cairn_json_put_text(&f->json, "scope", place->scope);
	cairn_json_close(&f->json);
}

/* Ends a list: notes whether it has rows, and whether there are more. */
static void info_end_list(struct info_request *f, size_t empty_len, bool more)
{
	f->found = f->found || f->buf.len > empty_len;
	f->more = f->more || more;
	cairn_json_close(&f->json);
}

static enum cairn_status info_put_the_file(struct info_request *f, struct cairn_cas *cas)
{
	struct cairn_info_file file = {0};
	cairn_json_open_array(&f->json, "xorbs");
	enum cairn_status status = cairn_info_file(cas, &f->asker, &f->hash, &file, info_visit_xorb, f);
	cairn_json_close(&f->json);
	if (status == CAIRN_OK) {
		f->found = true;
		f->more = f->more || file.n_xorbs > f->limit;
		cairn_json_open_object(&f->json, "file");
		cairn_json_put_u64(&f->json, "size", file.size_bytes);
		cairn_json_put_u64(&f->json, "terms", file.n_terms);
		cairn_json_put_u64(&f->json, "xorbs", file.n_xorbs);
		cairn_json_put_bool(&f->json, "lost", f->needs_lost || cairn_losses_has(cas, &f->hash));
		cairn_json_close(&f->json);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status info_put_owners(struct info_request *f, struct cairn_cas *cas)
{
	bool more = false;
	cairn_json_open_array(&f->json, "owners");
	size_t empty_len = f->buf.len;
	enum cairn_status status = cairn_info_owners(cas, &f->asker, &f->hash, info_visit_file, f, &more);
	info_end_list(f, empty_len, more);
	return status;
}

static enum cairn_status info_put_sha256(struct info_request *f, struct cairn_cas *cas)
{
	bool more = false;
	cairn_json_open_array(&f->json, "of_sha256");
	size_t empty_len = f->buf.len;
	enum cairn_status status = cairn_info_sha256(cas, &f->asker, f->sha256, info_visit_file, f, &more);
	info_end_list(f, empty_len, more);
	return status;
}

/* Writes a xorb. Askers other than the operator see it only if one of their files uses it. */
static enum cairn_status info_put_the_xorb(struct info_request *f, struct cairn_cas *cas)
{
	struct cairn_info_xorb xorb;
	bool more = false;
	cairn_json_open_array(&f->json, "needed_by");
	size_t empty_len = f->buf.len;
	enum cairn_status status = cairn_info_needed_by(cas, &f->asker, &f->hash, info_visit_file, f, &more);
	bool needed = f->buf.len > empty_len;
	info_end_list(f, empty_len, more);
	if (status != CAIRN_OK || !(f->all || needed))
		return status;
	status = cairn_info_xorb(cas, &f->hash, &xorb);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	f->found = true;
	cairn_json_open_object(&f->json, "xorb");
	info_put_xorb(f, &xorb);
	cairn_json_close(&f->json);
	return CAIRN_OK;
}

static enum cairn_status info_put_places(struct info_request *f, struct cairn_cas *cas)
{
	bool more = false;
	cairn_json_open_array(&f->json, "places");
	size_t empty_len = f->buf.len;
	enum cairn_status status = cairn_info_places(cas, &f->asker, &f->hash, info_visit_place, f, &more);
	info_end_list(f, empty_len, more);
	return status;
}

static void info_run(struct route_job *job)
{
	static enum cairn_status (*const PARTS[])(struct info_request * f, struct cairn_cas * cas) = {
		info_put_the_file, info_put_owners, info_put_sha256, info_put_the_xorb, info_put_places};
	struct info_request *f = (struct info_request *)job;
	struct cairn_cas_who who = auth_cas_identity(http_identity(job->req));
	f->asker = (struct cairn_info_asker){.who = &who, .all = f->all, .limit = f->limit};
	f->json = cairn_json_out_init(&f->buf);
	cairn_json_open_object(&f->json, NULL);
	for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]) && f->status == CAIRN_OK; i++)
		f->status = PARTS[i](f, job->app->cas);
	cairn_json_put_bool(&f->json, "more", f->more);
	cairn_json_close(&f->json);
	cairn_buf_printf(&f->buf, "\n");
}

static void info_reply(struct http_request *req, struct route_job *job)
{
	struct info_request *f = (struct info_request *)job;
	if (f->status == CAIRN_OK && f->buf.status == CAIRN_OK && !f->found)
		http_reply_error(req, 404, "info.unknown",
				 "no file, SHA-256, xorb or chunk that you may see has this hash", NULL);
	else
		route_reply_made(req, f->status, &f->buf);
}

/* Reads the limit of rows. @return false: an error was replied */
static bool info_take_limit(struct http_request *req, uint32_t *limit)
{
	if (route_limit(req, INFO_LIMIT_DEFAULT, CAIRN_INFO_LIMIT_MAX, limit))
		return true;
	http_reply_error(req, 400, "info.argument", "limit is 1 to 512", NULL);
	return false;
}

static void info_get(struct http_request *req)
{
	struct info_request *f = route_job_new(req, sizeof(*f), info_run, info_reply);
	if (!f)
		return;
	const struct auth_identity *who = http_identity(req);
	const char *text = http_path_arg(req, "hash");
	f->buf = cairn_buf_init(INFO_ANSWER_BYTES_MAX);
	f->job.work.lane = CAIRN_LANE_HEAVY; /* with many files of the asker this takes long */
	f->job.for_reply = true;
	f->all = !who->repo[0] && (who->scopes & CAIRN_TOKEN_ADMIN);
	/* the same digits are read as a Xet hash and as a SHA-256 */
	if (route_hash(req, &f->hash) &&
	    cairn_hex_parse(f->sha256, sizeof(f->sha256), text, strlen(text)) == CAIRN_OK &&
	    info_take_limit(req, &f->limit))
		route_job_start(req);
}

const struct http_route ROUTES_HASH[] = {
	ROUTE_GET("/v1/info/{hash}", "info", CAIRN_TOKEN_READ, info_get, info_free),
	{0},
};
