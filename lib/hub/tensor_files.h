/* The files of tensors of a model at a commit: one file, or several that an index lists. */
#ifndef CAIRN_HUB_TENSOR_FILES_H
#define CAIRN_HUB_TENSOR_FILES_H

#include "base/json.h"
#include "hub/safetensors.h"
#include "hub/tree.h"

enum {
	CAIRN_HUB_TENSOR_FILES_MAX = 256,
	CAIRN_HUB_TENSOR_HEADS_BYTES_MAX = 16 << 20, /* of all files of one index */
	CAIRN_HUB_TENSOR_LEN_BYTES = 8,              /* bytes of the length before a head */
};

/** A repository at a commit. Borrowed. */
struct cairn_hub_tensor_source {
	const struct cairn_hub *hub;
	const struct cairn_index_repo *repo;
	const struct cairn_index_commit *commit;
};

/** The files that an index lists. Release with cairn_hub_tensor_files_fini(). */
struct cairn_hub_tensor_files {
	char path[CAIRN_INDEX_PATH_MAX + 1]; /* path of the index */
	struct cairn_json *index;            /* owned */
	unsigned n;
	const char *names[CAIRN_HUB_TENSOR_FILES_MAX]; /* in the index's folder, each once; borrowed from the index */
};

/** Reads an index; for workers. @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK; CAIRN_E_USAGE not an index (tensors.index); CAIRN_E_LIMIT larger than 4 MiB, or with more than
 *         CAIRN_HUB_TENSOR_FILES_MAX files (tensors.limit); as cairn_hub_find_entry() and cairn_hub_read_start() */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_tensor_index(const struct cairn_hub_tensor_source *from,
							     const char *path, struct cairn_hub_tensor_files *out,
							     struct cairn_diag *diag);
void cairn_hub_tensor_files_fini(struct cairn_hub_tensor_files *files);

/** Reads the head of file number i of an index; for workers.
 * @param[out] head  empty before, owned by the caller: CAIRN_HUB_TENSOR_LEN_BYTES, JSON, a zero
 * @param[out] out   sums over its tensors
 * @return CAIRN_OK; CAIRN_E_USAGE not a file of tensors (tensors.head); CAIRN_E_LIMIT its head is longer than
 *         CAIRN_TENSORS_HEAD_MAX (tensors.limit); as cairn_hub_find_entry() and cairn_hub_read_start() */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_tensor_head(const struct cairn_hub_tensor_source *from,
							    const struct cairn_hub_tensor_files *files, unsigned i,
							    struct cairn_buf *head, struct cairn_tensors *out,
							    struct cairn_diag *diag);

/** Fails: all heads together are longer than CAIRN_HUB_TENSOR_HEADS_BYTES_MAX. @return CAIRN_E_LIMIT (tensors.limit) */
CAIRN_MUST_USE enum cairn_status cairn_hub_refuse_tensors(struct cairn_diag *diag);

/** Sums up the tensors of a model: those of model.safetensors, or else of the files in model.safetensors.index.json.
 * For workers.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the files are missing, malformed, or too many; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_sum_tensors(const struct cairn_hub_tensor_source *from,
						       struct cairn_tensors *out);

#endif
