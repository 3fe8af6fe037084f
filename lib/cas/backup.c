#include "cas/backup.h"

#include "archive/fold/reader.h"
#include "archive/fold/writer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cas/backup_format.h"
#include "cas/backup_set.h"
#include "cas/bundle.h"
#include "data_dir/data_dir.h"
#include "data_dir/hold.h"
#include "data_dir/identity.h"
#include "index/copy.h"
#include "index/examine.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
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
	char spool[BACKUP_PATH_BYTES];            /* of a pipe: the folder that index is in, which goes with it */
	char index_url[CAIRN_DATA_DIR_URL_BYTES]; /* of what is copied to index */
	int fd, hold_fd;
	struct cairn_store *store;
	struct cairn_fold_writer *w;
	uint64_t bundle_bytes;
	struct cairn_buf data, entries; /* the bundle on its way */
	struct cairn_buf kept;          /* struct cairn_backup_object: what an interrupted one had written, sorted */
	unsigned n_bundles, n_faults;
	char identity[CAIRN_IDENTITY_BYTES];
	/* Into a folder. */
	struct cairn_backup_set set;
	struct cairn_buf known;   /* struct cairn_backup_object: what the archives there have, sorted */
	struct cairn_buf catalog; /* of what is new */
	int64_t at_unix_s;
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

static bool backup_is_kept(const struct backup *b, const struct cairn_backup_object *object)
{
	return cairn_backup_objects_have(&b->kept, object);
}

/* An object is in the bundle that is under way. */
static void backup_catalogue(struct backup *b, const struct cairn_backup_object *object)
{
	const struct cairn_backup_item item = {.object = *object, .bundle = b->n_bundles};
	if (b->options->incremental)
		cairn_backup_catalog_add(&b->catalog, &item);
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

/* Lost, and sent again since the index was copied; or nobody has looked at it. */
static enum cairn_status backup_other_packing(struct backup *b, const struct cairn_hash *hash, bool is_xorb)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	return cairn_fail(b->diag, CAIRN_E_MISMATCH, "backup.object", CAIRN_NO_OFFSET,
			  "object %s is %s: run cairn fsck --repair first", text,
			  is_xorb ? "packed otherwise than the index says" : "damaged");
}

/* Into the bundle. */
static enum cairn_status backup_take(struct backup *b, const struct cairn_backup_object *wanted)
{
	const struct cairn_hash *hash = &wanted->hash;
	uint64_t stored_bytes = wanted->len, packing = 0;
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
	status = cairn_backup_packing(to, len, &packing);
	if (status == CAIRN_E_NOMEM)
		return status;
	if (status != CAIRN_OK || packing != wanted->packing)
		return backup_other_packing(b, hash, status == CAIRN_OK);
	cairn_bundle_entry(&b->entries, hash, len);
	backup_catalogue(b, wanted);
	b->report->n_objects++;
	b->report->object_bytes += len;
	return b->catalog.status;
}

/* Does an object go into the bundle that has so much? */
static bool backup_fits(const struct backup *b, uint64_t data_bytes, uint64_t entries_bytes, uint64_t stored_bytes)
{
	return data_bytes + entries_bytes + stored_bytes + CAIRN_BUNDLE_ENTRY_BYTES + CAIRN_BUNDLE_END_BYTES <=
	       b->bundle_bytes;
}

static enum cairn_status backup_visit(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes, uint64_t packing)
{
	struct backup *b = ctx;
	const struct cairn_backup_object object = {*hash, stored_bytes, packing};
	if (backup_is_kept(b, &object) || cairn_backup_objects_have(&b->known, &object))
		return CAIRN_OK;
	bool fits = backup_fits(b, b->data.len, b->entries.len, stored_bytes);
	enum cairn_status status = fits ? CAIRN_OK : backup_flush(b);
	return status == CAIRN_OK ? backup_take(b, &object) : status;
}

