/* What is in a file of tensors. Pure. */
#ifndef CAIRN_SERVER_PAGE_TENSORS_H
#define CAIRN_SERVER_PAGE_TENSORS_H

#include "base/buf.h"
#include "hub/safetensors.h"

/** Append a list of how many parameters there are, in how many tensors, and of which types. */
void page_put_tensor_sums(struct cairn_buf *b, const struct cairn_tensors *tensors);

/** Append how many parameters it has, of which types, and its first tensors; or why its head cannot be read.
 *  @param bytes  the first ones of the file: CAIRN_TENSORS_HEAD_MAX and 8, or all */
void page_put_tensors(struct cairn_buf *b, const uint8_t *bytes, size_t len, uint64_t file_bytes);

#endif
