/* Counts the room for further files. A fetch reserves room for the bytes that it has yet to fetch, so that no other
 * fetch gets it. */
#include "mirror/stream.h"

#include <inttypes.h>

void cairn_mirror_begin_room(struct cairn_mirror *mirror)
{
	pthread_mutex_lock(&mirror->lock);
	mirror->room.seen = mirror->room.brought;
	pthread_mutex_unlock(&mirror->lock);
}

void cairn_mirror_set_room(struct cairn_mirror *mirror, uint64_t bytes, uint64_t most, uint64_t offers, bool is_disk)
{
	struct mirror_room *room = &mirror->room;
	pthread_mutex_lock(&mirror->lock);
	room->bytes = bytes;
	room->most = most;
	room->offers = offers;
	room->is_disk = is_disk;
	room->brought -= room->seen;
	room->seen = 0;
	pthread_mutex_unlock(&mirror->lock);
}

uint64_t cairn_mirror_take_wanted(struct cairn_mirror *mirror)
{
	pthread_mutex_lock(&mirror->lock);
	uint64_t bytes = mirror->room.wanted;
	mirror->room.wanted = 0;
	pthread_mutex_unlock(&mirror->lock);
	return bytes;
}

/* Returns the room for further files. Called with the lock. */
static uint64_t room_left(const struct mirror_room *room)
{
	uint64_t taken = room->promised + room->brought;
	return room->bytes > taken ? room->bytes - taken : 0;
}

/* Counts the files that are fetched now, this one too, whether they are offered or not. */
bool mirror_room_offers(struct cairn_mirror *m)
{
	pthread_mutex_lock(&m->lock);
	bool offers = m->room.promised + m->room.brought <= m->room.offers;
	pthread_mutex_unlock(&m->lock);
	return offers;
}

enum cairn_status mirror_room_promise(struct cairn_mirror *m, struct mirror_fetch *const *f,
				      const struct cairn_mirror_want *what, uint64_t old_end, struct cairn_diag *diag)
{
	struct mirror_room *room = &m->room;
	uint64_t size = what->entry.size_bytes, bytes = size - old_end;
	if (size <= CAIRN_INDEX_INLINE_MAX)
		return CAIRN_OK;
	pthread_mutex_lock(&m->lock);
	uint64_t left = room_left(room);
	bool fits = bytes <= left, is_disk = room->is_disk;
	if (fits && *f) {
		(*f)->promised_bytes = bytes;
		room->promised += bytes;
	} else if (!fits && bytes <= room->most && bytes > room->wanted) {
		room->wanted = bytes;
	}
	pthread_mutex_unlock(&m->lock);
	if (fits)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_FULL, "mirror.room", CAIRN_NO_OFFSET,
			  "this mirror has room for %" PRIu64 " bytes more (%s), and \"%.120s\" has "
			  "%" PRIu64 "; files that nobody read lately make room, if there are some: ask again later",
			  left, is_disk ? "free space on the disk beside reserve_bytes" : "mirror_bytes_max",
			  what->path, size);
}

void mirror_room_brought(struct mirror_fetch *f, uint64_t bytes)
{
	struct mirror_room *room = &f->m->room;
	uint64_t n = bytes < f->promised_bytes ? bytes : f->promised_bytes;
	f->promised_bytes -= n;
	room->promised -= n;
	room->brought += n;
}

void mirror_room_end(struct mirror_fetch *f, bool is_here)
{
	if (is_here)
		mirror_room_brought(f, f->promised_bytes);
	f->m->room.promised -= f->promised_bytes;
	f->promised_bytes = 0;
}
