#include "backup/backup_keep.h"

#include "backup/backup_format.h"
#include "backup/bundle.h"
#include "base/decimal.h"
#include "base/fd.h"
#include "base/sys.h"
#include "data_dir/data_dir.h"
#include "index/backup.h"
#include "index/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char KEEP_INDEX[] = "keep.index"; /* index of the moment being read */

/* --- rules -------------------------------------------------------------------------------------------------------- */

enum keep_period { KEEP_LAST, KEEP_HOURLY, KEEP_DAILY, KEEP_WEEKLY, KEEP_MONTHLY, KEEP_YEARLY, KEEP_PERIODS };

/* Returns a number that is the same for all moments of one period. */
static int64_t keep_period_of(enum keep_period period, int64_t unix_s)
{
	time_t t = (time_t)unix_s;
	struct tm tm = {0};
	(void)gmtime_r(&t, &tm);
	switch (period) {
	case KEEP_HOURLY:
		return unix_s / 3600;
	case KEEP_DAILY:
		return unix_s / 86400;
	case KEEP_WEEKLY:
		return (unix_s / 86400 + 3) / 7; /* 1970 began on a Thursday */
	case KEEP_MONTHLY:
		return (int64_t)tm.tm_year * 12 + tm.tm_mon;
	case KEEP_YEARLY:
		return tm.tm_year;
	case KEEP_LAST:
	case KEEP_PERIODS:
		break;
	}
	return unix_s;
}

void cairn_backup_rules_apply(const struct cairn_backup_rules *rules, const struct cairn_backup_set *set, bool *keep)
{
	const uint64_t wanted[KEEP_PERIODS] = {rules->last,   rules->hourly,  rules->daily,
					       rules->weekly, rules->monthly, rules->yearly};
	memset(keep, 0, set->n * sizeof(*keep));
	for (enum keep_period period = KEEP_LAST; period < KEEP_PERIODS; period++) {
		uint64_t n = 0;
		int64_t before = INT64_MIN;
		for (size_t i = set->n; i > 0 && n < wanted[period]; i--) {
			const struct cairn_backup_archive *a = &set->archives[i - 1];
			int64_t now = keep_period_of(period, a->at_unix_s);
			if (!a->is_moment || now == before)
				continue;
			keep[i - 1] = true;
			before = now;
			n++;
		}
	}
}

/* --- objects that a moment needs ---------------------------------------------------------------------------------- */

struct keep_needs {
	struct cairn_buf *objects;
	bool is_faulty; /* the index is damaged; diag has the fault */
	struct cairn_diag *diag;
};

/* Records only the first fault. */
static void keep_note_fault(void *ctx, const struct cairn_index_fault *fault)
{
	struct keep_needs *needs = ctx;
	if (!needs->is_faulty)
		(void)!cairn_fail(needs->diag, CAIRN_E_MISMATCH, "restore.damaged", CAIRN_NO_OFFSET,
				  "the index of this moment is damaged: %s", fault->text);
	needs->is_faulty = true;
}

static enum cairn_status keep_note_need(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					uint64_t layout)
{
	const struct keep_needs *needs = ctx;
	const struct cairn_backup_object object = {*hash, stored_bytes, layout};
	if (layout == 0)
		return cairn_fail(needs->diag, CAIRN_E_FORMAT, "restore.damaged", CAIRN_NO_OFFSET,
				  "the index of this moment is damaged: a xorb has no list of its chunks");
	cairn_backup_objects_add(needs->objects, &object);
	return needs->objects->status;
}

/* Reports an error of the unpacked index, which proves nothing about the backup. */
static enum cairn_status keep_io(const char *what, const char *path, struct cairn_diag *diag)
{
	return cairn_fail(diag, cairn_fd_status(errno), "backup.spool", CAIRN_NO_OFFSET, "cannot %s %s: %s", what, path,
			  strerror(errno));
}

