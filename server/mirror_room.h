/* Evicts files of mirrored repositories, so that the bytes stored of them stay within mirror_bytes_max. */
#ifndef CAIRN_SERVER_MIRROR_ROOM_H
#define CAIRN_SERVER_MIRROR_ROOM_H

#include "server/app.h"

/** The state of mirror_room_keep() between calls, for one thread. Zeroed at first. */
struct mirror_room {
	int64_t look_ms;         /* when the free space is next checked, on the monotonic clock */
	uint64_t noted_bytes;    /* evicted since the start, as last noted in the next figure */
	uint64_t pending_bytes;  /* evicted, but not yet freed by a collection */
	int64_t evicted_s;       /* when the last of these were evicted */
	int64_t pending_until_s; /* when these count as freed */
	int64_t sweep_s;         /* when evicted bytes may next leave the disk, in Unix time; 0: none wait */
	int64_t withdraw_s;      /* when the files to evict next are next searched, in Unix time */
	int64_t measure_ms;      /* when offers is next measured, on the monotonic clock; 0: now */
	uint64_t measured_bytes; /* what mirrored repositories held when offers was measured */
	uint64_t offers;         /* how much more might be offered then */
};

/** Measures how many bytes are stored, and evicts from 90 % of the limit on. Removes the bytes of evicted files that
 * nobody was offered lately, and keeps what is offered, or was lately, within half of the limit. Most calls do nothing.
 * Call on housekeeping's thread. @param stops  true: end early */
void mirror_room_keep(struct mirror_room *room, struct app *app, bool (*stops)(void *ctx), void *ctx);

#endif
