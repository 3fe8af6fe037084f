#include "cli/repair/source.h"

#include "backup/backup_format.h"
#include "backup/bundle.h"
#include "base/fd.h"
#include "base/sys.h"
#include "data_dir/data_dir.h"
#include "xorb/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum cairn_status source_open_backup(struct repair_source *s, uint64_t len, struct cairn_diag *diag)
{
	char *kind = NULL;
	const struct cairn_fold_source file = {.fd = s->fd, .len = len};
	enum cairn_status status = cairn_fold_open(&s->backup, &file, diag);
	if (status == CAIRN_OK)
		status = cairn_fold_index_text(cairn_fold_index_of(s->backup), "kind", &kind);
	if (status == CAIRN_OK && (!kind || (strcmp(kind, BACKUP_KIND) != 0 && strcmp(kind, BACKUP_KIND_OBJECTS) != 0)))
		status = cairn_fail(diag, CAIRN_E_FORMAT, "restore.kind", CAIRN_NO_OFFSET,
				    "this FOLD file is not a backup of Cairn");
	free(kind);
	return status;
}

/* Opens a daemon's folder, or a folder of backups, which has objects only in its archives. */
static enum cairn_status source_open_folder(struct repair_source *s, const char *path, struct cairn_diag *diag)
{
	if (cairn_sys_faccessat(s->fd, "objects", F_OK, 0) == 0 || cairn_sys_faccessat(s->fd, "store", F_OK, 0) == 0)
		return cairn_data_dir_open_store(&s->folder, path, true, diag);
	enum cairn_status status = cairn_backup_set_open(&s->set, path, false, diag);
	if (status != CAIRN_OK || s->set.n > 0)
		return status;
	return cairn_fail(diag, CAIRN_E_FORMAT, "restore.kind", CAIRN_NO_OFFSET,
			  "the folder is neither that of a daemon nor one of backups");
}

enum cairn_status repair_source_open(struct repair_source *s, const char *path, struct cairn_diag *diag)
{
	struct stat st;
	uint8_t head[16];
	size_t n = 0;
	*s = (struct repair_source){.fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0),
				    .set = {.dir_fd = -1, .lock_fd = -1}};
	if (s->fd < 0 || cairn_sys_fstat(s->fd, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return source_open_folder(s, path, diag);
	if (!S_ISREG(st.st_mode))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET,
				  "neither a folder nor a regular file");
	if (cairn_fd_read_upto(s->fd, head, sizeof(head), &n) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "file.read", CAIRN_NO_OFFSET, "cannot be read: %s",
				  strerror(errno));
	if (cairn_fold_is(head, n))
		return source_open_backup(s, (uint64_t)st.st_size, diag);
	return cairn_readshard_open(&s->pack, s->fd, diag);
}

void repair_source_fini(struct repair_source *s)
{
	cairn_readshard_free(s->pack);
	cairn_fold_close(s->backup);
	cairn_backup_set_close(&s->set);
	cairn_store_free(s->folder);
	cairn_fd_closep(&s->fd);
}

static enum cairn_status source_take_object(struct cairn_store_object *copy, const struct cairn_hash *xorb,
					    const struct repair_taker *taker, struct cairn_diag *diag)
{
	uint64_t len = cairn_store_object_bytes(copy);
	if (len == 0 || len > CAIRN_XORB_SERIALIZED_BYTES_MAX)
		return CAIRN_OK;
	uint8_t *bytes = malloc(len);
	enum cairn_status status = bytes ? CAIRN_OK : CAIRN_E_NOMEM;
	if (bytes && cairn_store_object_read(copy, 0, bytes, len) == CAIRN_OK)
		status = taker->take(taker->ctx, xorb, bytes, len, diag);
	free(bytes);
	return status;
}

