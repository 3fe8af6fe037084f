#include "backup/backup_set.h"

#include "backup/backup_format.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"
#include "hash/chunk_list.h"
#include "xorb/verifier.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SET_UNIX_S_MAX INT64_C(253402300799) /* 99991231T235959Z: years have four digits */

static const char SET_LOCK[] = "lock";
static const char *const SET_ENDS[2] = {".objects.fold", ".moment.fold"};
static const char *const SET_KINDS[2] = {BACKUP_KIND_OBJECTS, BACKUP_KIND_MOMENT};

static enum cairn_status set_io(const struct cairn_backup_set *set, const char *what, const char *name,
				struct cairn_diag *diag)
{
	return cairn_fail(diag, cairn_fd_status(errno), "backup.file", CAIRN_NO_OFFSET, "cannot %s %s in %s: %s", what,
			  name, set->folder, strerror(errno));
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Returns whether text is a prefix of a time such as 20261123T061000Z. */
static bool set_is_time_prefix(const char *text, size_t len)
{
	static const char FORM[] = "ddddddddTddddddZ";
	if (len > sizeof(FORM) - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (FORM[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != FORM[i])
			return false;
	}
	return true;
}

bool cairn_backup_time_parse(const char *text, int64_t *last_unix_s)
{
	size_t len = strlen(text);
	/* Accept lengths that end after a year, month, day, hour, minute or second. */
	if (!set_is_time_prefix(text, len) || (len != 4 && len != 6 && len != 8 && len != 11 && len != 13 && len < 15))
		return false;
	int at[6] = {0, 0, 1, 0, 0, 0}, n = 0; /* year, month, day, hour, minute, second */
	static const unsigned char BEGINS[6] = {0, 4, 6, 9, 11, 13}, ENDS[6] = {4, 6, 8, 11, 13, 15};
	for (; n < 6 && len >= ENDS[n]; n++) {
		at[n] = 0;
		for (unsigned i = BEGINS[n]; i < ENDS[n]; i++)
			at[n] = at[n] * 10 + (text[i] - '0');
	}
	if ((n > 1 && (at[1] < 1 || at[1] > 12)) || at[2] < 1 || at[2] > 31 || at[3] > 23 || at[4] > 59 || at[5] > 59)
		return false;
	struct tm tm = {.tm_year = at[0] - 1900,
			.tm_mon = n > 1 ? at[1] - 1 : 0,
			.tm_mday = at[2],
			.tm_hour = at[3],
			.tm_min = at[4],
			.tm_sec = at[5]};
	struct tm real = tm;
	(void)timegm(&real);
	if (real.tm_mday != at[2]) /* no such day in the month */
		return false;
	/* The end is the second before the next year, month, day and so on. */
	tm.tm_year += n == 1;
	tm.tm_mon += n == 2;
	tm.tm_mday += n == 3;
	tm.tm_hour += n == 4;
	tm.tm_min += n == 5;
	tm.tm_sec += n == 6;
	*last_unix_s = (int64_t)timegm(&tm) - 1;
	return true;
}

void cairn_backup_file_name(char out[static CAIRN_BACKUP_FILE_BYTES], const char *time, bool is_moment)
{
	(void)snprintf(out, CAIRN_BACKUP_FILE_BYTES, "%.16s%s", time, SET_ENDS[is_moment]);
}

enum cairn_status cairn_backup_set_name(const struct cairn_backup_set *set, int64_t *at_unix_s,
					char out[static CAIRN_BACKUP_TIME_BYTES], struct cairn_diag *diag)
{
	const struct cairn_backup_archive *last = set->n > 0 ? &set->archives[set->n - 1] : NULL;
	char name[CAIRN_BACKUP_FILE_BYTES] = "the clock";
	if (last && last->at_unix_s >= *at_unix_s) {
		*at_unix_s = last->at_unix_s + 1;
		cairn_backup_file_name(name, last->time, last->is_moment);
	}
	if (*at_unix_s > SET_UNIX_S_MAX)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "backup.time", CAIRN_NO_OFFSET,
				  "no name can be later than %s, whose time was wrong: begin a new folder, or move "
				  "that archive away",
				  name);
	(void)cairn_time_basic(out, *at_unix_s);
	return CAIRN_OK;
}

static bool set_take_name(const char *name, struct cairn_backup_archive *out)
{
	char whole[CAIRN_BACKUP_TIME_BYTES];
	size_t len = sizeof(whole) - 1;
	if (strlen(name) < len || !set_is_time_prefix(name, len))
		return false;
	(void)snprintf(out->time, sizeof(out->time), "%.16s", name);
	if (!cairn_backup_time_parse(out->time, &out->at_unix_s))
		return false;
	(void)cairn_time_basic(whole, out->at_unix_s);
	out->is_moment = strcmp(name + len, SET_ENDS[1]) == 0;
	return strcmp(whole, out->time) == 0 && (out->is_moment || strcmp(name + len, SET_ENDS[0]) == 0);
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

static int set_compare(const void *a, const void *b)
{
	const struct cairn_backup_archive *x = a, *y = b;
	int order = strcmp(x->time, y->time);
	return order != 0 ? order : (int)x->is_moment - (int)y->is_moment;
}

static enum cairn_status set_add(struct cairn_backup_set *set, const char *name, struct cairn_diag *diag)
{
	struct cairn_backup_archive archive = {0};
	struct stat st;
	if (!set_take_name(name, &archive))
		return CAIRN_OK;
	enum cairn_status status = cairn_folder_stat(set->dir_fd, name, &st);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : set_io(set, "look at", name, diag);
	archive.bytes = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode))
		cairn_buf_add(&set->rows, &archive, sizeof(archive));
	return CAIRN_OK;
}

