/* The list of engines, and the functions that find an engine by its URL. */
#include "index/backend.h"
#include "index/postgres/postgres.h"
#include "index/sqlite/sqlite.h"

#include <string.h>

static const struct index_scheme {
	const char *prefix;
	const struct cairn_index_backend *backend;
} INDEX_SCHEMES[] = {
	{"sqlite:", &CAIRN_SQLITE},
	{"postgres:", &CAIRN_POSTGRES},
	{"postgresql:", &CAIRN_POSTGRES},
};

/* @param[out] where  the URL after its scheme. @return NULL: no such engine */
static const struct cairn_index_backend *index_engine(const char *url, const char **where, struct cairn_diag *diag)
{
	for (size_t i = 0; i < sizeof(INDEX_SCHEMES) / sizeof(INDEX_SCHEMES[0]); i++) {
		size_t len = strlen(INDEX_SCHEMES[i].prefix);
		*where = url + len;
		if (strncmp(url, INDEX_SCHEMES[i].prefix, len) == 0)
			return INDEX_SCHEMES[i].backend;
	}
	(void)cairn_fail(diag, CAIRN_E_USAGE, "index.url", CAIRN_NO_OFFSET,
			 "there is no index \"%s\"; give sqlite:DIR or postgres://...", url);
	return NULL;
}

enum cairn_status cairn_index_migrate(const char *url, struct cairn_diag *diag, int *from, int *to)
{
	const char *where;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	return backend ? backend->migrate(where, diag, from, to) : CAIRN_E_USAGE;
}

enum cairn_status cairn_index_version(const char *url, int *version, int *latest, struct cairn_diag *diag)
{
	const char *where;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	return backend ? backend->version(where, version, latest, diag) : CAIRN_E_USAGE;
}

enum cairn_status cairn_index_reach(const char *url, struct cairn_index_reach *out, struct cairn_diag *diag)
{
	const char *where;
	*out = (struct cairn_index_reach){.n_ports = 0};
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	if (!backend)
		return CAIRN_E_USAGE;
	return backend->reach ? backend->reach(where, out, diag) : CAIRN_OK;
}

enum cairn_status cairn_index_open(struct cairn_index **out, const char *url, const struct cairn_index_options *options,
				   struct cairn_diag *diag)
{
	static const struct cairn_index_options DEFAULTS = {0};
	const struct cairn_index_options *o = options ? options : &DEFAULTS;
	struct cairn_index *ix = NULL;
	const char *where;
	*out = NULL;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	enum cairn_status status = backend ? backend->open(&ix, where, o, diag) : CAIRN_E_USAGE;
	if (status != CAIRN_OK)
		return status;
	ix->backend = backend;
	status = cairn_writer_start(&ix->writer, ix, o, diag);
	if (status != CAIRN_OK) {
		cairn_index_free(ix);
		return status;
	}
	*out = ix;
	return CAIRN_OK;
}

void cairn_index_free(struct cairn_index *ix)
{
	if (!ix)
		return;
	cairn_writer_stop(&ix->writer);
	ix->backend->free(ix);
}

void cairn_index_freep(struct cairn_index **ix)
{
	cairn_index_free(*ix);
	*ix = NULL;
}

bool cairn_index_is_remote(const struct cairn_index *ix)
{
	return ix->backend->remote;
}

/* Refuses a call that only SQLite has. */
static enum cairn_status index_refuse(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "index.engine", CAIRN_NO_OFFSET,
			  "an index in PostgreSQL cannot %s yet; use sqlite:DIR for that", what);
}

enum cairn_status cairn_index_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
				   struct cairn_diag *diag)
{
	return ix->backend->mend ? ix->backend->mend(ix, mender, diag) : index_refuse(diag, "repair itself");
}

enum cairn_status cairn_index_backup(const char *url, const char *path, struct cairn_diag *diag)
{
	const char *where;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	if (!backend)
		return CAIRN_E_USAGE;
	return backend->backup ? backend->backup(where, path, diag)
			       : index_refuse(diag, "be copied to a file (back it up as PostgreSQL does it)");
}

enum cairn_status cairn_index_backup_each(const char *url, const char *path,
					  enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb,
								     uint64_t stored_bytes, uint64_t layout),
					  void *ctx, struct cairn_diag *diag)
{
	const char *where;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	if (!backend)
		return CAIRN_E_USAGE;
	return backend->backup_each ? backend->backup_each(where, path, visit, ctx, diag)
				    : index_refuse(diag, "be read from a file");
}

enum cairn_status cairn_index_backup_examine(const char *url, const char *path, cairn_index_visit_fault *visit,
					     void *ctx, struct cairn_diag *diag)
{
	const char *where;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	if (!backend)
		return CAIRN_E_USAGE;
	return backend->backup_examine ? backend->backup_examine(where, path, visit, ctx, diag)
				       : index_refuse(diag, "be read from a file");
}

enum cairn_status cairn_index_backup_unmirror(const char *url, const char *path, uint64_t *n_files, uint64_t *bytes,
					      struct cairn_diag *diag)
{
	const char *where;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	if (!backend)
		return CAIRN_E_USAGE;
	return backend->backup_unmirror ? backend->backup_unmirror(where, path, n_files, bytes, diag)
					: index_refuse(diag, "be changed in a file");
}

enum cairn_status cairn_index_snapshot_open(struct cairn_index_snapshot **out, const char *url, struct cairn_diag *diag)
{
	const char *where;
	*out = NULL;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	enum cairn_status status = backend ? backend->snapshot_open(out, where, diag) : CAIRN_E_USAGE;
	if (status == CAIRN_OK)
		(*out)->backend = backend;
	return status;
}

enum cairn_status cairn_index_transfer_open(struct cairn_index_transfer **out, const char *url, bool writes,
					    struct cairn_diag *diag)
{
	const char *where;
	*out = NULL;
	const struct cairn_index_backend *backend = index_engine(url, &where, diag);
	enum cairn_status status = backend ? backend->transfer_open(out, where, writes, diag) : CAIRN_E_USAGE;
	if (status == CAIRN_OK)
		(*out)->backend = backend;
	return status;
}
