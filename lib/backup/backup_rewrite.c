#include "backup/backup_rewrite.h"

#include "archive/fold/writer.h"
#include "backup/backup_format.h"
#include "backup/bundle.h"
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REWRITE_ZSTD_LEVEL = 1 };

static const char REWRITE_PART[] = "prune.part";

struct rewrite {
	struct cairn_backup_set *set;
	const struct cairn_backup_use *use;
	const struct cairn_backup_rewrite_options *options;
	struct cairn_diag *diag;
	char identity[CAIRN_IDENTITY_BYTES];
	int fd;
	struct cairn_fold_writer *w;
	struct cairn_buf catalog; /* catalog of the new archive */
	uint64_t n_objects, object_bytes;
	unsigned n_bundles;
	uint64_t done_bytes, total_bytes; /* bytes of the archives being read */
	/* The archive being read. */
	uint32_t giver;
	struct cairn_buf items; /* struct cairn_backup_item: its catalog, ordered by bundle */
	size_t at;              /* position in items */
	uint64_t bundle;
	/* The needed objects of the current bundle. */
	struct cairn_buf data, entries;
	size_t n_seen, n_taken;
};

static enum cairn_status rewrite_io(struct rewrite *r, const char *what, const char *name)
{
	return cairn_fail(r->diag, cairn_fd_status(errno), "backup.file", CAIRN_NO_OFFSET, "cannot %s %s in %s: %s",
			  what, name, r->set->folder, strerror(errno));
}

static enum cairn_status rewrite_wrote(struct rewrite *r, enum cairn_status status)
{
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(r->diag, status, "backup.limit", CAIRN_NO_OFFSET,
				  "what is needed of the archives is more than one FOLD file can hold");
	return status == CAIRN_OK
		       ? CAIRN_OK
		       : cairn_fail(r->diag, status, "backup.file", CAIRN_NO_OFFSET, "cannot write %s/%s: %s",
				    r->set->folder, REWRITE_PART, cairn_status_name(status));
}

uint32_t *cairn_backup_use_giver(const struct cairn_backup_use *use, const struct cairn_backup_object *object)
{
	const struct cairn_backup_object *found = cairn_backup_objects_find(&use->needed, object);
	if (!found)
		return NULL;
	uint32_t *givers = (uint32_t *)(void *)use->givers.bytes;
	return &givers[found - (const struct cairn_backup_object *)(const void *)use->needed.bytes];
}

static bool rewrite_gives(const struct rewrite *r, const struct cairn_backup_object *object)
{
	const uint32_t *giver = cairn_backup_use_giver(r->use, object);
	return giver && *giver == r->giver;
}

static const struct cairn_backup_item *rewrite_items(const struct rewrite *r)
{
	return (const struct cairn_backup_item *)(const void *)r->items.bytes;
}

static size_t rewrite_n_items(const struct rewrite *r)
{
	return r->items.len / sizeof(struct cairn_backup_item);
}

/* --- a bundle ----------------------------------------------------------------------------------------------------- */

/* Takes a needed object. A bundle may have objects that the catalog lacks: an interrupted backup left them. */
static enum cairn_status rewrite_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct rewrite *r = ctx;
	uint64_t layout = 0;
	r->n_seen++;
	if (r->at == rewrite_n_items(r) || rewrite_items(r)[r->at].bundle != r->bundle)
		return CAIRN_OK;
	struct cairn_backup_item item = rewrite_items(r)[r->at];
	if (item.object.len != object->len || !cairn_hash_equal(&item.object.hash, &object->hash))
		return CAIRN_OK;
	enum cairn_status status = cairn_backup_judge(&object->hash, object->bytes, object->len, &layout, r->diag);
	if (status != CAIRN_OK || layout != item.object.layout)
		return status;
	r->at++;
	if (!rewrite_gives(r, &item.object))
		return CAIRN_OK;
	item.bundle = r->n_bundles;
	cairn_backup_catalog_add(&r->catalog, &item);
	cairn_buf_add(&r->data, object->bytes, object->len);
	cairn_bundle_entry(&r->entries, &object->hash, object->len);
	r->n_taken++;
	r->n_objects++;
	r->object_bytes += object->len;
	return r->catalog.status == CAIRN_OK && r->data.status == CAIRN_OK ? r->entries.status : CAIRN_E_NOMEM;
}

