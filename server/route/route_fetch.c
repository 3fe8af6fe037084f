/* GET and HEAD /v1/fetch/{hash}?ranges=R&expires=T&signature=S: bytes of a xorb, for the holder of a grant. */
#include "server/app.h"
#include "server/ask/multipart.h"
#include "server/ask/range_header.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/route/routes.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "cas/serve/fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FETCH_ETAG_BYTES = CAIRN_HASH_TEXT_BYTES + 2 };

struct fetch_request {
	struct route_job job;
	bool known; /* the client has the bytes, and asks whether they are current */
	bool verify;
	char etag[FETCH_ETAG_BYTES];
	enum cairn_status status;
	struct cairn_diag diag;
	struct cairn_fetch fetch;
};

/* A part of an open xorb, for a store that has no descriptor to send from. */
struct fetch_part {
	struct cairn_fetch_source source;
	uint64_t first, end;
};

static ssize_t fetch_part_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	struct fetch_part *part = ctx;
	uint64_t at = part->first + pos, left = part->end - at;
	size_t n = left < max ? (size_t)left : max;
	return cairn_fetch_source_read(&part->source, at, out, n) == CAIRN_OK ? (ssize_t)n : -1;
}

static void fetch_part_free(void *ctx)
{
	struct fetch_part *part = ctx;
	cairn_fetch_source_fini(&part->source);
	free(part);
}

static void fetch_reply_read(struct http_request *req, struct cairn_fetch *fetch, const struct cairn_fetch_range *range)
{
	struct fetch_part *part = malloc(sizeof(*part));
	if (!part) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	*part = (struct fetch_part){.source = fetch->source, .first = range->first, .end = range->last + 1};
	fetch->source = (struct cairn_fetch_source){0};
	const struct http_source source = {
		.read = fetch_part_read, .release = fetch_part_free, .ctx = part, .bytes = part->end - part->first};
	http_reply_pumped(req, 206, "application/octet-stream", &source, app_of(req)->workers);
}

/* Replies with a range's header. Each range has it, and printf would take 1 in 20 of the daemon's instructions. */
static void fetch_reply_content_range(struct http_request *req, const struct cairn_fetch_range *range,
				      uint64_t object_bytes)
{
	static const char UNIT[] = "bytes ";
	char value[sizeof(UNIT) + (size_t)3 * (CAIRN_DECIMAL_TEXT_MAX + 1)];
	char *end = cairn_decimal_text(mempcpy(value, UNIT, sizeof(UNIT) - 1), range->first);
	*end++ = '-';
	end = cairn_decimal_text(end, range->last);
	*end++ = '/';
	*cairn_decimal_text(end, object_bytes) = '\0';
	http_reply_header(req, "Content-Range", value);
}

static void fetch_reply_one(struct http_request *req, struct cairn_fetch *fetch)
{
	const struct cairn_fetch_range *range = &fetch->wanted.range[0];
	uint64_t offset;
	fetch_reply_content_range(req, range, fetch->object_bytes);
	int fd = cairn_fetch_source_take_fd(&fetch->source, &offset);
	if (fd < 0)
		fetch_reply_read(req, fetch, range);
	else
		http_reply_file(req, 206, "application/octet-stream", fd, offset + range->first,
				range->last - range->first + 1);
}

static void fetch_reply_many(struct http_request *req, struct cairn_fetch *fetch)
{
	struct multipart *m = multipart_new(&fetch->source, fetch->object_bytes, fetch->wanted.range, fetch->wanted.n);
	if (!m) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	const struct http_source source = {
		.read = multipart_read, .release = multipart_free, .ctx = m, .bytes = multipart_bytes(m)};
	if (cairn_cas_is_remote(app_of(req)->cas))
		http_reply_pumped(req, 206, multipart_content_type(m), &source, app_of(req)->workers);
	else
		http_reply_reader(req, 206, multipart_content_type(m), multipart_bytes(m), multipart_read,
				  multipart_free, m);
}

static void fetch_reply_bytes(struct http_request *req, struct fetch_request *f)
{
	http_reply_header(req, "ETag", f->etag);
	http_reply_header(req, "Accept-Ranges", "bytes");
	/* The bytes of a xorb never change, and the URL's own expiry limits its use. */
	http_reply_header(req, "Cache-Control", "private, immutable, max-age=3600");
	if (f->known)
		http_reply_empty(req, 304, UINT64_MAX);
	else if (f->fetch.wanted.n == 1)
		fetch_reply_one(req, &f->fetch);
	else
		fetch_reply_many(req, &f->fetch);
}

