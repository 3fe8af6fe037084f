#include "server/hub/hub_bytes.h"

#include "base/percent.h"
#include "server/ask/hub_reply.h"
#include "server/ask/range_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The Accept header by which @huggingface/hub requests a file's headers without its bytes. */
#define BYTES_FILE_INFO "application/vnd.xet-fileinfo+json"

enum {
	BYTES_NAME_BYTES = 3 * CAIRN_INDEX_PATH_MAX + 1,
	BYTES_LINK_BYTES = 2 * HUB_BASE_BYTES + 2 * CAIRN_INDEX_REPO_NAME_MAX + 256,
};

static void bytes_show(struct http_request *req, struct hub_call *call);

void *hub_bytes_new(struct http_request *req, size_t bytes, enum cairn_index_repo_kind kind,
		    void (*run)(struct hub_call *call))
{
	const char *accept = http_header(req, "Accept");
	struct hub_bytes *b = hub_repo_new(req, bytes, kind, run, bytes_show);
	if (!b)
		return NULL;
	hub_call_take_browser(req, &b->repo.call);
	b->repo.namespace = http_path_arg(req, "namespace");
	b->repo.name = http_path_arg(req, "name");
	b->head = http_method(req) == HTTP_HEAD;
	b->info = accept && strstr(accept, BYTES_FILE_INFO);
	b->if_none_match = http_if_none_match(req);
	b->if_range = http_header(req, "If-Range");
	/* Several ranges at once are not supported: then the reply is the whole file. */
	b->has_range = range_header_parse(&b->range, 1, http_header(req, "Range")) == 1;
	if (!b->has_range)
		b->range = (struct cairn_byte_range){.kind = CAIRN_RANGE_ALL};
	return b;
}

void hub_bytes_free(void *state)
{
	struct hub_bytes *b = state;
	if (!b)
		return;
	free(b->kept);
	cairn_file_reader_free(b->reader);
	hub_stream_free(b->stream);
	hub_repo_fini(&b->repo);
	free(b);
}

static bool bytes_is_other(const struct hub_bytes *b)
{
	return http_wants_other_etag(b->repo.call.job.req, b->etag);
}

static bool bytes_is_same(const struct hub_bytes *b)
{
	return http_has_etag(b->if_none_match, b->etag);
}

/* Does the client want headers only? It does if it then reads the file's bytes from the store. */
static bool bytes_is_headers_only(const struct hub_bytes *b)
{
	return b->info && b->hash[0];
}

bool hub_bytes_wanted(struct hub_bytes *b)
{
	/* The range refers to an old version, so send the whole new one (RFC 9110, 13.1.5). A date never matches. */
	if (b->if_range && strcmp(b->if_range, b->etag) != 0) {
		b->has_range = false;
		b->range = (struct cairn_byte_range){.kind = CAIRN_RANGE_ALL};
	}
	return !b->head && !bytes_is_headers_only(b) && !bytes_is_other(b) && !bytes_is_same(b) && b->size_bytes > 0;
}

void hub_bytes_keep(struct hub_bytes *b, uint8_t *bytes)
{
	struct cairn_file_extent *e = &b->extent;
	e->file_bytes = b->size_bytes;
	if (cairn_byte_range_clip(&b->range, b->size_bytes, &e->first, &e->end))
		b->kept = bytes;
	else
		free(bytes);
}

static void bytes_add_store(struct http_request *req, const struct hub_bytes *b)
{
	char size[24], refresh[BYTES_LINK_BYTES], link[2 * BYTES_LINK_BYTES];
	(void)snprintf(size, sizeof(size), "%" PRIu64, b->size_bytes);
	hub_repo_url(&b->repo, refresh, sizeof(refresh), hub_kind_api(b->repo.kind), b->refresh);
	(void)snprintf(link, sizeof(link),
		       "<%s>; rel=\"xet-auth\", <%s/v1/reconstructions/%s>; rel=\"xet-reconstruction-info\"", refresh,
		       b->repo.base, b->hash);
	http_reply_header(req, "X-Linked-ETag", b->etag);
	http_reply_header(req, "X-Linked-Size", size);
	http_reply_header(req, "X-Xet-Hash", b->hash);
	http_reply_header(req, "Link", link);
	http_reply_header(req, "X-Xet-Refresh-Route", refresh);
}

/* Returns a media type with which an uploaded file cannot run scripts on the hub's pages. */
static const char *bytes_type(const struct hub_bytes *b)
{
	static const char *const TEXT[] = {"html", "svg", "xml", "xsl", "script", "multipart", NULL};
	for (const char *const *text = TEXT; *text; text++)
		if (strcasestr(b->type, *text))
			return "text/plain; charset=utf-8";
	return b->type[0] ? b->type : "application/octet-stream";
}

