#include "archive/fold/reader.h"
#include "backup/backup_work.h"
#include "backup/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BACKUP_READ_BYTES = 4 << 20 };

static bool backup_is_kept(const struct backup *b, const struct cairn_backup_object *object)
{
	return cairn_backup_objects_have(&b->kept, object);
}

/* Adds an object of the current bundle to the catalog. */
static void backup_catalogue(struct backup *b, const struct cairn_backup_object *object)
{
	const struct cairn_backup_item item = {.object = *object, .bundle = b->n_bundles};
	if (b->options->incremental)
		cairn_backup_catalog_add(&b->catalog, &item);
}

enum cairn_status backup_flush(struct backup *b)
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

/* Reports an object that was lost, and uploaded again in another layout after the index was backed up. */
static enum cairn_status backup_other_layout(struct backup *b, const struct cairn_hash *hash)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	return cairn_fail(b->diag, CAIRN_E_MISMATCH, "backup.object", CAIRN_NO_OFFSET,
			  "object %s is laid out otherwise than the index says: run cairn fsck --repair first", text);
}

/* Omits a damaged object: later backups read no object again, so the damaged one would exclude a sound one. The backup
 * continues, except into a pipe, whose lengths were announced beforehand. */
static enum cairn_status backup_note_damaged(struct backup *b, const struct cairn_hash *hash,
					     const struct cairn_diag *why)
{
	if (b->options->damaged)
		b->options->damaged(b->options->ctx, why->text);
	if (b->report->n_damaged++ == 0)
		b->damaged = *hash;
	return b->options->pipe_fd ? backup_damage(b) : CAIRN_OK;
}

enum cairn_status backup_damage(struct backup *b)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	if (b->report->n_damaged == 0)
		return CAIRN_OK;
	cairn_hash_text(text, &b->damaged);
	return cairn_fail(b->diag, CAIRN_E_MISMATCH, "backup.object", CAIRN_NO_OFFSET,
			  "objects of the store that are damaged, and not in the backup: %" PRIu64
			  ", first %s; run cairn fsck --repair, or upload them again, and then this once more",
			  b->report->n_damaged, text);
}

/* Puts an object into the current bundle. */
static enum cairn_status backup_take(struct backup *b, const struct cairn_backup_object *wanted)
{
	const struct cairn_hash *hash = &wanted->hash;
	uint64_t stored_bytes = wanted->len, layout = 0;
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	enum cairn_status status = cairn_store_get(b->store, hash, &o);
	uint64_t len = status == CAIRN_OK ? cairn_store_object_bytes(o) : 0;
	if (status != CAIRN_OK || len != stored_bytes)
		return backup_missing(b, hash, stored_bytes, len, status);
	size_t data_bytes = b->data.len;
	struct cairn_diag why = {0};
	uint8_t *to = cairn_buf_extend(&b->data, len);
	if (!to && len > 0)
		return CAIRN_E_NOMEM;
	status = cairn_store_object_read(o, 0, to, len);
	if (status != CAIRN_OK)
		return backup_missing(b, hash, stored_bytes, len, status);
	status = cairn_backup_judge(hash, to, len, &layout, &why);
	if (status == CAIRN_E_MISMATCH) {
		b->data.len = data_bytes;
		return backup_note_damaged(b, hash, &why);
	}
	if (status != CAIRN_OK)
		return status;
	if (layout != wanted->layout)
		return backup_other_layout(b, hash);
	cairn_bundle_entry(&b->entries, hash, len);
	backup_catalogue(b, wanted);
	b->report->n_objects++;
	b->report->object_bytes += len;
	return b->catalog.status;
}

bool backup_fits(const struct backup *b, uint64_t data_bytes, uint64_t entries_bytes, uint64_t stored_bytes)
{
	return data_bytes + entries_bytes + stored_bytes + CAIRN_BUNDLE_ENTRY_BYTES + CAIRN_BUNDLE_END_BYTES <=
	       b->bundle_bytes;
}

enum cairn_status backup_visit(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes, uint64_t layout)
{
	struct backup *b = ctx;
	const struct cairn_backup_object object = {*hash, stored_bytes, layout};
	if (backup_is_kept(b, &object) || cairn_backup_objects_have(&b->known, &object))
		return CAIRN_OK;
	bool fits = backup_fits(b, b->data.len, b->entries.len, stored_bytes);
	enum cairn_status status = fits ? CAIRN_OK : backup_flush(b);
	return status == CAIRN_OK ? backup_take(b, &object) : status;
}

enum cairn_status backup_count(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes, uint64_t layout)
{
	struct backup *b = ctx;
	const struct cairn_backup_object object = {*hash, stored_bytes, layout};
	b->report->n_total++;
	if (cairn_backup_objects_have(&b->known, &object))
		b->report->n_earlier++;
	else
		b->report->total_bytes += stored_bytes;
	return CAIRN_OK;
}

struct backup_compared {
	struct backup *b;
	bool differs;
	struct cairn_buf scratch;
};

/* Compares an object with the store's. If the store lacks it, it was collected, and the index will not name it. */
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
	status = cairn_backup_judge(&object->hash, object->bytes, object->len, &kept.layout, NULL);
	if (status == CAIRN_E_MISMATCH) /* write it again */
		c->differs = true;
	if (status != CAIRN_OK)
		return status == CAIRN_E_MISMATCH ? CAIRN_OK : status;
	cairn_backup_objects_add(&c->b->kept, &kept);
	backup_catalogue(c->b, &kept);
	c->b->report->n_objects++;
	c->b->report->n_kept++;
	c->b->report->object_bytes += object->len;
	return c->b->kept.status;
}

/* @return CAIRN_E_NOT_FOUND: write this chunk and the following ones again */
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

enum cairn_status backup_resume(struct backup *b, uint64_t len)
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
