/* The bytes of a bucket: HEAD and GET /buckets/{namespace}/{name}/resolve/{path}. */
#include "hub/path.h"
#include "server/hub/hub_bucket.h"
#include "server/hub/hub_reply.h"
#include "server/route/range_header.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* @huggingface/hub asks so for what the headers say, and for no bytes. */
#define RESOLVE_FILE_INFO "application/vnd.xet-fileinfo+json"

enum {
	RESOLVE_NAME_BYTES = 3 * CAIRN_INDEX_PATH_MAX + 1,
	RESOLVE_LINK_BYTES = 2 * HUB_BASE_BYTES + 2 * CAIRN_INDEX_REPO_NAME_MAX + 256,
};

struct resolve_request {
	struct hub_bucket bucket;
	bool head, info; /* no bytes are wanted */
	bool has_range;
	struct cairn_byte_range range;
	const char *if_none_match; /* the request's */
	struct cairn_index_object object;
	struct cairn_file_extent extent;
	struct cairn_file_reader *reader; /* owned */
	char path[CAIRN_INDEX_PATH_MAX + 1];
	char hash[CAIRN_HASH_TEXT_BYTES], etag[CAIRN_HASH_TEXT_BYTES + 2];
};

static void resolve_free(void *state)
{
	struct resolve_request *r = state;
	if (!r)
		return;
	cairn_file_reader_free(r->reader);
	hub_bucket_fini(&r->bucket);
	free(r);
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

static bool resolve_wants_bytes(const struct resolve_request *r)
{
	bool same = r->if_none_match && (strcmp(r->if_none_match, "*") == 0 || strstr(r->if_none_match, r->etag));
	return !r->head && !r->info && !same && r->object.size_bytes > 0;
}

static void resolve_open(struct resolve_request *r)
{
	struct hub_call *call = &r->bucket.call;
	call->status = cairn_hub_open_object(call->job.app->cas, &r->bucket.repo, &r->object, &r->range, &r->extent,
					     &r->reader, &call->diag);
	if (call->status == CAIRN_E_LIMIT)
		call->status = CAIRN_OK; /* told by the missing reader */
}

static void resolve_find(struct hub_call *call)
{
	struct resolve_request *r = (struct resolve_request *)call;
	if (!hub_bucket_find(&r->bucket, CAIRN_HUB_READ))
		return;
	call->status = cairn_hub_find_object(call->job.app->cas, &r->bucket.repo, r->path, &r->object, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	cairn_hash_text(r->hash, &r->object.file);
	(void)snprintf(r->etag, sizeof(r->etag), "\"%s\"", r->hash);
	if (resolve_wants_bytes(r))
		resolve_open(r);
}

/* --- headers ------------------------------------------------------------------------------------------------------ */

/* What somebody put into a bucket runs nothing on the hub's own pages. */
static const char *resolve_type(const struct cairn_index_object *object)
{
	static const char *const TEXT[] = {"html", "svg", "xml", "javascript", "ecmascript", NULL};
	for (const char *const *text = TEXT; *text; text++)
		if (strcasestr(object->type, *text))
			return "text/plain; charset=utf-8";
	return object->type[0] ? object->type : "application/octet-stream";
}

static void resolve_add_links(struct http_request *req, const struct resolve_request *r)
{
	char refresh[RESOLVE_LINK_BYTES], link[2 * RESOLVE_LINK_BYTES];
	hub_bucket_url(&r->bucket, refresh, sizeof(refresh), "/api/buckets/", "/xet-read-token");
	(void)snprintf(link, sizeof(link),
		       "<%s>; rel=\"xet-auth\", <%s/v1/reconstructions/%s>; rel=\"xet-reconstruction-info\"", refresh,
		       r->bucket.base, r->hash);
	http_reply_header(req, "Link", link);
	http_reply_header(req, "X-Xet-Refresh-Route", refresh);
}

static void resolve_add_headers(struct http_request *req, const struct resolve_request *r)
{
	char size[24], name[RESOLVE_NAME_BYTES], disposition[RESOLVE_NAME_BYTES + 32];
	const char *slash = strrchr(r->path, '/');
	(void)snprintf(size, sizeof(size), "%" PRIu64, r->object.size_bytes);
	cairn_hub_escape(name, slash ? slash + 1 : r->path, false);
	(void)snprintf(disposition, sizeof(disposition), "inline; filename*=UTF-8''%s", name);
	http_reply_header(req, "ETag", r->etag);
	http_reply_header(req, "X-Linked-ETag", r->etag);
	http_reply_header(req, "X-Linked-Size", size);
	http_reply_header(req, "X-Xet-Hash", r->hash);
	http_reply_header(req, "Accept-Ranges", "bytes");
	http_reply_header(req, "Cache-Control", "private, max-age=0");
	http_reply_header(req, "Content-Disposition", disposition);
	http_reply_header(req, "Content-Security-Policy", "sandbox");
	http_reply_header(req, "X-Content-Type-Options", "nosniff");
	resolve_add_links(req, r);
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static ssize_t resolve_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	struct cairn_diag diag = {0};
	size_t n;
	(void)pos; /* read from the front to the end */
	return cairn_file_reader_read(ctx, out, max, &n, &diag) == CAIRN_OK ? (ssize_t)n : -1;
}

static void resolve_release(void *reader)
{
	cairn_file_reader_free(reader);
}

static void resolve_reply_bytes(struct http_request *req, struct resolve_request *r)
{
	struct app *app = app_of(req);
	const struct cairn_file_extent *e = &r->extent;
	char range[80];
	(void)snprintf(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, e->first, e->end - 1,
		       e->file_bytes);
	if (r->has_range)
		http_reply_header(req, "Content-Range", range);
	struct cairn_file_reader *reader = r->reader;
	r->reader = NULL;
	http_reply_pumped(req, r->has_range ? 206 : 200, resolve_type(&r->object), e->end - e->first, resolve_read,
			  resolve_release, reader, app->workers);
}

static void resolve_reply_past_end(struct http_request *req, const struct resolve_request *r)
{
	char range[48];
	(void)snprintf(range, sizeof(range), "bytes */%" PRIu64, r->object.size_bytes);
	http_reply_header(req, "Content-Range", range);
	hub_reply_error(req, 416, NULL, "range.past_end", "the range starts past the end of the file");
}

/* Of what is empty no range can be had; clients that ask for one to learn the size read it here. */
static void resolve_reply_empty_file(struct http_request *req, const struct resolve_request *r)
{
	if (r->has_range)
		http_reply_header(req, "Content-Range", "bytes */0");
	http_reply_bytes(req, 200, resolve_type(&r->object), (const uint8_t *)"", 0, NULL, NULL);
}

static void resolve_reply_info(struct http_request *req, struct resolve_request *r)
{
	struct cairn_buf *answer = &r->bucket.call.answer;
	struct cairn_json_out w = cairn_json_out_init(answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "hash", r->hash);
	cairn_json_put_u64(&w, "size", r->object.size_bytes);
	cairn_json_close(&w);
	hub_call_show_code(req, &r->bucket.call, 200, RESOLVE_FILE_INFO);
}

static void resolve_show(struct http_request *req, struct hub_call *call)
{
	struct resolve_request *r = (struct resolve_request *)call;
	if (resolve_wants_bytes(r) && !r->reader) {
		resolve_reply_past_end(req, r);
		return;
	}
	resolve_add_headers(req, r);
	if (r->head)
		http_reply_empty(req, 200, r->object.size_bytes);
	else if (r->object.size_bytes == 0)
		resolve_reply_empty_file(req, r);
	else if (r->info)
		resolve_reply_info(req, r);
	else if (!r->reader)
		http_reply_empty(req, 304, UINT64_MAX);
	else
		resolve_reply_bytes(req, r);
}

static void resolve_get(struct http_request *req)
{
	const char *accept = http_header(req, "Accept");
	struct resolve_request *r = hub_bucket_new(req, sizeof(*r), resolve_find, resolve_show);
	if (!r)
		return;
	r->bucket.namespace = http_path_arg(req, "namespace");
	r->bucket.name = http_path_arg(req, "name");
	r->head = http_method(req) == HTTP_HEAD;
	r->info = accept && strstr(accept, RESOLVE_FILE_INFO);
	r->if_none_match = http_header(req, "If-None-Match");
	/* What cannot be a path is under none. Several ranges at once are not served: then all of it comes. */
	(void)cairn_hub_unescape(r->path, sizeof(r->path), http_path_arg(req, "path"));
	r->has_range = range_header_parse(&r->range, 1, http_header(req, "Range")) == 1;
	if (!r->has_range)
		r->range = (struct cairn_byte_range){.kind = CAIRN_RANGE_ALL};
	route_job_start(req);
}

const struct http_route ROUTES_RESOLVE[] = {
	{.method = "GET",
	 .pattern = "/buckets/{namespace}/{name}/resolve/{path*}",
	 .name = "bucket-resolve",
	 .errors = HTTP_ERRORS_HUB,
	 .done = resolve_get,
	 .free = resolve_free},
	{0},
};
