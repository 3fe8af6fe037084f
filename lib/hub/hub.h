/* The hub: an index and a cas, which all functions of this folder use. */
#ifndef CAIRN_HUB_HUB_H
#define CAIRN_HUB_HUB_H

#include "cas/cas.h"
#include "index/hub/hub.h"

/** The access to a mirrored repository that is private or has a gate. Plain value. */
struct cairn_hub_gate {
	bool is_shut;                                        /* nobody, even if the mirrored hub allows it */
	char organisation[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1]; /* whose members get them, too; "": none */
};

/** Finds the mirror's rules for a repository. Any thread. */
struct cairn_hub_gates {
	void (*find)(void *ctx, const struct cairn_index_repo *repo, struct cairn_hub_gate *out);
	void *ctx;
};

/** The hub. Plain value that borrows all members; the index is that of the cas. */
struct cairn_hub {
	struct cairn_index *index;    /* accounts, repositories, commits, and the bytes that each holds */
	struct cairn_cas *cas;        /* bytes of files, and keys */
	struct cairn_hub_gates gates; /* find NULL: no repository is mirrored */
};

/** Returns the hub of a cas, which must stay open as long as the hub is used. */
static inline struct cairn_hub cairn_hub_of(struct cairn_cas *cas)
{
	return (struct cairn_hub){.index = cairn_cas_index(cas), .cas = cas};
}

#endif
