/* Metadata of a repository: the YAML head of its README.md, and its config.json. Pure. */
#ifndef CAIRN_HUB_METADATA_H
#define CAIRN_HUB_METADATA_H

#include "base/buf.h"
#include "index/hub/card.h"

enum { CAIRN_HUB_METADATA_BYTES_MAX = 65536 }; /* bytes read from the start of either file */

/** Metadata. Release with cairn_hub_metadata_fini(). */
struct cairn_hub_metadata {
	struct cairn_index_card card;
	struct cairn_buf words; /* a JSON array of the words that filters find, in lower case, as card.words */
	struct cairn_buf tags, data, config;
};

/** Files of a repository, as far as they were read. */
struct cairn_hub_described {
	const char *readme, *config; /* borrowed; NULL: there is none */
	size_t readme_len, config_len;
};

/** Reads the metadata. Omits a part that cannot be read, or is larger than an index stores (index/card.h). A model
 * whose README.md names no library or task gets those of its config.json.
 * @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_metadata_read(struct cairn_hub_metadata *out,
							 enum cairn_index_repo_kind kind,
							 const struct cairn_hub_described *described);
void cairn_hub_metadata_fini(struct cairn_hub_metadata *metadata);

/** Turns the letters A to Z into lower case, as words are stored. A filter must do the same. */
void cairn_hub_metadata_lower(char *text);

#endif