static void fetch_reply(struct http_request *req, struct route_job *job)
{
	struct fetch_request *f = (struct fetch_request *)job;
	char value[64];
	if (f->status == CAIRN_OK) {
		fetch_reply_bytes(req, f);
	} else if (f->status == CAIRN_E_LIMIT) {
		(void)snprintf(value, sizeof(value), "bytes */%" PRIu64, f->fetch.object_bytes);
		http_reply_header(req, "Content-Range", value);
		http_reply_error(req, 416, f->diag.rule, f->diag.text, &f->diag);
	} else if (f->status == CAIRN_E_DAMAGED) {
		/* Lost bytes are 410, so that clients give up at once; they would retry a 500. Caches must not keep the
		 * error, because an upload repairs the loss. */
		http_reply_header(req, "Cache-Control", "no-store");
		http_reply_error(req, 410, "object.damaged", "the stored bytes are not what was uploaded", &f->diag);
	} else {
		http_reply_status(req, f->status, &f->diag);
	}
}

static void fetch_open(struct route_job *job)
{
	struct fetch_request *f = (struct fetch_request *)job;
	f->status = cairn_fetch_open(job->app->cas, &f->fetch, f->verify, &f->diag);
}

static bool fetch_verify_stops(void *ctx)
{
	return route_job_is_idle(ctx);
}

static void fetch_verify(struct route_job *job)
{
	struct fetch_request *f = (struct fetch_request *)job;
	f->status = CAIRN_E_BUSY;
	if (cairn_cas_is_remote(job->app->cas)) /* otherwise the request's thread has tried already */
		fetch_open(job);
	if (f->status != CAIRN_E_BUSY)
		return;
	f->known = false; /* no 304: only the verification shows whether the bytes are sound */
	f->status = cairn_fetch_verify(job->app->cas, &f->fetch, fetch_verify_stops, job, &f->diag);
}

static void fetch_free(void *state)
{
	struct fetch_request *f = state;
	if (f)
		cairn_fetch_source_fini(&f->fetch.source);
	free(f);
}

static void fetch_start(struct http_request *req, const struct fetch_request *of)
{
	struct fetch_request *f = route_job_new(req, sizeof(*f), fetch_verify, fetch_reply);
	if (!f)
		return;
	f->job.for_reply = true;
	f->known = of->known;
	f->verify = of->verify;
	memcpy(f->etag, of->etag, sizeof(f->etag));
	f->fetch = of->fetch;
	route_job_start(req);
}

static void fetch_etag(char out[static FETCH_ETAG_BYTES], const struct cairn_hash *hash)
{
	out[0] = '"';
	cairn_hash_text(out + 1, hash);
	memcpy(out + CAIRN_HASH_TEXT_BYTES, "\"", 2);
}

static bool fetch_check_grant(struct http_request *req, struct cairn_fetch *fetch)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_fetch_check_grant(
		app_of(req)->cas, fetch, http_query_arg(req, "ranges"), http_query_arg(req, "expires"),
		http_query_arg(req, "signature"), cairn_clock_unix_s(), &diag);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
	return status == CAIRN_OK;
}

/* Reads the headers. @return false: the request cannot be answered, and an error was replied */
static bool fetch_take_headers(struct http_request *req, struct fetch_request *f)
{
	const char *range = http_header(req, "Range"), *only_if = http_header(req, "If-Range");
	if (http_wants_other_etag(req, f->etag)) {
		http_reply_other_etag(req);
		return false;
	}
	if (only_if && range && strcmp(only_if, f->etag) != 0) {
		http_reply_error(req, 412, "fetch.if_range", "the xorb never had this ETag", NULL);
		return false;
	}
	f->fetch.n_asked = range_header_parse(f->fetch.asked, CAIRN_FETCH_RANGES_MAX, range);
	if (f->fetch.n_asked > CAIRN_FETCH_RANGES_MAX) {
		http_reply_error(req, 400, "range.many", "ask for fewer ranges at once", NULL);
		return false;
	}
	f->known = http_has_etag(http_if_none_match(req), f->etag);
	f->fetch.no_body = http_method(req) != HTTP_GET || f->known;
	/* If plans lead clients to the store, only suspect xorbs are fetched from this server. */
	f->verify = (atomic_load(&app_of(req)->live.prove_reads) || app_of(req)->config.fetch_from_store) &&
		    !f->fetch.no_body;
	return true;
}

static void fetch_get(struct http_request *req)
{
	struct fetch_request f; /* not cleared, because it has room for many ranges and usually one is used */
	memset(&f, 0, offsetof(struct fetch_request, fetch));
	f.fetch.source = (struct cairn_fetch_source){0};
	f.job.app = app_of(req);
	if (!route_hash(req, &f.fetch.xorb) || !fetch_check_grant(req, &f.fetch))
		return;
	fetch_etag(f.etag, &f.fetch.xorb);
	if (!fetch_take_headers(req, &f))
		return;
	f.status = CAIRN_E_BUSY;
	if (!cairn_cas_is_remote(f.job.app->cas))
		fetch_open(&f.job);
	if (f.status == CAIRN_E_BUSY)
		fetch_start(req, &f);
	else
		fetch_reply(req, &f.job);
	cairn_fetch_source_fini(&f.fetch.source);
}

const struct http_route ROUTES_FETCH[] = {
	{.method = "GET",
	 .pattern = "/v1/fetch/{hash}",
	 .name = "fetch",
	 .scope = 0,
	 .done = fetch_get,
	 .free = fetch_free},
	{0},
};
