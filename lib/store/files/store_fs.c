/* Stores objects as files. An object is durable before it is visible, and only whole objects are visible. The data is
 * fsynced, then linked, then the folders are fsynced. */
#include "store/files/store_fs.h"
#include "store/files/loose.h"

#include "base/crash_point.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"
#include "store/tmpfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { STORE_FS_DIR_MODE = 0700 };

struct store_fs_put {
	struct cairn_store_put base;
	struct cairn_tmpfile file;
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

static void store_fs_free(struct cairn_store *s)
{
	struct store_fs *fs = (struct store_fs *)s;
	cairn_fd_closep(&fs->dir_fd);
	cairn_fd_closep(&fs->objects_fd);
	cairn_fd_closep(&fs->tmp_fd);
	cairn_fd_closep(&fs->damaged_fd);
	store_packs_fini(&fs->packs);
	store_open_files_fini(&fs->opened);
	free(fs);
}

/* @return a descriptor of the folder; -1 with errno */
static int store_fs_folder(int at_fd, const char *name, bool make)
{
	if (make && cairn_sys_mkdirat(at_fd, name, STORE_FS_DIR_MODE) < 0 && errno != EEXIST)
		return -1;
	return cairn_sys_openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

/* @return false, with errno: not everything was removed, or the folder cannot be read */
static bool store_fs_empty_tmp(const struct store_fs *fs)
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	const char *name;
	if (cairn_folder_open(&folder, store_fs_folder(fs->tmp_fd, ".", false)) != CAIRN_OK)
		return false;
	for (;;) {
		if (cairn_folder_next(&folder, &name) != CAIRN_OK)
			return false;
		if (!name)
			return true;
		if (name[0] != '.' && cairn_sys_unlinkat(fs->tmp_fd, name, 0) < 0)
			return false;
	}
}

/* Makes all names in the folder durable, also those of the secret and the index that a killed start left. SQLite
 * usually syncs the folder with its log, but it can be built not to. */
static bool store_fs_folders_durable(const struct store_fs *fs)
{
	cairn_crash_point(CAIRN_CRASH_FOLDERS_MADE);
	return cairn_sys_fsync(fs->dir_fd) == 0;
}

/* Checks that links from tmp to objects work: they do not cross a mount, not even one of the same file system. If a
 * full disk prevents the test, the store starts anyway. */
static bool store_fs_can_link(const struct store_fs *fs)
{
	static const char NAME[] = ".linked"; /* no object's name; a leftover is removed first */
	CLEANUP(cairn_tmpfile_fini) struct cairn_tmpfile file = CAIRN_TMPFILE_NONE;
	bool existed;
	enum cairn_status status = cairn_tmpfile_open(&file, fs->tmp_fd);
	if (status == CAIRN_OK) {
		(void)cairn_sys_unlinkat(fs->objects_fd, NAME, 0);
		status = cairn_tmpfile_link(&file, fs->objects_fd, NAME, &existed);
	}
	if (status == CAIRN_OK)
		(void)cairn_sys_unlinkat(fs->objects_fd, NAME, 0);
	return status == CAIRN_OK || status == CAIRN_E_FULL;
}

/* Opens the folders for reading: creates nothing, and folders that reading does not need may be missing. Without a
 * folder for packs, the objects' folder takes its place, since nothing there has a pack's name. */
static bool store_fs_find_folders(struct store_fs *fs)
{
	fs->objects_fd = store_fs_folder(fs->dir_fd, "objects", false);
	if (fs->objects_fd < 0)
		return false;
	fs->tmp_fd = store_fs_folder(fs->dir_fd, "tmp", false);
	fs->damaged_fd = store_fs_folder(fs->dir_fd, "damaged", false);
	int packs_fd = store_fs_folder(fs->dir_fd, "packs", false);
	if (packs_fd < 0 && errno == ENOENT)
		packs_fd = store_fs_folder(fs->dir_fd, "objects", false);
	return packs_fd >= 0 && store_packs_open(&fs->packs, packs_fd) == CAIRN_OK;
}

static bool store_fs_make_folders(struct store_fs *fs)
{
	int packs_fd;
	return (fs->objects_fd = store_fs_folder(fs->dir_fd, "objects", true)) >= 0 &&
	       (fs->tmp_fd = store_fs_folder(fs->dir_fd, "tmp", true)) >= 0 &&
	       (fs->damaged_fd = store_fs_folder(fs->dir_fd, "damaged", true)) >= 0 &&
	       (packs_fd = store_fs_folder(fs->dir_fd, "packs", true)) >= 0 &&
	       store_packs_open(&fs->packs, packs_fd) == CAIRN_OK && store_fs_folders_durable(fs);
}

static enum cairn_status store_fs_check_link(const struct store_fs *fs, const char *dir, struct cairn_diag *diag)
{
	if (store_fs_can_link(fs))
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_IO, "store.link", CAIRN_NO_OFFSET,
		"cannot link from tmp into objects: %s; both must be writable and on one mount, so mount a disk for "
		"them at the whole data folder %s",
		strerror(errno), dir);
}

