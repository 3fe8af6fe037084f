#include "cas/backup.h"

#include "archive/fold/reader.h"
#include "archive/fold/writer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cas/backup_format.h"
#include "cas/bundle.h"
#include "data_dir/data_dir.h"
#include "data_dir/hold.h"
#include "index/copy.h"
#include "index/examine.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A chunk's entries in the index take below 570 bytes of 100 MiB, so bundles grow with the store: this many, and twice
 * as many where each object is longer than half a bundle. */
enum { BACKUP_BUNDLES = 80000, BACKUP_READ_BYTES = 4 << 20 };

struct backup {
	const struct cairn_backup_options *options;
	struct cairn_backup_report *report;
	struct cairn_diag *diag;
	char part[BACKUP_PATH_BYTES], index[BACKUP_PATH_BYTES];
	char index_url[CAIRN_DATA_DIR_URL_BYTES]; /* of what is copied to index */
	int fd, hold_fd;
	struct cairn_store *store;
	struct cairn_fold_writer *w;
	uint64_t bundle_bytes;
	struct cairn_buf data, entries; /* the bundle on its way */
	struct cairn_buf kept;          /* struct cairn_hash: what an interrupted backup had written, sorted */
	unsigned n_bundles, n_faults;
};

static enum cairn_status backup_io(struct backup *b, const char *what, const char *path)
{
	return cairn_fail(b->diag, cairn_fd_status(errno), "backup.file", CAIRN_NO_OFFSET, "cannot %s %s: %s", what,
			  path, strerror(errno));
}

static bool backup_goes_on(struct backup *b)
{
	b->report->file_bytes = cairn_fold_writer_bytes(b->w);
	return !b->options->progress || b->options->progress(b->options->ctx, b->report);
}

/* A failure of the writer, said. */
static enum cairn_status backup_wrote(struct backup *b, enum cairn_status status)
{
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(b->diag, status, "backup.limit", CAIRN_NO_OFFSET,
				  "the store is larger than one FOLD file can hold");
	return status == CAIRN_OK ? CAIRN_OK
				  : cairn_fail(b->diag, status, "backup.file", CAIRN_NO_OFFSET, "cannot write %s: %s",
					       b->part, cairn_status_name(status));
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

static int backup_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct cairn_hash));
}

static bool backup_is_kept(const struct backup *b, const struct cairn_hash *hash)
{
	return b->kept.len > 0 &&
	       bsearch(hash, b->kept.bytes, b->kept.len / sizeof(*hash), sizeof(*hash), backup_compare);
}

static enum cairn_status backup_flush(struct backup *b)
{
	char name[BACKUP_NAME_BYTES];
	if (b->entries.len == 0)
		return CAIRN_OK;
	cairn_bundle_end(&b->data, &b->entries);
	if (b->data.status != CAIRN_OK || b->entries.status != CAIRN_OK)
		return CAIRN_E_NOMEM;
	(void)snprintf(name, sizeof(name), BACKUP_OBJECTS "%06u", b->n_bundles++);
	enum cairn_status status =
		backup_wrote(b, cairn_fold_writer_add(b->w, name, BACKUP_OBJECTS_CTYPE, b->data.bytes, b->data.len));
	b->data.len = b->entries.len = 0;
	b->report->n_chunks++;
	return status == CAIRN_OK && !backup_goes_on(b) ? CAIRN_E_BUSY : status;
}

static enum cairn_status backup_missing(struct backup *b, const struct cairn_hash *hash, uint64_t wanted,
					uint64_t found, enum cairn_status status)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	if (status == CAIRN_OK) {
		(void)cairn_fail(b->diag, CAIRN_E_MISMATCH, "backup.object", CAIRN_NO_OFFSET,
				 "object %s has another length than the index says: run cairn fsck --repair first",
				 text);
		cairn_diag_numbers(b->diag, wanted, found);
		return CAIRN_E_MISMATCH;
	}
	if (status != CAIRN_E_NOT_FOUND)
		return cairn_fail(b->diag, status, "backup.read", CAIRN_NO_OFFSET, "object %s cannot be read", text);
	return cairn_fail(b->diag, CAIRN_E_MISMATCH, "backup.missing", CAIRN_NO_OFFSET,
			  "the index names object %s, which is not there: run cairn fsck --repair first", text);
}

/* Into the bundle. */
static enum cairn_status backup_take(struct backup *b, const struct cairn_hash *hash, uint64_t stored_bytes)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	enum cairn_status status = cairn_store_get(b->store, hash, &o);
	uint64_t len = status == CAIRN_OK ? cairn_store_object_bytes(o) : 0;
	if (status != CAIRN_OK || len != stored_bytes)
		return backup_missing(b, hash, stored_bytes, len, status);
	uint8_t *to = cairn_buf_extend(&b->data, len);
	if (!to && len > 0)
		return CAIRN_E_NOMEM;
	status = cairn_store_object_read(o, 0, to, len);
	if (status != CAIRN_OK)
		return backup_missing(b, hash, stored_bytes, len, status);
	cairn_bundle_entry(&b->entries, hash, len);
	b->report->n_objects++;
	b->report->object_bytes += len;
	return CAIRN_OK;
}

