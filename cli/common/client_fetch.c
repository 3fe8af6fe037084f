/* Reads from signed URLs. */
#include "base/decimal.h"
#include "cli/common/client_work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENT_FETCH_BUFFER_BYTES = 256 * 1024 };

struct client_fetching {
	struct client_exchange x;
	const struct client_range *range;
	uint64_t at; /* offset of the next byte */
	bool checked;
	client_take *take;
	void *ctx;
	enum cairn_status status; /* status of take(), or of a check of the answer */
	struct cairn_diag *diag;
};

/* Checks the answer: only a 206 with exactly the requested bytes is passed to take(). */
static bool client_is_range(struct client_fetching *f)
{
	struct curl_header *header = NULL;
	uint64_t first, last;
	if (f->x.code == 206 &&
	    curl_easy_header(f->x.c->curl, "Content-Range", 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
		const char *text = strncmp(header->value, "bytes ", 6) == 0 ? header->value + 6 : "";
		f->checked = cairn_decimal_read(&text, &first) && *text++ == '-' && cairn_decimal_read(&text, &last) &&
			     *text == '/' && first == f->at && last == f->range->last;
	}
	if (!f->checked)
		f->status = cairn_fail(f->diag, CAIRN_E_MISMATCH, "fetch.range", CAIRN_NO_OFFSET,
				       "asked for bytes %" PRIu64 "-%" PRIu64 " of a xorb, the answer (%ld) has %s%s",
				       f->at, f->range->last, f->x.code, header ? "" : "no Content-Range",
				       header ? header->value : "");
	return f->checked;
}

static size_t client_take_fetch(char *bytes, size_t size, size_t n, void *ctx)
{
	struct client_fetching *f = ctx;
	size_t len = size * n;
	if (f->x.code == 0)
		(void)curl_easy_getinfo(f->x.c->curl, CURLINFO_RESPONSE_CODE, &f->x.code);
	if (f->x.code / 100 != 2) {
		cairn_buf_add(&f->x.error, bytes, len);
		return f->x.error.status == CAIRN_OK ? len : 0;
	}
	if (!f->checked && !client_is_range(f))
		return 0;
	if (len > f->range->last - f->at + 1)
		f->status = cairn_fail(f->diag, CAIRN_E_MISMATCH, "fetch.range", CAIRN_NO_OFFSET,
				       "the answer is longer than the range that was asked for");
	if (f->status == CAIRN_OK)
		f->status = f->take(f->ctx, (const uint8_t *)bytes, len, f->diag);
	f->at += len;
	return f->status == CAIRN_OK ? len : 0;
}

static enum cairn_status client_fetch_once(struct client_fetching *f, bool *again, struct cairn_diag *diag)
{
	CURL *h = f->x.c->curl;
	char range[CLIENT_RANGE_BYTES];
	(void)snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, f->at, f->range->last);
	client_set_method(h, CLIENT_GET, NULL, 0);
	(void)curl_easy_setopt(h, CURLOPT_URL, f->range->url);
	(void)curl_easy_setopt(h, CURLOPT_RANGE, range);
	(void)curl_easy_setopt(h, CURLOPT_HTTPHEADER, NULL); /* send no token: the signed URL is the credential */
	(void)curl_easy_setopt(h, CURLOPT_BUFFERSIZE, (long)CLIENT_FETCH_BUFFER_BYTES);
	(void)curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, client_take_fetch);
	(void)curl_easy_setopt(h, CURLOPT_WRITEDATA, f);
	CURLcode rc = client_perform(&f->x);
	(void)curl_easy_setopt(h, CURLOPT_RANGE, NULL);
	*again = false;
	if (f->status != CAIRN_OK)
		return f->status;
	enum cairn_status status = client_judge(&f->x, rc, diag);
	if (status == CAIRN_OK && f->at != f->range->last + 1)
		return cairn_fail(diag, CAIRN_E_MISMATCH, "fetch.range", CAIRN_NO_OFFSET,
				  "the answer (%ld) ends before the range that was asked for", f->x.code);
	*again = client_may_help(&f->x, rc, status);
	return status;
}

enum cairn_status client_fetch(struct client *c, const struct client_range *range, client_take *take, void *ctx,
			       struct cairn_diag *diag)
{
	uint64_t at = range->first;
	for (unsigned try = 0;; try++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf nothing = cairn_buf_init(0);
		struct cairn_diag why = {0};
		struct client_fetching f = {.x = {.c = c, .answer = &nothing},
					    .range = range,
					    .at = at,
					    .take = take,
					    .ctx = ctx,
					    .diag = &why};
		bool again = false;
		f.x.error = cairn_buf_init(CLIENT_ERROR_BYTES_MAX);
		enum cairn_status status = client_fetch_once(&f, &again, &why);
		client_exchange_fini(&f.x);
		if (f.at != at)
			try = 0;
		at = f.at;
		if (!again || try >= c->retries) {
			if (status != CAIRN_OK && diag && !diag->rule)
				*diag = why;
			return status;
		}
		client_wait(c, try, &why);
	}
}
