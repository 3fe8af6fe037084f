/* Collects the terms of several files of a repository, and groups them by xorb. For one worker. */
#ifndef CAIRN_HUB_STRETCHES_H
#define CAIRN_HUB_STRETCHES_H

#include "hub/hub.h"
#include "index/hub/hub.h"

enum { CAIRN_STRETCHES_MAX = 1 << 20 /* 24 bytes of memory each */ };

/** Consecutive chunks of a xorb that a file has. */
struct cairn_stretch {
	int64_t xorb;
	uint32_t file;  /* the caller's number for the file */
	uint32_t bytes; /* raw bytes of the chunks */
	uint16_t start, end;
};

/** The stretches. Empty if all members but index and owner are zero. */
struct cairn_stretches {
	struct cairn_index *index;
	char owner[CAIRN_INDEX_OWNER_BYTES];
	bool unknown;              /* there are more than CAIRN_STRETCHES_MAX: some are missing */
	struct cairn_stretch *all; /* owned */
	uint32_t n, room;
};

void cairn_stretches_init(struct cairn_stretches *stretches, struct cairn_index *index,
			  const struct cairn_index_repo *repo);
void cairn_stretches_fini(struct cairn_stretches *stretches);

/** Adds the stretches of a file; a deleted file has none. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_stretches_add(struct cairn_stretches *stretches, const struct cairn_hash *hash,
						     uint32_t file);

/** Visits all stretches, those of one xorb together, in the order of the files' numbers. Stops at the first failure of
 * visit(). @return as visit() */
CAIRN_MUST_USE enum cairn_status cairn_stretches_each(
	struct cairn_stretches *stretches,
	enum cairn_status (*visit)(void *ctx, const struct cairn_stretch *of_xorb, uint32_t n), void *ctx);

#endif