static enum cairn_status store_fs_open_folders(struct store_fs *fs, const char *dir, bool beside,
					       struct cairn_diag *diag)
{
	const char *what = "make";
	if (beside || cairn_sys_mkdir(dir, STORE_FS_DIR_MODE) == 0 || errno == EEXIST) {
		what = "open";
		fs->dir_fd = cairn_sys_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
		if (fs->dir_fd >= 0 && (beside ? store_fs_find_folders(fs) : store_fs_make_folders(fs))) {
			what = "empty the folder tmp of";
			if (beside)
				return CAIRN_OK;
			if (store_fs_empty_tmp(fs))
				return store_fs_check_link(fs, dir, diag);
		}
	}
	return cairn_fail(diag, CAIRN_E_IO, "store.folder", CAIRN_NO_OFFSET,
			  "cannot %s the data folder %s: %s; give it to the user of this process or choose another",
			  what, dir, strerror(errno));
}

/* --- putting ------------------------------------------------------------------------------------------------------ */

static enum cairn_status store_fs_put_begin(struct cairn_store *s, struct cairn_store_put **out)
{
	const struct store_fs *fs = (const struct store_fs *)s;
	struct store_fs_put *p = calloc(1, sizeof(*p));
	if (!p)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_tmpfile_open(&p->file, fs->tmp_fd);
	if (status != CAIRN_OK) {
		free(p);
		return status;
	}
	*out = &p->base;
	cairn_crash_point(CAIRN_CRASH_PUT_BEGUN);
	return CAIRN_OK;
}

static enum cairn_status store_fs_put_write(struct cairn_store_put *put, const uint8_t *bytes, size_t len)
{
	enum cairn_status status = cairn_fd_write_all(((struct store_fs_put *)put)->file.fd, bytes, len);
	cairn_crash_point(CAIRN_CRASH_PUT_WRITTEN);
	return status;
}

