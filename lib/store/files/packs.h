/* The packs of a store of files: DIR/packs, each a Read Shard of many objects. Only for the files of this folder. */
#ifndef CAIRN_STORE_FILES_PACKS_H
#define CAIRN_STORE_FILES_PACKS_H

#include "archive/readshard/reader.h"
#include "store/pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

struct store_pack;

/** The set. Any thread. The folder is looked through again when a look-up fails and its time has changed, so a pack
 * that is moved into it is found without a restart, and one that is removed is forgotten. */
struct store_packs {
	int dir_fd;              /* DIR/packs */
	pthread_rwlock_t lock;   /* over the list */
	struct store_pack **all; /* by name */
	size_t n;
	pthread_mutex_t scan_lock;   /* over the rest; taken before lock */
	struct timespec scanned;     /* the folder's time at the last scan */
	int64_t scanned_ms;          /* when that was, of cairn_clock_mono_ms() */
	bool scan_again;             /* something may change without the folder's time telling */
	pthread_mutex_t delete_lock; /* one deletion at a time */
	atomic_uint n_scans;         /* of the folder */
	atomic_uint n_confirmed;     /* n_scans when the folder was last synced; 0: never */
};

/** An object in a pack. Holds the pack open: store_packs_release(). */
struct store_packed {
	struct store_pack *pack; /* NULL: none */
	struct cairn_readshard_slot slot;
};

/** @param dir_fd  the folder packs; taken over. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status store_packs_open(struct store_packs *p, int dir_fd);
void store_packs_fini(struct store_packs *p);

/** Look through the folder now. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status store_packs_scan(struct store_packs *p);

/** Which of the packs that have an object. */
struct store_packs_which {
	bool writable; /* only those that can be written */
	unsigned skip; /* not the first so many */
};
/** Find an object. @return CAIRN_OK; CAIRN_E_NOT_FOUND, also when its slot is damaged; CAIRN_E_IO likewise, but a pack
 *  could not be looked into, or the folder not be looked through, and may have it */
CAIRN_MUST_USE enum cairn_status store_packs_find(struct store_packs *p, const struct cairn_hash *hash,
						  struct store_packs_which which, struct store_packed *out);
/** Make the pack and its name durable, for whoever relies on what was found in it.
 *  @return CAIRN_OK; as cairn_fd_status() */
CAIRN_MUST_USE enum cairn_status store_packs_confirm(struct store_packs *p, const struct store_packed *packed);
void store_packs_release(struct store_packed *packed);

/** Find it and open the file anew, so that its bytes stay as they are while the descriptor, or a copy of it, is open.
 *  @param n  of the packs that have it, from 0
 *  @param[out] fd  the caller's
 *  @param[out] st  of the pack. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status store_packs_get(struct store_packs *p, const struct cairn_hash *hash, unsigned n,
						 struct cairn_readshard_slot *slot, int *fd, struct stat *st);

/** Delete an object from every pack that has it and can be written; it stays in the others, where one of the object
 * folder comes before it. @return CAIRN_OK also when none has it; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status store_packs_remove(struct store_packs *p, const struct cairn_hash *hash);

/** Delete it from that pack alone, of which store_packs_get() told; it stays there if that cannot be written.
 *  @return likewise */
CAIRN_MUST_USE enum cairn_status store_packs_remove_from(struct store_packs *p, const struct cairn_hash *hash,
							 const struct stat *st);

/** Zero what deletions had to leave; a damaged slot is passed over.
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status store_packs_tidy(struct store_packs *p);

/** Call visit for each object of each pack. A slot that cannot be read is passed over; store_packs_list() tells of it.
 *  @return CAIRN_OK; CAIRN_E_IO the folder cannot be looked through; what visit answered */
CAIRN_MUST_USE enum cairn_status store_packs_each(struct store_packs *p,
						  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
									     uint64_t bytes),
						  void *ctx);

/** As cairn_store_each_pack(). @param examine  as cairn_store_check_packs(). @return likewise */
CAIRN_MUST_USE enum cairn_status store_packs_list(struct store_packs *p, bool examine,
						  void (*visit)(void *ctx, const struct cairn_store_pack *pack),
						  void *ctx);

#endif