static enum cairn_status set_list(struct cairn_backup_set *set, struct cairn_diag *diag)
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	const char *name = NULL;
	if (cairn_folder_open(&folder, cairn_sys_openat(set->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) !=
	    CAIRN_OK)
		return set_io(set, "list", ".", diag);
	do {
		if (cairn_folder_next(&folder, &name) != CAIRN_OK)
			return set_io(set, "list", ".", diag);
		enum cairn_status status = name ? set_add(set, name, diag) : CAIRN_OK;
		if (status != CAIRN_OK)
			return status;
	} while (name);
	set->archives = (struct cairn_backup_archive *)(void *)set->rows.bytes;
	set->n = set->rows.len / sizeof(*set->archives);
	if (set->n > 0)
		qsort(set->archives, set->n, sizeof(*set->archives), set_compare);
	return set->rows.status;
}

enum cairn_status cairn_backup_set_open(struct cairn_backup_set *set, const char *folder, bool to_write,
					struct cairn_diag *diag)
{
	bool made;
	*set = (struct cairn_backup_set){
		.folder = folder, .dir_fd = -1, .lock_fd = -1, .rows = cairn_buf_init(SIZE_MAX / 2)};
	if (to_write && cairn_fd_make_folder(folder, &made) != CAIRN_OK)
		return set_io(set, "make", "the folder", diag);
	set->dir_fd = cairn_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (set->dir_fd < 0)
		return cairn_fail(diag, errno == ENOENT ? CAIRN_E_NOT_FOUND : CAIRN_E_IO, "backup.file",
				  CAIRN_NO_OFFSET, "cannot open the folder %s: %s", folder, strerror(errno));
	/* A read-only medium needs no lock: nobody can write. */
	set->lock_fd = cairn_sys_openat(set->dir_fd, SET_LOCK,
					O_RDWR | (to_write ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (set->lock_fd < 0 && (to_write || (errno != EROFS && errno != EACCES && errno != ENOENT)))
		return set_io(set, "make", SET_LOCK, diag);
	if (set->lock_fd >= 0 && cairn_sys_flock(set->lock_fd, (to_write ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0)
		return errno != EWOULDBLOCK ? set_io(set, "lock", SET_LOCK, diag)
					    : cairn_fail(diag, CAIRN_E_CONFLICT, "backup.in_use", CAIRN_NO_OFFSET,
							 "%s is in use by another process", folder);
	return set_list(set, diag);
}

void cairn_backup_set_close(struct cairn_backup_set *set)
{
	cairn_buf_fini(&set->rows);
	set->archives = NULL;
	set->n = 0;
	if (set->folder) {
		cairn_fd_closep(&set->dir_fd);
		cairn_fd_closep(&set->lock_fd);
	}
	set->folder = NULL;
}

/* --- archives ----------------------------------------------------------------------------------------------------- */

void cairn_backup_file_close(struct cairn_backup_file *file)
{
	cairn_fold_close(file->fold);
	file->fold = NULL;
	cairn_fd_closep(&file->fd);
}

enum cairn_status cairn_backup_file_open(struct cairn_backup_file *out, const struct cairn_backup_set *set,
					 const struct cairn_backup_archive *archive, struct cairn_diag *diag)
{
	char name[CAIRN_BACKUP_FILE_BYTES], *kind = NULL;
	struct stat st;
	cairn_backup_file_name(name, archive->time, archive->is_moment);
	*out = (struct cairn_backup_file){
		.fd = cairn_sys_openat(set->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)};
	if (out->fd < 0 || cairn_sys_fstat(out->fd, &st) < 0)
		return set_io(set, "open", name, diag);
	const struct cairn_fold_source source = {.fd = out->fd, .len = (uint64_t)st.st_size};
	enum cairn_status status = cairn_fold_open(&out->fold, &source, diag);
	if (status == CAIRN_OK)
		status = cairn_fold_index_text(cairn_fold_index_of(out->fold), "kind", &kind);
	const struct cairn_fold_index *ix = status == CAIRN_OK ? cairn_fold_index_of(out->fold) : NULL;
	if (ix && (!kind || strcmp(kind, SET_KINDS[archive->is_moment]) != 0 || !ix->has_manifest))
		status = cairn_fail(diag, CAIRN_E_FORMAT, "backup.kind", ix->at + ix->metadata.at,
				    "this FOLD file is not what its name says");
	free(kind);
	return status;
}

enum cairn_status cairn_backup_identity(char identity[static CAIRN_IDENTITY_BYTES], const struct cairn_fold_index *ix,
					struct cairn_diag *diag)
{
	char *said = NULL;
	identity[0] = '\0';
	enum cairn_status status = cairn_fold_index_text(ix, BACKUP_STORE, &said);
	if (status == CAIRN_OK && said && !cairn_identity_is(said))
		status = cairn_fail(diag, CAIRN_E_FORMAT, "backup.store", ix->at + ix->metadata.at,
				    "the backup's metadata has no identity of a store in %s", BACKUP_STORE);
	else if (said)
		memcpy(identity, said, CAIRN_IDENTITY_BYTES);
	free(said);
	return status;
}

enum cairn_status cairn_backup_check_store(const struct cairn_backup_file *file,
					   const struct cairn_backup_archive *archive, struct cairn_backup_whose *whose,
					   struct cairn_diag *diag)
{
	char identity[CAIRN_IDENTITY_BYTES];
	enum cairn_status status = cairn_backup_identity(identity, cairn_fold_index_of(file->fold), diag);
	if (status != CAIRN_OK || !identity[0] || strcmp(identity, whose->identity) == 0)
		return status;
	if (whose->identity[0])
		return cairn_fail(diag, CAIRN_E_CONFLICT, "backup.store", CAIRN_NO_OFFSET,
				  "it is of store %s, and %s is of store %s: move what is of the other store to a "
				  "folder of its own",
				  identity, whose->file, whose->identity);
	memcpy(whose->identity, identity, sizeof(identity));
	cairn_backup_file_name(whose->file, archive->time, archive->is_moment);
	return CAIRN_OK;
}

enum cairn_status cairn_backup_check_name(const struct cairn_backup_file *file,
					  const struct cairn_backup_archive *moment, struct cairn_diag *diag)
{
	char *said = NULL;
	enum cairn_status status = cairn_fold_index_text(cairn_fold_index_of(file->fold), BACKUP_TIME, &said);
	if (status == CAIRN_OK && said && strcmp(said, moment->time) != 0)
		status = cairn_fail(diag, CAIRN_E_CONFLICT, "backup.name", CAIRN_NO_OFFSET,
				    "its name says %s, and it is the moment %.16s: give it that name, or remove it if "
				    "it is a copy",
				    moment->time, said);
	free(said);
	return status;
}

enum cairn_status cairn_backup_set_check(const struct cairn_backup_set *set, bool names, struct cairn_diag *diag)
{
	struct cairn_backup_whose whose = {0};
	for (size_t i = 0; i < set->n; i++) {
		CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
		const struct cairn_backup_archive *archive = &set->archives[i];
		enum cairn_status status = cairn_backup_file_open(&file, set, archive, NULL);
		if (status == CAIRN_E_NOMEM)
			return status;
		if (status != CAIRN_OK) /* a caller that needs the archive reports this */
			continue;
		status = cairn_backup_check_store(&file, archive, &whose, diag);
		if (status == CAIRN_OK && names && archive->is_moment)
			status = cairn_backup_check_name(&file, archive, diag);
		if (status != CAIRN_OK) {
			cairn_backup_blame(diag, archive);
			return status;
		}
	}
	return CAIRN_OK;
}

void cairn_backup_metadata_text(char out[static CAIRN_BACKUP_METADATA_BYTES], const struct cairn_backup_metadata *m)
{
	char store[sizeof(",\"" BACKUP_STORE "\":\"\"") + CAIRN_IDENTITY_BYTES] = "";
	char time[sizeof(",\"" BACKUP_TIME "\":\"\"") + CAIRN_BACKUP_TIME_BYTES] = "";
	if (m->identity[0])
		(void)snprintf(store, sizeof(store), ",\"" BACKUP_STORE "\":\"%s\"", m->identity);
	if (m->time)
		(void)snprintf(time, sizeof(time), ",\"" BACKUP_TIME "\":\"%.16s\"", m->time);
	(void)snprintf(out, CAIRN_BACKUP_METADATA_BYTES,
		       "{\"kind\":\"%s\",\"backup_version\":%d,\"cairn_version\":\"" CAIRN_VERSION
		       "\",\"objects\":%" PRIu64 ",\"object_bytes\":%" PRIu64 ",\"index_bytes\":%" PRIu64 "%s%s}",
		       m->kind, BACKUP_VERSION, m->n_objects, m->object_bytes, m->index_bytes, store, time);
}

void cairn_backup_blame(struct cairn_diag *diag, const struct cairn_backup_archive *archive)
{
	char name[CAIRN_BACKUP_FILE_BYTES], said[sizeof(diag->text)];
	cairn_backup_file_name(name, archive->time, archive->is_moment);
	if (!diag->rule || strstr(diag->text, name))
		return;
	memcpy(said, diag->text, sizeof(said));
	int n = snprintf(diag->text, sizeof(diag->text), "%s: ", name);
	(void)snprintf(diag->text + n, sizeof(diag->text) - (size_t)n, "%s", said);
}

static int set_compare_objects(const void *a, const void *b)
{
	const struct cairn_backup_object *x = a, *y = b;
	int order = memcmp(&x->hash, &y->hash, sizeof(x->hash));
	if (order == 0)
		order = (x->len > y->len) - (x->len < y->len);
	return order != 0 ? order : (x->layout > y->layout) - (x->layout < y->layout);
}

void cairn_backup_objects_sort(struct cairn_buf *objects)
{
	struct cairn_backup_object *o = (struct cairn_backup_object *)(void *)objects->bytes;
	size_t n = objects->len / sizeof(*o), kept = 0;
	if (n == 0)
		return;
	qsort(o, n, sizeof(*o), set_compare_objects);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || set_compare_objects(&o[i], &o[kept - 1]) != 0)
			o[kept++] = o[i];
	}
	objects->len = kept * sizeof(*o);
}

const struct cairn_backup_object *cairn_backup_objects_find(const struct cairn_buf *objects,
							    const struct cairn_backup_object *object)
{
	return objects->len > 0 ? bsearch(object, objects->bytes, objects->len / sizeof(*object), sizeof(*object),
					  set_compare_objects)
				: NULL;
}

bool cairn_backup_objects_have(const struct cairn_buf *objects, const struct cairn_backup_object *object)
{
	return cairn_backup_objects_find(objects, object) != NULL;
}

void cairn_backup_objects_add(struct cairn_buf *objects, const struct cairn_backup_object *object)
{
	cairn_buf_add(objects, object, sizeof(*object));
}

enum cairn_status cairn_backup_judge(const struct cairn_hash *hash, const uint8_t *xorb, uint64_t len, uint64_t *layout,
				     struct cairn_diag *diag)
{
	CLEANUP(cairn_xorb_verifier_freep)
	struct cairn_xorb_verifier *v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	struct cairn_xorb_summary summary;
	struct cairn_diag why = {0};
	size_t n_data;
	char text[CAIRN_HASH_TEXT_BYTES];
	enum cairn_status status = v ? cairn_xorb_verifier_feed(v, xorb, len, &n_data, &why) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = cairn_xorb_verifier_end(v, hash, &summary, &why);
	if (status == CAIRN_E_NOMEM)
		return status;
	if (status == CAIRN_OK && !summary.has_footer) {
		const struct cairn_chunk_list *list = cairn_xorb_verifier_list(v);
		*layout = cairn_spans_layout(list->spans, list->n);
		return CAIRN_OK;
	}
	cairn_hash_text(text, hash);
	return cairn_fail(diag, CAIRN_E_MISMATCH, "backup.object", CAIRN_NO_OFFSET, "object %s is damaged: %s", text,
			  why.rule ? why.text : "it has a footer, which is never stored");
}

void cairn_backup_catalog_add(struct cairn_buf *catalog, const struct cairn_backup_item *item)
{
	uint8_t *to = cairn_buf_extend(catalog, CAIRN_BACKUP_CATALOG_ENTRY_BYTES);
	if (!to)
		return;
	memcpy(to, item->object.hash.b, sizeof(item->object.hash.b));
	cairn_put_u64be(to + 32, item->object.len);
	cairn_put_u64be(to + 40, item->object.layout);
	cairn_put_u64be(to + 48, item->bundle);
}

enum cairn_status cairn_backup_catalog_each(struct cairn_backup_file *file,
					    enum cairn_status (*visit)(void *ctx, const struct cairn_backup_item *item),
					    void *ctx, struct cairn_diag *diag)
{
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	const struct cairn_fold_index *ix = cairn_fold_index_of(file->fold);
	const struct cairn_fold_chunk *chunk = cairn_fold_index_find(ix, BACKUP_CATALOG);
	uint64_t bundles_bytes = 0; /* no overflow: lengths within one file */
	if (!chunk || chunk->uncomp_len % CAIRN_BACKUP_CATALOG_ENTRY_BYTES != 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "backup.catalog", ix->at, "the archive has no whole catalog");
	for (size_t i = 0; i < ix->n_chunks; i++) {
		if (strcmp(ix->chunks[i].ctype, BACKUP_OBJECTS_CTYPE) == 0)
			bundles_bytes += ix->chunks[i].comp_len;
	}
	/* A catalog cannot have more entries than the bundles have room for hashes, which do not compress. */
	if (chunk->uncomp_len / CAIRN_BACKUP_CATALOG_ENTRY_BYTES > bundles_bytes / CAIRN_HASH_BYTES)
		return cairn_fail(diag, CAIRN_E_FORMAT, "backup.catalog", chunk->offset,
				  "the catalog names more objects than the bundles have room for");
	enum cairn_status status = cairn_fold_read(file->fold, chunk, NULL, &data, diag);
	for (uint64_t at = 0; at < data.len && status == CAIRN_OK; at += CAIRN_BACKUP_CATALOG_ENTRY_BYTES) {
		struct cairn_backup_item item = {.object.len = cairn_get_u64be(data.bytes + at + 32),
						 .object.layout = cairn_get_u64be(data.bytes + at + 40),
						 .bundle = cairn_get_u64be(data.bytes + at + 48)};
		memcpy(item.object.hash.b, data.bytes + at, sizeof(item.object.hash.b));
		status = visit(ctx, &item);
	}
	return status;
}
