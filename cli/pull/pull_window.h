/* Fetches one window (a part of a long file). The threads of the crew share the units in the plan of a window. */
#ifndef CAIRN_CLI_PULL_WINDOW_H
#define CAIRN_CLI_PULL_WINDOW_H

#include "cli/pull/pull.h"
#include "cli/pull/pull_plan.h"
#include "cli/pull/pull_state.h"

struct pull_window {
	struct pull_crew *crew;
	struct pull_plan plan;     /* owned */
	struct pull_chunk *chunks; /* owned; plan.n_chunks entries, filled in by the fetch */
	int part_fd;               /* borrowed */
	uint64_t part_at;          /* offset in the file at which part_fd begins */
	uint64_t first, end;       /* the requested bytes of the file */
	struct pull_state *state;
};
void pull_window_fini(struct pull_window *w);

/** Marks terms as complete if all their chunks are in have. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status pull_window_prepare(struct pull_window *w, const struct pull_chunks *have);

/** Fetches the missing chunks. @return CAIRN_OK; CAIRN_E_DENIED: the URLs have expired; as pull_file() */
CAIRN_MUST_USE enum cairn_status pull_window_run(struct pull_window *w, struct cairn_diag *diag);

#endif
