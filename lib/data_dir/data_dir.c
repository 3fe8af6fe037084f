#include "data_dir/data_dir.h"

#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"
#include "data_dir/data_dir_work.h"
#include "data_dir/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct cairn_data_dir {
	char *path;
	int lock_fd; /* -1: opened to read, a folder without a lock file */
	bool has_secret;
	struct cairn_secret secret;
	struct cairn_store *store;
	struct cairn_index *index;
	char index_url[CAIRN_DATA_DIR_URL_BYTES];
	struct elsewhere index_place; /* record of an index elsewhere */
	bool had_index;               /* the index existed before opening */
	bool is_shared;               /* index and objects are elsewhere, shared by all folders with this secret */
	int index_from, index_to;     /* versions of the index before and after opening */
};

enum cairn_status data_dir_must_fit(int n, int max, struct cairn_diag *diag)
{
	return n >= 0 && n < max ? CAIRN_OK
				 : cairn_fail(diag, CAIRN_E_USAGE, "data_dir.path", CAIRN_NO_OFFSET,
					      "the data folder's path is too long");
}

enum cairn_status data_dir_name(char out[static DATA_DIR_PATH_BYTES], const char *path, const char *name,
				struct cairn_diag *diag)
{
	int n = snprintf(out, DATA_DIR_PATH_BYTES, "%s/%s", path, name);
	return data_dir_must_fit(n, DATA_DIR_PATH_BYTES, diag);
}

enum cairn_status data_dir_url(char out[static CAIRN_DATA_DIR_URL_BYTES], const char *scheme, const char *path,
			       struct cairn_diag *diag)
{
	int n = snprintf(out, CAIRN_DATA_DIR_URL_BYTES, "%s%s", scheme, path);
	return data_dir_must_fit(n, CAIRN_DATA_DIR_URL_BYTES, diag);
}

/* --- the lock ----------------------------------------------------------------------------------------------------- */

enum cairn_status data_dir_refuse_half_restored(const char *path, struct cairn_diag *diag)
{
	char mark[DATA_DIR_PATH_BYTES];
	enum cairn_status status = data_dir_name(mark, path, CAIRN_DATA_DIR_RESTORING, diag);
	if (status != CAIRN_OK || cairn_sys_access(mark, F_OK) != 0)
		return status;
	return cairn_fail(diag, CAIRN_E_CONFLICT, "data_dir.restoring", CAIRN_NO_OFFSET,
			  "the data folder %s is half of a backup: run cairn restore again to complete it", path);
}

enum cairn_status cairn_data_dir_lock(const char *path, bool make, int *fd, struct cairn_diag *diag)
{
	char lock[DATA_DIR_PATH_BYTES];
	*fd = -1;
	enum cairn_status status = data_dir_name(lock, path, "lock", diag);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_fd_closep)
	int opened = cairn_sys_open(lock, (make ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NONBLOCK, 0600);
	if (opened < 0 && !make && errno == ENOENT)
		return CAIRN_OK;
	if (opened < 0)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.lock", CAIRN_NO_OFFSET, "cannot open %s: %s", lock,
				  strerror(errno));
	int rc = cairn_sys_flock(opened, LOCK_EX | LOCK_NB);
	if (rc != 0 && errno != EWOULDBLOCK)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.lock", CAIRN_NO_OFFSET, "cannot lock %s: %s", lock,
				  strerror(errno));
	if (rc != 0)
		return cairn_fail(
			diag, CAIRN_E_CONFLICT, "data_dir.in_use", CAIRN_NO_OFFSET,
			"the data folder %s is in use by another process; stop it, or give --data-dir another folder",
			path);
	*fd = opened;
	opened = -1;
	return CAIRN_OK;
}

static enum cairn_status data_dir_lock(struct cairn_data_dir *d, bool read_only, struct cairn_diag *diag)
{
	bool made;
	if (!read_only && cairn_fd_make_folder(d->path, &made) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.make", CAIRN_NO_OFFSET,
				  "cannot make the data folder %s: %s", d->path, strerror(errno));
	enum cairn_status status = cairn_data_dir_lock(d->path, !read_only, &d->lock_fd, diag);
	if (d->lock_fd >= 0)
		cairn_crash_point(CAIRN_CRASH_FOLDER_LOCKED);
	return status;
}

