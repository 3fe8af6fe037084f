/* A folder of backups that build on each other, in archives of two kinds. Both are FOLD files that never change once
 * they have their names:
 *
 *   20261123T061000Z.objects.fold  objects that were new then, in bundles, and a catalog of them
 *   20261123T061000Z.moment.fold   the index as it was then, which names objects of any archive of the folder
 *
 * A moment gets its name after all objects that it names are durable. docs/formats.md describes the files. */
#ifndef CAIRN_BACKUP_BACKUP_SET_H
#define CAIRN_BACKUP_BACKUP_SET_H

#include "archive/fold/reader.h"
#include "base/buf.h"
#include "base/clock.h"
#include "data_dir/identity.h"
#include "hash/hash.h"

enum {
	CAIRN_BACKUP_TIME_BYTES = CAIRN_TIME_BASIC_BYTES, /* "20261123T061000Z", and a zero */
	CAIRN_BACKUP_CATALOG_ENTRY_BYTES = 56, /* 32 hash, 8 length, 8 layout, 8 number of the bundle; big-endian */
};

struct cairn_backup_archive {
	char time[CAIRN_BACKUP_TIME_BYTES]; /* the time in its name, in UTC */
	int64_t at_unix_s;
	bool is_moment;
	uint64_t bytes; /* length of the file */
};

/** The archives of a folder, and its lock. */
struct cairn_backup_set {
	const char *folder; /* borrowed */
	const char *spool; /* borrowed: the folder into which a moment's index is unpacked to be read; NULL: `folder` */
	int dir_fd, lock_fd;
	struct cairn_backup_archive
		*archives; /* owned; sorted by name: the oldest first, objects before their moment */
	size_t n;
	struct cairn_buf rows;
};

/** Locks a folder and lists its archives. Ignores files with other names.
 * @param to_write  exclude all others, and create the folder if it is missing; false: exclude only writers
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_CONFLICT "backup.in_use"; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_set_open(struct cairn_backup_set *set, const char *folder, bool to_write,
						       struct cairn_diag *diag);
/** Closes a set, even if it failed to open or is already closed. */
void cairn_backup_set_close(struct cairn_backup_set *set);

/** Chooses the name of a new archive: the time now, or the first second after every existing archive.
 * @param[in,out] at_unix_s  now; then the time in the name
 * @return CAIRN_OK; CAIRN_E_CONFLICT "backup.time": the year does not fit into a name */
CAIRN_MUST_USE enum cairn_status cairn_backup_set_name(const struct cairn_backup_set *set, int64_t *at_unix_s,
						       char out[static CAIRN_BACKUP_TIME_BYTES],
						       struct cairn_diag *diag);

/** Parses a time such as "20261123T061000Z", or a prefix, which means its last second. @return false: not valid */
bool cairn_backup_time_parse(const char *text, int64_t *last_unix_s);

enum { CAIRN_BACKUP_FILE_BYTES = 40 };
/** Returns the name of an archive's file in the folder. */
void cairn_backup_file_name(char out[static CAIRN_BACKUP_FILE_BYTES], const char *time, bool is_moment);

/** The store that an archive belongs to. */
struct cairn_backup_whose {
	char identity[CAIRN_IDENTITY_BYTES]; /* empty: unknown */
	char file[CAIRN_BACKUP_FILE_BYTES];  /* the archive that has this identity */
};

/** An open archive. A zeroed one with fd -1 is closed. */
struct cairn_backup_file {
	int fd;
	struct cairn_fold *fold;
};
void cairn_backup_file_close(struct cairn_backup_file *file);

