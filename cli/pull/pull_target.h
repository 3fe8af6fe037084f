/* The output of a pull: NAME.part and NAME.part.state beside NAME, or files without a name for standard output. */
#ifndef CAIRN_CLI_PULL_TARGET_H
#define CAIRN_CLI_PULL_TARGET_H

#include "cli/pull/pull.h"

struct pull_target {
	int dir_fd; /* borrowed; -1: standard output */
	int part_fd, state_fd;
	char *name, *part, *state; /* owned; NULL on standard output */
	bool resumes;              /* the state belongs to this pull */
};
void pull_target_fini(struct pull_target *t);

/** Opens and locks the output, and reads the remains of an earlier pull. Uses an existing NAME.part only if its state
 * exists. @return CAIRN_OK; CAIRN_E_CONFLICT: NAME exists, and is not a regular file or force is not set; or NAME.part
 * is not from a pull, or another pull uses it; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status pull_target_open(struct pull_target *t, const struct pull_job *job,
						  struct cairn_diag *diag);

/** Checks by length and hash whether NAME exists and is the whole file of the job. @param sha256  accepted instead of
 * the hash, because other clients may cut files differently; NULL: not compared @return the open file, which the caller
 * closes; -1: missing, or another file */
int pull_target_find(const struct pull_job *job, const uint8_t *sha256);

/** Makes the file durable and gives it its name. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_CONFLICT: the name
 * was taken meanwhile, and force is not set: NAME.part stays */
CAIRN_MUST_USE enum cairn_status pull_target_finish(struct pull_target *t, const struct pull_job *job,
						    struct cairn_diag *diag);

/** Removes the written files, because their content is wrong. */
void pull_target_drop(struct pull_target *t);

/** Writes the first len bytes of the part to standard output. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status pull_target_print(struct pull_target *t, uint64_t len, struct cairn_diag *diag);

#endif
