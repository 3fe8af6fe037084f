#include "store/files/packs.h"

#include "archive/readshard/delete.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
	PACKS_LISTED_MAX = 2 * CAIRN_STORE_PACKS_MAX, /* the served packs, and refused ones with their faults */
	PACKS_SCAN_AGAIN_MS = 1000,
	PACKS_RACY_S = 2, /* a folder changed this recently may change again within one tick of its time */
};

/* A file of the folder. Immutable except for the atomics. */
struct store_pack {
	_Atomic unsigned refs;
	_Atomic bool confirmed;        /* its unchanging bytes are durable */
	_Atomic bool untidy;           /* bytes of deleted objects may be left */
	bool writable;                 /* false: nothing can be deleted in it, as on a read-only disk */
	int fd;                        /* for deleting, and for the lock that marks the pack in use; -1: not served */
	struct cairn_readshard *shard; /* NULL: not served, see fault */
	struct cairn_diag fault;
	struct stat st; /* when it was opened */
	char name[CAIRN_STORE_PACK_NAME_MAX + 1];
};

static void pack_unref(struct store_pack *pack)
{
	if (!pack || atomic_fetch_sub(&pack->refs, 1) > 1)
		return;
	cairn_readshard_free(pack->shard);
	cairn_fd_closep(&pack->fd);
	free(pack);
}

static void pack_unrefp(struct store_pack **pack)
{
	pack_unref(*pack);
	*pack = NULL;
}