/* --- the files in it ---------------------------------------------------------------------------------------------- */

static enum cairn_status data_dir_refuse_secret(const struct cairn_data_dir *d, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "data_dir.secret", CAIRN_NO_OFFSET,
			  "the data folder %s was begun with another secret: give the secret_file that it had and that "
			  "the other daemons have, or begin a new folder",
			  d->path);
}

/* Loads the secret. If the index is elsewhere and the folder has no secret, the options must name one. */
static enum cairn_status data_dir_load_secret(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
					      struct cairn_diag *diag)
{
	const char *given = options->secret_file;
	char own[DATA_DIR_PATH_BYTES];
	struct elsewhere index;
	enum cairn_status status = given ? CAIRN_OK : data_dir_name(own, d->path, "secret", diag);
	if (status == CAIRN_OK)
		status = elsewhere_read(&index, ELSEWHERE_INDEX, d->path, diag);
	if (status == CAIRN_OK && !given && options->index && index.url[0] && cairn_sys_access(own, F_OK) != 0)
		return data_dir_refuse_secret(d, diag);
	if (status == CAIRN_OK)
		status = cairn_secret_load(&d->secret, given ? given : own, !given, diag);
	d->has_secret = status == CAIRN_OK;
	return status;
}

/* Is the folder's own secret, from before it was shared, equal to the given one? */
static bool data_dir_has_as_its_own(const struct cairn_data_dir *d)
{
	char own[DATA_DIR_PATH_BYTES];
	struct cairn_secret secret;
	bool same = data_dir_name(own, d->path, "secret", NULL) == CAIRN_OK &&
		    cairn_secret_load(&secret, own, false, NULL) == CAIRN_OK && secret.len == d->secret.len &&
		    memcmp(secret.bytes, d->secret.bytes, secret.len) == 0;
	explicit_bzero(&secret, sizeof(secret));
	return same;
}

/* Refuses a changed secret: one of several daemons would then sign addresses that the others refuse. */
static enum cairn_status data_dir_check_secret(const struct cairn_data_dir *d, struct cairn_diag *diag)
{
	struct elsewhere index, shared;
	enum cairn_status status = elsewhere_read(&index, ELSEWHERE_INDEX, d->path, diag);
	if (status != CAIRN_OK || !d->is_shared || !index.url[0])
		return status;
	shared = index;
	status = elsewhere_new(&shared, index.url, &d->secret, diag);
	if (status != CAIRN_OK || strcmp(shared.owner, index.owner) == 0 || data_dir_has_as_its_own(d))
		return status;
	return data_dir_refuse_secret(d, diag);
}

static enum cairn_status data_dir_open_files(struct cairn_store **out, const char *path, bool beside,
					     struct cairn_diag *diag)
{
	const struct cairn_store_options options = {.beside = beside};
	char url[CAIRN_DATA_DIR_URL_BYTES];
	enum cairn_status status = data_dir_url(url, "files:", path, diag);
	return status == CAIRN_OK ? cairn_store_open(out, url, &options, diag) : status;
}

static enum cairn_status data_dir_refuse_elsewhere(const char *path, const struct elsewhere *e, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "data_dir.store", CAIRN_NO_OFFSET,
			  "the objects of the data folder %s are in %s: give that as the store", path, e->url);
}

static enum cairn_status data_dir_open_store_alone(struct cairn_store **out, const char *path, bool beside,
						   const char *credentials, struct cairn_diag *diag)
{
	const struct cairn_store_options options = {.beside = true, .credentials = credentials};
	struct elsewhere e;
	*out = NULL;
	enum cairn_status status = elsewhere_read(&e, ELSEWHERE_STORE, path, diag);
	if (status != CAIRN_OK)
		return status;
	if (!e.url[0])
		return data_dir_open_files(out, path, beside, diag);
	return beside ? cairn_store_open(out, e.url, &options, diag) : data_dir_refuse_elsewhere(path, &e, diag);
}

enum cairn_status cairn_data_dir_open_store(struct cairn_store **out, const char *path, bool beside,
					    struct cairn_diag *diag)
{
	return data_dir_open_store_alone(out, path, beside, NULL, diag);
}

