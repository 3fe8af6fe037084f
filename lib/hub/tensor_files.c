#include "hub/tensor_files.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#define TENSORS_FILE  "model.safetensors"
#define TENSORS_INDEX "model.safetensors.index.json"

enum { TENSORS_INDEX_BYTES_MAX = 4 << 20, TENSORS_INDEX_VALUES_MAX = 50000 };

enum cairn_status cairn_hub_refuse_tensors(struct cairn_diag *diag)
{
	return cairn_fail(
		diag, CAIRN_E_LIMIT, "tensors.limit", CAIRN_NO_OFFSET,
		"the index is longer than 4 MiB, names more than 256 files, or their heads are longer than 1 MiB or "
		"16 MiB in all; read the heads from the files, as get_safetensors_metadata does");
}

static enum cairn_status tensor_no_entry(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
}

static enum cairn_status tensor_find(const struct cairn_hub_tensor_source *from, const char *path,
				     struct cairn_index_entry *entry, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_hub_find_entry(from->hub, from->commit, path, entry, diag);
	if (status == CAIRN_OK && entry->kind == CAIRN_INDEX_FOLDER)
		return tensor_no_entry(diag);
	return status == CAIRN_OK ? cairn_hub_believe_entry(entry, diag) : status;
}

/* Records a file of the map from tensors to files, up to one more than allowed. */
static bool tensor_note(void *ctx, const struct cairn_json *value)
{
	struct cairn_hub_tensor_files *files = ctx;
	const char *name = cairn_json_string(value);
	for (unsigned i = 0; name && i < files->n && i < CAIRN_HUB_TENSOR_FILES_MAX; i++)
		if (strcmp(files->names[i], name) == 0)
			return true;
	if (name && files->n < CAIRN_HUB_TENSOR_FILES_MAX)
		files->names[files->n] = name;
	files->n += name != NULL;
	return files->n <= CAIRN_HUB_TENSOR_FILES_MAX;
}

static enum cairn_status tensor_parse_index(const struct cairn_buf *text, struct cairn_json **out,
					    struct cairn_diag *diag)
{
	if (cairn_json_parse_some(out, (const char *)text->bytes, text->len, TENSORS_INDEX_VALUES_MAX) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_USAGE, "tensors.index", CAIRN_NO_OFFSET,
				  "the file is no index of tensors, or has more than 50,000 values");
	if (!cairn_json_is_object(cairn_json_get(*out, "weight_map")))
		return cairn_fail(diag, CAIRN_E_USAGE, "tensors.index", CAIRN_NO_OFFSET,
				  "the file has no \"weight_map\"");
	return CAIRN_OK;
}

enum cairn_status cairn_hub_read_tensor_index(const struct cairn_hub_tensor_source *from, const char *path,
					      struct cairn_hub_tensor_files *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(TENSORS_INDEX_BYTES_MAX);
	struct cairn_index_entry entry;
	out->index = NULL;
	out->n = 0;
	(void)snprintf(out->path, sizeof(out->path), "%s", path);
	enum cairn_status status = tensor_find(from, path, &entry, diag);
	if (status == CAIRN_OK && entry.size_bytes > TENSORS_INDEX_BYTES_MAX)
		return cairn_hub_refuse_tensors(diag);
	if (status == CAIRN_OK)
		status = cairn_hub_read_start(from->hub, from->repo, &entry, &text, diag);
	if (status == CAIRN_OK)
		status = tensor_parse_index(&text, &out->index, diag);
	if (status == CAIRN_OK)
		cairn_json_each(cairn_json_get(out->index, "weight_map"), tensor_note, out);
	return status == CAIRN_OK && out->n > CAIRN_HUB_TENSOR_FILES_MAX ? cairn_hub_refuse_tensors(diag) : status;
}

void cairn_hub_tensor_files_fini(struct cairn_hub_tensor_files *files)
{
	cairn_json_freep(&files->index);
}