static enum cairn_status backup_visit(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes)
{
	struct backup *b = ctx;
	if (backup_is_kept(b, hash))
		return CAIRN_OK;
	uint64_t bytes =
		b->data.len + b->entries.len + stored_bytes + CAIRN_BUNDLE_ENTRY_BYTES + CAIRN_BUNDLE_END_BYTES;
	enum cairn_status status = bytes > b->bundle_bytes ? backup_flush(b) : CAIRN_OK;
	return status == CAIRN_OK ? backup_take(b, hash, stored_bytes) : status;
}

static enum cairn_status backup_count(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes)
{
	struct backup *b = ctx;
	(void)hash;
	b->report->n_total++;
	b->report->total_bytes += stored_bytes;
	return CAIRN_OK;
}

/* --- going on with an interrupted one ----------------------------------------------------------------------------- */

struct backup_compared {
	struct backup *b;
	size_t n_before;
	bool differs;
	struct cairn_buf scratch;
};

/* Is the object in the store what it was? One that is gone was collected: the index will not name it. */
static enum cairn_status backup_compare_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct backup_compared *c = ctx;
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	enum cairn_status status = cairn_store_get(c->b->store, &object->hash, &o);
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	c->differs = c->differs || cairn_store_object_bytes(o) != object->len;
	c->scratch.len = 0;
	uint8_t *bytes = cairn_buf_extend(&c->scratch, BACKUP_READ_BYTES);
	if (!bytes)
		return CAIRN_E_NOMEM;
	for (uint64_t at = 0; at < object->len && !c->differs; at += BACKUP_READ_BYTES) {
		size_t n = object->len - at < BACKUP_READ_BYTES ? (size_t)(object->len - at) : BACKUP_READ_BYTES;
		status = cairn_store_object_read(o, at, bytes, n);
		if (status != CAIRN_OK)
			return status;
		c->differs = memcmp(bytes, object->bytes + at, n) != 0;
	}
	cairn_buf_add(&c->b->kept, object->hash.b, sizeof(object->hash.b));
	c->b->report->n_objects++;
	c->b->report->n_kept++;
	c->b->report->object_bytes += object->len;
	return c->b->kept.status;
}

/* @return CAIRN_E_NOT_FOUND: it, and what follows it, is written anew */
static enum cairn_status backup_adopt(struct backup *b, const struct cairn_fold_chunk *chunk,
				      const struct cairn_fold_data *data)
{
	struct cairn_backup_report before = *b->report;
	size_t n_before = b->kept.len;
	struct backup_compared c = {.b = b, .scratch = cairn_buf_init(BACKUP_READ_BYTES)};
	char name[BACKUP_NAME_BYTES];
	enum cairn_status status = CAIRN_E_NOT_FOUND;
	if (strcmp(chunk->ctype, BACKUP_OBJECTS_CTYPE) == 0)
		status = cairn_bundle_each(data->bytes, data->len, backup_compare_object, &c, NULL);
	cairn_buf_fini(&c.scratch);
	if (status == CAIRN_E_FORMAT || (status == CAIRN_OK && c.differs))
		status = CAIRN_E_NOT_FOUND;
	if (status == CAIRN_OK) {
		(void)snprintf(name, sizeof(name), BACKUP_OBJECTS "%06u", b->n_bundles++);
		struct cairn_fold_chunk named = *chunk;
		named.name = name; /* copied by the writer */
		b->report->n_chunks++;
		return backup_wrote(b, cairn_fold_writer_adopt(b->w, &named));
	}
	*b->report = before;
	b->kept.len = n_before;
	return status;
}

static enum cairn_status backup_resume(struct backup *b, uint64_t len)
{
	const struct cairn_fold_source source = {.fd = b->fd, .len = len};
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
	enum cairn_status status = cairn_fold_open_unfinished(&f, &source, NULL);
	while (status == CAIRN_OK) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		struct cairn_fold_chunk chunk;
		status = cairn_fold_scan(f, cairn_fold_writer_bytes(b->w), b->options->parity, &chunk, &data);
		if (status == CAIRN_OK)
			status = backup_adopt(b, &chunk, &data);
		if (status == CAIRN_OK && !backup_goes_on(b))
			status = CAIRN_E_BUSY;
	}
	if (status != CAIRN_E_NOT_FOUND && status != CAIRN_E_FORMAT)
		return status;
	if (b->kept.len > 0)
		qsort(b->kept.bytes, b->kept.len / sizeof(struct cairn_hash), sizeof(struct cairn_hash),
		      backup_compare);
	return CAIRN_OK;
}

