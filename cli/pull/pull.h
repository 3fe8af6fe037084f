/* Pulls a file: threads fetch chunks into FILE.part, which is hashed and gets its name if the hash is correct. */
#ifndef CAIRN_CLI_PULL_H
#define CAIRN_CLI_PULL_H

#include "cli/common/client.h"
#include "cli/common/progress.h"
#include "hash/hash.h"

enum { PULL_JOBS_MAX = 16, PULL_JOBS_DEFAULT = 4 };

/** Connections, one for each thread, reused for all files. */
struct pull_crew {
	struct client *clients[PULL_JOBS_MAX]; /* owned */
	unsigned n;
	struct progress progress; /* begun and cleared by the caller */
	uint64_t done_bytes;      /* bytes of files that are written or were there before */
	uint64_t fetched_bytes;   /* bytes received from signed URLs */
};
void pull_crew_fini(struct pull_crew *crew);

struct pull_job {
	struct cairn_hash file;
	uint64_t file_bytes; /* from pull_size(), or from a manifest */
	uint64_t first, end; /* the requested range; end is exclusive */
	int dir_fd;          /* folder of the target; -1: standard output */
	const char *name;    /* the target's name in dir_fd */
	bool force;          /* replace an existing file of this name */
	bool has_mode;
	unsigned mode;          /* permissions of the new file; 0: as the umask gives */
	uint64_t resumed_bytes; /* result: bytes of an earlier pull that were kept, after they were hashed again */
};

/** Asks for the length of a file. @return as client_head_bytes() */
CAIRN_MUST_USE enum cairn_status pull_size(struct pull_crew *crew, const struct cairn_hash *file, uint64_t *out,
					   struct cairn_diag *diag);

/** Pulls one file, or a range of it. Memory: a window of 128 MiB for each thread, with about 48 bytes for each chunk.
 * After a failure NAME.part and NAME.part.state stay for the next pull, unless they are known to be wrong. @return
 * CAIRN_OK; CAIRN_E_MISMATCH, CAIRN_E_FORMAT: a chunk, the hash or the plan is wrong; CAIRN_E_CONFLICT: the target or
 * NAME.part may not be replaced, or another pull uses it, or (file.exists) the name is taken and force is not set;
 * CAIRN_E_FULL, CAIRN_E_IO; as client_request(), client_fetch() */
CAIRN_MUST_USE enum cairn_status pull_file(struct pull_crew *crew, struct pull_job *job, struct cairn_diag *diag);

#endif