/* Creates an empty file for a moment's index. @param[out] path  path of the file; remove it if *fd is set */
static enum cairn_status keep_make_index(const struct cairn_backup_set *set, char path[static BACKUP_PATH_BYTES],
					 int *fd, struct cairn_diag *diag)
{
	int n = snprintf(path, BACKUP_PATH_BYTES, "%s/%s", set->spool ? set->spool : set->folder,
			 set->spool ? "cairn-verify-XXXXXX" : KEEP_INDEX);
	if (n < 0 || (size_t)n >= BACKUP_PATH_BYTES)
		return cairn_fail(diag, CAIRN_E_USAGE, "backup.spool", CAIRN_NO_OFFSET, "the path is too long");
	*fd = set->spool ? cairn_sys_mkostemp(path, O_CLOEXEC)
			 : cairn_sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *fd < 0 ? keep_io("make", path, diag) : CAIRN_OK;
}

static enum cairn_status keep_unpack_index(struct cairn_backup_file *file, int fd, const char *path,
					   struct cairn_diag *diag)
{
	for (unsigned i = 0;; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		char name[BACKUP_NAME_BYTES];
		(void)snprintf(name, sizeof(name), BACKUP_INDEX "%06u", i);
		const struct cairn_fold_chunk *c = cairn_fold_index_find(cairn_fold_index_of(file->fold), name);
		if (!c)
			return i > 0 ? CAIRN_OK
				     : cairn_fail(diag, CAIRN_E_FORMAT, "restore.index", CAIRN_NO_OFFSET,
						  "the backup has no %s", name);
		enum cairn_status status = cairn_fold_read(file->fold, c, NULL, &data, diag);
		if (status == CAIRN_OK && cairn_fd_write_all(fd, data.bytes, data.len) != CAIRN_OK)
			status = keep_io("write", path, diag);
		if (status != CAIRN_OK)
			return status;
	}
}

enum cairn_status cairn_backup_moment_needs(struct cairn_backup_set *set, const struct cairn_backup_archive *moment,
					    bool examine, struct cairn_buf *objects, struct cairn_diag *diag)
{
	CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
	CLEANUP(cairn_fd_closep) int fd = -1;
	char path[BACKUP_PATH_BYTES], url[CAIRN_DATA_DIR_URL_BYTES];
	struct keep_needs needs = {.objects = objects, .diag = diag};
	enum cairn_status status = cairn_data_dir_index_url(url, set->folder, diag);
	if (status == CAIRN_OK)
		status = cairn_backup_file_open(&file, set, moment, diag);
	if (status == CAIRN_OK)
		status = keep_make_index(set, path, &fd, diag);
	if (status == CAIRN_OK)
		status = keep_unpack_index(&file, fd, path, diag);
	if (status == CAIRN_OK && examine)
		status = cairn_index_backup_examine(url, path, keep_note_fault, &needs, diag);
	if (status == CAIRN_OK && needs.is_faulty)
		status = CAIRN_E_MISMATCH;
	if (status == CAIRN_OK)
		status = cairn_index_backup_each(url, path, keep_note_need, &needs, diag);
	if (fd >= 0)
		(void)cairn_sys_unlink(path);
	if (status != CAIRN_OK)
		cairn_backup_blame(diag, moment);
	return status;
}

/* --- verifying ---------------------------------------------------------------------------------------------------- */

struct keep_verify {
	struct cairn_backup_set *set;
	struct cairn_backup_verify_report *report;
	bool (*progress)(void *ctx, const struct cairn_backup_verify_report *so_far);
	void *ctx;
	struct cairn_buf has;   /* struct cairn_backup_object: sound objects, according to the catalogs */
	struct cairn_buf items; /* struct cairn_backup_item: the entries of one catalog, in the order of the bundles */
	size_t at;              /* current position in items */
	uint64_t bundle;
	size_t n_damaged; /* objects of an archive */
	struct cairn_backup_whose whose;
	struct cairn_diag *diag;
};

static enum cairn_status keep_note_item(void *ctx, const struct cairn_backup_item *item)
{
	struct keep_verify *v = ctx;
	cairn_buf_add(&v->items, item, sizeof(*item));
	return v->items.status;
}