/* --- the copied index --------------------------------------------------------------------------------------------- */

static void backup_note_fault(void *ctx, const struct cairn_index_fault *fault)
{
	struct backup *b = ctx;
	(void)!cairn_fail(b->diag, CAIRN_E_MISMATCH, "backup.index", CAIRN_NO_OFFSET,
			  "the index is damaged, and a backup would be, too; stop the daemon and run cairn fsck "
			  "--repair: %s",
			  fault->text);
	b->n_faults++;
}

/* A backup of what is damaged would only be found out when it is needed. */
static enum cairn_status backup_examine(struct backup *b)
{
	enum cairn_status status = cairn_index_copy_examine(b->index_url, b->index, backup_note_fault, b, b->diag);
	return status == CAIRN_OK && b->n_faults > 0 ? CAIRN_E_MISMATCH : status;
}

/* --- what is not objects ------------------------------------------------------------------------------------------ */

static enum cairn_status backup_index(struct backup *b, uint64_t *index_bytes)
{
	CLEANUP(cairn_fd_closep) int fd = open(b->index, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return backup_io(b, "open", b->index);
	for (unsigned i = 0;; i++) {
		char name[BACKUP_NAME_BYTES];
		size_t n = 0;
		b->data.len = 0;
		uint8_t *bytes = cairn_buf_extend(&b->data, CAIRN_BACKUP_PIECE_BYTES);
		if (!bytes)
			return CAIRN_E_NOMEM;
		if (cairn_fd_read_upto(fd, bytes, CAIRN_BACKUP_PIECE_BYTES, &n) != CAIRN_OK)
			return backup_io(b, "read", b->index);
		if (n == 0)
			return CAIRN_OK;
		(void)snprintf(name, sizeof(name), BACKUP_INDEX "%06u", i);
		enum cairn_status status =
			backup_wrote(b, cairn_fold_writer_add(b->w, name, BACKUP_INDEX_CTYPE, bytes, n));
		if (status != CAIRN_OK)
			return status;
		b->report->n_chunks++;
		*index_bytes += n;
		if (!backup_goes_on(b))
			return CAIRN_E_BUSY;
	}
}

static enum cairn_status backup_secret(struct backup *b)
{
	struct cairn_secret secret = {0};
	char path[BACKUP_PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s/secret", b->options->data_dir);
	if (!b->options->with_secret)
		return CAIRN_OK;
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(b->diag, CAIRN_E_USAGE, "secret.path", CAIRN_NO_OFFSET, "the path is too long");
	const char *from = b->options->secret_file ? b->options->secret_file : path;
	enum cairn_status status = cairn_secret_load(&secret, from, false, b->diag);
	if (status == CAIRN_OK)
		status = backup_wrote(
			b, cairn_fold_writer_add(b->w, BACKUP_SECRET, BACKUP_SECRET_CTYPE, secret.bytes, secret.len));
	explicit_bzero(&secret, sizeof(secret));
	b->report->n_chunks++;
	return status;
}

static enum cairn_status backup_finish(struct backup *b, uint64_t index_bytes)
{
	char metadata[256], created[32];
	(void)snprintf(metadata, sizeof(metadata),
		       "{\"kind\":\"" BACKUP_KIND "\",\"backup_version\":%d,\"cairn_version\":\"" CAIRN_VERSION
		       "\",\"objects\":%" PRIu64 ",\"object_bytes\":%" PRIu64 ",\"index_bytes\":%" PRIu64 "}",
		       BACKUP_VERSION, b->report->n_objects, b->report->object_bytes, index_bytes);
	(void)snprintf(created, sizeof(created), "%" PRId64, cairn_clock_unix_s());
	enum cairn_status status = backup_wrote(b, cairn_fold_writer_finish(b->w, metadata, created));
	if (status != CAIRN_OK)
		return status;
	b->report->file_bytes = cairn_fold_writer_bytes(b->w);
	if (cairn_fd_rename_new(AT_FDCWD, b->part, AT_FDCWD, b->options->out) != CAIRN_OK)
		return backup_io(b, "name", b->options->out);
	char folder[BACKUP_PATH_BYTES];
	(void)snprintf(folder, sizeof(folder), "%s", b->options->out);
	CLEANUP(cairn_fd_closep) int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && fsync(fd) == 0 ? CAIRN_OK : backup_io(b, "make durable", b->options->out);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static enum cairn_status backup_open(struct backup *b, uint64_t *part_bytes)
{
	struct stat st;
	int n = snprintf(b->part, sizeof(b->part), "%s.part", b->options->out);
	int m = snprintf(b->index, sizeof(b->index), "%s.index", b->options->out);
	if (n < 0 || (size_t)n >= sizeof(b->part) || m < 0 || (size_t)m >= sizeof(b->index))
		return cairn_fail(b->diag, CAIRN_E_USAGE, "backup.file", CAIRN_NO_OFFSET, "the path is too long");
	if (lstat(b->options->out, &st) == 0)
		return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.exists", CAIRN_NO_OFFSET,
				  "%s is there already; name another file, or remove it", b->options->out);
	b->fd = open(b->part, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (b->fd < 0)
		return backup_io(b, "make", b->part);
	if (flock(b->fd, LOCK_EX | LOCK_NB) < 0)
		return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.in_use", CAIRN_NO_OFFSET,
				  "%s is being written by another process", b->part);
	if (fstat(b->fd, &st) < 0)
		return backup_io(b, "open", b->part);
	*part_bytes = (uint64_t)st.st_size;
	if (*part_bytes > 0) {
		/* Whoever is not ours keeps what it has. */
		uint8_t head[CAIRN_FOLD_MAGIC_BYTES];
		if (cairn_fd_read_at(b->fd, 0, head, sizeof(head)) != CAIRN_OK || !cairn_fold_is(head, sizeof(head)))
			return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.part", CAIRN_NO_OFFSET,
					  "%s is there and is not of an interrupted backup: remove it", b->part);
	}
	const struct cairn_fold_writer_options options = {.zstd_level = b->options->zstd_level,
							  .parity = b->options->parity};
	return backup_wrote(b, cairn_fold_writer_new(&b->w, b->fd, &options));
}

static void backup_size_bundles(struct backup *b)
{
	uint64_t bytes = b->report->total_bytes / BACKUP_BUNDLES;
	b->bundle_bytes = bytes > CAIRN_BACKUP_PIECE_BYTES ? bytes : CAIRN_BACKUP_PIECE_BYTES;
	if (b->options->bundle_bytes > 0)
		b->bundle_bytes = b->options->bundle_bytes;
	if (b->bundle_bytes > CAIRN_FOLD_CHUNK_BYTES_MAX / 2)
		b->bundle_bytes = CAIRN_FOLD_CHUNK_BYTES_MAX / 2;
	/* One object may be longer than a bundle wants to be. */
	b->data = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX);
	b->entries = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX);
	b->kept = cairn_buf_init(SIZE_MAX);
}

