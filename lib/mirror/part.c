/* Makes and reads the parts of a long file. A part stores bytes that have arrived as a file of the repository, so that
 * the next fetch resumes after it. */
#include "base/clock.h"
#include "hub/lfs.h"
#include "index/hub/parts.h"
#include "mirror/stream.h"

enum {
	PART_BYTES = 63 << 20,      /* with FRONT_TURN_BYTES, less than a xorb may have */
	PART_BYTES_MIN = 256 << 10, /* enough for at least one chunk */
	PART_MS = 5000,             /* time after which the bytes that arrived become a part */
	PART_OF_SPOOLS = 4,         /* most bytes of a part, as a fraction of all spools */
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum cairn_status part_open(const struct mirror_stream *s, struct mirror_part_reader *p, uint64_t at,
				   struct cairn_diag *diag)
{
	const struct cairn_hub *hub = s->m->hub;
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_index_part part;
	struct cairn_file_extent extent;
	enum cairn_status status = cairn_index_part(hub->index, s->what.entry.content, at, &part);
	if (status == CAIRN_OK && at >= part.end)
		status = CAIRN_E_NOT_FOUND;
	if (status != CAIRN_OK)
		return status;
	const struct cairn_byte_range range = {
		.kind = CAIRN_RANGE_FROM_TO, .first = at - part.first, .last = UINT64_MAX};
	p->at = at;
	p->end = part.end;
	cairn_index_repo_owner(owner, s->what.repo);
	return cairn_file_reader_open(hub->cas, owner, &part.file, &range, &extent, &p->file, diag);
}

enum cairn_status mirror_part_read(const struct mirror_stream *s, struct mirror_part_reader *p, uint64_t at,
				   uint8_t *out, size_t max, size_t *n, struct cairn_diag *diag)
{
	if (p->at != at)
		mirror_part_close(p);
	enum cairn_status status = p->file ? CAIRN_OK : part_open(s, p, at, diag);
	*n = 0;
	if (status == CAIRN_OK)
		status = cairn_file_reader_read(p->file, out, max, n, diag);
	if (status == CAIRN_OK && *n == 0)
		status = CAIRN_E_CONFLICT;
	p->at = at + *n;
	if (status != CAIRN_OK || p->at == p->end)
		mirror_part_close(p);
	return status;
}

void mirror_part_close(struct mirror_part_reader *p)
{
	cairn_file_reader_free(p->file);
	p->file = NULL;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

enum cairn_status mirror_parts_find(struct cairn_mirror *m, const struct cairn_mirror_want *what, uint64_t *end)
{
	enum cairn_status status = cairn_index_parts_end(m->hub->index, what->entry.content, end);
	if (*end >= what->entry.size_bytes)
		*end = 0; /* the file is shorter, so these are not its parts */
	return status;
}

bool mirror_part_is_due(const struct mirror_stream *s, uint64_t at)
{
	uint64_t most = s->m->spool_bytes_max / PART_OF_SPOOLS;
	if (s->takes_no_parts || at < s->parts_end + PART_BYTES_MIN)
		return false;
	return at - s->parts_end >= (most < PART_BYTES ? most : PART_BYTES) ||
	       cairn_clock_mono_ms() - s->part_ms >= PART_MS;
}

enum cairn_status mirror_part_make(struct mirror_stream *s, struct cairn_diag *diag)
{
	struct cairn_hub_ingest_part part;
	enum cairn_status status = cairn_hub_ingest_part(s->in, &part, diag);
	bool is_made = status == CAIRN_OK && part.end > part.first;
	if (is_made) {
		struct cairn_index_add_part add = {.write.lease = &s->lease,
						   .repo = s->what.repo,
						   .content = s->what.entry.content,
						   .first = part.first,
						   .file = part.file};
		status = cairn_index_add_part(s->m->hub->index, &add);
		*diag = add.write.diag;
	}
	pthread_mutex_lock(&s->m->lock);
	s->takes_no_parts = !is_made;
	s->parts_end = is_made ? part.end : s->parts_end;
	if (is_made && s->f)
		mirror_room_brought(s->f, part.end - part.first);
	s->part_ms = cairn_clock_mono_ms();
	pthread_mutex_unlock(&s->m->lock);
	return status;
}

void mirror_parts_drop(const struct mirror_stream *s)
{
	struct cairn_index_drop_parts drop = {
		.write.lease = &s->lease, .repo = s->what.repo, .content = s->what.entry.content};
	/* If this fails, the next fetch of the file fails like this one, and tries to drop the parts again. */
	enum cairn_status status = cairn_index_drop_parts(s->m->hub->index, &drop);
	(void)status;
}