static enum cairn_status rewrite_put_bundle(struct rewrite *r, const struct cairn_fold_chunk *chunk,
					    const struct cairn_fold_data *data)
{
	char name[BACKUP_NAME_BYTES];
	if (r->n_taken == 0)
		return CAIRN_OK;
	(void)snprintf(name, sizeof(name), BACKUP_OBJECTS "%06u", r->n_bundles++);
	if (r->n_taken == r->n_seen) {
		struct cairn_fold_chunk named = *chunk;
		named.name = name; /* copied by the writer */
		return rewrite_wrote(r, cairn_fold_writer_add_packed(r->w, &named, data->comp));
	}
	cairn_bundle_end(&r->data, &r->entries);
	if (r->data.status != CAIRN_OK)
		return CAIRN_E_NOMEM;
	return rewrite_wrote(r, cairn_fold_writer_add(r->w, name, BACKUP_OBJECTS_CTYPE, r->data.bytes, r->data.len));
}

/* Returns whether any object of the bundle at r->at is needed. @param[out] end  the next bundle's start in items */
static bool rewrite_wants_bundle(const struct rewrite *r, size_t *end)
{
	bool wanted = false;
	for (*end = r->at; *end < rewrite_n_items(r) && rewrite_items(r)[*end].bundle == r->bundle; ++*end)
		wanted = wanted || rewrite_gives(r, &rewrite_items(r)[*end].object);
	return wanted;
}

static enum cairn_status rewrite_bundle(struct rewrite *r, struct cairn_backup_file *file)
{
	static const struct cairn_fold_read_options OPTIONS = {.keep_comp = true};
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	const struct cairn_fold_index *ix = cairn_fold_index_of(file->fold);
	char name[BACKUP_NAME_BYTES];
	size_t end = 0;
	r->bundle = rewrite_items(r)[r->at].bundle;
	if (!rewrite_wants_bundle(r, &end)) {
		r->at = end;
		return CAIRN_OK;
	}
	(void)snprintf(name, sizeof(name), BACKUP_OBJECTS "%06" PRIu64, r->bundle);
	const struct cairn_fold_chunk *chunk = cairn_fold_index_find(ix, name);
	if (!chunk)
		return cairn_fail(r->diag, CAIRN_E_FORMAT, "backup.catalog", ix->at,
				  "the catalog names %s, which is not there", name);
	r->data.len = r->entries.len = 0;
	r->n_seen = r->n_taken = 0;
	enum cairn_status status = cairn_fold_read(file->fold, chunk, &OPTIONS, &data, r->diag);
	if (status == CAIRN_OK)
		status = cairn_bundle_each(data.bytes, data.len, rewrite_object, r, r->diag);
	if (status == CAIRN_OK && r->at != end)
		return cairn_fail(r->diag, CAIRN_E_MISMATCH, "backup.catalog", CAIRN_NO_OFFSET,
				  "the catalog names objects that are not in the bundles");
	return status == CAIRN_OK ? rewrite_put_bundle(r, chunk, &data) : status;
}

/* --- an archive --------------------------------------------------------------------------------------------------- */

static enum cairn_status rewrite_note_item(void *ctx, const struct cairn_backup_item *item)
{
	struct rewrite *r = ctx;
	cairn_buf_add(&r->items, item, sizeof(*item));
	return r->items.status;
}

static enum cairn_status rewrite_bundles(struct rewrite *r, struct cairn_backup_file *file, uint64_t archive_bytes)
{
	uint64_t begun = r->done_bytes;
	enum cairn_status status = cairn_backup_catalog_each(file, rewrite_note_item, r, r->diag);
	while (status == CAIRN_OK && r->at < rewrite_n_items(r)) {
		status = rewrite_bundle(r, file);
		r->done_bytes = begun + archive_bytes * r->at / rewrite_n_items(r);
		if (status == CAIRN_OK && r->options->progress &&
		    !r->options->progress(r->options->ctx, r->done_bytes, r->total_bytes))
			status = CAIRN_E_BUSY;
	}
	r->done_bytes = begun + archive_bytes;
	return status;
}

static enum cairn_status rewrite_archive(struct rewrite *r, size_t i)
{
	CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
	r->giver = (uint32_t)i + 1;
	r->items.len = r->at = 0;
	enum cairn_status status = cairn_backup_file_open(&file, r->set, &r->set->archives[i], r->diag);
	if (status == CAIRN_OK)
		status = rewrite_bundles(r, &file, r->set->archives[i].bytes);
	if (status != CAIRN_OK)
		cairn_backup_blame(r->diag, &r->set->archives[i]);
	return status;
}

/* --- the new archive ---------------------------------------------------------------------------------------------- */

