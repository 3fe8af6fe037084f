/* Which chunks of a file only it has, and which other files of repositories that somebody may read have them, too. */
#ifndef CAIRN_HUB_CHUNK_MAP_H
#define CAIRN_HUB_CHUNK_MAP_H

#include "hub/repo.h"

enum {
	CAIRN_MAP_CHUNKS_MAX = 1 << 18, /* of the file; a longer one has no map */
	CAIRN_MAP_FILES_MAX = 1000,     /* that it is compared with */
	CAIRN_MAP_OTHERS_MAX = 5,       /* repositories that are told apart */
};

/** Who has a chunk. */
enum cairn_map_mark {
	CAIRN_MAP_ALONE,  /* no other file that was looked at */
	CAIRN_MAP_SAME,   /* another file of the same repository */
	CAIRN_MAP_OTHERS, /* the first of other repositories, and so on; behind the last one: further ones */
	CAIRN_MAP_FURTHER = CAIRN_MAP_OTHERS + CAIRN_MAP_OTHERS_MAX,
	CAIRN_MAP_MARKS,
};

/** Zeroed is empty. */
struct cairn_chunk_map {
	uint32_t n_chunks;               /* in the order of the file; 0: there is no map */
	uint8_t *marks;                  /* owned; of each chunk, enum cairn_map_mark */
	uint64_t bytes[CAIRN_MAP_MARKS]; /* of each mark; about: chunks of one term count as alike */
	uint32_t n_files;                /* that it was compared with */
	bool more;                       /* there may be others that were not looked at */
	uint32_t n_others;
	struct cairn_index_repo others[CAIRN_MAP_OTHERS_MAX];
};

/**
 * Compare a file of a repository with the repository's other files, then with those of others that the asker may read,
 * changed last first, as far as CAIRN_MAP_FILES_MAX goes. Nobody else's are looked at, so the map and the time it takes
 * tell nothing of them. A chunk that is in several counts for the first. For workers.
 * @param repo  of which the asker may have the files
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the repository has no such file; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_map_file(struct cairn_chunk_map *out, struct cairn_cas *cas,
						    const struct cairn_hub_asker *asker,
						    const struct cairn_index_repo *repo, const struct cairn_hash *file);
/** For CLEANUP(). */
void cairn_chunk_map_fini(struct cairn_chunk_map *map);

#endif
