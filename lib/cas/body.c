#include "cas/body.h"

#include "cas/internal.h"
#include "store/spool_memory.h"

enum cairn_status cas_spool_write(struct cairn_cas *cas, struct cairn_spool *spool, const uint8_t *bytes, size_t len)
{
	if (!cairn_spool_is_file(spool))
		return cairn_spool_write(spool, bytes, len);
	struct cairn_slow_write write = cairn_slow_disk_begin(&cas->slow_disk);
	enum cairn_status status = cairn_spool_write(spool, bytes, len);
	cairn_slow_disk_end(&cas->slow_disk, write);
	return status;
}

enum cairn_status cairn_body_begin(struct cairn_body *b, struct cairn_cas *cas, const struct cairn_hash *sender,
				   uint64_t bytes_expected, struct cairn_diag *diag)
{
	bool on_disk = bytes_expected != UINT64_MAX && bytes_expected > CAIRN_BODY_MEMORY_BYTES;
	*b = (struct cairn_body){.cas = cas, .memory = cairn_buf_init(CAIRN_BODY_MEMORY_BYTES)};
	return cairn_use_begin(&b->use, cas, sender, bytes_expected, on_disk, diag);
}

static bool body_fits_memory(const struct cairn_body *b, size_t len)
{
	return !b->use.on_disk && len <= CAIRN_BODY_MEMORY_BYTES - b->memory.len;
}

/* Moves the received bytes from memory to a file. Needed only if the client did not announce the length. */
static enum cairn_status body_move_to_file(struct cairn_body *b, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_use_to_disk(&b->use, diag);
	if (status == CAIRN_OK)
		status = cairn_spool_new(&b->spool, b->cas->tmp_dir, UINT64_MAX, UINT64_MAX);
	if (status == CAIRN_OK)
		status = cas_spool_write(b->cas, b->spool, b->memory.bytes, b->memory.len);
	cairn_buf_fini(&b->memory);
	b->bytes = NULL;
	b->len = 0;
	return status;
}

enum cairn_status cairn_body_write(struct cairn_body *b, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_use_add(&b->use, len, diag);
	if (status != CAIRN_OK)
		return status;
	if (body_fits_memory(b, len)) {
		cairn_buf_add(&b->memory, bytes, len);
		b->bytes = b->memory.bytes;
		b->len = b->memory.len;
		return b->memory.status;
	}
	if (!b->spool)
		status = body_move_to_file(b, diag);
	return status == CAIRN_OK ? cas_spool_write(b->cas, b->spool, bytes, len) : status;
}

bool cairn_body_waits(const struct cairn_body *b, size_t len)
{
	return !body_fits_memory(b, len) && cairn_slow_disk_is_slow(&b->cas->slow_disk);
}

enum cairn_status cairn_body_read(struct cairn_body *b)
{
	return b->spool ? cairn_spool_read(b->spool, &b->bytes, &b->len) : CAIRN_OK;
}

void cairn_body_drop(struct cairn_body *b)
{
	if (!b->spool)
		return;
	cairn_spool_freep(&b->spool);
	b->bytes = NULL;
	b->len = 0;
}

void cairn_body_fini(struct cairn_body *b)
{
	cairn_buf_fini(&b->memory);
	cairn_spool_freep(&b->spool);
	cairn_use_end(&b->use);
}

void cairn_body_trim_memory(void)
{
	cairn_spool_memory_trim();
}