/* Compares an object with the catalog. A bundle may have objects that the catalog lacks, from an interrupted backup. */
static enum cairn_status keep_compare_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct keep_verify *v = ctx;
	const struct cairn_backup_item *items = (const struct cairn_backup_item *)(const void *)v->items.bytes;
	uint64_t layout = 0;
	if (v->at == v->items.len / sizeof(*items) || items[v->at].bundle != v->bundle)
		return CAIRN_OK;
	const struct cairn_backup_object *o = &items[v->at].object;
	if (o->len != object->len || !cairn_hash_equal(&o->hash, &object->hash))
		return CAIRN_OK;
	enum cairn_status status = cairn_backup_judge(&o->hash, object->bytes, object->len, &layout, v->diag);
	if (status == CAIRN_E_MISMATCH) {
		v->n_damaged++;
		v->at++;
		return CAIRN_OK;
	}
	if (status != CAIRN_OK || layout != o->layout)
		return status;
	cairn_backup_objects_add(&v->has, o);
	v->at++;
	return v->has.status;
}

/* Finds a bundle by its name, as a restore does. */
static enum cairn_status keep_number_bundle(struct keep_verify *v, const struct cairn_fold_index *ix,
					    const struct cairn_fold_chunk *chunk)
{
	char name[BACKUP_NAME_BYTES];
	if (cairn_decimal_parse(chunk->name + strlen(BACKUP_OBJECTS), 0, ix->n_chunks - 1, &v->bundle)) {
		(void)snprintf(name, sizeof(name), BACKUP_OBJECTS "%06" PRIu64, v->bundle);
		if (strcmp(name, chunk->name) == 0)
			return CAIRN_OK;
	}
	return cairn_fail(v->diag, CAIRN_E_FORMAT, "backup.catalog", chunk->offset,
			  "the bundle %.40s does not have the name of one, so no restore would find it", chunk->name);
}

static enum cairn_status keep_verify_chunk(struct keep_verify *v, struct cairn_backup_file *file,
					   const struct cairn_fold_chunk *chunk)
{
	static const struct cairn_fold_read_options OPTIONS = {.check_parity = true};
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	enum cairn_status status = cairn_fold_read(file->fold, chunk, &OPTIONS, &data, v->diag);
	v->report->n_wrong += data.n_wrong;
	v->report->done_bytes += chunk->comp_len;
	bool is_bundle = strncmp(chunk->name, BACKUP_OBJECTS, strlen(BACKUP_OBJECTS)) == 0;
	if (status == CAIRN_OK && is_bundle)
		status = keep_number_bundle(v, cairn_fold_index_of(file->fold), chunk);
	if (status == CAIRN_OK && is_bundle)
		status = cairn_bundle_each(data.bytes, data.len, keep_compare_object, v, v->diag);
	if (status == CAIRN_OK && v->progress && !v->progress(v->ctx, v->report))
		return CAIRN_E_BUSY;
	return status;
}

static enum cairn_status keep_verify_archive(struct keep_verify *v, const struct cairn_backup_archive *archive)
{
	CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
	size_t had = v->has.len;
	v->items.len = v->at = v->n_damaged = 0;
	enum cairn_status status = cairn_backup_file_open(&file, v->set, archive, v->diag);
	if (status == CAIRN_OK)
		status = cairn_backup_check_store(&file, archive, &v->whose, v->diag);
	if (status == CAIRN_OK && archive->is_moment)
		status = cairn_backup_check_name(&file, archive, v->diag);
	if (status == CAIRN_OK && !archive->is_moment)
		status = cairn_backup_catalog_each(&file, keep_note_item, v, v->diag);
	const struct cairn_fold_index *ix = status == CAIRN_OK ? cairn_fold_index_of(file.fold) : NULL;
	for (size_t i = 0; ix && i < ix->n_chunks && status == CAIRN_OK; i++)
		status = keep_verify_chunk(v, &file, &ix->chunks[i]);
	if (status == CAIRN_OK && v->at != v->items.len / sizeof(struct cairn_backup_item))
		status = cairn_fail(v->diag, CAIRN_E_MISMATCH, "backup.catalog", CAIRN_NO_OFFSET,
				    "the catalog names objects that are not in the bundles");
	if (status != CAIRN_OK)
		v->has.len = had;
	/* The sound objects still count: a restore skips the damaged ones. */
	return status == CAIRN_OK && v->n_damaged > 0 ? CAIRN_E_MISMATCH : status;
}

