/* Finds for each chunk of a file whether another file has it, in any repository that the asker may read. */
#ifndef CAIRN_HUB_CHUNK_MAP_H
#define CAIRN_HUB_CHUNK_MAP_H

#include "hub/repo.h"

enum {
	CAIRN_MAP_CHUNKS_MAX = 1 << 18, /* chunks of a file; a longer one gets no map */
	CAIRN_MAP_FILES_MAX = 1000,     /* files that the file is compared with */
	/* other repositories with a mark of their own; further ones share CAIRN_MAP_FURTHER */
	CAIRN_MAP_OTHERS_MAX = 5,
};

/** The first place in which a chunk was found. The file's own repository is searched first, then others in order. */
enum cairn_map_mark {
	CAIRN_MAP_ALONE,                                             /* in none of the compared files */
	CAIRN_MAP_SAME,                                              /* in another file of the same repository */
	CAIRN_MAP_OTHERS,                                            /* + i: in repository others[i] */
	CAIRN_MAP_FURTHER = CAIRN_MAP_OTHERS + CAIRN_MAP_OTHERS_MAX, /* in a repository beyond others[] */
	CAIRN_MAP_MARKS,
};

/** A map. Zeroed is empty. */
struct cairn_chunk_map {
	uint32_t n_chunks;               /* 0: there is no map */
	uint8_t *marks;                  /* owned; enum cairn_map_mark of each chunk, in the order of the file */
	uint64_t bytes[CAIRN_MAP_MARKS]; /* bytes of each mark; roughly: chunks of a term count as equally long */
	uint32_t n_files;                /* files that were compared */
	bool more;                       /* there may be files that were not compared */
	uint32_t n_others;
	struct cairn_index_repo others[CAIRN_MAP_OTHERS_MAX];
};

/** Compares a file with the other files of its repository, then with those of other repositories that the asker may
 * read, last changed first, at most CAIRN_MAP_FILES_MAX files. Reads no other files, so neither the map nor its timing
 * reveals them. A chunk that several files have gets the mark of the first. For workers.
 * @param repo  a repository whose files the asker may read
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the repository has no such file; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_map_file(struct cairn_chunk_map *out, const struct cairn_hub *hub,
						    const struct cairn_hub_asker *asker,
						    const struct cairn_index_repo *repo, const struct cairn_hash *file);
void cairn_chunk_map_fini(struct cairn_chunk_map *map);

#endif
