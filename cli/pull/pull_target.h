/* Where a pull writes: NAME.part and NAME.part.state beside NAME, or files without a name on the way to standard
 * output. */
#ifndef CAIRN_CLI_PULL_TARGET_H
#define CAIRN_CLI_PULL_TARGET_H

#include "cli/pull/pull.h"

struct pull_target {
	int dir_fd; /* borrowed; -1: standard output */
	int part_fd, state_fd;
	char *name, *part, *state; /* owned; NULL for standard output */
	bool resumes;              /* the state is of this very pull */
};
void pull_target_fini(struct pull_target *t);

/**
 * Open, lock and look at what an earlier pull left. An existing NAME.part is only taken over with a state beside it.
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  NAME is there and no regular file, or a file and force is not set; NAME.part is not of a
 *                           pull, or in use by another one
 *         CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status pull_target_open(struct pull_target *t, const struct pull_job *job,
						  struct cairn_diag *diag);

/**
 * Look whether NAME is there and is the file of the job, whole: by its size and hash.
 * @param sha256  does as well, since not every client cuts files as we do; NULL: there is none to compare
 * @return the open file, the caller's to close; -1: it is not there, or holds something else
 */
int pull_target_find(const struct pull_job *job, const uint8_t *sha256);

/** Make the file durable and give it its name. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_CONFLICT somebody
 *  else took the name meanwhile, and force is not set: NAME.part stays */
CAIRN_MUST_USE enum cairn_status pull_target_finish(struct pull_target *t, const struct pull_job *job,
						    struct cairn_diag *diag);

/** Remove what was written: it is wrong. */
void pull_target_drop(struct pull_target *t);

/** Send len bytes of the part's beginning to standard output. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status pull_target_print(struct pull_target *t, uint64_t len, struct cairn_diag *diag);

#endif