/* Creates the folder for incoming bodies. */
static enum cairn_status data_dir_make_tmp(const struct cairn_data_dir *d, struct cairn_diag *diag)
{
	char tmp[DATA_DIR_PATH_BYTES];
	enum cairn_status status = data_dir_name(tmp, d->path, "tmp", diag);
	if (status != CAIRN_OK || cairn_sys_mkdir(tmp, 0700) == 0 || errno == EEXIST)
		return status;
	return cairn_fail(diag, CAIRN_E_IO, "data_dir.make", CAIRN_NO_OFFSET, "cannot make the folder %s: %s", tmp,
			  strerror(errno));
}

static enum cairn_status data_dir_is_an_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	(void)ctx, (void)hash, (void)bytes;
	return CAIRN_E_CONFLICT;
}

/* --- where the index is ------------------------------------------------------------------------------------------- */

static bool data_dir_has_index_file(const char *path)
{
	char index[DATA_DIR_PATH_BYTES];
	return data_dir_name(index, path, "index.sqlite", NULL) == CAIRN_OK && cairn_sys_access(index, F_OK) == 0;
}

static enum cairn_status data_dir_refuse_index(const char *path, const struct elsewhere *e, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "data_dir.index", CAIRN_NO_OFFSET,
			  "the index of the data folder %s is in %s: give that as the index", path, e->url);
}

/* Finds the index by the options: the folder keeps that of its first start; only its URL may change. */
static enum cairn_status data_dir_place_index(struct cairn_data_dir *d, const char *given, struct cairn_diag *diag)
{
	struct elsewhere *e = &d->index_place;
	enum cairn_status status = elsewhere_read(e, ELSEWHERE_INDEX, d->path, diag);
	if (status != CAIRN_OK)
		return status;
	if (!given)
		return e->url[0] ? data_dir_refuse_index(d->path, e, diag)
				 : data_dir_url(d->index_url, "sqlite:", d->path, diag);
	if (!e->url[0] && data_dir_has_index_file(d->path))
		return cairn_fail(diag, CAIRN_E_CONFLICT, "data_dir.index", CAIRN_NO_OFFSET,
				  "the data folder %s has its index in a file, which cannot be changed: use "
				  "a new folder for an index elsewhere",
				  d->path);
	status = data_dir_url(d->index_url, "", given, diag);
	if (status != CAIRN_OK)
		return status;
	return e->url[0] ? elsewhere_move(e, given, diag)
			 : elsewhere_new(e, given, d->is_shared ? &d->secret : NULL, diag);
}

/* Looks for the index at its known place; asks the server if the index is elsewhere. */
static enum cairn_status data_dir_inspect_index(struct cairn_data_dir *d, int *version, int *latest,
						struct cairn_diag *diag)
{
	*version = *latest = 0;
	if (!d->index_place.url[0] && !data_dir_has_index_file(d->path))
		return CAIRN_OK;
	return cairn_index_version(d->index_url, version, latest, diag);
}

static enum cairn_status data_dir_find_index(struct cairn_data_dir *d, const char *given, struct cairn_diag *diag)
{
	int version, latest;
	enum cairn_status status = data_dir_place_index(d, given, diag);
	d->had_index = !given && data_dir_has_index_file(d->path);
	if (status != CAIRN_OK || !given)
		return status;
	status = data_dir_inspect_index(d, &version, &latest, diag);
	d->had_index = version > 0;
	return status;
}

/* Refuses objects without an index: a new index would name no file, and a collection would remove all objects. */
static enum cairn_status data_dir_refuse_lost_index(const struct cairn_data_dir *d, struct cairn_store *store,
						    struct cairn_diag *diag)
{
	if (d->had_index)
		return CAIRN_OK;
	enum cairn_status status = cairn_store_each(store, data_dir_is_an_object, NULL);
	if (status == CAIRN_OK)
		return CAIRN_OK;
	if (status != CAIRN_E_CONFLICT)
		return cairn_fail(diag, status, "store.folder", CAIRN_NO_OFFSET, "cannot read the objects in %s: %s",
				  d->path, strerror(errno));
	return cairn_fail(
		diag, status, "data_dir.no_index", CAIRN_NO_OFFSET,
		d->index_place.url[0]
			? "there are objects and no index, which says what files they are: give the one that "
			  "the data folder %s had, or another folder"
			: "there are objects and no index.sqlite, which says what files they are: put it back "
			  "with its -wal, or restore a backup (to go on without any file: make an empty one, "
			  "and run cairn fsck --repair); data folder %s",
		d->path);
}

