/* Sends the headers of all files of a sharded model at once: GET
 * /api/models/{namespace}/{name}/safetensors-metadata/{path}. The path is that of the index file, which names the other
 * files (source: huggingface_hub, HfApi.get_sharded_safetensors_metadata). */
#include "base/percent.h"
#include "hub/tensor_files.h"
#include "server/hub/hub_routes.h"

#include <stdlib.h>
#include <string.h>

struct tensors_request {
	struct hub_repo repo;
	char path[CAIRN_INDEX_PATH_MAX + 1]; /* path of the index file, which names the model's files */
	struct cairn_json_out w;
};

static bool tensors_put_head(struct tensors_request *t, const struct cairn_hub_tensor_source *from,
			     const struct cairn_hub_tensor_files *files, unsigned i)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf head = {0};
	struct hub_call *call = &t->repo.call;
	struct cairn_tensors sums;
	call->status = cairn_hub_read_tensor_head(from, files, i, &head, &sums, &call->diag);
	if (call->status != CAIRN_OK)
		return false;
	cairn_json_put_raw(&t->w, files->names[i], (const char *)head.bytes + CAIRN_HUB_TENSOR_LEN_BYTES);
	if (call->answer.status == CAIRN_E_LIMIT)
		call->status = cairn_hub_refuse_tensors(&call->diag);
	return call->status == CAIRN_OK;
}

static void tensors_put(struct tensors_request *t, const struct cairn_hub_tensor_source *from,
			const struct cairn_hub_tensor_files *files)
{
	const struct cairn_json *metadata = cairn_json_get(files->index, "metadata");
	t->w = cairn_json_out_init(&t->repo.call.answer);
	cairn_json_open_object(&t->w, NULL);
	cairn_json_open_object(&t->w, "index");
	if (metadata)
		cairn_json_put_value(&t->w, "metadata", metadata);
	cairn_json_close(&t->w);
	cairn_json_open_object(&t->w, "headers");
	for (unsigned i = 0; i < files->n; i++)
		if (!tensors_put_head(t, from, files, i))
			return;
	cairn_json_close(&t->w);
	cairn_json_close(&t->w);
}

static void tensors_run(struct hub_call *call)
{
	struct tensors_request *t = (struct tensors_request *)call;
	CLEANUP(cairn_hub_tensor_files_fini) struct cairn_hub_tensor_files files = {.index = NULL};
	const struct cairn_hub_tensor_source from = {
		.hub = &call->job.app->hub, .repo = &t->repo.repo, .commit = &t->repo.commit};
	if (!hub_repo_find_commit(&t->repo, CAIRN_HUB_READ, NULL))
		return;
	call->status = cairn_hub_read_tensor_index(&from, t->path, &files, &call->diag);
	if (call->status == CAIRN_OK)
		tensors_put(t, &from, &files);
}

static void tensors_get(struct http_request *req)
{
	struct tensors_request *t = hub_repo_new_git(req, sizeof(*t), tensors_run, hub_repo_show);
	if (!t)
		return;
	/* an invalid path matches no file */
	(void)cairn_percent_decode(t->path, sizeof(t->path), http_path_arg(req, "path"));
	t->repo.call.answer = cairn_buf_init(CAIRN_HUB_TENSOR_HEADS_BYTES_MAX);
	t->repo.call.job.work.lane = CAIRN_LANE_HEAVY;
	route_job_start(req);
}

const struct http_route ROUTES_TENSORS[] = {
	HUB_GET("/api/{type}/{namespace}/{name}/safetensors-metadata/{path*}", "repo-tensors", tensors_get,
		hub_repo_free),
	{0},
};
