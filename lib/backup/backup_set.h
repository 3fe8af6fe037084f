/* A folder of backups that build on each other. Archives of two kinds, FOLD files both, which never change once they
 * have their names:
 *
 *   20261123T061000Z.objects.fold  the objects that were new then, in bundles, and a catalog of them
 *   20261123T061000Z.moment.fold   the index as it was then, which names objects of any archive of the folder
 *
 * A moment gets its name after all objects that it names are durable. docs/formats.md has what is in the files. */
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
	char time[CAIRN_BACKUP_TIME_BYTES]; /* UTC; its name */
	int64_t at_unix_s;
	bool is_moment;
	uint64_t bytes; /* of the file */
};

/** The archives of a folder, and its lock. */
struct cairn_backup_set {
	const char *folder; /* borrowed */
	const char *spool;  /* borrowed: where the index of a moment is unpacked, to be read; NULL: in the folder */
	int dir_fd, lock_fd;
	struct cairn_backup_archive
		*archives; /* owned; by their names: the oldest first, objects before their moment */
	size_t n;
	struct cairn_buf rows;
};

/**
 * Lock a folder and list its archives. What has other names is left alone.
 * @param to_write  others are kept out, and the folder is made when it is missing; else only writers are kept out
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_CONFLICT "backup.in_use"; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_set_open(struct cairn_backup_set *set, const char *folder, bool to_write,
						       struct cairn_diag *diag);
/** Also after a failure, and twice. */
void cairn_backup_set_close(struct cairn_backup_set *set);

/**
 * A name for what is made now: the time, or the first second behind every archive that is there.
 * @param[in,out] at_unix_s  now; the time that the name tells
 * @return CAIRN_OK; CAIRN_E_CONFLICT "backup.time" names have no room for such a year
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_set_name(const struct cairn_backup_set *set, int64_t *at_unix_s,
						       char out[static CAIRN_BACKUP_TIME_BYTES],
						       struct cairn_diag *diag);

/** "20261123T061000Z", or the beginning of one, to the last second that it may mean. @return false: neither */
bool cairn_backup_time_parse(const char *text, int64_t *last_unix_s);

enum { CAIRN_BACKUP_FILE_BYTES = 40 };
/** The file's name in the folder. */
void cairn_backup_file_name(char out[static CAIRN_BACKUP_FILE_BYTES], const char *time, bool is_moment);

/** Of which store an archive is. */
struct cairn_backup_whose {
	char identity[CAIRN_IDENTITY_BYTES]; /* empty: not known */
	char file[CAIRN_BACKUP_FILE_BYTES];  /* which one says so */
};

/** An archive that is open. Zeroed (fd -1) is closed. */
struct cairn_backup_file {
	int fd;
	struct cairn_fold *fold;
};
void cairn_backup_file_close(struct cairn_backup_file *file);

/** Open one, and see that it is of the kind that its name says. @return as cairn_fold_open(); CAIRN_E_FORMAT
 *  "backup.kind"; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_backup_file_open(struct cairn_backup_file *out,
							const struct cairn_backup_set *set,
							const struct cairn_backup_archive *archive,
							struct cairn_diag *diag);

/**
 * By which identity does a backup know its store?
 * @param[out] identity  empty: it does not say
 * @return CAIRN_OK; CAIRN_E_FORMAT "backup.store" what it says is none; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_identity(char identity[static CAIRN_IDENTITY_BYTES],
						       const struct cairn_fold_index *ix, struct cairn_diag *diag);

/**
 * Is an archive of the store that others are of?
 * @param[in,out] whose  the first archive that says whose it is; zeroed at first
 * @return CAIRN_OK, also when it does not say; CAIRN_E_CONFLICT "backup.store" with both; CAIRN_E_FORMAT likewise;
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_check_store(const struct cairn_backup_file *file,
							  const struct cairn_backup_archive *archive,
							  struct cairn_backup_whose *whose, struct cairn_diag *diag);

/** Is a moment the one that its name says? @return CAIRN_OK, also when it does not say; CAIRN_E_CONFLICT "backup.name";
 *  CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup_check_name(const struct cairn_backup_file *file,
							 const struct cairn_backup_archive *moment,
							 struct cairn_diag *diag);

/**
 * Are all archives that can be read of one store? Who chooses by names alone would choose another's.
 * @param names  and is each moment the one that its name says?
 * @return CAIRN_OK; as both above; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_set_check(const struct cairn_backup_set *set, bool names,
							struct cairn_diag *diag);

enum { CAIRN_BACKUP_METADATA_BYTES = 360 };

/** What the metadata of a backup says. */
struct cairn_backup_metadata {
	const char *kind;
	const char *identity; /* empty: it does not say */
	const char *time;     /* of a moment in a folder; NULL: it is none */
	uint64_t n_objects, object_bytes, index_bytes;
};
void cairn_backup_metadata_text(char out[static CAIRN_BACKUP_METADATA_BYTES], const struct cairn_backup_metadata *m);

/** Put the file's name before what a diagnosis says of it. */
void cairn_backup_blame(struct cairn_diag *diag, const struct cairn_backup_archive *archive);

/** The same chunks may be laid out otherwise when they come again, be it in the same length: what an index says of
 * their places is true of one layout only. */
struct cairn_backup_object {
	struct cairn_hash hash;
	uint64_t len;
	uint64_t layout; /* cairn_spans_layout() */
};

/** An object as a catalog has it. */
struct cairn_backup_item {
	struct cairn_backup_object object;
	uint64_t bundle; /* number of its chunk */
};

/**
 * Unpack and hash an object: is it what it is called, and in which layout?
 * @return CAIRN_OK; CAIRN_E_MISMATCH "backup.object" it is damaged; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_judge(const struct cairn_hash *hash, const uint8_t *xorb, uint64_t len,
						    uint64_t *layout, struct cairn_diag *diag);

/** Sort an array of them, in a buffer, for the next two, and leave each once. */
void cairn_backup_objects_sort(struct cairn_buf *objects);
bool cairn_backup_objects_have(const struct cairn_buf *objects, const struct cairn_backup_object *object);
/** @return the one in the array; NULL: it is not there */
const struct cairn_backup_object *cairn_backup_objects_find(const struct cairn_buf *objects,
							    const struct cairn_backup_object *object);
void cairn_backup_objects_add(struct cairn_buf *objects, const struct cairn_backup_object *object);

/** Append one to what becomes a catalog. */
void cairn_backup_catalog_add(struct cairn_buf *catalog, const struct cairn_backup_item *item);

/**
 * Visit the objects of an archive of objects, by its catalog.
 * @return CAIRN_OK; CAIRN_E_FORMAT "backup.catalog"; as cairn_fold_read(); what visit answered
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_catalog_each(
	struct cairn_backup_file *file, enum cairn_status (*visit)(void *ctx, const struct cairn_backup_item *item),
	void *ctx, struct cairn_diag *diag);

#endif
