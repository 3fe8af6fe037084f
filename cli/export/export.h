/* Exports a snapshot of the index, sorted, into files of a folder. The files appear only when all are complete. */
#ifndef CAIRN_CLI_EXPORT_H
#define CAIRN_CLI_EXPORT_H

#include "cli/common/progress.h"
#include "cli/export/sorter.h"
#include "cli/export/table.h"

enum {
	EXPORT_RUN_BYTES = 16 << 20, /* memory for the rows of each table while they are gathered */
	EXPORT_NAME_BYTES = 96,      /* length of a fragment's name */
};

/** The result for one table. */
struct export_result {
	uint64_t n_rows;                  /* number of rows in this export */
	char fragment[EXPORT_NAME_BYTES]; /* TileDB: the fragment of the rows; empty: no rows */
};

struct export
{
	const char *path;             /* the folder */
	int dir_fd;                   /* the folder, locked */
	bool made;                    /* the folder was created by this export */
	int work_fd;                  /* a folder in it for incomplete files */
	int64_t after[EXPORT_TABLES]; /* up to these numbers, xorbs and files were exported before */
	char schema_names[EXPORT_TABLES][EXPORT_NAME_BYTES]; /* TileDB: schemas of existing and new arrays */
	bool bare[EXPORT_TABLES]; /* TileDB: arrays without checksums, as older exports made them */
	uint64_t time_ms;         /* TileDB: time of the new fragments */
	struct cairn_sorter *rows[EXPORT_TABLES];
	struct export_result results[EXPORT_TABLES];
	struct progress progress;
	uint64_t done_bytes;
};

/** Creates or opens the folder, and locks it against other exports. @return CAIRN_OK; CAIRN_E_CONFLICT: another export
 * has it, or it cannot be created; CAIRN_E_IO; CAIRN_E_FULL */
CAIRN_MUST_USE enum cairn_status export_open(struct export *e, const char *path, struct cairn_diag *diag);
/** Removes incomplete files, and a new folder without an export. For CLEANUP(). */
void export_fini(struct export *e);

/** Gathers all new rows from one snapshot, then closes the snapshot. @return CAIRN_OK; CAIRN_E_CONFLICT; CAIRN_E_IO;
 * CAIRN_E_FULL; CAIRN_E_NOMEM; CAIRN_E_LIMIT: too many rows */
CAIRN_MUST_USE enum cairn_status export_gather(struct export *e, const char *data_dir, struct cairn_diag *diag);

/** Passes the rows of a table to visit(), sorted. @return CAIRN_OK; the status of visit(); CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status export_drain(struct export *e, enum export_table table,
					      enum cairn_status (*visit)(void *ctx, const struct export_value *values),
					      void *ctx);

/** Removes a file, or a folder with all its files. @return CAIRN_OK, even if it does not exist; else as
 * cairn_fd_status() with errno: some of it remains */
enum cairn_status export_remove(int dir_fd, const char *name);

/** Reports a failed system call (errno) in diag. */
enum cairn_status export_failed(struct cairn_diag *diag, const char *name);

/** Reads from the folder's arrays which rows were exported before. Call before gathering. @return CAIRN_OK;
 * CAIRN_E_CONFLICT: an array is of another kind; as cairn_tiledb_array_open() */
CAIRN_MUST_USE enum cairn_status export_tiledb_resume(struct export *e, struct cairn_diag *diag);
/** Writes the rows as a fragment of each array, and makes all fragments visible. @return as export_tiledb_resume() */
CAIRN_MUST_USE enum cairn_status export_tiledb_write(struct export *e, struct cairn_diag *diag);

/** Writes each table as NAME.csv, replacing existing files. @return as export_tiledb_resume() */
CAIRN_MUST_USE enum cairn_status export_csv_write(struct export *e, struct cairn_diag *diag);

#endif
