/* Moving objects into a pack. Order, so that a kill at any point leaves each object in one place or both: the pack is
 * whole and durable under a name before the first object leaves the object folder. */
#include "archive/readshard/writer.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "store/store_fs.h"
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
	PACKING_CLOCK_SLACK_S = 2, /* times of files are a little behind the clock */
};

struct cairn_store_packing {
	struct store_fs *fs;
	struct cairn_tmpfile file;
	struct cairn_readshard_writer *writer;
	struct cairn_readshard *shard; /* once committed */
	time_t begun_unix_s;
	char name[CAIRN_STORE_PACK_NAME_MAX + 1];
	uint8_t loose[PACKING_BLOCK_BYTES], packed[PACKING_BLOCK_BYTES];
};

enum cairn_status cairn_store_each_pack(struct cairn_store *s,
					void (*visit)(void *ctx, const struct cairn_store_pack *pack), void *ctx)
{
	return s->backend->has_packs ? store_packs_list(&((struct store_fs *)s)->packs, visit, ctx) : CAIRN_OK;
}

enum cairn_status cairn_store_tidy_packs(struct cairn_store *s)
{
	return s->backend->has_packs ? store_packs_tidy(&((struct store_fs *)s)->packs) : CAIRN_OK;
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

bool cairn_store_is_pack_name(const char *name)
{
	static const char LEGAL[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	static const char SUFFIX[] = ".shard";
	size_t len = strlen(name), suffix = sizeof(SUFFIX) - 1;
	return name[0] != '.' && len > suffix && len <= CAIRN_STORE_PACK_NAME_MAX && strspn(name, LEGAL) == len &&
	       strcmp(name + len - suffix, SUFFIX) == 0;
}

static void packing_count(void *ctx, const struct cairn_store_pack *pack)
{
	(void)pack;
	(*(size_t *)ctx)++;
}

static enum cairn_status packing_check(struct store_fs *fs, const char *name, struct cairn_diag *diag)
{
	struct stat st;
	size_t n = 0;
	if (!cairn_store_is_pack_name(name))
		return cairn_fail(
			diag, CAIRN_E_USAGE, "pack.name", CAIRN_NO_OFFSET,
			"a pack's name is of letters, digits, \"-\", \"_\" and \".\", ends in \".shard\" and has at "
			"most %d bytes",
			CAIRN_STORE_PACK_NAME_MAX);
	if (fstatat(fs->packs.dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "pack.exists", CAIRN_NO_OFFSET,
				  "there is a pack of this name; choose another");
	enum cairn_status status = store_packs_list(&fs->packs, packing_count, &n);
	if (status == CAIRN_OK && n >= CAIRN_STORE_PACKS_MAX)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "pack.many", CAIRN_NO_OFFSET,
				  "there are %d packs, as many as are served; make fewer, larger ones",
				  CAIRN_STORE_PACKS_MAX);
	return status;
}

enum cairn_status cairn_store_packing_begin(struct cairn_store *s, const char *name, struct cairn_store_packing **out,
					    struct cairn_diag *diag)
{
	struct store_fs *fs = (struct store_fs *)s;
	*out = NULL;
	if (!s->backend->has_packs)
		return cairn_fail(diag, CAIRN_E_USAGE, "pack.none", CAIRN_NO_OFFSET, "this store has no packs");
	enum cairn_status status = packing_check(fs, name, diag);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_store_packing_freep) struct cairn_store_packing *p = calloc(1, sizeof(*p));
	if (!p)
		return CAIRN_E_NOMEM;
	p->fs = fs;
	p->file = CAIRN_TMPFILE_NONE;
	p->begun_unix_s = time(NULL);
	memcpy(p->name, name, strlen(name) + 1);
	status = cairn_tmpfile_open(&p->file, fs->tmp_fd);
	if (status == CAIRN_OK)
		status = cairn_readshard_writer_new(&p->writer, p->file.fd);
	if (status != CAIRN_OK)
		return status;
	*out = p;
	p = NULL;
	return CAIRN_OK;
}

void cairn_store_packing_free(struct cairn_store_packing *p)
{
	if (!p)
		return;
	cairn_readshard_writer_free(p->writer);
	cairn_readshard_free(p->shard);
	cairn_tmpfile_fini(&p->file);
	free(p);
}

void cairn_store_packing_freep(struct cairn_store_packing **p)
{
	cairn_store_packing_free(*p);
	*p = NULL;
}

/* --- leaving the object folder ------------------------------------------------------------------------------------ */

/* Are the next len bytes of two files, at these offsets, the same? */
static enum cairn_status packing_compare(struct cairn_store_packing *p, int loose_fd, int packed_fd, uint64_t packed_at,
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

/* Compared unless the file in the object folder is the one that was copied: one that is not older than the packing may
 * have taken its place. */
static enum cairn_status packing_drop(struct cairn_store_packing *p, const struct cairn_hash *hash, bool was_copied)
{
	struct cairn_readshard_slot slot;
	struct stat st;
	CLEANUP(cairn_fd_closep) int loose_fd = -1;
	CLEANUP(cairn_fd_closep) int packed_fd = -1;
	enum cairn_status status = store_fs_open_loose(p->fs, hash, &loose_fd, &st);
	if (status == CAIRN_OK)
		status = store_packs_get(&p->fs->packs, hash, &slot, &packed_fd);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	bool same = (uint64_t)st.st_size == slot.bytes;
	if (same && !(was_copied && st.st_mtim.tv_sec < p->begun_unix_s - PACKING_CLOCK_SLACK_S))
		status = packing_compare(p, loose_fd, packed_fd, slot.bytes_at, slot.bytes, &same);
	if (status != CAIRN_OK || !same)
		return status;
	/* Its folder is not fsynced: after a crash it may be there again, which harms nothing. */
	bool moved = store_fs_unlink_loose(p->fs, hash) || errno == ENOENT;
	cairn_crash_point(CAIRN_CRASH_PACK_MOVED);
	return moved ? CAIRN_OK : CAIRN_E_IO;
}

enum cairn_status cairn_store_packing_drop(struct cairn_store_packing *p, const struct cairn_hash *hash)
{
	return packing_drop(p, hash, true);
}

/* --- copying ------------------------------------------------------------------------------------------------------ */

bool cairn_store_packing_wants(const struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes)
{
	uint64_t loose_bytes;
	return store_fs_stat_loose(p->fs, hash, &loose_bytes) == CAIRN_OK && loose_bytes == bytes;
}

enum cairn_status cairn_store_packing_add(struct cairn_store_packing *p, const struct cairn_hash *hash, uint64_t bytes,
					  bool *added)
{
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = -1;
	CLEANUP(store_packs_release) struct store_packed packed = {0};
	*added = false;
	enum cairn_status status = store_fs_open_loose(p->fs, hash, &fd, &st);
	if (status != CAIRN_OK || (uint64_t)st.st_size != bytes)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* packed already, or for fsck */
	if (store_packs_find(&p->fs->packs, hash, false, &packed) == CAIRN_OK)
		return packing_drop(p, hash, false);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	status = cairn_readshard_writer_add_fd(p->writer, hash->b, fd, bytes);
	*added = status == CAIRN_OK;
	cairn_crash_point(CAIRN_CRASH_PACK_COPIED);
	return status;
}

enum cairn_status cairn_store_packing_commit(struct cairn_store_packing *p, struct cairn_diag *diag)
{
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
	if (status == CAIRN_OK && fsync(p->fs->packs.dir_fd) < 0)
		status = cairn_fd_status(errno);
	cairn_crash_point(CAIRN_CRASH_PACK_DURABLE);
	return status == CAIRN_OK ? store_packs_scan(&p->fs->packs) : status;
}

enum cairn_status cairn_store_packing_each(struct cairn_store_packing *p,
					   enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								      uint64_t bytes),
					   void *ctx)
{
	uint32_t *slots, n;
	enum cairn_status status = cairn_readshard_list(p->shard, &slots, &n, NULL);
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		struct cairn_hash hash;
		status = cairn_readshard_slot(p->shard, slots[i], &slot, NULL);
		if (status != CAIRN_OK || !slot.key)
			continue; /* removed meanwhile */
		memcpy(hash.b, slot.key, sizeof(hash.b));
		status = visit(ctx, &hash, slot.bytes);
	}
	free(slots);
	return status;
}
