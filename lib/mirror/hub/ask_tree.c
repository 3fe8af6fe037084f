#include "mirror/hub/ask_tree.h"

#include "base/json.h"
#include "mirror/hub/ask_refused.h"

#include <stdlib.h>
#include <string.h>

static const int64_t TREE_FILE_BYTES_MAX = INT64_C(1) << 50;

void mirror_tree_fini(struct mirror_tree *tree)
{
	for (uint32_t i = 0; i < tree->n; i++)
		free(tree->all[i].path);
	free(tree->all);
	*tree = (struct mirror_tree){0};
}

void mirror_ask_tree(struct mirror_call *call)
{
	call->body_bytes_max = MIRROR_TREE_BYTES_MAX;
	call->deadline_ms = MIRROR_TREE_MS;
}

static bool tree_read_hex(uint8_t *out, size_t n, const char *text)
{
	return text && cairn_hex_parse(out, n, text, strlen(text)) == CAIRN_OK;
}

/* Reads a file. @return false: the entry is malformed */
static bool tree_read_file(struct mirror_file *out, const struct cairn_json *entry)
{
	const struct cairn_json *lfs = cairn_json_get(entry, "lfs");
	int64_t size;
	*out = (struct mirror_file){.has_pointer = cairn_json_is_object(lfs)};
	if (!cairn_json_i64_of(entry, "size", &size) || size < 0 || size > TREE_FILE_BYTES_MAX)
		return false;
	out->size_bytes = (uint64_t)size;
	if (!tree_read_hex(out->oid.b, sizeof(out->oid.b), cairn_json_text_of(entry, "oid")))
		return false;
	return !out->has_pointer || tree_read_hex(out->sha256, sizeof(out->sha256), cairn_json_text_of(lfs, "oid"));
}

static enum cairn_status tree_has_room(struct mirror_tree *tree, struct cairn_diag *diag)
{
	if (tree->n == MIRROR_TREE_FILES_MAX || tree->n_entries > MIRROR_TREE_ENTRIES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "mirror.tree", CAIRN_NO_OFFSET,
				  "the repository has more than the %d files, or %d entries, that are mirrored",
				  MIRROR_TREE_FILES_MAX, MIRROR_TREE_ENTRIES_MAX);
	if (tree->n < tree->cap)
		return CAIRN_OK;
	uint32_t cap = tree->cap ? 2 * tree->cap : 256;
	struct mirror_file *all = realloc(tree->all, cap * sizeof(*all));
	if (!all)
		return CAIRN_E_NOMEM;
	tree->all = all;
	tree->cap = cap;
	return CAIRN_OK;
}

static enum cairn_status tree_add(struct mirror_tree *tree, const struct cairn_json *entry, struct cairn_diag *diag)
{
	const char *type = cairn_json_text_of(entry, "type"), *path = cairn_json_text_of(entry, "path");
	struct mirror_file file;
	tree->n_entries++;
	enum cairn_status status = tree_has_room(tree, diag);
	if (status != CAIRN_OK || (type && strcmp(type, "directory") == 0))
		return status;
	if (!type || strcmp(type, "file") != 0 || !path || !tree_read_file(&file, entry))
		return mirror_no_hub("an entry of the tree lacks its path, size or id", diag);
	file.path = strdup(path);
	if (!file.path)
		return CAIRN_E_NOMEM;
	tree->all[tree->n++] = file;
	return CAIRN_OK;
}

/* Reads the path of the next page from Link: <https://host/path>; rel="next". */
static void tree_take_next(struct mirror_tree *tree, const char *link)
{
	const char *end = strchr(link, '>'), *scheme = strstr(link, "://");
	const char *path = scheme ? strchr(scheme + 3, '/') : strchr(link, '/');
	tree->next[0] = '\0';
	if (link[0] != '<' || !end || !strstr(end, "rel=\"next\"") || !path || path > end)
		return;
	size_t len = (size_t)(end - path);
	if (strncmp(path, "/api/", 5) != 0 || strcspn(path, " \t\"<#") < len)
		return;
	memcpy(tree->next, path, len);
	tree->next[len] = '\0';
}

enum cairn_status mirror_read_tree(struct mirror_tree *tree, const struct mirror_call *call, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	if (call->code != 200)
		return mirror_read_refused(call, diag);
	if (cairn_json_parse_some(&json, (const char *)call->body.bytes, call->body.len, MIRROR_TREE_VALUES_MAX) !=
		    CAIRN_OK ||
	    !cairn_json_is_array(json))
		return mirror_no_hub("the tree of a commit is not a JSON array", diag);
	if (tree->n_pages++ == MIRROR_TREE_PAGES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "mirror.tree", CAIRN_NO_OFFSET,
				  "the tree of the repository has more than the %d pages that are mirrored",
				  MIRROR_TREE_PAGES_MAX);
	enum cairn_status status = CAIRN_OK;
	size_t n = cairn_json_count(json);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++)
		status = tree_add(tree, cairn_json_at(json, i), diag);
	tree_take_next(tree, n > 0 ? call->link : "");
	return status;
}