/* Reads the length of a head first: most heads are far shorter than the maximum. */
static enum cairn_status tensor_read_head(const struct cairn_hub_tensor_source *from, const char *path,
					  struct cairn_buf *head, struct cairn_tensors *out, struct cairn_diag *diag)
{
	struct cairn_index_entry entry;
	enum cairn_status status = tensor_find(from, path, &entry, diag);
	*head = cairn_buf_init(CAIRN_HUB_TENSOR_LEN_BYTES);
	if (status == CAIRN_OK)
		status = cairn_hub_read_start(from->hub, from->repo, &entry, head, diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t len = head->len == CAIRN_HUB_TENSOR_LEN_BYTES ? cairn_get_u64le(head->bytes) : 0;
	if (len > CAIRN_TENSORS_HEAD_MAX)
		return cairn_hub_refuse_tensors(diag);
	cairn_buf_fini(head);
	*head = cairn_buf_init(CAIRN_HUB_TENSOR_LEN_BYTES + (size_t)len + 1); /* with a zero at the end */
	head->max--;
	status = cairn_hub_read_start(from->hub, from->repo, &entry, head, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_tensors_read(out, head->bytes, head->len, entry.size_bytes, NULL, NULL) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_USAGE, "tensors.head", CAIRN_NO_OFFSET, "%s is no file of tensors: %s",
				  path, out->fault);
	head->max++;
	cairn_buf_add(head, "", 1);
	return head->status;
}

enum cairn_status cairn_hub_read_tensor_head(const struct cairn_hub_tensor_source *from,
					     const struct cairn_hub_tensor_files *files, unsigned i,
					     struct cairn_buf *head, struct cairn_tensors *out, struct cairn_diag *diag)
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	const char *slash = strrchr(files->path, '/');
	size_t folder_len = slash ? (size_t)(slash + 1 - files->path) : 0, len = strlen(files->names[i]);
	if (folder_len + len > CAIRN_INDEX_PATH_MAX)
		return tensor_no_entry(diag);
	memcpy(path, files->path, folder_len);
	memcpy(path + folder_len, files->names[i], len + 1);
	return tensor_read_head(from, path, head, out, diag);
}

/* @return false: there are too many types or values */
static bool tensor_add(struct cairn_tensors *sum, const struct cairn_tensors *more)
{
	sum->n_tensors += more->n_tensors;
	for (unsigned i = 0; i < more->n_types; i++) {
		unsigned at = 0;
		while (at < sum->n_types && strcmp(sum->types[at].name, more->types[i].name) != 0)
			at++;
		if (at == CAIRN_TENSOR_TYPES_MAX ||
		    __builtin_add_overflow(sum->n_values, more->types[i].n_values, &sum->n_values))
			return false;
		if (at == sum->n_types)
			memcpy(sum->types[sum->n_types++].name, more->types[i].name, sizeof(sum->types[at].name));
		sum->types[at].n_values += more->types[i].n_values;
	}
	return true;
}

static enum cairn_status tensor_sum_files(const struct cairn_hub_tensor_source *from,
					  const struct cairn_hub_tensor_files *files, struct cairn_tensors *out,
					  struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	size_t heads_bytes = 0;
	*out = (struct cairn_tensors){0};
	for (unsigned i = 0; i < files->n && status == CAIRN_OK; i++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf head = {0};
		struct cairn_tensors one = {0};
		status = cairn_hub_read_tensor_head(from, files, i, &head, &one, diag);
		heads_bytes += head.len;
		if (status == CAIRN_OK && (heads_bytes > CAIRN_HUB_TENSOR_HEADS_BYTES_MAX || !tensor_add(out, &one)))
			status = cairn_hub_refuse_tensors(diag);
	}
	return status;
}

static enum cairn_status tensor_sum_index(const struct cairn_hub_tensor_source *from, struct cairn_tensors *out,
					  struct cairn_diag *diag)
{
	CLEANUP(cairn_hub_tensor_files_fini) struct cairn_hub_tensor_files files;
	enum cairn_status status = cairn_hub_read_tensor_index(from, TENSORS_INDEX, &files, diag);
	return status == CAIRN_OK ? tensor_sum_files(from, &files, out, diag) : status;
}

enum cairn_status cairn_hub_sum_tensors(const struct cairn_hub_tensor_source *from, struct cairn_tensors *out)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf head = {0};
	struct cairn_index_entry entry;
	struct cairn_diag unsaid = {0};
	enum cairn_status status = cairn_hub_find_entry(from->hub, from->commit, TENSORS_FILE, &entry, &unsaid);
	if (status == CAIRN_OK)
		status = tensor_read_head(from, TENSORS_FILE, &head, out, &unsaid);
	else if (status == CAIRN_E_NOT_FOUND)
		status = tensor_sum_index(from, out, &unsaid);
	bool cannot = status == CAIRN_E_USAGE || status == CAIRN_E_LIMIT || status == CAIRN_E_CONFLICT;
	return cannot ? CAIRN_E_NOT_FOUND : status;
}