/* Finds the store by the options: the folder keeps that of its first start; only its URL may change. */
static enum cairn_status data_dir_find_elsewhere(const struct cairn_data_dir *d, const char *given, struct elsewhere *e,
						 struct cairn_diag *diag)
{
	if (e->url[0])
		return given ? elsewhere_move(e, given, diag) : CAIRN_OK;
	if (d->had_index && !d->is_shared)
		return cairn_fail(
			diag, CAIRN_E_CONFLICT, "data_dir.store", CAIRN_NO_OFFSET,
			d->index_place.url[0]
				? "the index that was given is in use by another data folder than %s: to join "
				  "its daemons, give the secret_file that they have"
				: "the data folder %s has its objects in files, which cannot be changed: use "
				  "a new folder for a store elsewhere",
			d->path);
	enum cairn_status status = elsewhere_new(e, given, d->is_shared ? &d->secret : NULL, diag);
	return status == CAIRN_OK ? elsewhere_write(e, d->path, diag) : status;
}

static enum cairn_status data_dir_open_elsewhere(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
						 struct elsewhere *e, struct cairn_diag *diag)
{
	char tmp[DATA_DIR_PATH_BYTES];
	struct elsewhere before = *e;
	enum cairn_status status = data_dir_name(tmp, d->path, "tmp", diag);
	if (status == CAIRN_OK)
		status = data_dir_find_elsewhere(d, options->store, e, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_store_options store = {
		.scratch = tmp,
		.owner = e->owner,
		.is_new = !d->had_index,
		.credentials = options->credentials,
	};
	status = cairn_store_open(&d->store, e->url, &store, diag);
	/* After any other failure the store may name this folder as owner: keep the name for the next start. */
	bool refused = status == CAIRN_E_CONFLICT || status == CAIRN_E_USAGE;
	if (refused && !before.url[0])
		elsewhere_remove(e, d->path);
	if (status == CAIRN_OK && before.url[0] && strcmp(before.url, e->url) != 0)
		status = elsewhere_write(e, d->path, diag);
	return status;
}

static enum cairn_status data_dir_open_store(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
					     struct cairn_diag *diag)
{
	struct elsewhere e;
	struct cairn_store_reach reach = {.port = 0};
	bool files = !options->store || strcmp(options->store, "files:") == 0;
	enum cairn_status status = elsewhere_read(&e, ELSEWHERE_STORE, d->path, diag);
	if (status == CAIRN_OK && !files)
		status = cairn_store_reach(options->store, options->credentials, &reach, diag);
	if (status != CAIRN_OK)
		return status;
	if (reach.port > 0 || (e.url[0] && !options->store))
		return data_dir_open_elsewhere(d, options, &e, diag);
	if (e.url[0])
		return data_dir_refuse_elsewhere(d->path, &e, diag);
	return files ? data_dir_open_files(&d->store, d->path, false, diag)
		     : cairn_store_open(&d->store, options->store, NULL, diag);
}

/* Writes the record before opening the index: an index must not belong to a folder that does not name it. */
static enum cairn_status data_dir_open_index(struct cairn_data_dir *d, const struct cairn_index_options *options,
					     struct cairn_diag *diag)
{
	struct elsewhere before = {.url = ""};
	const struct elsewhere *e = &d->index_place;
	enum cairn_status status = CAIRN_OK;
	if (e->url[0])
		status = elsewhere_read(&before, ELSEWHERE_INDEX, d->path, diag);
	bool moves = strcmp(before.url, e->url) != 0;
	if (status == CAIRN_OK && moves)
		status = elsewhere_write(e, d->path, diag);
	if (status == CAIRN_OK && !options->read_only)
		status = cairn_index_migrate(d->index_url, diag, &d->index_from, &d->index_to);
	if (status == CAIRN_OK)
		status = cairn_index_open(&d->index, d->index_url, options, diag);
	/* After any other failure the index may have recorded this owner. */
	bool refused = status == CAIRN_E_CONFLICT || status == CAIRN_E_USAGE;
	if (refused && moves && before.url[0])
		(void)!elsewhere_write(&before, d->path, NULL);
	else if (refused && moves)
		elsewhere_remove(e, d->path);
	return status;
}

/* --- the whole folder --------------------------------------------------------------------------------------------- */

/* Decides whether the folder shares index and objects: the options name a secret, and it has neither of its own. */
static enum cairn_status data_dir_judge_sharing(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
						struct cairn_diag *diag)
{
	struct elsewhere store;
	struct cairn_store_reach reach = {.port = 0};
	enum cairn_status status = elsewhere_read(&store, ELSEWHERE_STORE, d->path, diag);
	const char *url = options->store ? options->store : store.url;
	if (status == CAIRN_OK && url[0] && strcmp(url, "files:") != 0)
		status = cairn_store_reach(url, options->credentials, &reach, diag);
	d->is_shared = options->secret_file && options->index && reach.port > 0;
	return status;
}

static enum cairn_status data_dir_open_to_write(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
						struct cairn_diag *diag)
{
	enum cairn_status status = data_dir_load_secret(d, options, diag);
	if (status == CAIRN_OK)
		status = data_dir_judge_sharing(d, options, diag);
	if (status == CAIRN_OK)
		status = data_dir_check_secret(d, diag);
	if (status == CAIRN_OK)
		status = data_dir_make_tmp(d, diag);
	if (status == CAIRN_OK)
		status = data_dir_find_index(d, options->index, diag);
	if (status == CAIRN_OK)
		status = data_dir_open_store(d, options, diag);
	if (status == CAIRN_OK)
		status = data_dir_refuse_lost_index(d, d->store, diag);
	const struct cairn_index_options index = {
		.keep_bytes = options->keep_bytes,
		.owner = d->index_place.url[0] ? d->index_place.owner : NULL,
		.shared = d->is_shared,
	};
	return status == CAIRN_OK ? data_dir_open_index(d, &index, diag) : status;
}

static enum cairn_status data_dir_open_to_read(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
					       struct cairn_diag *diag)
{
	enum cairn_status status = data_dir_find_index(d, options->index, diag);
	if (status == CAIRN_OK)
		status = data_dir_open_store_alone(&d->store, d->path, true, options->credentials, diag);
	const struct cairn_index_options index = {.read_only = true};
	return status == CAIRN_OK ? data_dir_open_index(d, &index, diag) : status;
}

/* Opens index and objects that are both elsewhere, as one of the daemons that share them. */
static enum cairn_status data_dir_open_beside(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
					      const struct elsewhere *s, struct cairn_diag *diag)
{
	char tmp[DATA_DIR_PATH_BYTES];
	const struct elsewhere *i = &d->index_place;
	enum cairn_status status = data_dir_name(tmp, d->path, "tmp", diag);
	const struct cairn_store_options store = {
		.beside = options->read_only, .scratch = tmp, .owner = s->owner, .credentials = options->credentials};
	const struct cairn_index_options index = {
		.read_only = options->read_only, .shared = !options->read_only, .owner = i->owner};
	d->had_index = true;
	if (status == CAIRN_OK)
		status = cairn_store_open(&d->store, s->url, &store, diag);
	return status == CAIRN_OK ? cairn_index_open(&d->index, i->url, &index, diag) : status;
}

static enum cairn_status data_dir_open_locked(struct cairn_data_dir *d, const struct cairn_data_dir_options *options,
					      struct cairn_diag *diag)
{
	enum cairn_status status = data_dir_lock(d, options->read_only, diag);
	if (status == CAIRN_OK)
		status = data_dir_refuse_half_restored(d->path, diag);
	if (status != CAIRN_OK)
		return status;
	return options->read_only ? data_dir_open_to_read(d, options, diag) : data_dir_open_to_write(d, options, diag);
}

static enum cairn_status data_dir_open_as_recorded(struct cairn_data_dir *d,
						   const struct cairn_data_dir_options *options,
						   struct cairn_diag *diag)
{
	struct cairn_data_dir_options said = *options;
	struct elsewhere store;
	struct elsewhere *index = &d->index_place;
	enum cairn_status status = elsewhere_read(index, ELSEWHERE_INDEX, d->path, diag);
	if (status == CAIRN_OK)
		status = elsewhere_read(&store, ELSEWHERE_STORE, d->path, diag);
	if (status != CAIRN_OK)
		return status;
	if (index->url[0] && store.url[0])
		return data_dir_open_beside(d, options, &store, diag);
	char url[CAIRN_DATA_DIR_URL_BYTES];
	memcpy(url, index->url, sizeof(index->url)); /* data_dir_place_index() reads the record again */
	said.index = url[0] ? url : NULL;
	return data_dir_open_locked(d, &said, diag);
}

static struct cairn_data_dir *data_dir_new(const char *path)
{
	struct cairn_data_dir *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->lock_fd = -1;
	d->path = strdup(path);
	if (!d->path)
		cairn_data_dir_freep(&d);
	return d;
}

enum cairn_status cairn_data_dir_open(struct cairn_data_dir **out, const struct cairn_data_dir_options *options,
				      struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(cairn_data_dir_freep) struct cairn_data_dir *d = data_dir_new(options->path);
	if (!d)
		return CAIRN_E_NOMEM;
	enum cairn_status status = options->maintains ? data_dir_open_as_recorded(d, options, diag)
						      : data_dir_open_locked(d, options, diag);
	if (status != CAIRN_OK)
		return status;
	*out = d;
	d = NULL;
	return CAIRN_OK;
}

void cairn_data_dir_free(struct cairn_data_dir *d)
{
	if (!d)
		return;
	cairn_index_free(d->index);
	cairn_store_free(d->store);
	cairn_fd_closep(&d->lock_fd);
	explicit_bzero(&d->secret, sizeof(d->secret));
	free(d->path);
	free(d);
}

void cairn_data_dir_freep(struct cairn_data_dir **d)
{
	cairn_data_dir_free(*d);
	*d = NULL;
}

struct cairn_index *cairn_data_dir_index(const struct cairn_data_dir *d)
{
	return d->index;
}

struct cairn_store *cairn_data_dir_store(const struct cairn_data_dir *d)
{
	return d->store;
}

const char *cairn_data_dir_path(const struct cairn_data_dir *d)
{
	return d->path;
}

const struct cairn_secret *cairn_data_dir_secret(const struct cairn_data_dir *d)
{
	return d->has_secret ? &d->secret : NULL;
}

void cairn_data_dir_migrated(const struct cairn_data_dir *d, int *from, int *to)
{
	*from = d->index_from;
	*to = d->index_to;
}

/* --- inspecting --------------------------------------------------------------------------------------------------- */

static bool data_dir_lacks(const char *path, const char *name)
{
	char folder[DATA_DIR_PATH_BYTES];
	struct stat st;
	return data_dir_name(folder, path, name, NULL) == CAIRN_OK && cairn_sys_stat(folder, &st) != 0 &&
	       errno == ENOENT;
}

static enum cairn_status data_dir_inspect_objects(const struct cairn_data_dir *d, struct cairn_diag *diag)
{
	struct elsewhere e;
	CLEANUP(cairn_store_freep) struct cairn_store *store = NULL;
	enum cairn_status status = elsewhere_read(&e, ELSEWHERE_STORE, d->path, diag);
	if (status != CAIRN_OK || e.url[0])
		return status; /* a store elsewhere is not checked: that takes credentials */
	/* Every start creates these folders. */
	if (data_dir_lacks(d->path, "objects") && data_dir_lacks(d->path, "packs"))
		return CAIRN_OK;
	status = data_dir_open_files(&store, d->path, true, diag);
	return status == CAIRN_OK ? data_dir_refuse_lost_index(d, store, diag) : status;
}

enum cairn_status data_dir_inspect_inside(const char *path, const char *index, struct cairn_data_dir_sight *out,
					  struct cairn_diag *diag)
{
	CLEANUP(cairn_data_dir_freep) struct cairn_data_dir *d = data_dir_new(path);
	if (!d)
		return CAIRN_E_NOMEM;
	enum cairn_status status = data_dir_place_index(d, index, diag);
	if (status == CAIRN_OK)
		status = data_dir_inspect_index(d, &out->version, &out->latest, diag);
	d->had_index = out->version > 0;
	return status == CAIRN_OK ? data_dir_inspect_objects(d, diag) : status;
}
