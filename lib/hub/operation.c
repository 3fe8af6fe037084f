#include "hub/operation.h"

#include "hub/path.h"
#include "index/quota.h"

#include <stdlib.h>
#include <string.h>

/* The years 1 to 9999, in milliseconds. */
#define OPERATION_TIME_MIN (-62135596800000)
#define OPERATION_TIME_MAX 253402300799999

static const char *operation_text(const struct cairn_hub_operation *o, const char *name)
{
	return cairn_json_text_of(o->json, name);
}

/* Returns a media type that can be sent in a header. Any other text counts as absent. */
static const char *operation_media_type(const struct cairn_hub_operation *o)
{
	const char *type = operation_text(o, "contentType");
	if (!type || !strchr(type, '/') || strlen(type) > CAIRN_INDEX_TYPE_MAX)
		return "";
	for (const char *p = type; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			return "";
	return type;
}

/* "mtime" may be missing or null. */
static bool operation_take_time(struct cairn_hub_operation *o)
{
	const struct cairn_json *mtime = cairn_json_get(o->json, "mtime");
	struct cairn_index_change *change = &o->change;
	change->has_mtime = cairn_json_i64(mtime, &change->mtime_unix_ms);
	return !change->has_mtime ||
	       (change->mtime_unix_ms >= OPERATION_TIME_MIN && change->mtime_unix_ms <= OPERATION_TIME_MAX);
}

/* Finds a kind by its singular name: "model" for models. @return 0: no kind has this name */
static enum cairn_index_repo_kind operation_kind(const char *name)
{
	size_t len = strlen(name);
	for (enum cairn_index_repo_kind kind = CAIRN_INDEX_MODEL; kind <= CAIRN_INDEX_KERNEL; kind++) {
		const char *several = cairn_index_kind_name(kind);
		if (strncmp(several, name, len) == 0 && strcmp(several + len, "s") == 0)
			return kind;
	}
	return (enum cairn_index_repo_kind)0;
}

static const char *operation_take_source(struct cairn_hub_operation *o)
{
	const char *kind = operation_text(o, "sourceRepoType");
	o->source_id = operation_text(o, "sourceRepoId");
	if (o->change.kind != CAIRN_INDEX_OBJECT_COPY)
		return NULL;
	if (!kind || !o->source_id)
		return "a copyFile has sourceRepoType and sourceRepoId";
	o->source_kind = operation_kind(kind);
	return o->source_kind == 0 ? "sourceRepoType is bucket, model, dataset, space or kernel" : NULL;
}

static const char *operation_fault(struct cairn_hub_operation *o)
{
	bool drops = o->change.kind == CAIRN_INDEX_OBJECT_DROP;
	const char *fault = drops ? cairn_hub_path_fault(o->change.path) : cairn_hub_new_path_fault(o->change.path);
	if (fault || drops)
		return fault;
	const char *hash = operation_text(o, "xetHash");
	o->change.type = operation_media_type(o);
	if (!hash || cairn_hash_parse(&o->change.file, hash, strlen(hash)) != CAIRN_OK)
		return "xetHash is 64 hexadecimal digits";
	if (!operation_take_time(o))
		return "mtime is milliseconds between the years 1 and 9999";
	return operation_take_source(o);
}

static bool operation_take_kind(struct cairn_hub_operation *o)
{
	static const char *const KINDS[] = {
		[CAIRN_INDEX_OBJECT_SET] = "addFile",
		[CAIRN_INDEX_OBJECT_COPY] = "copyFile",
		[CAIRN_INDEX_OBJECT_DROP] = "deleteFile",
	};
	const char *type = operation_text(o, "type");
	for (unsigned i = 0; type && i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
		o->change.kind = (enum cairn_index_change_kind)i;
		if (strcmp(type, KINDS[i]) == 0)
			return true;
	}
	return false;
}

static enum cairn_status operation_read(struct cairn_hub_operation *o, const char *line, size_t len, uint32_t number,
					struct cairn_diag *diag)
{
	enum cairn_status status = cairn_json_parse_some(&o->json, line, len, CAIRN_HUB_LINE_VALUES_MAX);
	if (status == CAIRN_E_NOMEM)
		return status;
	o->change.path = operation_text(o, "path");
	if (!operation_take_kind(o) || !o->change.path || !o->change.path[0])
		return cairn_fail(diag, CAIRN_E_FORMAT, "batch.line", CAIRN_NO_OFFSET,
				  "line %u is no JSON object with a type (addFile, copyFile or deleteFile) and a path",
				  number);
	if (strlen(o->change.path) > CAIRN_INDEX_PATH_MAX)
		return cairn_fail(diag, CAIRN_E_FORMAT, "batch.path", CAIRN_NO_OFFSET,
				  "the path of line %u has more than %d bytes", number, CAIRN_INDEX_PATH_MAX);
	o->fault = operation_fault(o);
	return CAIRN_OK;
}

static enum cairn_status operation_add(struct cairn_hub_operations *operations, const char *line, size_t len,
				       uint32_t number, struct cairn_diag *diag)
{
	if (operations->n == CAIRN_HUB_OPERATIONS_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "batch.lines", CAIRN_NO_OFFSET,
				  "more than %d lines; send them in several requests", CAIRN_HUB_OPERATIONS_MAX);
	return operation_read(&operations->all[operations->n++], line, len, number, diag);
}

enum cairn_status cairn_hub_operations_read(struct cairn_hub_operations *out, const char *text, size_t len,
					    struct cairn_diag *diag)
{
	uint32_t number = 0;
	*out = (struct cairn_hub_operations){.all = calloc(CAIRN_HUB_OPERATIONS_MAX, sizeof(*out->all))};
	enum cairn_status status = CAIRN_OK;
	if (!out->all)
		return CAIRN_E_NOMEM;
	for (const char *end = text + len; status == CAIRN_OK && text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;
		size_t line_len = (size_t)(stop - text);
		number++;
		if (line_len > 0 && text[line_len - 1] == '\r')
			line_len--;
		if (line_len > 0)
			status = operation_add(out, text, line_len, number, diag);
		text = stop + 1;
	}
	if (status != CAIRN_OK)
		cairn_hub_operations_fini(out);
	return status;
}

void cairn_hub_operations_fini(struct cairn_hub_operations *operations)
{
	for (uint32_t i = 0; operations->all && i < operations->n; i++)
		cairn_json_free(operations->all[i].json);
	free(operations->all);
	*operations = (struct cairn_hub_operations){0};
}
