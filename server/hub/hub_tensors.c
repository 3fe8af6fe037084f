/* The heads of all files of a sharded model at once: GET /api/models/{namespace}/{name}/safetensors-metadata/{path},
 * where the path is that of the index that names the files (source: huggingface_hub,
 * HfApi.get_sharded_safetensors_metadata). */
#include "base/bytes.h"
#include "base/percent.h"
#include "hub/safetensors.h"
#include "server/hub/hub_routes.h"

#include <stdlib.h>
#include <string.h>

enum {
	TENSORS_INDEX_BYTES_MAX = 4 << 20,
	TENSORS_INDEX_VALUES_MAX = 50000,
	TENSORS_FILES_MAX = 256,
	TENSORS_LEN_BYTES = 8, /* the length of a head, before it */
	TENSORS_ANSWER_BYTES_MAX = 16 << 20,
};

struct tensors_request {
	struct hub_repo repo;
	char path[CAIRN_INDEX_PATH_MAX + 1]; /* of the index */
	unsigned n;
	const char *files[TENSORS_FILES_MAX]; /* each once; borrowed from the index */
	struct cairn_json_out w;
};

static bool tensors_fail(struct tensors_request *t, enum cairn_status status, const char *rule, const char *text)
{
	t->repo.call.status = cairn_fail(&t->repo.call.diag, status, rule, CAIRN_NO_OFFSET, "%s", text);
	return false;
}

static bool tensors_limit(struct tensors_request *t)
{
	return tensors_fail(t, CAIRN_E_LIMIT, "tensors.limit",
			    "the index is longer than 4 MiB, names more than 256 files, or their heads are longer than "
			    "1 MiB or 16 MiB in all; read the heads from the files, as get_safetensors_metadata does");
}

static bool tensors_find(struct tensors_request *t, const char *path, struct cairn_index_entry *entry)
{
	struct hub_call *call = &t->repo.call;
	call->status = cairn_hub_find_entry(&call->job.app->hub, &t->repo.commit, path, entry, &call->diag);
	if (call->status == CAIRN_OK && entry->kind == CAIRN_INDEX_FOLDER)
		return tensors_fail(t, CAIRN_E_NOT_FOUND, "entry.unknown", "Entry not found");
	if (call->status == CAIRN_OK)
		call->status = cairn_hub_believe_entry(entry, &call->diag);
	return call->status == CAIRN_OK;
}

