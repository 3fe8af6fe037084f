#include "cas/room.h"

#include "cas/internal.h"

#include <inttypes.h>

/* The index also needs some files when it is opened. */
static uint64_t cas_files_kept(const struct cairn_store_room *room)
{
	uint64_t share = room->files_capacity / 100;
	return share < CAIRN_CAS_FILES_RESERVE ? share : CAIRN_CAS_FILES_RESERVE;
}

static enum cairn_status cas_check_files(const struct cairn_store_room *room, struct cairn_diag *diag)
{
	uint64_t kept = cas_files_kept(room);
	if (room->files >= kept)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FULL, "disk.files", CAIRN_NO_OFFSET,
			 "the disk can take no more files: %" PRIu64 " inodes are free, %" PRIu64
			 " are kept in reserve; remove files, or pack old xorbs (cairn pack create)",
			 room->files, kept);
	cairn_diag_numbers(diag, kept, room->files);
	return CAIRN_E_FULL;
}

static enum cairn_status cas_check_bytes(const struct cairn_cas *cas, const struct cairn_store_room *room,
					 uint64_t bytes, struct cairn_diag *diag)
{
	uint64_t reserve = cas->options.reserve_bytes;
	if (room->bytes >= reserve && room->bytes - reserve >= bytes)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FULL, "disk.reserve", CAIRN_NO_OFFSET,
			 "the disk is full: %" PRIu64 " bytes are free, %" PRIu64
			 " are kept in reserve; free some space",
			 room->bytes, reserve);
	cairn_diag_numbers(diag, reserve + bytes, room->bytes);
	return CAIRN_E_FULL;
}

enum cairn_status cas_check_space(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag)
{
	struct cairn_store_room room;
	cairn_store_room(cas->store, &room);
	return cas_check_bytes(cas, &room, bytes, diag);
}

uint64_t cairn_cas_free_bytes(struct cairn_cas *cas)
{
	struct cairn_store_room room;
	uint64_t reserve = cas->options.reserve_bytes;
	cairn_store_room(cas->store, &room);
	if (room.bytes == UINT64_MAX)
		return room.bytes;
	return room.bytes > reserve ? room.bytes - reserve : 0;
}

enum cairn_status cairn_cas_room(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag)
{
	struct cairn_store_room room;
	cairn_store_room(cas->store, &room);
	enum cairn_status status = cas_check_bytes(cas, &room, bytes, diag);
	return status == CAIRN_OK ? cas_check_files(&room, diag) : status;
}