static enum cairn_status backup_run(struct backup *b)
{
	uint64_t part_bytes = 0, index_bytes = 0;
	int version, latest;
	const char *data_dir = b->options->data_dir;
	/* What the copied index names stays where it is from before the copy on. */
	enum cairn_status status = cairn_hold_take(data_dir, &b->hold_fd, b->diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_open_store(&b->store, data_dir, true, b->diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_index_url(b->index_url, data_dir, b->diag);
	if (status == CAIRN_OK) /* before a file is made that nothing can go into */
		status = cairn_index_version(b->index_url, &version, &latest, b->diag);
	if (status == CAIRN_OK)
		status = backup_open(b, &part_bytes);
	if (status == CAIRN_OK)
		status = cairn_index_copy(b->index_url, b->index, b->diag);
	if (status == CAIRN_OK)
		status = backup_examine(b);
	if (status == CAIRN_OK)
		status = cairn_index_copy_each(b->index_url, b->index, backup_count, b, b->diag);
	if (status != CAIRN_OK)
		return status;
	backup_size_bundles(b);
	status = backup_resume(b, part_bytes);
	if (status == CAIRN_OK)
		status = cairn_index_copy_each(b->index_url, b->index, backup_visit, b, b->diag);
	if (status == CAIRN_OK)
		status = backup_flush(b);
	if (status == CAIRN_OK)
		status = backup_index(b, &index_bytes);
	if (status == CAIRN_OK)
		status = backup_secret(b);
	return status == CAIRN_OK ? backup_finish(b, index_bytes) : status;
}

enum cairn_status cairn_backup(const struct cairn_backup_options *options, struct cairn_backup_report *report,
			       struct cairn_diag *diag)
{
	struct backup *b = calloc(1, sizeof(*b));
	*report = (struct cairn_backup_report){0};
	if (!b)
		return CAIRN_E_NOMEM;
	b->options = options;
	b->report = report;
	b->diag = diag;
	b->fd = b->hold_fd = -1;
	enum cairn_status status = backup_run(b);
	if (b->w) /* else the copy may be another process's */
		(void)unlink(b->index);
	cairn_fold_writer_free(b->w);
	cairn_store_free(b->store);
	cairn_buf_fini(&b->data);
	cairn_buf_fini(&b->entries);
	cairn_buf_fini(&b->kept);
	cairn_fd_closep(&b->fd);
	cairn_fd_closep(&b->hold_fd);
	free(b);
	return status;
}