static void bytes_add_headers(struct http_request *req, const struct hub_bytes *b)
{
	char name[BYTES_NAME_BYTES], disposition[BYTES_NAME_BYTES + 32];
	const char *slash = strrchr(b->path, '/');
	cairn_percent_encode(name, slash ? slash + 1 : b->path, CAIRN_PERCENT_UNRESERVED);
	(void)snprintf(disposition, sizeof(disposition), "inline; filename*=UTF-8''%s", name);
	if (b->repo.call.commit[0])
		http_reply_header(req, "X-Repo-Commit", b->repo.call.commit);
	http_reply_header(req, "ETag", b->etag);
	http_reply_header(req, "Accept-Ranges", "bytes");
	/* Browsers must revalidate a private file each time: the next user of the browser may be another person. */
	bool is_everybodys = !b->repo.repo.is_private && b->repo.repo.gate == CAIRN_INDEX_GATE_NONE;
	http_reply_header(req, "Cache-Control",
			  b->for_good && is_everybodys ? "private, max-age=31536000, immutable" : "private, max-age=0");
	http_reply_header(req, "Content-Disposition", disposition);
	http_reply_header(req, "Content-Security-Policy", "sandbox");
	http_reply_header(req, "X-Content-Type-Options", "nosniff");
	if (b->hash[0])
		bytes_add_store(req, b);
}

static ssize_t bytes_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	struct cairn_diag diag = {0};
	size_t n;
	(void)pos; /* reads are sequential, so pos is not needed */
	return cairn_file_reader_read(ctx, out, max, &n, &diag) == CAIRN_OK ? (ssize_t)n : -1;
}

static void bytes_release(void *reader)
{
	cairn_file_reader_free(reader);
}

static void bytes_reply(struct http_request *req, struct hub_bytes *b)
{
	const struct cairn_file_extent *e = &b->extent;
	unsigned code = b->has_range ? 206 : 200;
	char range[80];
	(void)snprintf(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, e->first, e->end - 1,
		       e->file_bytes);
	if (b->has_range)
		http_reply_header(req, "Content-Range", range);
	struct cairn_file_reader *reader = b->reader;
	uint8_t *kept = b->kept;
	uint64_t bytes = e->end - e->first;
	const struct http_source source =
		b->stream ? hub_stream_source(b->stream, bytes)
			  : (struct http_source){
				    .read = bytes_read, .release = bytes_release, .ctx = reader, .bytes = bytes};
	if (b->repo.repo.is_mirrored && !b->stream)
		atomic_fetch_add(&app_of(req)->mirror_counts.here_bytes, bytes);
	b->reader = NULL;
	b->kept = NULL;
	b->stream = NULL;
	if (kept)
		http_reply_bytes(req, code, bytes_type(b), kept + e->first, (size_t)bytes, free, kept);
	else
		http_reply_pumped(req, code, bytes_type(b), &source, app_of(req)->workers);
}

static void bytes_reply_past_end(struct http_request *req, const struct hub_bytes *b)
{
	char range[48];
	(void)snprintf(range, sizeof(range), "bytes */%" PRIu64, b->size_bytes);
	http_reply_header(req, "Content-Range", range);
	hub_reply_error(req, 416, NULL, "range.past_end", "the range starts past the end of the file");
}

/* Replies with an empty file, which has no ranges. Clients that request a range to learn the size get it here, too. */
static void bytes_reply_empty_file(struct http_request *req, const struct hub_bytes *b)
{
	if (b->has_range)
		http_reply_header(req, "Content-Range", "bytes */0");
	http_reply_bytes(req, 200, bytes_type(b), (const uint8_t *)"", 0, NULL, NULL);
}

static void bytes_reply_info(struct http_request *req, struct hub_bytes *b)
{
	struct cairn_buf *answer = &b->repo.call.answer;
	struct cairn_json_out w = cairn_json_out_init(answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "hash", b->hash);
	cairn_json_put_u64(&w, "size", b->size_bytes);
	cairn_json_close(&w);
	hub_call_show_code(req, &b->repo.call, 200, BYTES_FILE_INFO);
}

static void bytes_open(struct route_job *job)
{
	struct hub_bytes *b = (struct hub_bytes *)job;
	b->open(b);
	b->open = NULL;
	if (b->repo.call.status == CAIRN_E_LIMIT)
		/* past the end: there is no reader, and bytes_show() refuses the range */
		b->repo.call.status = CAIRN_OK;
}

static void bytes_show(struct http_request *req, struct hub_call *call)
{
	struct hub_bytes *b = (struct hub_bytes *)call;
	if (b->open) {
		call->job.run = bytes_open;
		route_job_start(req);
		return;
	}
	if (bytes_is_other(b)) {
		http_reply_other_etag(req);
		return;
	}
	if (b->stream && !http_may_wait(req)) {
		http_reply_header(req, "Retry-After", "5");
		hub_reply_error(req, 429, NULL, "mirror.full",
				"too many downloads wait for the mirrored hub; ask again in a moment");
		return;
	}
	if (hub_bytes_wanted(b) && !b->reader && !b->kept && !b->stream) {
		bytes_reply_past_end(req, b);
		return;
	}
	bytes_add_headers(req, b);
	if (bytes_is_same(b) && (b->head || !bytes_is_headers_only(b)))
		http_reply_empty(req, 304, UINT64_MAX);
	else if (b->head)
		http_reply_empty(req, 200, b->size_bytes);
	else if (b->size_bytes == 0)
		bytes_reply_empty_file(req, b);
	else if (bytes_is_headers_only(b))
		bytes_reply_info(req, b);
	else
		bytes_reply(req, b);
}
