/* Moves objects into a pack. The pack is whole and durable under its name before the first object leaves the object
 * folder. So a process killed at any point leaves each object in one place or in both. */
#include "archive/readshard/writer.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"
#include "store/files/loose.h"
#include "store/tmpfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	PACKING_BLOCK_BYTES = 64 * 1024,
	PACKING_CLOCK_SLACK_S = 2, /* file times lag behind the clock a little */
};

struct store_fs_packing {
	struct cairn_store_packing base;
	struct store_fs *fs;
	struct cairn_tmpfile file;
	struct cairn_readshard_writer *writer;
	struct cairn_readshard *shard; /* set by the commit */
	time_t begun_unix_s;
	char name[CAIRN_STORE_PACK_NAME_MAX + 1];
	uint8_t loose[PACKING_BLOCK_BYTES], packed[PACKING_BLOCK_BYTES];
};

static enum cairn_status store_fs_each_pack(struct cairn_store *s,
					    void (*visit)(void *ctx, const struct cairn_store_pack *pack), void *ctx)
{
	return store_packs_list(&((struct store_fs *)s)->packs, false, visit, ctx);
}

static enum cairn_status store_fs_check_packs(struct cairn_store *s,
					      void (*visit)(void *ctx, const struct cairn_store_pack *pack), void *ctx)
{
	return store_packs_list(&((struct store_fs *)s)->packs, true, visit, ctx);
}

static enum cairn_status store_fs_tidy_packs(struct cairn_store *s)
{
	return store_packs_tidy(&((struct store_fs *)s)->packs);
}

static void packing_count(void *ctx, const struct cairn_store_pack *pack)
{
	(*(size_t *)ctx) += pack->fault == NULL;
}

static enum cairn_status packing_check(struct store_fs *fs, const char *name, struct cairn_diag *diag)
{
	struct stat st;
	size_t n = 0;
	if (cairn_sys_fstatat(fs->packs.dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "pack.exists", CAIRN_NO_OFFSET,
				  "there is a pack of this name; choose another");
	enum cairn_status status = store_packs_list(&fs->packs, false, packing_count, &n);
	if (status == CAIRN_OK && n >= CAIRN_STORE_PACKS_MAX)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "pack.many", CAIRN_NO_OFFSET,
				  "there are %d packs, as many as are served; make fewer, larger ones",
				  CAIRN_STORE_PACKS_MAX);
	return status;
}

static void packing_free(struct cairn_store_packing *packing)
{
	struct store_fs_packing *p = (struct store_fs_packing *)packing;
	cairn_readshard_writer_free(p->writer);
	cairn_readshard_free(p->shard);
	cairn_tmpfile_fini(&p->file);
	free(p);
}

static enum cairn_status packing_begin(struct cairn_store *s, const char *name, struct cairn_store_packing **out,
				       struct cairn_diag *diag)
{
	struct store_fs *fs = (struct store_fs *)s;
	enum cairn_status status = packing_check(fs, name, diag);
	if (status != CAIRN_OK)
		return status;
	struct store_fs_packing *p = calloc(1, sizeof(*p));
	if (!p)
		return CAIRN_E_NOMEM;
	p->fs = fs;
	p->file = CAIRN_TMPFILE_NONE;
	p->begun_unix_s = time(NULL);
	memcpy(p->name, name, strlen(name) + 1);
	status = cairn_tmpfile_open(&p->file, fs->tmp_fd);
	if (status == CAIRN_OK)
		status = cairn_readshard_writer_new(&p->writer, p->file.fd);
	if (status != CAIRN_OK) {
		packing_free(&p->base);
		return status;
	}
	*out = &p->base;
	return CAIRN_OK;
}

/* Compares len bytes of two files at these offsets. */
static enum cairn_status packing_compare(struct store_fs_packing *p, int loose_fd, int packed_fd, uint64_t packed_at,
					 uint64_t len, bool *same)
{
	*same = true;
	for (uint64_t at = 0; at < len && *same;) {
		size_t n = len - at < sizeof(p->loose) ? (size_t)(len - at) : sizeof(p->loose);
		enum cairn_status status = cairn_fd_read_at(loose_fd, at, p->loose, n);
		if (status == CAIRN_OK)
			status = cairn_fd_read_at(packed_fd, packed_at + at, p->packed, n);
		if (status != CAIRN_OK)
			return status;
		*same = memcmp(p->loose, p->packed, n) == 0;
		at += n;
	}
	return CAIRN_OK;
}

/* Removes the loose file, after comparing it with the packed object. Skips the comparison if this is the file that was
 * copied. A file that is not older than the packing may have replaced it. */
