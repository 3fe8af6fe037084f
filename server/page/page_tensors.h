/* Shows the contents of a file of tensors. Pure. */
#ifndef CAIRN_SERVER_PAGE_TENSORS_H
#define CAIRN_SERVER_PAGE_TENSORS_H

#include "base/buf.h"
#include "hub/safetensors.h"

/** Appends a list with the number of parameters and of tensors, and the types. */
void page_put_tensor_sums(struct cairn_buf *b, const struct cairn_tensors *tensors);

/** Appends the number of parameters of the file, their types, and its first tensors; or the reason why its header
 * cannot be parsed. @param bytes  the first CAIRN_TENSORS_HEAD_MAX + 8 bytes of the file, or all */
void page_put_tensors(struct cairn_buf *b, const uint8_t *bytes, size_t len, uint64_t file_bytes);

#endif
