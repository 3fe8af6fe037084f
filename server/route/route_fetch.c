/* GET and HEAD /v1/fetch/{hash}?ranges=R&expires=T&signature=S: bytes of a xorb, as a reconstruction granted them. */
#include "server/app.h"
#include "server/log.h"
#include "server/route/multipart.h"
#include "server/route/range_header.h"
#include "server/route/route_args.h"
#include "server/route/route_job.h"

#include "base/clock.h"
#include "cas/prove.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fetch_ranges {
	size_t n;
	struct cairn_fetch_range range[CAIRN_FETCH_RANGES_MAX];
};

enum { FETCH_ETAG_BYTES = CAIRN_HASH_TEXT_BYTES + 2 };

/* A request whose bytes are proved first. */
struct fetch_job {
	struct route_job job;
	struct cairn_hash hash;
	struct cairn_store_object *object;
	struct fetch_ranges wanted, unproved;
	enum cairn_status status;
	struct cairn_diag diag;
};

static bool fetch_check_grant(struct http_request *req, const struct cairn_hash *hash, struct fetch_ranges *granted)
{
	const char *ranges = http_query_arg(req, "ranges"), *expires = http_query_arg(req, "expires"),
		   *sign = http_query_arg(req, "signature");
	struct cairn_diag diag = {0};
	enum cairn_status status =
		cairn_fetch_check(app_of(req)->cas, hash, ranges ? ranges : "", expires ? expires : "",
				  sign ? sign : "", cairn_clock_unix_s(), &diag);
	if (status != CAIRN_OK) {
		http_reply_error(req, 403, diag.rule, diag.text, &diag);
		return false;
	}
	granted->n = cairn_fetch_ranges_parse(granted->range, CAIRN_FETCH_RANGES_MAX, ranges);
	if (granted->n == 0)
		http_reply_status(req, CAIRN_E_IO, NULL);
	return granted->n > 0;
}

static bool fetch_is_within(const struct cairn_fetch_range *outer, const struct cairn_fetch_range *inner)
{
	return inner->first >= outer->first && inner->last <= outer->last;
}

static bool fetch_is_granted(const struct fetch_ranges *granted, const struct cairn_fetch_range *range)
{
	for (size_t i = 0; i < granted->n; i++)
		if (fetch_is_within(&granted->range[i], range))
			return true;
	return false;
}

static uint64_t fetch_bytes(const struct fetch_ranges *ranges)
{
	uint64_t n = 0;
	for (size_t i = 0; i < ranges->n; i++)
		n += ranges->range[i].last - ranges->range[i].first + 1;
	return n;
}

/* Ranges may overlap, but not so much that one request makes a large reply out of a small grant. */
static bool fetch_check_bytes(struct http_request *req, const struct fetch_ranges *granted,
			      const struct fetch_ranges *wanted)
{
	uint64_t max = 2 * fetch_bytes(granted), asked = fetch_bytes(wanted);
	struct cairn_diag diag = {0};
	if (asked <= max)
		return true;
	(void)cairn_fail(&diag, CAIRN_E_USAGE, "range.many", CAIRN_NO_OFFSET,
			 "the ranges are more than twice as long as what this URL was signed for; ask for each once");
	cairn_diag_numbers(&diag, max, asked);
	http_reply_error(req, 400, diag.rule, diag.text, &diag);
	return false;
}

