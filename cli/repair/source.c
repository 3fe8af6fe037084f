#include "cli/repair/source.h"

#include "base/fd.h"
#include "cas/backup_format.h"
#include "cas/bundle.h"
#include "data_dir/data_dir.h"
#include "xorb/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- opening ------------------------------------------------------------------------------------------------------ */

static enum cairn_status source_open_backup(struct repair_source *s, uint64_t len, struct cairn_diag *diag)
{
	char *kind = NULL;
	const struct cairn_fold_source file = {.fd = s->fd, .len = len};
	enum cairn_status status = cairn_fold_open(&s->backup, &file, diag);
	if (status == CAIRN_OK)
		status = cairn_fold_index_text(cairn_fold_index_of(s->backup), "kind", &kind);
	if (status == CAIRN_OK && (!kind || strcmp(kind, BACKUP_KIND) != 0))
		status = cairn_fail(diag, CAIRN_E_FORMAT, "restore.kind", CAIRN_NO_OFFSET,
				    "this FOLD file is not a backup of Cairn");
	free(kind);
	return status;
}

enum cairn_status repair_source_open(struct repair_source *s, const char *path, struct cairn_diag *diag)
{
	struct stat st;
	uint8_t head[16];
	size_t n = 0;
	*s = (struct repair_source){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (s->fd < 0 || fstat(s->fd, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return cairn_data_dir_open_store(&s->folder, path, true, diag);
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
	cairn_store_free(s->folder);
	cairn_fd_closep(&s->fd);
}

/* --- a folder ----------------------------------------------------------------------------------------------------- */

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

/* --- a pack ------------------------------------------------------------------------------------------------------- */

static enum cairn_status source_take_packed(const struct cairn_readshard *pack, const struct cairn_hash *xorb,
					    const struct repair_taker *taker, struct cairn_diag *diag)
{
	struct cairn_readshard_slot slot;
	uint64_t len;
	const uint8_t *file = cairn_readshard_bytes(pack, &len);
	if (cairn_readshard_find(pack, xorb->b, &slot, NULL) != CAIRN_OK)
		return CAIRN_OK;
	return taker->take(taker->ctx, xorb, file + slot.bytes_at, slot.bytes, diag);
}

/* --- a backup ----------------------------------------------------------------------------------------------------- */

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

static enum cairn_status source_take_backup(struct cairn_fold *backup, const struct repair_taker *taker,
					    struct cairn_diag *diag)
{
	const struct cairn_fold_index *ix = cairn_fold_index_of(backup);
	struct source_bundle b = {taker, diag};
	for (size_t i = 0; i < ix->n_chunks; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		if (strncmp(ix->chunks[i].name, BACKUP_OBJECTS, strlen(BACKUP_OBJECTS)) != 0)
			continue;
		enum cairn_status status = cairn_fold_read(backup, &ix->chunks[i], NULL, &data, NULL);
		if (status != CAIRN_OK && status != CAIRN_E_NOMEM)
			continue; /* what is damaged there may not be what is wanted */
		if (status == CAIRN_OK)
			status = cairn_bundle_each(data.bytes, data.len, source_take_bundled, &b, diag);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

enum cairn_status repair_source_each(struct repair_source *s, const struct cairn_hash *xorbs, size_t n,
				     const struct repair_taker *taker, struct cairn_diag *diag)
{
	if (s->backup)
		return source_take_backup(s->backup, taker, diag);
	for (size_t i = 0; i < n; i++) {
		enum cairn_status status = s->folder ? source_take_copies(s->folder, &xorbs[i], taker, diag)
						     : source_take_packed(s->pack, &xorbs[i], taker, diag);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}