/** Opens an archive of the kind in its name. @return as cairn_fold_open(); CAIRN_E_FORMAT "backup.kind"; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_backup_file_open(struct cairn_backup_file *out,
							const struct cairn_backup_set *set,
							const struct cairn_backup_archive *archive,
							struct cairn_diag *diag);

/** Reads the identity of the store from a backup.
 * @param[out] identity  empty: the backup has none
 * @return CAIRN_OK; CAIRN_E_FORMAT "backup.store": the identity is not valid; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_identity(char identity[static CAIRN_IDENTITY_BYTES],
						       const struct cairn_fold_index *ix, struct cairn_diag *diag);

/** Checks that an archive belongs to the same store as the archives before.
 * @param[in,out] whose  the store of the first archive with an identity; zeroed before the first call
 * @return CAIRN_OK, also if the archive has no identity; CAIRN_E_CONFLICT "backup.store": another store; diag names
 *         both archives; CAIRN_E_FORMAT "backup.store"; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_check_store(const struct cairn_backup_file *file,
							  const struct cairn_backup_archive *archive,
							  struct cairn_backup_whose *whose, struct cairn_diag *diag);

/** Compares a moment's time with its name. @return CAIRN_OK, also if the file has no time; CAIRN_E_CONFLICT
 * "backup.name"; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_check_name(const struct cairn_backup_file *file,
							 const struct cairn_backup_archive *moment,
							 struct cairn_diag *diag);

/** Checks that all readable archives belong to one store: a caller that selects by names alone could select another
 * store's.
 * @param names  also compare each moment's time with its name
 * @return CAIRN_OK; as cairn_backup_check_store(), cairn_backup_check_name(); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_set_check(const struct cairn_backup_set *set, bool names,
							struct cairn_diag *diag);

enum { CAIRN_BACKUP_METADATA_BYTES = 360 };

struct cairn_backup_metadata {
	const char *kind;
	const char *identity; /* empty: the archive has none */
	const char *time;     /* of a moment in a folder; NULL: not a moment */
	uint64_t n_objects, object_bytes, index_bytes;
};
void cairn_backup_metadata_text(char out[static CAIRN_BACKUP_METADATA_BYTES], const struct cairn_backup_metadata *m);

/** Puts the archive's name before the message in diag. */
void cairn_backup_blame(struct cairn_diag *diag, const struct cairn_backup_archive *archive);

/** An object in one layout. An object that is uploaded again may have another layout of the same length. Offsets in an
 * index are valid for one layout only. */
struct cairn_backup_object {
	struct cairn_hash hash;
	uint64_t len;
	uint64_t layout; /* cairn_spans_layout() */
};

/** An entry of a catalog. */
struct cairn_backup_item {
	struct cairn_backup_object object;
	uint64_t bundle; /* number of its bundle */
};

/** Unpacks and hashes an object, compares the result with its hash, and returns its layout.
 * @return CAIRN_OK; CAIRN_E_MISMATCH "backup.object": the object is damaged; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_judge(const struct cairn_hash *hash, const uint8_t *xorb, uint64_t len,
						    uint64_t *layout, struct cairn_diag *diag);

/** Sorts an array of struct cairn_backup_object for cairn_backup_objects_find(), and drops duplicates. */
void cairn_backup_objects_sort(struct cairn_buf *objects);
bool cairn_backup_objects_have(const struct cairn_buf *objects, const struct cairn_backup_object *object);
/** Finds an object in the sorted array. @return NULL: not found */
const struct cairn_backup_object *cairn_backup_objects_find(const struct cairn_buf *objects,
							    const struct cairn_backup_object *object);
void cairn_backup_objects_add(struct cairn_buf *objects, const struct cairn_backup_object *object);

void cairn_backup_catalog_add(struct cairn_buf *catalog, const struct cairn_backup_item *item);

/** Visits the entries of the catalog of an archive of objects.
 * @return CAIRN_OK; CAIRN_E_FORMAT "backup.catalog"; as cairn_fold_read(); what visit returned */
CAIRN_MUST_USE enum cairn_status cairn_backup_catalog_each(
	struct cairn_backup_file *file, enum cairn_status (*visit)(void *ctx, const struct cairn_backup_item *item),
	void *ctx, struct cairn_diag *diag);

#endif