/* What the client wants of it: the ranges of its Range header, or all that was granted when it has none. */
static bool fetch_wanted(struct http_request *req, const struct fetch_ranges *granted, uint64_t object_bytes,
			 struct fetch_ranges *wanted)
{
	struct cairn_byte_range asked[CAIRN_FETCH_RANGES_MAX];
	size_t n = range_header_parse(asked, CAIRN_FETCH_RANGES_MAX, http_header(req, "Range"));
	if (n > CAIRN_FETCH_RANGES_MAX) {
		http_reply_error(req, 400, "range.many", "ask for fewer ranges at once", NULL);
		return false;
	}
	if (n == 0)
		*wanted = *granted;
	for (size_t i = 0; i < n; i++) {
		struct cairn_fetch_range *w = &wanted->range[i];
		bool suffix = asked[i].kind == CAIRN_RANGE_SUFFIX;
		w->first = suffix ? object_bytes - (asked[i].suffix_bytes < object_bytes ? asked[i].suffix_bytes
											 : object_bytes)
				  : asked[i].first;
		w->last = suffix || asked[i].last >= object_bytes ? object_bytes - 1 : asked[i].last;
		if (w->first > w->last) {
			char value[64];
			(void)snprintf(value, sizeof(value), "bytes */%" PRIu64, object_bytes);
			http_reply_header(req, "Content-Range", value);
			http_reply_error(req, 416, "range.past_end", "the range starts past the end of the xorb", NULL);
			return false;
		}
		if (!fetch_is_granted(granted, w)) {
			http_reply_error(req, 403, "fetch.range", "this URL was signed for other byte ranges", NULL);
			return false;
		}
		wanted->n = n;
	}
	return fetch_check_bytes(req, granted, wanted);
}

static void fetch_reply_one(struct http_request *req, struct cairn_store_object *object,
			    const struct cairn_fetch_range *range)
{
	char value[96];
	uint64_t n_bytes = range->last - range->first + 1, offset;
	(void)snprintf(value, sizeof(value), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range->first, range->last,
		       cairn_store_object_bytes(object));
	http_reply_header(req, "Content-Range", value);
	int fd = cairn_store_object_take_fd(object, &offset);
	if (fd < 0)
		http_reply_status(req, CAIRN_E_IO, NULL);
	else
		http_reply_file(req, 206, "application/octet-stream", fd, offset + range->first, n_bytes);
}

/* Takes the object over. */
static void fetch_reply_many(struct http_request *req, struct cairn_store_object *object,
			     const struct fetch_ranges *wanted)
{
	struct multipart *m = multipart_new(object, wanted->range, wanted->n);
	if (!m)
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
	else
		http_reply_reader(req, 206, multipart_content_type(m), multipart_bytes(m), multipart_read,
				  multipart_free, m);
}

static void fetch_etag(char out[static FETCH_ETAG_BYTES], const struct cairn_hash *hash)
{
	out[0] = '"';
	cairn_hash_text(out + 1, hash);
	memcpy(out + CAIRN_HASH_TEXT_BYTES, "\"", 2);
}

static void fetch_set_headers(struct http_request *req, const struct cairn_hash *hash)
{
	char etag[FETCH_ETAG_BYTES];
	fetch_etag(etag, hash);
	http_reply_header(req, "ETag", etag);
	http_reply_header(req, "Accept-Ranges", "bytes");
	/* The bytes of a xorb never change; the URL's own expiry bounds its use. */
	http_reply_header(req, "Cache-Control", "private, immutable, max-age=3600");
}

/* Takes the object out of *object when it needs it for longer. */
static void fetch_reply(struct http_request *req, const struct cairn_hash *hash, struct cairn_store_object **object,
			const struct fetch_ranges *wanted)
{
	fetch_set_headers(req, hash);
	if (wanted->n == 1) {
		fetch_reply_one(req, *object, &wanted->range[0]);
	} else {
		fetch_reply_many(req, *object, wanted);
		*object = NULL;
	}
}

static bool fetch_proof_stops(void *ctx)
{
	const struct route_job *job = ctx;
	return atomic_load(&job->app->drained) || http_client_gone(job->req);
}

static void fetch_prove(struct route_job *job)
{
	struct fetch_job *f = (struct fetch_job *)job;
	f->status = cairn_cas_prove(job->app->cas, &f->hash, f->object, f->unproved.range, f->unproved.n,
				    fetch_proof_stops, job, &f->diag);
}