/* Reads the first bytes of a file, as many as there is room for. */
static bool tensors_read(struct tensors_request *t, const struct cairn_index_entry *entry, struct cairn_buf *out)
{
	struct hub_call *call = &t->repo.call;
	call->status = cairn_hub_read_start(&call->job.app->hub, &t->repo.repo, entry, out, &call->diag);
	return call->status == CAIRN_OK;
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

/* Notes a file of the map from tensors to files. @return false: there are too many */
static bool tensors_note(void *ctx, const struct cairn_json *value)
{
	struct tensors_request *t = ctx;
	const char *file = cairn_json_string(value);
	for (unsigned i = 0; file && i < t->n; i++)
		if (strcmp(t->files[i], file) == 0)
			return true;
	if (t->n == TENSORS_FILES_MAX)
		return tensors_limit(t);
	if (file)
		t->files[t->n++] = file;
	return true;
}

/* @param[out] index  owned by the caller */
static bool tensors_read_index(struct tensors_request *t, struct cairn_json **index)
{
	struct cairn_buf text = cairn_buf_init(TENSORS_INDEX_BYTES_MAX);
	struct cairn_index_entry entry;
	bool is_read = tensors_find(t, t->path, &entry) && tensors_read(t, &entry, &text);
	if (is_read && entry.size_bytes > TENSORS_INDEX_BYTES_MAX)
		is_read = tensors_limit(t);
	if (is_read &&
	    cairn_json_parse_some(index, (const char *)text.bytes, text.len, TENSORS_INDEX_VALUES_MAX) != CAIRN_OK)
		is_read = tensors_fail(t, CAIRN_E_USAGE, "tensors.index",
				       "the file is no index of tensors, or has more than 50,000 values");
	cairn_buf_fini(&text);
	const struct cairn_json *map = is_read ? cairn_json_get(*index, "weight_map") : NULL;
	if (is_read && !cairn_json_is_object(map))
		return tensors_fail(t, CAIRN_E_USAGE, "tensors.index", "the file has no \"weight_map\"");
	cairn_json_each(map, tensors_note, t);
	return is_read && t->repo.call.status == CAIRN_OK;
}

/* --- the heads ---------------------------------------------------------------------------------------------------- */

/* Finds a file that the index names: its path is from the folder of the index. */
static bool tensors_path(struct tensors_request *t, const char *file, char out[static CAIRN_INDEX_PATH_MAX + 1])
{
	const char *slash = strrchr(t->path, '/');
	size_t folder_len = slash ? (size_t)(slash + 1 - t->path) : 0, len = strlen(file);
	if (folder_len + len > CAIRN_INDEX_PATH_MAX)
		return tensors_fail(t, CAIRN_E_NOT_FOUND, "entry.unknown", "Entry not found");
	memcpy(out, t->path, folder_len);
	memcpy(out + folder_len, file, len + 1);
	return true;
}

/* Reads the length of a head first: a head is far shorter than the longest. */
static bool tensors_read_head(struct tensors_request *t, const char *path, struct cairn_buf *head)
{
	struct cairn_index_entry entry;
	if (!tensors_find(t, path, &entry) || !tensors_read(t, &entry, head))
		return false;
	uint64_t len = head->len == TENSORS_LEN_BYTES ? cairn_get_u64le(head->bytes) : 0;
	if (len > CAIRN_TENSORS_HEAD_MAX)
		return tensors_limit(t);
	cairn_buf_fini(head);
	*head = cairn_buf_init(TENSORS_LEN_BYTES + (size_t)len + 1); /* and a zero */
	head->max--;
	if (!tensors_read(t, &entry, head))
		return false;
	struct cairn_tensors tensors;
	if (cairn_tensors_read(&tensors, head->bytes, head->len, entry.size_bytes, NULL, NULL) != CAIRN_OK) {
		t->repo.call.status = cairn_fail(&t->repo.call.diag, CAIRN_E_USAGE, "tensors.head", CAIRN_NO_OFFSET,
						 "%s is no file of tensors: %s", path, tensors.fault);
		return false;
	}
	head->max++;
	cairn_buf_add(head, "", 1);
	return true;
}

static bool tensors_put_head(struct tensors_request *t, const char *file)
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	struct cairn_buf head = cairn_buf_init(TENSORS_LEN_BYTES);
	bool is_read = tensors_path(t, file, path) && tensors_read_head(t, path, &head);
	if (is_read && head.status == CAIRN_OK)
		cairn_json_put_raw(&t->w, file, (const char *)head.bytes + TENSORS_LEN_BYTES);
	else if (is_read)
		t->repo.call.status = head.status;
	cairn_buf_fini(&head);
	if (is_read && t->repo.call.answer.status == CAIRN_E_LIMIT)
		return tensors_limit(t);
	return is_read && t->repo.call.status == CAIRN_OK;
}

static void tensors_put(struct tensors_request *t, const struct cairn_json *index)
{
	const struct cairn_json *metadata = cairn_json_get(index, "metadata");
	t->w = cairn_json_out_init(&t->repo.call.answer);
	cairn_json_open_object(&t->w, NULL);
	cairn_json_open_object(&t->w, "index");
	if (metadata)
		cairn_json_put_value(&t->w, "metadata", metadata);
	cairn_json_close(&t->w);
	cairn_json_open_object(&t->w, "headers");
	for (unsigned i = 0; i < t->n; i++)
		if (!tensors_put_head(t, t->files[i]))
			return;
	cairn_json_close(&t->w);
	cairn_json_close(&t->w);
}

static void tensors_run(struct hub_call *call)
{
	struct tensors_request *t = (struct tensors_request *)call;
	CLEANUP(cairn_json_freep) struct cairn_json *index = NULL;
	if (hub_repo_find_commit(&t->repo, CAIRN_HUB_READ, NULL) && tensors_read_index(t, &index))
		tensors_put(t, index);
}

static void tensors_get(struct http_request *req)
{
	struct tensors_request *t = hub_repo_new_git(req, sizeof(*t), tensors_run, hub_repo_show);
	if (!t)
		return;
	/* An invalid path matches no file. */
	(void)cairn_percent_decode(t->path, sizeof(t->path), http_path_arg(req, "path"));
	t->repo.call.answer = cairn_buf_init(TENSORS_ANSWER_BYTES_MAX);
	t->repo.call.job.work.lane = CAIRN_LANE_HEAVY;
	route_job_start(req);
}

const struct http_route ROUTES_TENSORS[] = {
	HUB_GET("/api/{type}/{namespace}/{name}/safetensors-metadata/{path*}", "repo-tensors", tensors_get,
		hub_repo_free),
	{0},
};