enum cairn_status cairn_backup_archive_verify(struct cairn_backup_set *set, const struct cairn_backup_archive *archive,
					      struct cairn_diag *diag)
{
	struct cairn_backup_verify_report report = {0};
	struct keep_verify v = {
		.set = set,
		.report = &report,
		.has = cairn_buf_init(SIZE_MAX),
		.items = cairn_buf_init(SIZE_MAX),
		.diag = diag,
	};
	enum cairn_status status = keep_verify_archive(&v, archive);
	if (status != CAIRN_OK)
		cairn_backup_blame(diag, archive);
	cairn_buf_fini(&v.has);
	cairn_buf_fini(&v.items);
	return status;
}

/* Verifies the index of a moment, and that archives have all objects that it names. */
static enum cairn_status keep_verify_moment(struct keep_verify *v, const struct cairn_backup_archive *moment)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf needs = cairn_buf_init(SIZE_MAX);
	enum cairn_status status = cairn_backup_moment_needs(v->set, moment, true, &needs, v->diag);
	const struct cairn_backup_object *need = (const struct cairn_backup_object *)(const void *)needs.bytes;
	for (size_t i = 0; i < needs.len / sizeof(*need) && status == CAIRN_OK; i++) {
		char text[CAIRN_HASH_TEXT_BYTES];
		if (cairn_backup_objects_have(&v->has, &need[i]))
			continue;
		cairn_hash_text(text, &need[i].hash);
		status = cairn_fail(v->diag, CAIRN_E_MISMATCH, "restore.missing", CAIRN_NO_OFFSET,
				    "the backup's index names object %s, which no sound archive has", text);
	}
	return status;
}

static bool keep_is_fault(enum cairn_status status, const struct cairn_diag *why)
{
	if (cairn_diag_has(why, "backup.spool"))
		return false;
	return status != CAIRN_OK && status != CAIRN_E_BUSY && status != CAIRN_E_NOMEM && status != CAIRN_E_FULL;
}

enum cairn_status cairn_backup_verify(struct cairn_backup_set *set,
				      void (*visit)(void *ctx, const struct cairn_backup_archive *archive,
						    const struct cairn_diag *why),
				      bool (*progress)(void *ctx, const struct cairn_backup_verify_report *so_far),
				      void *ctx, struct cairn_backup_verify_report *report, struct cairn_diag *diag)
{
	struct keep_verify v = {
		.set = set,
		.report = report,
		.progress = progress,
		.ctx = ctx,
		.has = cairn_buf_init(SIZE_MAX),
		.items = cairn_buf_init(SIZE_MAX),
	};
	bool *bad = calloc(set->n + 1, sizeof(*bad));
	enum cairn_status status = bad ? CAIRN_OK : CAIRN_E_NOMEM;
	*report = (struct cairn_backup_verify_report){.n_archives = set->n};
	for (size_t i = 0; i < set->n; i++)
		report->bytes += set->archives[i].bytes;
	/* First verify all archives; then compare the sound moments with the catalogs of the sound archives. */
	for (size_t i = 0; i < 2 * set->n && status == CAIRN_OK; i++) {
		struct cairn_diag why = {0};
		bool again = i >= set->n;
		size_t at = again ? i - set->n : i;
		const struct cairn_backup_archive *a = &set->archives[at];
		if (i == set->n)
			cairn_backup_objects_sort(&v.has);
		if (again && (!a->is_moment || bad[at]))
			continue;
		v.diag = &why;
		report->n_moments += !again && a->is_moment;
		status = again ? keep_verify_moment(&v, a) : keep_verify_archive(&v, a);
		if (keep_is_fault(status, &why)) {
			bad[at] = true;
			report->n_bad++;
			visit(ctx, a, &why);
			status = CAIRN_OK;
		} else if (status != CAIRN_OK) {
			*diag = why;
		}
	}
	free(bad);
	cairn_buf_fini(&v.has);
	cairn_buf_fini(&v.items);
	return status;
}