static void fetch_proved(struct http_request *req, struct route_job *job)
{
	struct fetch_job *f = (struct fetch_job *)job;
	if (f->status == CAIRN_OK) {
		fetch_reply(req, &f->hash, &f->object, &f->wanted);
		return;
	}
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, &f->hash);
	if (f->status == CAIRN_E_IO) /* else nothing is said against the bytes */
		LOG(LOG_ERROR, "object_damaged", LOG_T("xorb", text), LOG_T("rule", f->diag.rule),
		    LOG_T("cause", f->diag.text), LOG_N("offset", f->diag.offset));
	http_reply_status(req, f->status, &f->diag);
}

static void fetch_free(void *state)
{
	struct fetch_job *f = state;
	cairn_store_object_free(f->object);
	free(f);
}

/* Takes the object out of *object. */
static void fetch_start_proof(struct http_request *req, const struct cairn_hash *hash,
			      struct cairn_store_object **object, const struct fetch_ranges *wanted,
			      const struct fetch_ranges *unproved)
{
	struct fetch_job *f = route_job_new(req, sizeof(*f), fetch_prove, fetch_proved);
	if (!f)
		return;
	f->hash = *hash;
	f->wanted = *wanted;
	f->unproved = *unproved;
	f->object = *object;
	*object = NULL;
	route_job_start(req);
}

static bool fetch_touches(const struct fetch_ranges *wanted, const struct cairn_fetch_range *granted)
{
	for (size_t i = 0; i < wanted->n; i++)
		if (fetch_is_within(granted, &wanted->range[i]))
			return true;
	return false;
}

/* What has to be proved: whole granted ranges, of which there are a few, and not whatever part of one is asked for, of
 * which there are so many that a single address could keep a worker busy. @return false: nothing */
static bool fetch_needs_proof(struct http_request *req, const struct cairn_hash *hash,
			      const struct fetch_ranges *granted, const struct fetch_ranges *wanted,
			      struct fetch_ranges *unproved)
{
	const struct app *app = app_of(req);
	if (!app->config.prove_reads || http_method(req) != HTTP_GET)
		return false;
	for (size_t i = 0; i < granted->n; i++)
		if (!cairn_cas_is_proved(app->cas, hash, &granted->range[i]) &&
		    fetch_touches(wanted, &granted->range[i]))
			unproved->range[unproved->n++] = granted->range[i];
	return unproved->n > 0;
}

static void fetch_get(struct http_request *req)
{
	struct cairn_hash hash;
	struct fetch_ranges granted = {0}, wanted = {0}, unproved = {0};
	if (!route_hash(req, &hash) || !fetch_check_grant(req, &hash, &granted))
		return;
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	enum cairn_status status = cairn_store_get(cairn_cas_store(app_of(req)->cas), &hash, &object);
	if (status != CAIRN_OK) {
		http_reply_status(req, status, NULL);
		return;
	}
	char etag[FETCH_ETAG_BYTES];
	fetch_etag(etag, &hash);
	const char *known = http_header(req, "If-None-Match"), *only_if = http_header(req, "If-Range");
	if (only_if && http_header(req, "Range") && strcmp(only_if, etag) != 0) {
		http_reply_error(req, 412, "fetch.if_range", "the xorb never had this ETag", NULL);
		return;
	}
	if (!fetch_wanted(req, &granted, cairn_store_object_bytes(object), &wanted))
		return;
	if (known && (strstr(known, etag) || strcmp(known, "*") == 0)) {
		fetch_set_headers(req, &hash);
		http_reply_empty(req, 304, UINT64_MAX);
	} else if (fetch_needs_proof(req, &hash, &granted, &wanted, &unproved)) {
		fetch_start_proof(req, &hash, &object, &wanted, &unproved);
	} else {
		fetch_reply(req, &hash, &object, &wanted);
	}
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
