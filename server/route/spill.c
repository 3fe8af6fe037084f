#include "server/route/spill.h"

#include <stdlib.h>

enum {
	SPILL_MEMORY_BYTES = 256 * 1024, /* more goes to the file */
	SPILL_PIECE_BYTES = 64 * 1024,   /* what a caller may add before it checks again */
};

void spill_init(struct spill *s, const char *dir, uint64_t bytes_max)
{
	*s = (struct spill){
		.buf = cairn_buf_init(SPILL_MEMORY_BYTES + SPILL_PIECE_BYTES),
		.dir = dir,
		.bytes_max = bytes_max,
	};
}

void spill_fini(struct spill *s)
{
	cairn_buf_fini(&s->buf);
	cairn_spool_freep(&s->spool);
}

static void spill_move(struct spill *s)
{
	if (s->status == CAIRN_OK && s->buf.status != CAIRN_OK)
		s->status = s->buf.status;
	if (s->status == CAIRN_OK && !s->spool)
		s->status = cairn_spool_new(&s->spool, s->dir, s->bytes_max, UINT64_MAX);
	if (s->status == CAIRN_OK)
		s->status = cairn_spool_write(s->spool, s->buf.bytes, s->buf.len);
	if (s->status == CAIRN_E_LIMIT && s->over_bytes == 0 && s->spool)
		s->over_bytes = cairn_spool_bytes(s->spool) + s->buf.len;
	s->buf.len = 0;
}

void spill_check(struct spill *s)
{
	if (s->buf.len >= SPILL_MEMORY_BYTES)
		spill_move(s);
}

void spill_finish(struct spill *s)
{
	if (s->spool)
		spill_move(s);
	if (s->status == CAIRN_OK && s->buf.status != CAIRN_OK)
		s->status = s->buf.status;
}

void spill_reply_over(const struct spill *s, struct http_request *req, unsigned code)
{
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_LIMIT, "plan.bytes", CAIRN_NO_OFFSET,
			 "the answer is longer than plan_bytes_max; ask for a range, or for fewer files or ranges at "
			 "once");
	cairn_diag_numbers(&diag, s->bytes_max, s->over_bytes);
	http_reply_error(req, code, diag.rule, diag.text, &diag);
}

void spill_reply(struct spill *s, struct http_request *req, unsigned code, const char *content_type)
{
	if (s->status == CAIRN_E_LIMIT) {
		spill_reply_over(s, req, 400);
		return;
	}
	if (s->status != CAIRN_OK) {
		http_reply_status(req, s->status, NULL);
		return;
	}
	if (s->spool) {
		uint64_t bytes = cairn_spool_bytes(s->spool);
		http_reply_file(req, code, content_type, cairn_spool_take_fd(s->spool), 0, bytes);
	} else {
		http_reply_bytes(req, code, content_type, s->buf.bytes, s->buf.len, free, s->buf.bytes);
		s->buf = cairn_buf_init(0);
	}
	spill_fini(s);
}
