/* The packs of a store of files: DIR/packs, each a Read Shard of many objects. Only for the files of this folder. */
#ifndef CAIRN_STORE_FILES_PACKS_H
#define CAIRN_STORE_FILES_PACKS_H

#include "archive/readshard/reader.h"
#include "store/pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

struct store_pack;

/** The set of packs. Any thread. A failed lookup scans the folder again if its time has changed. So packs that are
 * moved into the folder are found without a restart, and removed ones are forgotten. */
struct store_packs {
	int dir_fd;              /* DIR/packs */
	pthread_rwlock_t lock;   /* guards the list */
	struct store_pack **all; /* by name */
	size_t n;
	pthread_mutex_t scan_lock;   /* guards the fields below; taken before lock */
	struct timespec scanned;     /* the folder's time at the last scan */
	int64_t scanned_ms;          /* time of that scan, by cairn_clock_mono_ms() */
	bool scan_again;             /* the folder may change without a new time */
	pthread_mutex_t delete_lock; /* one deletion at a time */
	atomic_uint n_scans;         /* number of scans of the folder */
	atomic_uint n_confirmed;     /* n_scans just before the last sync of the folder; 0: no sync yet */
};

/** An object in a pack. Keeps the pack open until store_packs_release(). */
struct store_packed {
	struct store_pack *pack; /* NULL: no object */
	struct cairn_readshard_slot slot;
};

/** Opens all packs. @param dir_fd  DIR/packs; owned by p from now on. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status store_packs_open(struct store_packs *p, int dir_fd);
void store_packs_fini(struct store_packs *p);

/** Scans the folder now. @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status store_packs_scan(struct store_packs *p);

/** Selects among several packs that have an object. */
struct store_packs_which {
	bool writable; /* only writable packs */
	unsigned skip; /* skip this many packs */
};
/** Finds an object. @return CAIRN_OK; CAIRN_E_NOT_FOUND, also if its slot is damaged; CAIRN_E_IO: not found, but a
 * pack or the folder could not be read and may have it */
CAIRN_MUST_USE enum cairn_status store_packs_find(struct store_packs *p, const struct cairn_hash *hash,
						  struct store_packs_which which, struct store_packed *out);
/** Makes a pack and its name durable, for a caller that relies on an object found in it.
 * @return CAIRN_OK; as cairn_fd_status() */
CAIRN_MUST_USE enum cairn_status store_packs_confirm(struct store_packs *p, const struct store_packed *packed);
void store_packs_release(struct store_packed *packed);

/** Finds an object and opens its pack again. The object's bytes stay unchanged while the descriptor or a copy of it is
 * open.
 * @param n  which of the packs that have the object, from 0
 * @param[out] fd  owned by the caller
 * @param[out] st  of the pack. @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status store_packs_get(struct store_packs *p, const struct cairn_hash *hash, unsigned n,
						 struct cairn_readshard_slot *slot, int *fd, struct stat *st);

/** Deletes an object from every writable pack that has it. It stays in read-only packs; a copy in the object folder
 * takes precedence over those. @return CAIRN_OK, also if no pack has it; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status store_packs_remove(struct store_packs *p, const struct cairn_hash *hash);

/** Deletes an object only from the pack that store_packs_get() returned; it stays if that pack is read-only.
 * @return as store_packs_remove() */
CAIRN_MUST_USE enum cairn_status store_packs_remove_from(struct store_packs *p, const struct cairn_hash *hash,
							 const struct stat *st);

/** Zeroes bytes that deletions had to leave; skips damaged slots.
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status store_packs_tidy(struct store_packs *p);

/** Calls visit for each object of each pack. Skips unreadable slots, which store_packs_list() reports.
 * @return CAIRN_OK; CAIRN_E_IO: the folder cannot be read; what visit returned */
CAIRN_MUST_USE enum cairn_status store_packs_each(struct store_packs *p,
						  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *hash,
									     uint64_t bytes),
						  void *ctx);

/** See cairn_store_each_pack() and, if examine is true, cairn_store_check_packs(). */
CAIRN_MUST_USE enum cairn_status store_packs_list(struct store_packs *p, bool examine,
						  void (*visit)(void *ctx, const struct cairn_store_pack *pack),
						  void *ctx);

#endif