static enum cairn_status source_take_copies(struct cairn_store *folder, const struct cairn_hash *xorb,
					    const struct repair_taker *taker, struct cairn_diag *diag)
{
	for (unsigned n = 0; taker->wants(taker->ctx, xorb); n++) {
		CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
		enum cairn_status status = cairn_store_get_copy(folder, xorb, n, &copy);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOMEM ? status : CAIRN_OK;
		status = source_take_object(copy, xorb, taker, diag);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

static enum cairn_status source_take_packed(const struct cairn_readshard *pack, const struct cairn_hash *xorb,
					    const struct repair_taker *taker, struct cairn_diag *diag)
{
	struct cairn_readshard_slot slot;
	if (cairn_readshard_find(pack, xorb->b, &slot, NULL) != CAIRN_OK || slot.bytes == 0 ||
	    slot.bytes > CAIRN_XORB_SERIALIZED_BYTES_MAX)
		return CAIRN_OK;
	uint8_t *bytes = malloc(slot.bytes);
	enum cairn_status status = bytes ? CAIRN_OK : CAIRN_E_NOMEM;
	if (bytes && cairn_readshard_read(pack, slot.bytes_at, bytes, slot.bytes, NULL) == CAIRN_OK)
		status = taker->take(taker->ctx, xorb, bytes, slot.bytes, diag);
	free(bytes);
	return status;
}

struct source_bundle {
	const struct repair_taker *taker;
	struct cairn_diag *diag;
};

static enum cairn_status source_take_bundled(void *ctx, const struct cairn_bundle_object *object)
{
	const struct source_bundle *b = ctx;
	if (!b->taker->wants(b->taker->ctx, &object->hash))
		return CAIRN_OK;
	return b->taker->take(b->taker->ctx, &object->hash, object->bytes, object->len, b->diag);
}

/* Takes the wanted xorbs of a bundle (a chunk with several xorbs). Skips a damaged one: it may have no wanted xorb. */
static enum cairn_status source_take_bundle(struct cairn_fold *backup, const struct cairn_fold_chunk *chunk,
					    const struct repair_taker *taker, struct cairn_diag *diag)
{
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	struct source_bundle b = {taker, diag};
	enum cairn_status status = cairn_fold_read(backup, chunk, NULL, &data, NULL);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOMEM ? status : CAIRN_OK;
	return cairn_bundle_each(data.bytes, data.len, source_take_bundled, &b, diag);
}

static enum cairn_status source_take_backup(struct cairn_fold *backup, const struct repair_taker *taker,
					    struct cairn_diag *diag)
{
	const struct cairn_fold_index *ix = cairn_fold_index_of(backup);
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < ix->n_chunks && status == CAIRN_OK; i++) {
		if (strncmp(ix->chunks[i].name, BACKUP_OBJECTS, strlen(BACKUP_OBJECTS)) == 0)
			status = source_take_bundle(backup, &ix->chunks[i], taker, diag);
	}
	return status;
}

struct source_wanted {
	const struct repair_taker *taker;
	struct cairn_buf bundles; /* one flag for each chunk of the archive: it contains wanted xorbs */
};

static enum cairn_status source_note_item(void *ctx, const struct cairn_backup_item *item)
{
	struct source_wanted *w = ctx;
	if (item->bundle < w->bundles.len && w->taker->wants(w->taker->ctx, &item->object.hash))
		w->bundles.bytes[item->bundle] = 1;
	return CAIRN_OK;
}

/* Takes the wanted xorbs of an archive. Skips damaged ones, because another archive may have them. */
static enum cairn_status source_take_archive(const struct cairn_backup_set *set,
					     const struct cairn_backup_archive *archive,
					     const struct repair_taker *taker, struct cairn_diag *diag)
{
	CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
	struct source_wanted w = {taker, cairn_buf_init(SIZE_MAX)};
	enum cairn_status status = cairn_backup_file_open(&file, set, archive, NULL);
	const struct cairn_fold_index *ix = status == CAIRN_OK ? cairn_fold_index_of(file.fold) : NULL;
	if (ix) {
		cairn_buf_fill(&w.bundles, 0, ix->n_chunks); /* as many flags as the archive's index has chunks */
		status = w.bundles.status;
	}
	if (status == CAIRN_OK)
		status = cairn_backup_catalog_each(&file, source_note_item, &w, NULL);
	if (status != CAIRN_OK && status != CAIRN_E_NOMEM)
		w.bundles.len = 0;
	for (size_t i = 0; i < w.bundles.len && status == CAIRN_OK; i++) {
		char name[BACKUP_NAME_BYTES];
		(void)snprintf(name, sizeof(name), BACKUP_OBJECTS "%06zu", i);
		const struct cairn_fold_chunk *chunk = w.bundles.bytes[i] ? cairn_fold_index_find(ix, name) : NULL;
		if (chunk)
			status = source_take_bundle(file.fold, chunk, taker, diag);
	}
	bool is_passed_over = w.bundles.len == 0 && status != CAIRN_E_NOMEM;
	cairn_buf_fini(&w.bundles);
	return is_passed_over ? CAIRN_OK : status;
}

static enum cairn_status source_take_set(const struct cairn_backup_set *set, const struct repair_taker *taker,
					 struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	for (size_t i = set->n; i > 0 && status == CAIRN_OK; i--) {
		if (!set->archives[i - 1].is_moment)
			status = source_take_archive(set, &set->archives[i - 1], taker, diag);
	}
	return status;
}

enum cairn_status repair_source_each(struct repair_source *s, const struct cairn_hash *xorbs, size_t n,
				     const struct repair_taker *taker, struct cairn_diag *diag)
{
	if (s->backup)
		return source_take_backup(s->backup, taker, diag);
	if (s->set.folder)
		return source_take_set(&s->set, taker, diag);
	for (size_t i = 0; i < n; i++) {
		enum cairn_status status = s->folder ? source_take_copies(s->folder, &xorbs[i], taker, diag)
						     : source_take_packed(s->pack, &xorbs[i], taker, diag);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}