static enum cairn_status packing_drop_loose(struct store_fs_packing *p, const struct cairn_hash *hash, bool was_copied)
{
	struct cairn_readshard_slot slot;
	struct stat st, packed_st;
	CLEANUP(cairn_fd_closep) int loose_fd = -1;
	CLEANUP(cairn_fd_closep) int packed_fd = -1;
	enum cairn_status status = store_fs_open_loose(p->fs, hash, &loose_fd, &st);
	if (status == CAIRN_OK)
		status = store_packs_get(&p->fs->packs, hash, 0, &slot, &packed_fd, &packed_st);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	bool same = (uint64_t)st.st_size == slot.bytes;
	if (same && !(was_copied && st.st_mtim.tv_sec < p->begun_unix_s - PACKING_CLOCK_SLACK_S))
		status = packing_compare(p, loose_fd, packed_fd, slot.bytes_at, slot.bytes, &same);
	if (status != CAIRN_OK || !same)
		return status;
	/* Do not fsync the folder: if the file is back after a crash, it does no harm. */
	bool moved = store_fs_unlink_loose(p->fs, hash) || errno == ENOENT;
	cairn_crash_point(CAIRN_CRASH_PACK_MOVED);
	return moved ? CAIRN_OK : CAIRN_E_IO;
}

static enum cairn_status packing_drop(struct cairn_store_packing *packing, const struct cairn_hash *hash)
{
	return packing_drop_loose((struct store_fs_packing *)packing, hash, true);
}

static bool packing_wants(const struct cairn_store_packing *packing, const struct cairn_hash *hash, uint64_t bytes)
{
	const struct store_fs_packing *p = (const struct store_fs_packing *)packing;
	uint64_t loose_bytes;
	return store_fs_stat_loose(p->fs, hash, &loose_bytes) == CAIRN_OK && loose_bytes == bytes;
}

static enum cairn_status packing_add(struct cairn_store_packing *packing, const struct cairn_hash *hash, uint64_t bytes,
				     bool *added)
{
	struct store_fs_packing *p = (struct store_fs_packing *)packing;
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = -1;
	CLEANUP(store_packs_release) struct store_packed packed = {0};
	*added = false;
	enum cairn_status status = store_fs_open_loose(p->fs, hash, &fd, &st);
	if (status != CAIRN_OK || (uint64_t)st.st_size != bytes)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* already packed, or left to fsck */
	if (store_packs_find(&p->fs->packs, hash, (struct store_packs_which){0}, &packed) == CAIRN_OK) {
		/* The pack must be durable before the object leaves the object folder. */
		status = store_packs_confirm(&p->fs->packs, &packed);
		return status == CAIRN_OK ? packing_drop_loose(p, hash, false) : status;
	}
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	status = cairn_readshard_writer_add_fd(p->writer, hash->b, fd, bytes);
	*added = status == CAIRN_OK;
	cairn_crash_point(CAIRN_CRASH_PACK_COPIED);
	return status;
}

static enum cairn_status packing_commit(struct cairn_store_packing *packing, struct cairn_diag *diag)
{
	struct store_fs_packing *p = (struct store_fs_packing *)packing;
	bool existed = false;
	enum cairn_status status = cairn_readshard_writer_end(p->writer, diag);
	cairn_crash_point(CAIRN_CRASH_PACK_WRITTEN);
	if (status == CAIRN_OK)
		status = cairn_readshard_open(&p->shard, p->file.fd, diag);
	if (status == CAIRN_OK)
		status = cairn_tmpfile_link(&p->file, p->fs->packs.dir_fd, p->name, &existed);
	if (status == CAIRN_OK && existed)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "pack.exists", CAIRN_NO_OFFSET,
				  "there is a pack of this name; choose another");
	cairn_tmpfile_unlink(&p->file);
	cairn_crash_point(CAIRN_CRASH_PACK_LINKED);
	if (status == CAIRN_OK && cairn_sys_fsync(p->fs->packs.dir_fd) < 0)
		status = cairn_fd_status(errno);
	cairn_crash_point(CAIRN_CRASH_PACK_DURABLE);
	return status == CAIRN_OK ? store_packs_scan(&p->fs->packs) : status;
}

static enum cairn_status packing_each(struct cairn_store_packing *packing,
				      enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								 uint64_t bytes),
				      void *ctx)
{
	struct store_fs_packing *p = (struct store_fs_packing *)packing;
	uint32_t *slots, n;
	enum cairn_status status = cairn_readshard_list(p->shard, &slots, &n, NULL);
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		struct cairn_hash hash;
		status = cairn_readshard_slot(p->shard, slots[i], &slot, NULL);
		if (status != CAIRN_OK || !slot.is_live)
			continue; /* removed meanwhile */
		memcpy(hash.b, slot.key, sizeof(hash.b));
		status = visit(ctx, &hash, slot.bytes);
	}
	free(slots);
	return status;
}

const struct cairn_store_pack_tier STORE_FS_PACK_TIER = {
	.each = store_fs_each_pack,
	.check = store_fs_check_packs,
	.tidy = store_fs_tidy_packs,
	.packing_begin = packing_begin,
	.packing_wants = packing_wants,
	.packing_add = packing_add,
	.packing_commit = packing_commit,
	.packing_each = packing_each,
	.packing_drop = packing_drop,
	.packing_free = packing_free,
};
