#include "cas/spill.h"

#include "cas/internal.h"

#include <stdlib.h>

enum {
	SPILL_MEMORY_BYTES = 256 * 1024, /* a longer answer goes to the file */
	SPILL_PIECE_BYTES = 64 * 1024,   /* most bytes that a caller may add before the next check */
};

void cairn_spill_init(struct cairn_spill *s, struct cairn_cas *cas, const struct cairn_hash *asker, uint64_t bytes_max)
{
	*s = (struct cairn_spill){
		.buf = cairn_buf_init(SPILL_MEMORY_BYTES + SPILL_PIECE_BYTES),
		.cas = cas,
		.asker = *asker,
		.bytes_max = bytes_max,
	};
}

void cairn_spill_fini(struct cairn_spill *s)
{
	cairn_buf_fini(&s->buf);
	cairn_spool_freep(&s->spool);
	cairn_use_end(&s->use);
}

static enum cairn_status spill_open(struct cairn_spill *s)
{
	enum cairn_status status = cairn_use_begin(&s->use, s->cas, &s->asker, s->buf.len, true, &s->diag);
	return status == CAIRN_OK ? cairn_spool_new(&s->spool, s->cas->tmp_dir, s->bytes_max, UINT64_MAX) : status;
}

static void spill_move(struct cairn_spill *s)
{
	if (s->status == CAIRN_OK && s->buf.status != CAIRN_OK)
		s->status = s->buf.status;
	if (s->status == CAIRN_OK && !s->spool)
		s->status = spill_open(s);
	if (s->status == CAIRN_OK)
		s->status = cairn_use_add(&s->use, s->buf.len, &s->diag);
	if (s->status == CAIRN_OK)
		s->status = cairn_spool_write(s->spool, s->buf.bytes, s->buf.len);
	if (s->status == CAIRN_E_LIMIT && s->over_bytes == 0 && s->spool)
		s->over_bytes = cairn_spool_bytes(s->spool) + s->buf.len;
	s->buf.len = 0;
}

void cairn_spill_check(struct cairn_spill *s)
{
	if (s->buf.len >= SPILL_MEMORY_BYTES)
		spill_move(s);
}

void cairn_spill_finish(struct cairn_spill *s)
{
	if (s->spool)
		spill_move(s);
	if (s->status == CAIRN_OK && s->buf.status != CAIRN_OK)
		s->status = s->buf.status;
}

int cairn_spill_take_fd(struct cairn_spill *s, uint64_t *bytes)
{
	*bytes = s->spool ? cairn_spool_bytes(s->spool) : s->buf.len;
	return s->spool ? cairn_spool_take_fd(s->spool) : -1;
}