/* Uses the store's identity and the highest parity of the old archives. */
static enum cairn_status rewrite_inherit(struct rewrite *r, unsigned *parity)
{
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < r->set->n && status == CAIRN_OK; i++) {
		CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
		if (!r->options->from[i])
			continue;
		r->total_bytes += r->set->archives[i].bytes;
		status = cairn_backup_file_open(&file, r->set, &r->set->archives[i], r->diag);
		const struct cairn_fold_index *ix = status == CAIRN_OK ? cairn_fold_index_of(file.fold) : NULL;
		for (size_t k = 0; ix && k < ix->n_chunks; k++)
			*parity = ix->chunks[k].parity > *parity ? ix->chunks[k].parity : *parity;
		if (ix && !r->identity[0])
			status = cairn_backup_identity(r->identity, ix, r->diag);
		if (status != CAIRN_OK)
			cairn_backup_blame(r->diag, &r->set->archives[i]);
	}
	return status;
}

static enum cairn_status rewrite_begin(struct rewrite *r)
{
	struct cairn_fold_writer_options options = {.zstd_level = REWRITE_ZSTD_LEVEL};
	enum cairn_status status = rewrite_inherit(r, &options.parity);
	if (status != CAIRN_OK)
		return status;
	r->fd = cairn_sys_openat(r->set->dir_fd, REWRITE_PART, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
				 0600);
	if (r->fd < 0)
		return rewrite_io(r, "make", REWRITE_PART);
	return rewrite_wrote(r, cairn_fold_writer_new(&r->w, r->fd, &options));
}

static enum cairn_status rewrite_finish(struct rewrite *r)
{
	char metadata[CAIRN_BACKUP_METADATA_BYTES], created[32];
	const struct cairn_backup_metadata m = {.kind = BACKUP_KIND_OBJECTS,
						.identity = r->identity,
						.n_objects = r->n_objects,
						.object_bytes = r->object_bytes};
	cairn_backup_metadata_text(metadata, &m);
	(void)snprintf(created, sizeof(created), "%" PRId64, cairn_clock_unix_s());
	enum cairn_status status = rewrite_wrote(
		r, cairn_fold_writer_add(r->w, BACKUP_CATALOG, BACKUP_CATALOG_CTYPE, r->catalog.bytes, r->catalog.len));
	if (status == CAIRN_OK)
		status = rewrite_wrote(r, cairn_fold_writer_finish(r->w, metadata, created));
	/* Drop the cached pages, so that verifying reads the disk. */
	if (status == CAIRN_OK)
		(void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_DONTNEED);
	return status;
}

static enum cairn_status rewrite_name(struct rewrite *r, struct cairn_backup_archive *made)
{
	char name[CAIRN_BACKUP_FILE_BYTES];
	made->at_unix_s = cairn_clock_unix_s();
	enum cairn_status status = cairn_backup_set_name(r->set, &made->at_unix_s, made->time, r->diag);
	if (status != CAIRN_OK)
		return status;
	made->bytes = cairn_fold_writer_bytes(r->w);
	cairn_backup_file_name(name, made->time, false);
	cairn_crash_point(CAIRN_CRASH_PRUNE_WRITTEN);
	if (cairn_fd_rename_new(r->set->dir_fd, REWRITE_PART, r->set->dir_fd, name) != CAIRN_OK)
		return rewrite_io(r, "name", name);
	cairn_crash_point(CAIRN_CRASH_PRUNE_NAMED);
	return cairn_sys_fsync(r->set->dir_fd) == 0 ? CAIRN_OK : rewrite_io(r, "make durable", name);
}

static enum cairn_status rewrite_run(struct rewrite *r, struct cairn_backup_archive *made)
{
	enum cairn_status status = rewrite_begin(r);
	for (size_t i = 0; i < r->set->n && status == CAIRN_OK; i++) {
		if (r->options->from[i])
			status = rewrite_archive(r, i);
	}
	if (status != CAIRN_OK || r->n_objects == 0)
		return status;
	status = rewrite_finish(r);
	return status == CAIRN_OK ? rewrite_name(r, made) : status;
}

enum cairn_status cairn_backup_rewrite(struct cairn_backup_set *set, const struct cairn_backup_use *use,
				       const struct cairn_backup_rewrite_options *options,
				       struct cairn_backup_archive *made, struct cairn_diag *diag)
{
	struct rewrite r = {
		.set = set,
		.use = use,
		.options = options,
		.diag = diag,
		.fd = -1,
		.catalog = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX),
		.items = cairn_buf_init(SIZE_MAX), /* bounded by the catalog's chunk */
		.data = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX),
		.entries = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX),
	};
	*made = (struct cairn_backup_archive){0};
	enum cairn_status status = rewrite_run(&r, made);
	(void)cairn_sys_unlinkat(set->dir_fd, REWRITE_PART, 0);
	cairn_fold_writer_free(r.w);
	cairn_fd_closep(&r.fd);
	cairn_buf_fini(&r.catalog);
	cairn_buf_fini(&r.items);
	cairn_buf_fini(&r.data);
	cairn_buf_fini(&r.entries);
	return status;
}