static enum cairn_status store_fs_put_commit(struct cairn_store_put *put, const struct cairn_hash *hash, bool *existed)
{
	struct store_fs_put *p = (struct store_fs_put *)put;
	struct store_fs *fs = (struct store_fs *)put->store;
	CLEANUP(store_packs_release) struct store_packed packed = {0};
	/* Ignore a copy in a read-only pack, perhaps a leftover: the object folder takes precedence. */
	*existed =
		store_packs_find(&fs->packs, hash, (struct store_packs_which){.writable = true}, &packed) == CAIRN_OK;
	if (*existed)
		return store_packs_confirm(&fs->packs, &packed);
	/* Open the folder before the first sync: a journal that has both then makes its entry durable, too. */
	CLEANUP(cairn_fd_closep) int home_fd = store_homes_open(&fs->homes, fs->objects_fd, hash);
	if (home_fd < 0 || cairn_sys_fsync(p->file.fd) < 0)
		return cairn_fd_status(errno);
	cairn_crash_point(CAIRN_CRASH_PUT_SYNCED);
	char name[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(name, hash);
	enum cairn_status status = cairn_tmpfile_link(&p->file, home_fd, name, existed);
	cairn_crash_point(CAIRN_CRASH_PUT_LINKED);
	/* Sync also if the object existed: another thread may have linked it, but not synced it yet. */
	if (status == CAIRN_OK && !store_homes_sync(&fs->homes, fs->objects_fd, hash, home_fd))
		status = cairn_fd_status(errno);
	cairn_crash_point(CAIRN_CRASH_PUT_DURABLE);
	return status;
}

static void store_fs_put_abort(struct cairn_store_put *put)
{
	struct store_fs_put *p = (struct store_fs_put *)put;
	cairn_tmpfile_fini(&p->file);
	free(p);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Returns whether the open file is still at the object's path. If it was removed, moved or replaced, it does not count
 * as stored. Uses no open(), which the sandbox makes slower. */
static bool store_fs_is_in_place(const struct store_fs *fs, const struct cairn_hash *hash, int fd, struct stat *st)
{
	char path[STORE_FS_PATH_BYTES];
	struct stat there;
	store_fs_path(path, hash);
	return cairn_sys_fstat(fd, st) == 0 &&
	       cairn_sys_fstatat(fs->objects_fd, path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       there.st_dev == st->st_dev && there.st_ino == st->st_ino;
}

static enum cairn_status store_fs_get_loose(struct store_fs *fs, const struct cairn_hash *hash, int *fd,
					    struct stat *st)
{
	uint64_t n_forgotten;
	*fd = store_open_files_get(&fs->opened, hash, &n_forgotten);
	if (*fd >= 0 && store_fs_is_in_place(fs, hash, *fd, st))
		return CAIRN_OK;
	cairn_fd_closep(fd);
	enum cairn_status status = store_fs_open_loose(fs, hash, fd, st);
	if (status == CAIRN_E_NOT_FOUND)
		store_open_files_forget(&fs->opened, hash);
	if (status == CAIRN_OK && S_ISREG(st->st_mode))
		store_open_files_keep(&fs->opened, hash, *fd, n_forgotten);
	return status;
}

static uint64_t store_fs_time_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000 * 1000 * 1000 + (uint64_t)t->tv_nsec;
}

static uint64_t store_fs_identity(const struct stat *st, const struct cairn_readshard_slot *slot)
{
	const uint64_t words[] = {
		st->st_dev,
		st->st_ino,
		store_fs_time_ns(&st->st_ctim),
		store_fs_time_ns(&st->st_mtim),
		(uint64_t)st->st_size,
		slot->bytes,
		slot->bytes_at,
	};
	return store_identity(words, sizeof(words) / sizeof(words[0]));
}

/* Asks the object folder first: an object is in its pack before it leaves the folder, so it is always found. */
static enum cairn_status store_fs_get(struct cairn_store *s, const struct cairn_hash *hash, unsigned n,
				      struct cairn_store_object **out)
{
	struct store_fs *fs = (struct store_fs *)s;
	struct cairn_readshard_slot slot = {0};
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = -1;
	enum cairn_status status = store_fs_get_loose(fs, hash, &fd, &st);
	if (status == CAIRN_E_NOT_FOUND || n > 0) {
		n -= status != CAIRN_E_NOT_FOUND;
		cairn_fd_closep(&fd);
		status = store_packs_get(&fs->packs, hash, n, &slot, &fd, &st);
	} else if (status == CAIRN_OK) {
		slot.bytes = (uint64_t)st.st_size;
	}
	if (status != CAIRN_OK)
		return status;
	struct cairn_store_object *o = calloc(1, sizeof(*o));
	if (!o)
		return CAIRN_E_NOMEM;
	o->bytes = slot.bytes;
	o->identity = store_fs_identity(&st, &slot);
	o->fd_offset = slot.bytes_at;
	o->fd = fd;
	fd = -1;
	*out = o;
	return CAIRN_OK;
}

static enum cairn_status store_fs_object_read(struct cairn_store_object *o, uint64_t offset, uint8_t *out, size_t len)
{
	return cairn_fd_read_at(o->fd, o->fd_offset + offset, out, len);
}

static void store_fs_object_free(struct cairn_store_object *o)
{
	cairn_fd_closep(&o->fd);
	free(o);
}

static enum cairn_status store_fs_stat(struct cairn_store *s, const struct cairn_hash *hash, uint64_t *bytes)
{
	struct store_fs *fs = (struct store_fs *)s;
	CLEANUP(store_packs_release) struct store_packed packed = {0};
	enum cairn_status status = store_fs_stat_loose(fs, hash, bytes);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = store_packs_find(&fs->packs, hash, (struct store_packs_which){0}, &packed);
	if (status == CAIRN_OK)
		*bytes = packed.slot.bytes;
	return status;
}

static enum cairn_status store_fs_confirm(struct cairn_store *s, const struct cairn_hash *hash, unsigned copy)
{
	struct store_fs *fs = (struct store_fs *)s;
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = -1;
	CLEANUP(cairn_fd_closep) int home_fd = -1;
	enum cairn_status status = store_fs_open_loose(fs, hash, &fd, &st);
	if (status == CAIRN_E_NOT_FOUND || copy > 0) {
		CLEANUP(store_packs_release) struct store_packed packed = {0};
		const struct store_packs_which which = {.skip = copy - (status != CAIRN_E_NOT_FOUND)};
		status = store_packs_find(&fs->packs, hash, which, &packed);
		return status == CAIRN_OK ? store_packs_confirm(&fs->packs, &packed) : status;
	}
	if (status != CAIRN_OK)
		return status;
	/* Sync its bytes, too: somebody may have copied the file here. */
	if (cairn_sys_fsync(fd) < 0)
		return cairn_fd_status(errno);
	home_fd = store_homes_open(&fs->homes, fs->objects_fd, hash);
	return home_fd < 0 || !store_homes_sync(&fs->homes, fs->objects_fd, hash, home_fd) ? cairn_fd_status(errno)
											   : CAIRN_OK;
}

/* Checks that the path still leads to the folder opened at the start: another disk may be mounted over it. */
static enum cairn_status store_fs_ready(struct cairn_store *s, struct cairn_diag *diag)
{
	const struct store_fs *fs = (const struct store_fs *)s;
	struct stat open_st, there;
	if (cairn_sys_fstat(fs->objects_fd, &open_st) == 0 &&
	    cairn_sys_fstatat(fs->dir_fd, "objects", &there, 0) == 0 && open_st.st_dev == there.st_dev &&
	    open_st.st_ino == there.st_ino)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_IO, "store.replaced", CAIRN_NO_OFFSET,
			  "the folder objects of the data folder is not the one that was opened at the start: put it "
			  "back, or restart the daemon if the other one is meant");
}

static void store_fs_room(struct cairn_store *s, struct cairn_store_room *out)
{
	const struct store_fs *fs = (const struct store_fs *)s;
	struct statvfs st;
	*out = (struct cairn_store_room){0};
	if (cairn_sys_fstatvfs(fs->objects_fd, &st) < 0)
		return;
	/* File systems with dynamic inodes, such as btrfs, report 0 in all. */
	bool counted = st.f_files != 0;
	*out = (struct cairn_store_room){
		.bytes = (uint64_t)st.f_bavail * st.f_frsize,
		.files = counted ? (uint64_t)st.f_favail : UINT64_MAX,
		.files_capacity = counted ? (uint64_t)st.f_files : UINT64_MAX,
	};
}

/* --- removing ----------------------------------------------------------------------------------------------------- */

static enum cairn_status store_fs_remove(struct cairn_store *s, const struct cairn_hash *hash, struct cairn_diag *diag)
{
	(void)diag;
	struct store_fs *fs = (struct store_fs *)s;
	enum cairn_status status = store_packs_remove(&fs->packs, hash);
	if (status != CAIRN_OK)
		return status;
	if (!store_fs_unlink_loose(fs, hash))
		return errno == ENOENT ? CAIRN_OK : CAIRN_E_IO;
	cairn_crash_point(CAIRN_CRASH_REMOVE_UNLINKED);
	return CAIRN_OK;
}

/* Returns the i-th name for a damaged object: copies that were set aside before are kept. */
static void store_fs_aside(char out[static STORE_FS_ASIDE_PATH_BYTES], const struct cairn_hash *hash, int i)
{
	char name[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(name, hash);
	if (i == 0)
		(void)snprintf(out, STORE_FS_ASIDE_PATH_BYTES, "%s", name);
	else
		(void)snprintf(out, STORE_FS_ASIDE_PATH_BYTES, "%s.%u", name, (unsigned)i % STORE_FS_ASIDE_MAX);
}

static enum cairn_status store_fs_set_loose_aside(struct store_fs *fs, const struct cairn_hash *hash)
{
	char path[STORE_FS_PATH_BYTES], aside[STORE_FS_ASIDE_PATH_BYTES];
	store_fs_path(path, hash);
	for (int i = 0; i < STORE_FS_ASIDE_MAX; i++) {
		store_fs_aside(aside, hash, i);
		if (cairn_fd_rename_new(fs->objects_fd, path, fs->damaged_fd, aside) == CAIRN_OK) {
			store_open_files_forget(&fs->opened, hash);
			cairn_crash_point(CAIRN_CRASH_ASIDE_MOVED);
			/* After a crash the old name may be back, but no row vouches for it. */
			bool durable = cairn_sys_fsync(fs->damaged_fd) == 0;
			cairn_crash_point(CAIRN_CRASH_ASIDE_DURABLE);
			return durable ? CAIRN_OK : CAIRN_E_IO;
		}
		if (errno != EEXIST)
			return errno == ENOENT ? CAIRN_E_NOT_FOUND : CAIRN_E_IO;
	}
	return CAIRN_E_IO;
}

/* Moves an object out of the first pack that has it: copies all that the disk can read, then deletes it there. */
static enum cairn_status store_fs_set_packed_aside(struct store_fs *fs, const struct cairn_hash *hash)
{
	struct cairn_readshard_slot slot;
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = -1;
	CLEANUP(cairn_tmpfile_fini) struct cairn_tmpfile copy = CAIRN_TMPFILE_NONE;
	enum cairn_status status = store_packs_get(&fs->packs, hash, 0, &slot, &fd, &st);
	if (status == CAIRN_OK)
		status = cairn_tmpfile_open(&copy, fs->tmp_fd);
	if (status != CAIRN_OK)
		return status;
	for (uint64_t at = 0; at < slot.bytes && status == CAIRN_OK;) {
		uint8_t block[65536] = {0};
		size_t n = slot.bytes - at < sizeof(block) ? (size_t)(slot.bytes - at) : sizeof(block);
		if (cairn_fd_read_at(fd, slot.bytes_at + at, block, n) != CAIRN_OK)
			memset(block, 0, n); /* unreadable on the disk */
		status = cairn_fd_write_all(copy.fd, block, n);
		at += n;
	}
	cairn_fd_closep(&fd); /* releases the bytes */
	if (status == CAIRN_OK && cairn_sys_fsync(copy.fd) < 0)
		status = cairn_fd_status(errno);
	bool existed = true;
	for (int i = 0; i < STORE_FS_ASIDE_MAX && existed && status == CAIRN_OK; i++) {
		char aside[STORE_FS_ASIDE_PATH_BYTES];
		store_fs_aside(aside, hash, i);
		status = cairn_tmpfile_link(&copy, fs->damaged_fd, aside, &existed);
	}
	if (status == CAIRN_OK && (existed || cairn_sys_fsync(fs->damaged_fd) < 0))
		status = CAIRN_E_IO;
	return status == CAIRN_OK ? store_packs_remove_from(&fs->packs, hash, &st) : status;
}

static enum cairn_status store_fs_set_aside(struct cairn_store *s, const struct cairn_hash *hash)
{
	struct store_fs *fs = (struct store_fs *)s;
	enum cairn_status status = store_fs_set_loose_aside(fs, hash);
	return status == CAIRN_E_NOT_FOUND ? store_fs_set_packed_aside(fs, hash) : status;
}

/* --- listing ------------------------------------------------------------------------------------------------------ */

struct store_fs_visit {
	struct store_fs *fs;
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, uint64_t bytes);
	void *ctx;
};

/* Calls each(v, path) for every entry that does not begin with a dot; path is prefix/name. */
static enum cairn_status store_fs_walk(const struct store_fs_visit *v, const char *prefix,
				       enum cairn_status (*each)(const struct store_fs_visit *v, const char *path))
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	const char *name = NULL;
	enum cairn_status status = cairn_folder_open(&folder, store_fs_folder(v->fs->objects_fd, prefix, false));
	if (status != CAIRN_OK)
		return errno == ENOTDIR ? CAIRN_OK : status;
	while ((status = cairn_folder_next(&folder, &name)) == CAIRN_OK && name) {
		char path[STORE_FS_PATH_BYTES];
		const char *separator = strcmp(prefix, ".") == 0 ? "" : "/";
		int n = snprintf(path, sizeof(path), "%s%s%s", *separator ? prefix : "", separator, name);
		if (name[0] == '.' || n < 0 || (size_t)n >= sizeof(path))
			continue;
		status = each(v, path);
		if (status != CAIRN_OK)
			return status;
	}
	return status;
}

