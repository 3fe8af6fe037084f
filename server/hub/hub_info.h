/* Describes a repository in JSON. */
#ifndef CAIRN_SERVER_HUB_INFO_H
#define CAIRN_SERVER_HUB_INFO_H

#include "hub/metadata.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_property.h"

/** Writes the id of a repository, and the wanted properties from HUB_AUTHOR to HUB_SDK, into an open object. */
void hub_info_put(const struct cairn_cas *cas, struct cairn_json_out *w, const struct cairn_index_repo *repo,
		  unsigned wanted);
/** Writes the wanted properties of a card. */
void hub_info_put_card(struct cairn_json_out *w, const struct cairn_index_card *card, unsigned wanted);

/** How siblings are written. */
struct hub_siblings {
	uint32_t n_max;   /* limit of the number of files */
	size_t bytes_max; /* when the buffer has more bytes, no further file is written */
	bool blobs;       /* write ids and sizes, too */
};
/** Writes the files of a commit, page by page, so that few entries are in memory. @return errors of index and store */
CAIRN_MUST_USE enum cairn_status hub_info_put_siblings(const struct cairn_hub *hub, struct cairn_json_out *w,
						       const struct cairn_index_commit *commit,
						       const struct hub_siblings *how, struct cairn_diag *diag);

#endif
