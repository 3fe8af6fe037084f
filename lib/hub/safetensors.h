/* Reads the head of a file of tensors, which lists them (https://github.com/huggingface/safetensors#format). The head
 * may be hostile: it is read in one pass and without allocating. Pure. */
#ifndef CAIRN_HUB_SAFETENSORS_H
#define CAIRN_HUB_SAFETENSORS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_TENSORS_HEAD_MAX = 1 << 20, /* bytes of a head; the format allows a hundred times that */
	CAIRN_TENSOR_NAME_MAX = 255,      /* bytes of a name; a longer one is cut */
	CAIRN_TENSOR_TYPE_MAX = 15,       /* bytes of a type's name */
	CAIRN_TENSOR_DIMS_MAX = 16,
	CAIRN_TENSOR_TYPES_MAX = 24, /* types in a file */
};

/** A tensor. Borrowed during the call. */
struct cairn_tensor {
	const char *name, *type; /* type: "BF16" */
	unsigned n_dims;
	uint64_t shape[CAIRN_TENSOR_DIMS_MAX];
	uint64_t n_values; /* the product of the shape; 1 without dimensions */
};

struct cairn_tensors {
	uint64_t n_tensors, n_values;
	unsigned n_types;
	struct {
		char name[CAIRN_TENSOR_TYPE_MAX + 1];
		uint64_t n_values;
	} types[CAIRN_TENSOR_TYPES_MAX]; /* in the order of their first use */
	const char *fault;               /* with CAIRN_E_FORMAT: the fault; static */
	uint64_t fault_at;               /* offset in the file after which the fault is */
};

/** Reads a head: its length as 8 bytes, then that many bytes of JSON.
 * @param bytes       the first bytes of the file
 * @param file_bytes  size of the whole file
 * @param visit       visits each tensor in the order of the head, maybe before the head is refused; may be NULL
 * @return CAIRN_OK; CAIRN_E_LIMIT the head is longer than CAIRN_TENSORS_HEAD_MAX; CAIRN_E_FORMAT it is malformed, or a
 *         tensor lies outside of the file, or does not have the length of its type and shape: see fault */
CAIRN_MUST_USE enum cairn_status cairn_tensors_read(struct cairn_tensors *out, const uint8_t *bytes, size_t len,
						    uint64_t file_bytes,
						    void (*visit)(void *ctx, const struct cairn_tensor *tensor),
						    void *ctx);

#endif
