/* The hub: an index and a cas, which all functions of this folder take. */
#ifndef CAIRN_HUB_HUB_H
#define CAIRN_HUB_HUB_H

#include "cas/cas.h"

/** The hub. Plain value that borrows both; the index is that of the cas. */
struct cairn_hub {
	struct cairn_index *index; /* accounts, repositories, commits, and how many bytes each holds */
	struct cairn_cas *cas;     /* bytes of files, and keys */
};

/** @return the hub of this cas, which must stay open as long */
static inline struct cairn_hub cairn_hub_of(struct cairn_cas *cas)
{
	return (struct cairn_hub){.index = cairn_cas_index(cas), .cas = cas};
}

#endif
