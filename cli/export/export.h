/* An export: rows from a snapshot of the index, sorted, into files of a folder that appear only when all are complete.
 */
#ifndef CAIRN_CLI_EXPORT_H
#define CAIRN_CLI_EXPORT_H

#include "cli/common/progress.h"
#include "cli/export/sorter.h"
#include "cli/export/table.h"

enum {
	EXPORT_RUN_BYTES = 16 << 20, /* of each table's rows in memory while they are gathered */
	EXPORT_NAME_BYTES = 96,      /* of a fragment's name */
};

/** What became of a table. */
struct export_result {
	uint64_t n_rows;                  /* of this export */
	char fragment[EXPORT_NAME_BYTES]; /* TileDB: what they are in; empty: there were none */
};

struct export
{
	const char *path;             /* the folder */
	int dir_fd;                   /* it, locked */
	bool made;                    /* by this export */
	int work_fd;                  /* a folder in it for what is not complete */
	int64_t after[EXPORT_TABLES]; /* rows of xorbs and files up to this number are there already */
	char schema_names[EXPORT_TABLES][EXPORT_NAME_BYTES]; /* TileDB: of arrays that are there, or were made */
	bool bare[EXPORT_TABLES]; /* TileDB: of arrays without checksums, as older exports made them */
	uint64_t time_ms;         /* TileDB: of the new fragments */
	struct cairn_sorter *rows[EXPORT_TABLES];
	struct export_result results[EXPORT_TABLES];
	struct progress progress;
	uint64_t done_bytes;
};

/**
 * Make or open the folder, and lock it against another export.
 * @return CAIRN_OK; CAIRN_E_CONFLICT another export has it, or it cannot be made; CAIRN_E_IO; CAIRN_E_FULL
 */
CAIRN_MUST_USE enum cairn_status export_open(struct export *e, const char *path, struct cairn_diag *diag);
/** Remove what is not complete, and the folder if it was made for nothing. For CLEANUP(). */
void export_fini(struct export *e);

/** Gather all rows that are new, from one snapshot, which is closed again. @return CAIRN_OK; CAIRN_E_CONFLICT;
 * CAIRN_E_IO; CAIRN_E_FULL; CAIRN_E_NOMEM; CAIRN_E_LIMIT too many rows */
CAIRN_MUST_USE enum cairn_status export_gather(struct export *e, const char *data_dir, struct cairn_diag *diag);

/** Hand the rows of a table to a visitor, sorted. @return CAIRN_OK; what the visitor answered; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status export_drain(struct export *e, enum export_table table,
					      enum cairn_status (*visit)(void *ctx, const struct export_value *values),
					      void *ctx);

/** Removes a file, or a folder with all in it.
 *  @return CAIRN_OK, also when it is not there; as cairn_fd_status() otherwise, with errno: something is left */
enum cairn_status export_remove(int dir_fd, const char *name);

/** A failed call of the system, as the refusal that it is. */
enum cairn_status export_failed(struct cairn_diag *diag, const char *name);

/** Before gathering: what was exported before, from the arrays in the folder. @return CAIRN_OK; CAIRN_E_CONFLICT an
 * array that is not of this kind; as cairn_tiledb_array_open() */
CAIRN_MUST_USE enum cairn_status export_tiledb_resume(struct export *e, struct cairn_diag *diag);
/** Write the rows as a fragment of each array, and let all of them be seen. @return as above */
CAIRN_MUST_USE enum cairn_status export_tiledb_write(struct export *e, struct cairn_diag *diag);

/** Write the rows as NAME.csv each, in place of those that are there. @return as above */
CAIRN_MUST_USE enum cairn_status export_csv_write(struct export *e, struct cairn_diag *diag);

#endif