void store_packs_release(struct store_packed *packed)
{
	pack_unrefp(&packed->pack);
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

/* Opens a pack and keeps others from deleting in it (flock(2)). Sets fault if the pack is not usable. */
static void pack_open(struct store_pack *pack, int dir_fd)
{
	pack->fd = cairn_sys_openat(dir_fd, pack->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (pack->fd < 0 && (errno == EACCES || errno == EROFS))
		pack->fd = cairn_sys_openat(dir_fd, pack->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (pack->fd < 0) {
		(void)cairn_fail(&pack->fault, CAIRN_E_IO, "pack.open", CAIRN_NO_OFFSET, "it cannot be opened: %s",
				 strerror(errno));
	} else if (cairn_sys_flock(pack->fd, LOCK_SH | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			(void)cairn_fail(&pack->fault, CAIRN_E_BUSY, "pack.in_use", CAIRN_NO_OFFSET,
					 "another process is changing it");
		else
			(void)cairn_fail(&pack->fault, CAIRN_E_IO, "pack.open", CAIRN_NO_OFFSET,
					 "it cannot be locked: %s", strerror(errno));
	} else {
		enum cairn_status status = cairn_readshard_open(&pack->shard, pack->fd, &pack->fault);
		if (status != CAIRN_OK)
			(void)cairn_fail(&pack->fault, status, "pack.open", CAIRN_NO_OFFSET, "%s",
					 cairn_status_name(status));
	}
	if (!pack->shard)
		cairn_fd_closep(&pack->fd);
	pack->writable = pack->fd >= 0 && (fcntl(pack->fd, F_GETFL) & O_ACCMODE) == O_RDWR;
	atomic_init(&pack->untidy, pack->writable); /* a killed process may have left some */
}

static bool packs_is_name(const char *name)
{
	static const char SUFFIX[] = ".shard";
	size_t len = strlen(name), suffix = sizeof(SUFFIX) - 1;
	return name[0] != '.' && len > suffix && len <= CAIRN_STORE_PACK_NAME_MAX &&
	       strcmp(name + len - suffix, SUFFIX) == 0;
}

static bool packs_is_same(const struct store_pack *pack, const struct stat *st)
{
	return pack->st.st_dev == st->st_dev && pack->st.st_ino == st->st_ino && pack->st.st_size == st->st_size;
}

/* Takes the pack of this name and file from the old list, or opens it. @return a reference; NULL without memory */
static struct store_pack *packs_take(const struct store_packs *p, const char *name, const struct stat *st)
{
	for (size_t i = 0; i < p->n; i++) {
		struct store_pack *old = p->all[i];
		/* Try a refused pack again once it has changed: it may have been incomplete before. */
		bool same = packs_is_same(old, st) && (old->shard || (old->st.st_mtim.tv_sec == st->st_mtim.tv_sec &&
								      old->st.st_mtim.tv_nsec == st->st_mtim.tv_nsec));
		if (same && strcmp(old->name, name) == 0) {
			atomic_fetch_add(&old->refs, 1);
			return old;
		}
	}
	struct store_pack *pack = calloc(1, sizeof(*pack));
	if (!pack)
		return NULL;
	atomic_init(&pack->refs, 1);
	pack->st = *st;
	memcpy(pack->name, name, strlen(name) + 1); /* packs_is_name() has checked its length */
	pack_open(pack, p->dir_fd);
	return pack;
}

/* Lists a pack beyond the limit as not served. It gets a false time of change, so that a later scan checks it again and
 * opens it if there is room. @return a reference; NULL without memory */
static struct store_pack *packs_pass_over(const char *name, const struct stat *st)
{
	struct store_pack *pack = calloc(1, sizeof(*pack));
	if (!pack)
		return NULL;
	atomic_init(&pack->refs, 1);
	pack->fd = -1;
	pack->st = *st;
	pack->st.st_mtim = (struct timespec){0};
	memcpy(pack->name, name, strlen(name) + 1);
	(void)cairn_fail(&pack->fault, CAIRN_E_LIMIT, "pack.many", CAIRN_NO_OFFSET,
			 "there are %d packs before it, by their names, and no more are served; make fewer, larger "
			 "ones",
			 CAIRN_STORE_PACKS_MAX);
	return pack;
}

/* Under scan_lock: reads the folder into a list of references, sorted by name, so that the same packs are served
 * whatever order the file system has. */
static enum cairn_status packs_read(struct store_packs *p, struct store_pack **list, size_t *n)
{
	CLEANUP(cairn_folder_names_fini) struct cairn_folder_names names = {0};
	enum cairn_status status = cairn_folder_list(
		&names, cairn_sys_openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), packs_is_name);
	size_t n_served = 0;
	for (size_t i = 0; i < names.n && status == CAIRN_OK && *n < PACKS_LISTED_MAX; i++) {
		const char *name = names.items[i];
		struct stat st;
		status = cairn_folder_stat(p->dir_fd, name, &st);
		if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && !S_ISREG(st.st_mode))) {
			status = CAIRN_OK;
			continue;
		}
		if (status != CAIRN_OK)
			break; /* keep the old list: a pack that cannot be read is not removed */
		list[*n] = n_served < CAIRN_STORE_PACKS_MAX ? packs_take(p, name, &st) : packs_pass_over(name, &st);
		if (!list[*n])
			return CAIRN_E_NOMEM;
		p->scan_again = p->scan_again || !list[*n]->shard;
		n_served += list[*n]->shard != NULL;
		(*n)++;
	}
	return status;
}

/* Under scan_lock. */
static enum cairn_status packs_scan_locked(struct store_packs *p)
{
	struct stat st;
	struct store_pack **list = calloc(PACKS_LISTED_MAX, sizeof(struct store_pack *));
	size_t n = 0;
	if (!list)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_sys_fstat(p->dir_fd, &st) < 0 ? CAIRN_E_IO : CAIRN_OK;
	if (status == CAIRN_OK) {
		struct timespec now;
		(void)clock_gettime(CLOCK_REALTIME, &now);
		p->scan_again = now.tv_sec - st.st_mtim.tv_sec < PACKS_RACY_S;
		p->scanned = st.st_mtim;
		p->scanned_ms = cairn_clock_mono_ms();
		atomic_fetch_add(&p->n_scans, 1);
		status = packs_read(p, list, &n);
	}
	if (status == CAIRN_OK) {
		struct store_pack **old = p->all;
		size_t n_old = p->n;
		pthread_rwlock_wrlock(&p->lock);
		p->all = list;
		p->n = n;
		pthread_rwlock_unlock(&p->lock);
		list = old;
		n = n_old;
	} else {
		p->scanned = (struct timespec){0}; /* the next failed lookup scans again */
	}
	for (size_t i = 0; i < n; i++)
		pack_unref(list[i]);
	free(list);
	return status;
}

enum cairn_status store_packs_scan(struct store_packs *p)
{
	pthread_mutex_lock(&p->scan_lock);
	enum cairn_status status = packs_scan_locked(p);
	pthread_mutex_unlock(&p->scan_lock);
	return status;
}

/* After a failed lookup: scans the folder again if it has changed. @param[out] scanned  the folder was read
 * @return CAIRN_OK; CAIRN_E_IO, CAIRN_E_NOMEM: the content of the folder is unknown */
static enum cairn_status packs_refresh(struct store_packs *p, bool *scanned)
{
	struct stat st;
	*scanned = false;
	pthread_mutex_lock(&p->scan_lock);
	enum cairn_status status = cairn_sys_fstat(p->dir_fd, &st) == 0 ? CAIRN_OK : CAIRN_E_IO;
	bool changed = status == CAIRN_OK &&
		       (st.st_mtim.tv_sec != p->scanned.tv_sec || st.st_mtim.tv_nsec != p->scanned.tv_nsec);
	if (changed || (p->scan_again && cairn_clock_mono_ms() - p->scanned_ms >= PACKS_SCAN_AGAIN_MS)) {
		status = packs_scan_locked(p);
		*scanned = status == CAIRN_OK;
	}
	pthread_mutex_unlock(&p->scan_lock);
	return status;
}

enum cairn_status store_packs_open(struct store_packs *p, int dir_fd)
{
	*p = (struct store_packs){.dir_fd = dir_fd};
	pthread_rwlock_init(&p->lock, NULL);
	pthread_mutex_init(&p->scan_lock, NULL);
	pthread_mutex_init(&p->delete_lock, NULL);
	return store_packs_scan(p);
}

void store_packs_fini(struct store_packs *p)
{
	for (size_t i = 0; i < p->n; i++)
		pack_unref(p->all[i]);
	free(p->all);
	cairn_fd_closep(&p->dir_fd);
	pthread_mutex_destroy(&p->delete_lock);
	pthread_mutex_destroy(&p->scan_lock);
	pthread_rwlock_destroy(&p->lock);
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

static void packs_take_reference(struct store_pack **out, struct store_pack *pack)
{
	if (*out)
		return;
	*out = pack;
	atomic_fetch_add(&pack->refs, 1);
}

/* @param[out] failed  with CAIRN_E_IO: a reference to the first unreadable pack; else NULL
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO: not found, but not all packs could be read */
static enum cairn_status packs_find_in_index(struct store_packs *p, const struct cairn_hash *hash,
					     struct store_packs_which which, struct store_packed *out,
					     struct store_pack **failed)
{
	pthread_rwlock_rdlock(&p->lock);
	for (size_t i = 0; i < p->n && !out->pack; i++) {
		if (!p->all[i]->shard || (which.writable && !p->all[i]->writable))
			continue;
		enum cairn_status status = cairn_readshard_find(p->all[i]->shard, hash->b, &out->slot, NULL);
		if (status == CAIRN_E_IO)
			packs_take_reference(failed, p->all[i]);
		if (status != CAIRN_OK)
			continue;
		if (which.skip > 0) {
			which.skip--;
			continue;
		}
		packs_take_reference(&out->pack, p->all[i]);
	}
	pthread_rwlock_unlock(&p->lock);
	if (out->pack)
		pack_unrefp(failed);
	return out->pack ? CAIRN_OK : *failed ? CAIRN_E_IO : CAIRN_E_NOT_FOUND;
}

/* Returns whether an open pack's file is still in the folder and unchanged. */
static bool pack_is_there(const struct store_packs *p, const struct store_pack *pack)
{
	struct stat st;
	return cairn_sys_fstatat(p->dir_fd, pack->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && packs_is_same(pack, &st);
}

enum cairn_status store_packs_find(struct store_packs *p, const struct cairn_hash *hash, struct store_packs_which which,
				   struct store_packed *out)
{
	enum cairn_status status = CAIRN_E_NOT_FOUND;
	*out = (struct store_packed){0};
	for (int try = 0; try < 2; try++) {
		CLEANUP(pack_unrefp) struct store_pack *failed = NULL;
		status = packs_find_in_index(p, hash, which, out, &failed);
		if (status == CAIRN_OK && pack_is_there(p, out->pack))
			return CAIRN_OK;
		store_packs_release(out);
		/* A scan reopens a truncated pack and notes its fault. If the pack is unchanged, the disk fails to
		 * read a page: scanning at each lookup would not help. */
		bool rescan = status == CAIRN_OK || (failed && !pack_is_there(p, failed)), scanned = rescan;
		if ((rescan ? store_packs_scan(p) : packs_refresh(p, &scanned)) != CAIRN_OK)
			return CAIRN_E_IO;
		if (!scanned)
			break;
	}
	return status == CAIRN_OK ? CAIRN_E_NOT_FOUND : status;
}

/* Ignores a read-only file system: its files are on the disk already. */
static bool packs_sync(int fd)
{
	return cairn_sys_fsync(fd) == 0 || errno == EROFS;
}

/* A pack's name may not be durable: it may come from a killed packing, or from a person who synced nothing. */
enum cairn_status store_packs_confirm(struct store_packs *p, const struct store_packed *packed)
{
	unsigned n_scans = atomic_load(&p->n_scans); /* read before the sync: a later scan needs its own sync */
	if (!atomic_load(&packed->pack->confirmed) && !packs_sync(packed->pack->fd))
		return cairn_fd_status(errno);
	atomic_store(&packed->pack->confirmed, true);
	if (atomic_load(&p->n_confirmed) == n_scans)
		return CAIRN_OK;
	if (!packs_sync(p->dir_fd))
		return cairn_fd_status(errno);
	atomic_store(&p->n_confirmed, n_scans);
	return CAIRN_OK;
}

enum cairn_status store_packs_get(struct store_packs *p, const struct cairn_hash *hash, unsigned n,
				  struct cairn_readshard_slot *slot, int *fd, struct stat *st)
{
	CLEANUP(store_packs_release) struct store_packed packed;
	enum cairn_status status = store_packs_find(p, hash, (struct store_packs_which){.skip = n}, &packed);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_fd_closep)
	int opened = cairn_sys_openat(p->dir_fd, packed.pack->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (opened < 0 || cairn_sys_fstat(opened, st) < 0)
		return errno == ENOENT ? CAIRN_E_NOT_FOUND : CAIRN_E_IO;
	if (!packs_is_same(packed.pack, st))
		return CAIRN_E_NOT_FOUND; /* just replaced */
	cairn_readshard_hold(opened, &packed.slot);
	/* The object may have been deleted before the pack was held. */
	status = cairn_readshard_find_again(packed.pack->shard, &packed.slot, NULL);
	if (status != CAIRN_OK)
		return status;
	*slot = packed.slot;
	*fd = opened;
	opened = -1;
	return CAIRN_OK;
}

static enum cairn_status packs_delete(struct store_packs *p, struct store_pack *pack, const struct cairn_hash *hash)
{
	bool zeroed = true;
	pthread_mutex_lock(&p->delete_lock);
	enum cairn_status status = cairn_readshard_delete(pack->shard, pack->fd, hash->b, &zeroed, NULL);
	pthread_mutex_unlock(&p->delete_lock);
	if (!zeroed)
		atomic_store(&pack->untidy, true);
	if (status == CAIRN_OK || status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	return status == CAIRN_E_FULL ? status : CAIRN_E_IO;
}

enum cairn_status store_packs_remove(struct store_packs *p, const struct cairn_hash *hash)
{
	enum cairn_status status;
	do {
		CLEANUP(store_packs_release) struct store_packed packed;
		status = store_packs_find(p, hash, (struct store_packs_which){.writable = true}, &packed);
		if (status != CAIRN_OK)
			break;
		status = packs_delete(p, packed.pack, hash);
	} while (status == CAIRN_OK);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status store_packs_remove_from(struct store_packs *p, const struct cairn_hash *hash, const struct stat *st)
{
	for (unsigned n = 0;; n++) {
		CLEANUP(store_packs_release) struct store_packed packed;
		const struct store_packs_which which = {.writable = true, .skip = n};
		enum cairn_status status = store_packs_find(p, hash, which, &packed);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
		if (packs_is_same(packed.pack, st))
			return packs_delete(p, packed.pack, hash);
	}
}

/* Returns whether reads of the object use this pack. */
static bool packs_is_first(struct store_packs *p, const struct store_pack *pack, const struct cairn_hash *hash)
{
	CLEANUP(store_packs_release) struct store_packed first = {0};
	CLEANUP(pack_unrefp) struct store_pack *failed = NULL;
	return packs_find_in_index(p, hash, (struct store_packs_which){0}, &first, &failed) == CAIRN_OK &&
	       first.pack == pack;
}

/* References to all packs, so that slow work needs no lock. */
struct packs_all {
	size_t n;
	struct store_pack *pack[PACKS_LISTED_MAX];
};

static void packs_all_fini(struct packs_all *all)
{
	for (size_t i = 0; i < all->n; i++)
		pack_unref(all->pack[i]);
}

static void packs_all_init(struct packs_all *all, struct store_packs *p)
{
	all->n = 0;
	pthread_rwlock_rdlock(&p->lock);
	for (size_t i = 0; i < p->n; i++) {
		all->pack[all->n++] = p->all[i];
		atomic_fetch_add(&p->all[i]->refs, 1);
	}
	pthread_rwlock_unlock(&p->lock);
}

enum cairn_status store_packs_tidy(struct store_packs *p)
{
	CLEANUP(packs_all_fini) struct packs_all all;
	enum cairn_status status = CAIRN_OK;
	packs_all_init(&all, p);
	for (size_t i = 0; i < all.n && status == CAIRN_OK; i++) {
		bool zeroed = true;
		if (!all.pack[i]->shard || !atomic_exchange(&all.pack[i]->untidy, false))
			continue;
		pthread_mutex_lock(&p->delete_lock);
		status = cairn_readshard_scrub(all.pack[i]->shard, all.pack[i]->fd, &zeroed, NULL);
		pthread_mutex_unlock(&p->delete_lock);
		if (status == CAIRN_E_FORMAT)
			status = CAIRN_OK; /* a damaged slot: its range is unknown, so nothing is zeroed */
		else if (status != CAIRN_OK || !zeroed)
			atomic_store(&all.pack[i]->untidy, true);
	}
	return status;
}

enum cairn_status store_packs_each(struct store_packs *p,
				   enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash, uint64_t bytes),
				   void *ctx)
{
	CLEANUP(packs_all_fini) struct packs_all all = {0};
	bool scanned;
	if (packs_refresh(p, &scanned) != CAIRN_OK)
		return CAIRN_E_IO;
	packs_all_init(&all, p);
	for (size_t i = 0; i < all.n; i++) {
		const struct cairn_readshard *shard = all.pack[i]->shard;
		for (uint32_t slot = 0; shard && slot < cairn_readshard_n_slots(shard); slot++) {
			struct cairn_readshard_slot found;
			struct cairn_hash hash;
			if (cairn_readshard_slot(shard, slot, &found, NULL) != CAIRN_OK || !found.is_live)
				continue;
			memcpy(hash.b, found.key, sizeof(hash.b));
			if (!packs_is_first(p, all.pack[i], &hash))
				continue;
			enum cairn_status status = visit(ctx, &hash, found.bytes);
			if (status != CAIRN_OK)
				return status;
		}
	}
	return CAIRN_OK;
}

/* Examines each slot of a served pack. @param[out] fault  set if the pack is damaged
 * @return CAIRN_OK, also if it is damaged; CAIRN_E_NOMEM */
static enum cairn_status pack_examine(const struct store_pack *pack, struct cairn_diag *fault)
{
	struct cairn_readshard_summary summary;
	enum cairn_status status = cairn_readshard_verify(pack->shard, &summary, fault);
	return status == CAIRN_E_NOMEM ? status : CAIRN_OK;
}

enum cairn_status store_packs_list(struct store_packs *p, bool examine,
				   void (*visit)(void *ctx, const struct cairn_store_pack *pack), void *ctx)
{
	CLEANUP(packs_all_fini) struct packs_all all;
	enum cairn_status status = store_packs_scan(p);
	packs_all_init(&all, p);
	for (size_t i = 0; i < all.n && status == CAIRN_OK; i++) {
		const struct store_pack *pack = all.pack[i];
		struct cairn_diag found = {0};
		struct cairn_store_pack info = {.name = pack->name,
						.file_bytes = (uint64_t)pack->st.st_size,
						.fault = pack->shard ? NULL : &pack->fault};
		if (pack->shard)
			info.n_objects = cairn_readshard_header_of(pack->shard)->n_objects;
		if (pack->shard && examine)
			status = pack_examine(pack, &found);
		if (found.rule)
			info.fault = &found;
		if (status == CAIRN_OK)
			visit(ctx, &info);
	}
	return status;
}
