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
	s->buf.len = 0;
}

void spill_check(struct spill *s)
{
	if (s->buf.len >= SPILL_MEMORY_BYTES)
		spill_move(s);
}

void spill_reply(struct spill *s, struct http_request *req, unsigned code, const char *content_type)
{
	if (s->spool)
		spill_move(s);
	if (s->status == CAIRN_OK && s->buf.status != CAIRN_OK)
		s->status = s->buf.status;
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