/* Skips files that are not at the path which belongs to their name. */
static enum cairn_status store_fs_visit_file(const struct store_fs_visit *v, const char *path)
{
	struct cairn_hash hash;
	uint64_t bytes = 0;
	char home[STORE_FS_PATH_BYTES];
	const char *name = strrchr(path, '/');
	if (!name || cairn_hash_parse(&hash, name + 1, strlen(name + 1)) != CAIRN_OK)
		return CAIRN_OK;
	store_fs_path(home, &hash);
	if (strcmp(home, path) != 0)
		return CAIRN_OK;
	enum cairn_status status = store_fs_stat_loose(v->fs, &hash, &bytes);
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK; /* removed meanwhile */
	return status == CAIRN_OK ? v->visit(v->ctx, &hash, bytes) : status;
}

static enum cairn_status store_fs_visit_inner(const struct store_fs_visit *v, const char *path)
{
	return store_fs_walk(v, path, store_fs_visit_file);
}

static enum cairn_status store_fs_visit_outer(const struct store_fs_visit *v, const char *path)
{
	return store_fs_walk(v, path, store_fs_visit_inner);
}

/* Skips an object with a leftover in the object folder: it was visited there. */
static enum cairn_status store_fs_visit_packed(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	const struct store_fs_visit *v = ctx;
	uint64_t loose_bytes;
	if (store_fs_stat_loose(v->fs, hash, &loose_bytes) == CAIRN_OK)
		return CAIRN_OK;
	return v->visit(v->ctx, hash, bytes);
}

