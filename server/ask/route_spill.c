#include "server/ask/route_spill.h"

#include "server/app.h"

#include <stdlib.h>

void route_spill_init(struct cairn_spill *s, const struct http_request *req)
{
	const struct app *app = app_of(req);
	struct cairn_hash asker;
	http_sender(req, &asker);
	cairn_spill_init(s, app->cas, &asker, app->config.plan_bytes_max);
}

void route_reply_over(struct http_request *req, const struct cairn_spill *s, unsigned code)
{
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_LIMIT, "plan.bytes", CAIRN_NO_OFFSET,
			 "the answer is longer than plan_bytes_max; ask for a range, or for fewer files or ranges at "
			 "once");
	cairn_diag_numbers(&diag, s->bytes_max, s->over_bytes);
	http_reply_error(req, code, diag.rule, diag.text, &diag);
}

void route_reply_spill(struct http_request *req, struct cairn_spill *s, unsigned code, const char *content_type)
{
	uint64_t bytes;
	if (s->status == CAIRN_E_LIMIT) {
		route_reply_over(req, s, 400);
		return;
	}
	if (s->status != CAIRN_OK) {
		http_reply_status(req, s->status, &s->diag);
		return;
	}
	int fd = cairn_spill_take_fd(s, &bytes);
	if (fd >= 0)
		http_reply_file(req, code, content_type, fd, 0, bytes);
	else
		http_reply_buf(req, code, content_type, &s->buf);
	cairn_buf_fini(&s->buf);
}
