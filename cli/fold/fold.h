/* Shared by the verbs of `cairn fold`. */
#ifndef CAIRN_CLI_FOLD_H
#define CAIRN_CLI_FOLD_H

#include "archive/fold/reader.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"

/** The command line. */
struct fold_options {
	const char *path;   /* the FOLD file */
	const char *chunk;  /* extract: name of the chunk */
	const char *output; /* extract, repair: file to write */
	bool has_parity;    /* repair: --parity was given */
	unsigned parity;
	bool quiet, json;
};

/** An opened file. */
struct fold_file {
	int fd;
	struct cairn_fold *f;
	uint64_t total_bytes; /* length of all chunks, as stored */
};

/** Opens a FOLD file. @return CAIRN_OK; CAIRN_E_NOT_FOUND "file.open"; as cairn_fold_open() */
CAIRN_MUST_USE enum cairn_status fold_file_open(struct fold_file *file, const char *path, struct cairn_diag *diag);
void fold_file_fini(struct fold_file *file);

/** Prints a line about a damaged chunk: "WORD NAME: N wrong bytes", or "lost NAME: REASON". */
void fold_print_chunk(const char *word, const struct cairn_fold_chunk *c, enum cairn_status status, uint64_t n_wrong,
		      const struct cairn_diag *diag);

/** Run the verbs. @return an exit code */
int fold_list(const struct fold_options *o);
int fold_verify(const struct fold_options *o);
int fold_extract(const struct fold_options *o);
int fold_repair(const struct fold_options *o);

#endif