static enum cairn_status backup_count(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes, uint64_t packing)
{
	struct backup *b = ctx;
	const struct cairn_backup_object object = {*hash, stored_bytes, packing};
	b->report->n_total++;
	if (cairn_backup_objects_have(&b->known, &object))
		b->report->n_earlier++;
	else
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
	struct cairn_backup_object kept = {.hash = object->hash, .len = object->len};
	status = cairn_backup_packing(object->bytes, object->len, &kept.packing);
	if (status != CAIRN_OK) /* FORMAT: it is taken anew */
		return status;
	cairn_backup_objects_add(&c->b->kept, &kept);
	backup_catalogue(c->b, &kept);
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
	size_t n_before = b->kept.len, catalogued = b->catalog.len;
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
	b->catalog.len = catalogued;
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
	cairn_backup_objects_sort(&b->kept);
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

static enum cairn_status backup_load_secret(struct backup *b, struct cairn_secret *secret)
{
	char path[BACKUP_PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s/secret", b->options->data_dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(b->diag, CAIRN_E_USAGE, "secret.path", CAIRN_NO_OFFSET, "the path is too long");
	return cairn_secret_load(secret, b->options->secret_file ? b->options->secret_file : path, false, b->diag);
}

static enum cairn_status backup_secret(struct backup *b)
{
	struct cairn_secret secret = {0};
	if (!b->options->with_secret)
		return CAIRN_OK;
	enum cairn_status status = backup_load_secret(b, &secret);
	if (status == CAIRN_OK)
		status = backup_wrote(
			b, cairn_fold_writer_add(b->w, BACKUP_SECRET, BACKUP_SECRET_CTYPE, secret.bytes, secret.len));
	explicit_bzero(&secret, sizeof(secret));
	b->report->n_chunks++;
	return status;
}

/* @param name  to get the file */
static enum cairn_status backup_finish(struct backup *b, const char *kind, const char *name, uint64_t index_bytes)
{
	char metadata[CAIRN_BACKUP_METADATA_BYTES], created[32];
	const struct cairn_backup_metadata m = {.kind = kind,
						.identity = b->identity,
						.n_objects = b->report->n_objects,
						.object_bytes = b->report->object_bytes,
						.index_bytes = index_bytes};
	cairn_backup_metadata_text(metadata, &m);
	(void)snprintf(created, sizeof(created), "%" PRId64, cairn_clock_unix_s());
	enum cairn_status status = backup_wrote(b, cairn_fold_writer_finish(b->w, metadata, created));
	if (status != CAIRN_OK)
		return status;
	b->report->file_bytes = cairn_fold_writer_bytes(b->w);
	if (b->options->pipe_fd)
		return CAIRN_OK;
	if (cairn_fd_rename_new(AT_FDCWD, b->part, AT_FDCWD, name) != CAIRN_OK)
		return backup_io(b, "name", name);
	char folder[BACKUP_PATH_BYTES];
	(void)snprintf(folder, sizeof(folder), "%s", name);
	CLEANUP(cairn_fd_closep) int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && fsync(fd) == 0 ? CAIRN_OK : backup_io(b, "make durable", name);
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static enum cairn_status backup_paths(struct backup *b)
{
	const char *out = b->options->out, *part = b->options->incremental ? "/next" : "";
	struct stat st;
	int n = snprintf(b->part, sizeof(b->part), "%s%s.part", out, part);
	int m = snprintf(b->index, sizeof(b->index), "%s%s.index", out, part);
	if (n < 0 || (size_t)n >= sizeof(b->part) || m < 0 || (size_t)m >= sizeof(b->index) ||
	    strlen(out) + 1 + CAIRN_BACKUP_FILE_BYTES > sizeof(b->part))
		return cairn_fail(b->diag, CAIRN_E_USAGE, "backup.file", CAIRN_NO_OFFSET, "the path is too long");
	if (!b->options->incremental && lstat(out, &st) == 0)
		return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.exists", CAIRN_NO_OFFSET,
				  "%s is there already; name another file, or remove it", out);
	return CAIRN_OK;
}

/* A pipe has no file beside it that the copy of the index could lie in. */
static enum cairn_status backup_make_spool(struct backup *b)
{
	int n = snprintf(b->spool, sizeof(b->spool), "%s/cairn-backup-XXXXXX", b->options->spool);
	bool fits = n >= 0 && (size_t)n < sizeof(b->spool) && (size_t)n + sizeof("/index") <= sizeof(b->index);
	if (!fits || !mkdtemp(b->spool)) {
		b->spool[0] = '\0';
		return cairn_fail(b->diag, fits ? cairn_fd_status(errno) : CAIRN_E_USAGE, "backup.file",
				  CAIRN_NO_OFFSET, "cannot make a folder in %s for a copy of the index: %s",
				  b->options->spool, fits ? strerror(errno) : "the path is too long");
	}
	memcpy(b->index, b->spool, (size_t)n);
	memcpy(b->index + n, "/index", sizeof("/index"));
	(void)snprintf(b->part, sizeof(b->part), "%s", b->options->out);
	return CAIRN_OK;
}

static enum cairn_status backup_open(struct backup *b, uint64_t *part_bytes)
{
	struct stat st;
	b->fd = open(b->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
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

/* --- into a pipe -------------------------------------------------------------------------------------------------- */

/* What will be written: bundles as backup_visit() makes them, counted and not read. */
struct backup_plan {
	struct backup *b;
	struct cairn_fold_extent extent;
	uint64_t data_bytes, entries_bytes; /* of the bundle under way */
	unsigned n_bundles;
};

static void backup_plan_chunk(struct backup_plan *p, const char *prefix, unsigned number, uint64_t len)
{
	char name[BACKUP_NAME_BYTES];
	(void)snprintf(name, sizeof(name), "%s%06u", prefix, number);
	cairn_fold_extent_add(&p->extent, name, len, p->b->options->parity);
}

static void backup_plan_flush(struct backup_plan *p)
{
	if (p->entries_bytes > 0)
		backup_plan_chunk(p, BACKUP_OBJECTS, p->n_bundles++,
				  p->data_bytes + p->entries_bytes + CAIRN_BUNDLE_END_BYTES);
	p->data_bytes = p->entries_bytes = 0;
}

static enum cairn_status backup_plan_visit(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					   uint64_t packing)
{
	struct backup_plan *p = ctx;
	(void)hash;
	(void)packing;
	if (!backup_fits(p->b, p->data_bytes, p->entries_bytes, stored_bytes))
		backup_plan_flush(p);
	p->data_bytes += stored_bytes;
	p->entries_bytes += CAIRN_BUNDLE_ENTRY_BYTES;
	return CAIRN_OK;
}

static enum cairn_status backup_plan_rest(struct backup_plan *p)
{
	struct backup *b = p->b;
	struct stat st;
	if (stat(b->index, &st) < 0)
		return backup_io(b, "open", b->index);
	uint64_t left = (uint64_t)st.st_size;
	for (unsigned i = 0; left > 0; i++) {
		uint64_t piece = left < CAIRN_BACKUP_PIECE_BYTES ? left : CAIRN_BACKUP_PIECE_BYTES;
		backup_plan_chunk(p, BACKUP_INDEX, i, piece);
		left -= piece;
	}
	if (!b->options->with_secret)
		return CAIRN_OK;
	struct cairn_secret secret = {0};
	enum cairn_status status = backup_load_secret(b, &secret);
	if (status == CAIRN_OK)
		cairn_fold_extent_add(&p->extent, BACKUP_SECRET, secret.len, b->options->parity);
	explicit_bzero(&secret, sizeof(secret));
	return status;
}

/* After the index was copied, which has the length of every object. */
static enum cairn_status backup_open_pipe(struct backup *b)
{
	struct backup_plan plan = {.b = b};
	enum cairn_status status = cairn_index_copy_each(b->index_url, b->index, backup_plan_visit, &plan, b->diag);
	backup_plan_flush(&plan);
	if (status == CAIRN_OK)
		status = backup_plan_rest(&plan);
	const struct cairn_fold_writer_options options = {.parity = b->options->parity, .extent = &plan.extent};
	return status == CAIRN_OK ? backup_wrote(b, cairn_fold_writer_new(&b->w, *b->options->pipe_fd, &options))
				  : status;
}

/* --- into a folder ------------------------------------------------------------------------------------------------ */

static enum cairn_status backup_note_known(void *ctx, const struct cairn_backup_item *item)
{
	struct backup *b = ctx;
	cairn_backup_objects_add(&b->known, &item->object);
	return b->known.status;
}

/* Not into what is backed up: both folders have a lock, and a daemon clears its own. */
static enum cairn_status backup_check_folder(struct backup *b)
{
	char data[PATH_MAX], out[PATH_MAX], parent[BACKUP_PATH_BYTES];
	(void)snprintf(parent, sizeof(parent), "%s", b->options->out);
	if (!realpath(b->options->data_dir, data) ||
	    (!realpath(b->options->out, out) && !realpath(dirname(parent), out)))
		return CAIRN_OK; /* opening it tells why it cannot be */
	size_t n = strlen(data);
	if (strncmp(out, data, n) != 0 || (out[n] != '/' && out[n] != '\0'))
		return CAIRN_OK;
	return cairn_fail(b->diag, CAIRN_E_USAGE, "backup.folder", CAIRN_NO_OFFSET,
			  "%s is in the folder that is backed up: name another one, on another disk", b->options->out);
}

/* Rules of pruning ask of each moment when it is of, not whose it is. */
static enum cairn_status backup_check_store(struct backup *b, const struct cairn_backup_file *file)
{
	char theirs[CAIRN_IDENTITY_BYTES];
	enum cairn_status status = cairn_backup_identity(theirs, cairn_fold_index_of(file->fold), b->diag);
	if (status != CAIRN_OK || !theirs[0] || strcmp(theirs, b->identity) == 0)
		return status;
	return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.store", CAIRN_NO_OFFSET,
			  "it is a backup of store %s, and %s is store %s: name another folder, or, if it is the same "
			  "store, put its file " CAIRN_IDENTITY_FILE " back",
			  theirs, b->options->data_dir, b->identity);
}

/* What does an archive have that is there? Of the moments the last one is looked at, for whose it is: one that is
 * damaged is of no use to the next, and does it no harm. */
static enum cairn_status backup_know(struct backup *b, const struct cairn_backup_archive *archive)
{
	CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
	if (archive->is_moment && archive != &b->set.archives[b->set.n - 1])
		return CAIRN_OK;
	struct cairn_diag *diag = archive->is_moment ? NULL : b->diag;
	enum cairn_status status = cairn_backup_file_open(&file, &b->set, archive, diag);
	if (archive->is_moment && (status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH || status == CAIRN_E_LIMIT))
		return CAIRN_OK;
	if (status == CAIRN_OK)
		status = backup_check_store(b, &file);
	if (status == CAIRN_OK && !archive->is_moment)
		status = cairn_backup_catalog_each(&file, backup_note_known, b, b->diag);
	if (status != CAIRN_OK)
		cairn_backup_blame(b->diag, archive);
	return status;
}

static enum cairn_status backup_enter_folder(struct backup *b)
{
	if (!b->options->incremental)
		return CAIRN_OK;
	enum cairn_status status = backup_check_folder(b);
	if (status != CAIRN_OK)
		return status;
	status = cairn_backup_set_open(&b->set, b->options->out, true, b->diag);
	for (size_t i = 0; i < b->set.n && status == CAIRN_OK; i++)
		status = backup_know(b, &b->set.archives[i]);
	cairn_backup_objects_sort(&b->known);
	if (status != CAIRN_OK)
		return status;
	b->at_unix_s = cairn_backup_set_name(&b->set, cairn_clock_unix_s(), b->report->moment);
	return CAIRN_OK;
}

static void backup_close_file(struct backup *b)
{
	cairn_fold_writer_free(b->w);
	b->w = NULL;
	cairn_fd_closep(&b->fd);
}

/* The archive of what is new gets its name; without anything new there is none. */
static enum cairn_status backup_end_objects(struct backup *b)
{
	char name[BACKUP_PATH_BYTES], file[CAIRN_BACKUP_FILE_BYTES];
	enum cairn_status status = CAIRN_OK;
	cairn_backup_file_name(file, b->report->moment, false);
	(void)snprintf(name, sizeof(name), "%s/%s", b->options->out, file);
	if (b->catalog.len > 0) {
		status = backup_wrote(b, cairn_fold_writer_add(b->w, BACKUP_CATALOG, BACKUP_CATALOG_CTYPE,
							       b->catalog.bytes, b->catalog.len));
		b->report->n_chunks++;
		if (status == CAIRN_OK)
			status = backup_finish(b, BACKUP_KIND_OBJECTS, name, 0);
	} else if (unlink(b->part) < 0) {
		status = backup_io(b, "remove", b->part);
	}
	backup_close_file(b);
	return status;
}

/* All that it names is durable. What a killed one left of such a file is of no use. */
static enum cairn_status backup_moment(struct backup *b)
{
	char name[BACKUP_PATH_BYTES], file[CAIRN_BACKUP_FILE_BYTES];
	uint64_t index_bytes = 0, part_bytes = 0, objects_bytes = b->report->file_bytes;
	cairn_backup_file_name(file, b->report->moment, true);
	(void)snprintf(name, sizeof(name), "%s/%s", b->options->out, file);
	(void)snprintf(b->part, sizeof(b->part), "%s/moment.part", b->options->out);
	if (unlink(b->part) < 0 && errno != ENOENT)
		return backup_io(b, "remove", b->part);
	enum cairn_status status = backup_open(b, &part_bytes);
	if (status == CAIRN_OK)
		status = backup_index(b, &index_bytes);
	if (status == CAIRN_OK)
		status = backup_secret(b);
	if (status == CAIRN_OK)
		status = backup_finish(b, BACKUP_KIND_MOMENT, name, index_bytes);
	b->report->file_bytes += b->catalog.len > 0 ? objects_bytes : 0;
	return status;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static enum cairn_status backup_objects(struct backup *b, uint64_t part_bytes)
{
	enum cairn_status status = b->options->pipe_fd ? backup_open_pipe(b) : backup_resume(b, part_bytes);
	if (status == CAIRN_OK)
		status = cairn_index_copy_each(b->index_url, b->index, backup_visit, b, b->diag);
	return status == CAIRN_OK ? backup_flush(b) : status;
}

static enum cairn_status backup_begin(struct backup *b, uint64_t *part_bytes)
{
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
		status = cairn_identity_get(b->identity, data_dir, b->diag);
	if (status == CAIRN_OK)
		status = b->options->pipe_fd ? backup_make_spool(b) : backup_paths(b);
	if (status == CAIRN_OK)
		status = backup_enter_folder(b);
	return status == CAIRN_OK && !b->options->pipe_fd ? backup_open(b, part_bytes) : status;
}

/* Of a copy that is ours: else it may be another process's. */
static void backup_drop_copy(struct backup *b)
{
	if (b->w || b->at_unix_s > 0 || b->spool[0])
		(void)unlink(b->index);
	if (b->spool[0])
		(void)rmdir(b->spool);
}

static enum cairn_status backup_run(struct backup *b)
{
	uint64_t part_bytes = 0, index_bytes = 0;
	enum cairn_status status = backup_begin(b, &part_bytes);
	if (status == CAIRN_OK)
		status = cairn_index_copy(b->index_url, b->index, b->diag);
	if (status == CAIRN_OK)
		status = backup_examine(b);
	if (status == CAIRN_OK)
		status = cairn_index_copy_each(b->index_url, b->index, backup_count, b, b->diag);
	if (status != CAIRN_OK)
		return status;
	backup_size_bundles(b);
	status = backup_objects(b, part_bytes);
	if (status == CAIRN_OK && b->options->incremental) {
		status = backup_end_objects(b);
		return status == CAIRN_OK ? backup_moment(b) : status;
	}
	if (status == CAIRN_OK)
		status = backup_index(b, &index_bytes);
	if (status == CAIRN_OK)
		status = backup_secret(b);
	return status == CAIRN_OK ? backup_finish(b, BACKUP_KIND, b->options->out, index_bytes) : status;
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
	b->fd = b->hold_fd = b->set.dir_fd = b->set.lock_fd = -1;
	b->known = cairn_buf_init(SIZE_MAX);
	b->catalog = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX);
	enum cairn_status status = backup_run(b);
	backup_drop_copy(b);
	cairn_fold_writer_free(b->w);
	cairn_store_free(b->store);
	cairn_buf_fini(&b->data);
	cairn_buf_fini(&b->entries);
	cairn_buf_fini(&b->kept);
	cairn_buf_fini(&b->known);
	cairn_buf_fini(&b->catalog);
	cairn_backup_set_close(&b->set);
	cairn_fd_closep(&b->fd);
	cairn_fd_closep(&b->hold_fd);
	free(b);
	return status;
}
