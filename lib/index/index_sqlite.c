/* Opening, closing, and what the index says of itself. */
#include "index/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *index_path(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

enum cairn_status cairn_index_open(struct cairn_index **out, const char *dir, const struct cairn_index_options *options,
				   struct cairn_diag *diag)
{
	*out = NULL;
	if (!sqlite3_threadsafe())
		return cairn_fail(diag, CAIRN_E_IO, "index.threads", CAIRN_NO_OFFSET,
				  "this SQLite was built without threads; build Cairn with another one");
	struct cairn_index *ix = calloc(1, sizeof(*ix));
	if (!ix)
		return CAIRN_E_NOMEM;
	ix->path = index_path(dir, "index.sqlite");
	ix->log_path = index_path(dir, "index.sqlite-wal");
	cairn_pool_init(&ix->pool, ix->path);
	enum cairn_status status = cairn_writer_open(&ix->writer, ix->path, options, diag);
	if (status == CAIRN_OK && !ix->log_path)
		status = CAIRN_E_NOMEM;
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
	/* Readers first: the last connection to close folds the log into the database, which only the writer may do. */
	cairn_pool_fini(&ix->pool);
	cairn_writer_close(&ix->writer);
	free(ix->log_path);
	free(ix->path);
	free(ix);
}

void cairn_index_freep(struct cairn_index **ix)
{
	cairn_index_free(*ix);
	*ix = NULL;
}

/* stat(), never open(): closing any descriptor of the database would drop the locks that this process has on it. */
static uint64_t index_file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void cairn_index_stats(struct cairn_index *ix, struct cairn_index_stats *out)
{
	*out = (struct cairn_index_stats){.file_bytes = index_file_bytes(ix->path) + index_file_bytes(ix->log_path)};
	cairn_writer_stats(&ix->writer, out);
}