static enum cairn_status store_fs_each(struct cairn_store *s,
				       enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
								  uint64_t bytes),
				       void *ctx)
{
	struct store_fs_visit v = {.fs = (struct store_fs *)s, .visit = visit, .ctx = ctx};
	enum cairn_status status = store_fs_walk(&v, ".", store_fs_visit_outer);
	return status == CAIRN_OK ? store_packs_each(&v.fs->packs, store_fs_visit_packed, &v) : status;
}

static const struct cairn_store_backend STORE_FS_BACKEND = {
	.packs = &STORE_FS_PACK_TIER,
	.free = store_fs_free,
	.put_begin = store_fs_put_begin,
	.put_write = store_fs_put_write,
	.put_commit = store_fs_put_commit,
	.put_abort = store_fs_put_abort,
	.get = store_fs_get,
	.object_read = store_fs_object_read,
	.object_free = store_fs_object_free,
	.stat = store_fs_stat,
	.confirm = store_fs_confirm,
	.remove = store_fs_remove,
	.set_aside = store_fs_set_aside,
	.each = store_fs_each,
	.room = store_fs_room,
	.ready = store_fs_ready,
};

enum cairn_status store_fs_open(struct cairn_store **out, const char *dir, const struct cairn_store_options *options,
				struct cairn_diag *diag)
{
	*out = NULL;
	struct store_fs *fs = calloc(1, sizeof(*fs));
	if (!fs)
		return CAIRN_E_NOMEM;
	fs->base.backend = &STORE_FS_BACKEND;
	fs->dir_fd = fs->objects_fd = fs->tmp_fd = fs->damaged_fd = fs->packs.dir_fd = -1;
	store_open_files_init(&fs->opened);
	enum cairn_status status = store_fs_open_folders(fs, dir, options->beside, diag);
	if (status != CAIRN_OK) {
		store_fs_free(&fs->base);
		return status;
	}
	*out = &fs->base;
	return CAIRN_OK;
}
