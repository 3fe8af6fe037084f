#include "archive/readshard/delete.h"

#include "base/bytes.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DELETE_ZEROS_BYTES = 64 * 1024 };

/* Locks for the open file, not for the process. @return false: another holder has a lock */
static bool delete_lock(int fd, short type, uint64_t at, uint64_t len)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = (off_t)len, .l_pid = 0};
	return fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

void cairn_readshard_hold(int fd, const struct cairn_readshard_slot *slot)
{
	(void)delete_lock(fd, F_RDLCK, slot->at, CAIRN_READSHARD_SIZE_BYTES + slot->bytes);
}

/* Punches a hole if the file system can: zeros that occupy no space. */
static enum cairn_status delete_punch(int fd, uint64_t at, uint64_t len)
{
	static const uint8_t ZEROS[DELETE_ZEROS_BYTES];
	if (cairn_sys_fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)len) == 0)
		return CAIRN_OK;
	enum cairn_status status = CAIRN_OK;
	while (len > 0 && status == CAIRN_OK) {
		size_t n = len < sizeof(ZEROS) ? (size_t)len : sizeof(ZEROS);
		status = cairn_fd_write_at(fd, at, ZEROS, n);
		at += n;
		len -= n;
	}
	return status;
}

static enum cairn_status delete_zero(int fd, uint64_t at, uint64_t len, bool *zeroed)
{
	if (len == 0)
		return CAIRN_OK;
	if (!delete_lock(fd, F_WRLCK, at, len)) {
		*zeroed = false;
		return CAIRN_OK;
	}
	enum cairn_status status = delete_punch(fd, at, len);
	(void)delete_lock(fd, F_UNLCK, at, len);
	return status;
}

enum cairn_status cairn_readshard_delete(struct cairn_readshard *s, int fd,
					 const uint8_t key[static CAIRN_READSHARD_KEY_BYTES], bool *zeroed,
					 struct cairn_diag *diag)
{
	struct cairn_readshard_slot slot;
	uint8_t tombstone[CAIRN_READSHARD_SLOT_BYTES] = {0};
	*zeroed = true;
	enum cairn_status status = cairn_readshard_find(s, key, &slot, diag);
	if (status != CAIRN_OK)
		return status;
	/* Check overlaps before the tombstone is written: after it, an overlapping object would look sound. */
	bool disjoint = cairn_readshard_check_disjoint(s, diag) == CAIRN_OK;
	cairn_put_u64be(tombstone + CAIRN_READSHARD_KEY_BYTES, CAIRN_READSHARD_NO_OFFSET);
	status = cairn_fd_write_at(fd, cairn_readshard_slot_at(s, cairn_readshard_slot_of(s, key)), tombstone,
				   sizeof(tombstone));
	if (status == CAIRN_OK)
		status = cairn_sys_fdatasync(fd) == 0 ? CAIRN_OK : cairn_fd_status(errno);
	cairn_crash_point(CAIRN_CRASH_PACK_BURIED);
	*zeroed = disjoint;
	if (status == CAIRN_OK && disjoint)
		status = delete_zero(fd, slot.at, CAIRN_READSHARD_SIZE_BYTES + slot.bytes, zeroed);
	cairn_crash_point(CAIRN_CRASH_PACK_ZEROED);
	return status;
}

enum cairn_status cairn_readshard_scrub(struct cairn_readshard *s, int fd, bool *zeroed, struct cairn_diag *diag)
{
	const struct cairn_readshard_header *h = cairn_readshard_header_of(s);
	uint32_t *slots, n;
	*zeroed = true;
	enum cairn_status status = cairn_readshard_list(s, &slots, &n, diag);
	if (status == CAIRN_OK && n >= h->n_objects) {
		free(slots); /* nothing was deleted, so an apparent gap is an object with a damaged length */
		return CAIRN_OK;
	}
	if (status == CAIRN_OK)
		status = cairn_readshard_check_disjoint(s, diag);
	uint64_t end = h->objects_at;
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		status = cairn_readshard_slot(s, slots[i], &slot, diag);
		if (status != CAIRN_OK || !slot.is_live)
			continue;
		if (slot.at > end)
			status = delete_zero(fd, end, slot.at - end, zeroed);
		end = slot.bytes_at + slot.bytes > end ? slot.bytes_at + slot.bytes : end;
	}
	if (status == CAIRN_OK && h->objects_at + h->objects_bytes > end)
		status = delete_zero(fd, end, h->objects_at + h->objects_bytes - end, zeroed);
	free(slots);
	if (status == CAIRN_OK && cairn_sys_fdatasync(fd) < 0)
		status = cairn_fd_status(errno);
	return status;
}
