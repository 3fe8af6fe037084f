/* Pulling a file: its chunks are fetched by several threads, put where they belong in FILE.part, hashed, and the file
 * gets its name when its hash agrees. */
#ifndef CAIRN_CLI_PULL_H
#define CAIRN_CLI_PULL_H

#include "cli/common/client.h"
#include "cli/common/progress.h"
#include "hash/hash.h"

enum { PULL_JOBS_MAX = 16, PULL_JOBS_DEFAULT = 4 };

/** Connections, one a thread, reused from file to file. */
struct pull_crew {
	struct client *clients[PULL_JOBS_MAX]; /* owned */
	unsigned n;
	struct progress progress; /* the caller's to begin and to clear */
	uint64_t done_bytes;      /* of files, written or found to be there */
	uint64_t fetched_bytes;   /* received from signed URLs */
};
void pull_crew_fini(struct pull_crew *crew);

struct pull_job {
	struct cairn_hash file;
	uint64_t file_bytes; /* pull_size(), or from a manifest */
	uint64_t first, end; /* what is wanted of it; end exclusive */
	int dir_fd;          /* folder of the target; -1: standard output */
	const char *name;    /* in that folder */
	bool force;          /* the name may be another file's: it is replaced */
	bool has_mode;
	unsigned mode;          /* permissions of the new file; else as the umask has it */
	uint64_t resumed_bytes; /* result: of an earlier pull, hashed again */
};

/** Length of a file. @return as client_head_bytes() */
CAIRN_MUST_USE enum cairn_status pull_size(struct pull_crew *crew, const struct cairn_hash *file, uint64_t *out,
					   struct cairn_diag *diag);

/**
 * Pull one file, or a range of it. Works in memory for a window of 128 MiB a thread at about 48 bytes a chunk.
 * When it fails, NAME.part and NAME.part.state stay, for the next pull to go on, unless they are known to be wrong.
 * @return CAIRN_OK
 *         CAIRN_E_MISMATCH, CAIRN_E_FORMAT  a chunk, the hash or the plan is wrong
 *         CAIRN_E_CONFLICT  the target or NAME.part is not ours to replace, or another pull works on it;
 *                           "file.exists" the name is taken, and force is not set
 *         CAIRN_E_FULL, CAIRN_E_IO; as client_request(), client_fetch()
 */
CAIRN_MUST_USE enum cairn_status pull_file(struct pull_crew *crew, struct pull_job *job, struct cairn_diag *diag);

#endif
