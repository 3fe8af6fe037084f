/* The head of a file of tensors. The sums add up and fit their buffers, whatever it contains. */
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "hub/safetensors.h"

#include <string.h>

struct seen {
	uint64_t n, n_values;
};

static void tensors_must_be_text(const char *text, size_t max)
{
	size_t len = strlen(text);
	fuzz_must(len <= max);
	for (size_t i = 0, n; i < len; i += n) {
		n = cairn_utf8_sequence((const uint8_t *)text + i, len - i);
		fuzz_must(n > 0);
	}
}

static void tensors_take(void *ctx, const struct cairn_tensor *tensor)
{
	struct seen *seen = ctx;
	uint64_t n_values = 1;
	tensors_must_be_text(tensor->name, CAIRN_TENSOR_NAME_MAX);
	tensors_must_be_text(tensor->type, CAIRN_TENSOR_TYPE_MAX);
	fuzz_must(tensor->n_dims <= CAIRN_TENSOR_DIMS_MAX);
	for (unsigned i = 0; i < tensor->n_dims; i++)
		n_values *= tensor->shape[i];
	fuzz_must(n_values == tensor->n_values);
	seen->n++;
	seen->n_values += n_values;
}

static void tensors_try(const uint8_t *bytes, size_t len, uint64_t file_bytes)
{
	struct cairn_tensors tensors;
	struct seen seen = {0};
	uint64_t n_values = 0;
	enum cairn_status status = cairn_tensors_read(&tensors, bytes, len, file_bytes, tensors_take, &seen);
	fuzz_must(status == CAIRN_OK || status == CAIRN_E_LIMIT || status == CAIRN_E_FORMAT);
	fuzz_must((status == CAIRN_E_FORMAT) == (tensors.fault != NULL) && tensors.fault_at <= len);
	fuzz_must(tensors.n_types <= CAIRN_TENSOR_TYPES_MAX);
	for (unsigned i = 0; i < tensors.n_types; i++)
		n_values += tensors.types[i].n_values;
	fuzz_must(seen.n == tensors.n_tensors && seen.n_values == tensors.n_values && n_values == tensors.n_values);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	tensors_try(bytes, len, len);
	tensors_try(bytes, len, UINT64_MAX);
	return 0;
}
