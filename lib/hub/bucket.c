#include "hub/bucket.h"

#include "hub/duplicate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKET_ID_BYTES = 2 * CAIRN_INDEX_REPO_NAME_MAX + 2 }; /* room for namespace/name */

/* The source looked up last. The files of a copied folder share one source. */
struct bucket_source {
	enum cairn_index_repo_kind kind;
	char id[BUCKET_ID_BYTES];
	int64_t repo;    /* 0: no such repository, or the asker may not read it */
	bool is_guarded; /* its files must not get into this bucket */
};

/* @param[in,out] target  the bucket, with its current guard */
static enum cairn_status bucket_find_source(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					    struct cairn_index_repo *target, enum cairn_index_repo_kind kind,
					    const char *id, struct bucket_source *source, struct cairn_diag *diag)
{
	struct cairn_index_repo repo;
	struct cairn_diag unsaid = {0};
	if (source->kind == kind && strcmp(source->id, id) == 0)
		return CAIRN_OK;
	source->repo = 0;
	source->is_guarded = false;
	source->kind = kind;
	(void)snprintf(source->id, sizeof(source->id), "%s", id);
	char *name = strchr(source->id, '/');
	if (strlen(id) >= sizeof(source->id) || !name)
		return CAIRN_OK;
	*name = '\0';
	enum cairn_status status =
		cairn_hub_find_repo(hub, asker, kind, source->id, name + 1, CAIRN_HUB_READ, &repo, &unsaid);
	*name = '/';
	bool may_not = status == CAIRN_E_NOT_FOUND || status == CAIRN_E_DENIED;
	if (status != CAIRN_OK)
		return may_not ? CAIRN_OK : status;
	source->repo = repo.id;
	status = cairn_hub_guard_copy(hub, asker, &repo, target, diag);
	source->is_guarded = status == CAIRN_E_DENIED;
	if (source->is_guarded)
		*diag = (struct cairn_diag){0}; /* it is reported as the operation's fault */
	return source->is_guarded ? CAIRN_OK : status;
}

static enum cairn_status bucket_find_sources(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					     const struct cairn_index_repo *repo,
					     struct cairn_hub_operations *operations, struct cairn_diag *diag)
{
	struct bucket_source source = {0};
	struct cairn_index_repo target = *repo;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < operations->n && status == CAIRN_OK; i++) {
		struct cairn_hub_operation *o = &operations->all[i];
		if (o->fault || o->change.kind != CAIRN_INDEX_OBJECT_COPY)
			continue;
		status = bucket_find_source(hub, asker, &target, o->source_kind, o->source_id, &source, diag);
		o->change.source = source.repo;
		if (source.repo == 0)
			o->fault = "there is no such file in the source";
		else if (source.is_guarded)
			o->fault = "the source is private or gated: only an admin of it can copy its files to a place "
				   "that everybody may read";
	}
	return status;
}

static const char *bucket_fault(enum cairn_index_change_kind kind)
{
	return kind == CAIRN_INDEX_OBJECT_COPY ? "there is no such file in the source"
					       : "no file of this xetHash was uploaded to this bucket; upload it first";
}

enum cairn_status cairn_hub_change_bucket(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					  const struct cairn_index_repo *repo, struct cairn_hub_operations *operations,
					  uint32_t *n_failed, struct cairn_diag *diag)
{
	struct cairn_index_change *changes = calloc((size_t)operations->n + 1, sizeof(*changes));
	struct cairn_index_change_objects request = {.repo = repo->id, .changes = changes};
	enum cairn_status status = changes ? bucket_find_sources(hub, asker, repo, operations, diag) : CAIRN_E_NOMEM;
	*n_failed = 0;
	for (uint32_t i = 0; i < operations->n && status == CAIRN_OK; i++)
		if (!operations->all[i].fault)
			changes[request.n++] = operations->all[i].change;
	if (status == CAIRN_OK && request.n > 0) {
		status = cairn_index_change_objects(hub->index, &request);
		*diag = request.write.diag;
	}
	for (uint32_t i = 0, done = 0; i < operations->n && status == CAIRN_OK; i++) {
		struct cairn_hub_operation *o = &operations->all[i];
		if (!o->fault && changes[done++].failed)
			o->fault = bucket_fault(o->change.kind);
		*n_failed += o->fault != NULL;
	}
	free(changes);
	return status;
}

struct bucket_list {
	size_t prefix_len;
	bool recursive;
	unsigned n;
	bool again; /* continue after the folder just listed */
	void (*visit)(void *ctx, const struct cairn_hub_entry *entry);
	void *ctx;
	char *next;
	char from[CAIRN_INDEX_PATH_MAX + 1];
};

/* Finds the slash that ends the folder in a path. @return NULL: the path is listed as a file */
static const char *bucket_folder_end(const struct bucket_list *list, const char *path)
{
	const char *rest = path + list->prefix_len;
	rest += list->prefix_len > 0 && *rest == '/';
	return list->recursive ? NULL : strchr(rest, '/');
}

static bool bucket_take(void *ctx, const struct cairn_index_object *object)
{
	struct bucket_list *list = ctx;
	const char *slash = bucket_folder_end(list, object->path);
	if (list->n == CAIRN_HUB_ENTRIES_MAX) {
		(void)snprintf(list->next, CAIRN_INDEX_PATH_MAX + 1, "%s", object->path);
		return false;
	}
	list->n++;
	if (!slash) {
		list->visit(list->ctx, &(struct cairn_hub_entry){.path = object->path, .object = object});
		return true;
	}
	int len = (int)(slash - object->path);
	(void)snprintf(list->from, sizeof(list->from), "%.*s", len, object->path);
	list->visit(list->ctx,
		    &(struct cairn_hub_entry){.path = list->from, .uploaded_unix_ms = object->uploaded_unix_ms});
	/* All paths in the folder sort before this text. */
	list->from[len] = '/' + 1;
	list->from[len + 1] = '\0';
	list->again = true;
	return false;
}

enum cairn_status cairn_hub_list_bucket(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					const char *prefix, bool recursive, const char *from,
					void (*visit)(void *ctx, const struct cairn_hub_entry *entry), void *ctx,
					char next[static CAIRN_INDEX_PATH_MAX + 1])
{
	struct bucket_list list = {
		.prefix_len = strlen(prefix), .recursive = recursive, .visit = visit, .ctx = ctx, .next = next};
	enum cairn_status status;
	next[0] = '\0';
	(void)snprintf(list.from, sizeof(list.from), "%s", from);
	do {
		char start[sizeof(list.from)];
		memcpy(start, list.from, sizeof(start));
		list.again = false;
		status = cairn_index_each_object(hub->index, repo->id, prefix, start, bucket_take, &list);
	} while (status == CAIRN_OK && list.again);
	return status;
}

static enum cairn_status bucket_no_entry(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
}

enum cairn_status cairn_hub_find_object(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					const char *path, struct cairn_index_object *out, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_index_object(hub->index, repo->id, path, out);
	return status == CAIRN_E_NOT_FOUND ? bucket_no_entry(diag) : status;
}

enum cairn_status cairn_hub_open_object(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					const struct cairn_index_object *object, const struct cairn_byte_range *range,
					struct cairn_file_extent *extent, struct cairn_file_reader **out,
					struct cairn_diag *diag)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo->id);
	enum cairn_status status = cairn_file_reader_open(hub->cas, owner, &object->file, range, extent, out, diag);
	return status == CAIRN_E_NOT_FOUND ? bucket_no_entry(diag) : status;
}
