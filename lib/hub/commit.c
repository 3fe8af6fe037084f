#include "hub/commit.h"

#include "hub/kept_card.h"
#include "hub/operation.h"
#include "hub/stranger.h"

#include "base/base64.h"
#include "base/json.h"
#include "hub/path.h"
#include "hub/revision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The memory that one line needs: its path, then its bytes. */
struct cairn_hub_commit_part {
	struct cairn_hub_commit_part *next;
	char bytes[];
};

struct commit_line {
	struct cairn_hub_commit *commit;
	struct cairn_diag *diag;
	uint32_t number;
	const struct cairn_json *value;
	uint32_t cap; /* room in commit->operations */
	bool has_header;
};

void cairn_hub_commit_fini(struct cairn_hub_commit *commit)
{
	for (struct cairn_hub_commit_part *part = commit->parts, *next; part; part = next) {
		next = part->next;
		free(part);
	}
	free(commit->operations);
	*commit = (struct cairn_hub_commit){0};
}

static char *commit_keep(struct cairn_hub_commit *commit, size_t len)
{
	struct cairn_hub_commit_part *part = malloc(sizeof(*part) + len);
	if (!part)
		return NULL;
	part->next = commit->parts;
	commit->parts = part;
	return part->bytes;
}

static const char *commit_keep_text(struct cairn_hub_commit *commit, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = commit_keep(commit, size);
	return copy ? memcpy(copy, text, size) : NULL;
}

static const char *commit_text(const struct commit_line *line, const char *name)
{
	return cairn_json_text_of(line->value, name);
}

/* --- kinds of lines ----------------------------------------------------------------------------------------------- */

static enum cairn_status commit_bad_line(const struct commit_line *line)
{
	return cairn_fail(line->diag, CAIRN_E_FORMAT, "commit.line", CAIRN_NO_OFFSET,
			  "line %u is no JSON object with a key (header, file, lfsFile, deletedFile or deletedFolder) "
			  "and its value",
			  line->number);
}

static enum cairn_status commit_header(struct commit_line *line)
{
	struct cairn_hub_commit *commit = line->commit;
	const char *title = commit_text(line, "summary"), *message = commit_text(line, "description");
	const char *parent = commit_text(line, "parentCommit"), *id = commit_text(line, "commitId");
	if (line->has_header || !title || !title[0])
		return cairn_fail(line->diag, CAIRN_E_FORMAT, "commit.header", CAIRN_NO_OFFSET,
				  "the first line, and no other, is a header with a summary");
	line->has_header = true;
	commit->has_id = id != NULL;
	if (id && !cairn_git_oid_parse(id, &commit->id))
		return cairn_fail(line->diag, CAIRN_E_FORMAT, "commit.id_text", CAIRN_NO_OFFSET,
				  "commitId is no id of a commit: 40 hex digits, in lower case");
	commit->title = commit_keep_text(commit, title);
	commit->message = commit_keep_text(commit, message ? message : "");
	commit->parent = parent && parent[0] ? commit_keep_text(commit, parent) : NULL;
	bool kept = commit->title && commit->message && (!parent || !parent[0] || commit->parent);
	return kept ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Reads a path. Clients may end the path of a folder with a slash, or not. */
static enum cairn_status commit_path(struct commit_line *line, struct cairn_index_operation *o)
{
	const char *path = commit_text(line, "path");
	bool deletes = o->kind == CAIRN_INDEX_DELETE || o->kind == CAIRN_INDEX_DELETE_FOLDER;
	if (!path)
		return commit_bad_line(line);
	size_t len = strlen(path);
	char *copy = commit_keep(line->commit, len + 1);
	if (!copy)
		return CAIRN_E_NOMEM;
	memcpy(copy, path, len + 1);
	if (deletes && len > 0 && copy[len - 1] == '/')
		copy[len - 1] = '\0';
	o->path = copy;
	/* a path that exists may be deleted, whatever its name */
	const char *fault = deletes ? cairn_hub_path_fault(copy) : cairn_hub_file_fault(copy);
	if (!fault)
		return CAIRN_OK;
	return cairn_fail(line->diag, CAIRN_E_FORMAT, "commit.name", CAIRN_NO_OFFSET, "line %u: %s", line->number,
			  fault);
}

static enum cairn_status commit_bad_content(const struct commit_line *line)
{
	return cairn_fail(line->diag, CAIRN_E_FORMAT, "commit.content", CAIRN_NO_OFFSET,
			  "line %u has no content, or none in its encoding (base64 or utf-8)", line->number);
}

static enum cairn_status commit_too_long(const struct commit_line *line)
{
	return cairn_fail(line->diag, CAIRN_E_LIMIT, "commit.inline", CAIRN_NO_OFFSET,
			  "the file of line %u has more than %d bytes; upload it, and commit its SHA-256 (lfsFile)",
			  line->number, CAIRN_INDEX_INLINE_MAX);
}

static enum cairn_status commit_file(struct commit_line *line, struct cairn_index_operation *o)
{
	const char *content = commit_text(line, "content"), *encoding = commit_text(line, "encoding");
	bool plain = encoding && strcmp(encoding, "utf-8") == 0;
	uint64_t size;
	if (!content || (encoding && !plain && strcmp(encoding, "base64") != 0))
		return commit_bad_content(line);
	size_t len = strlen(content);
	if (len > CAIRN_INDEX_INLINE_MAX / 3 * 4 + 8)
		return commit_too_long(line);
	char *bytes = commit_keep(line->commit, len + 1);
	if (!bytes)
		return CAIRN_E_NOMEM;
	enum cairn_status status = CAIRN_OK;
	o->len = len;
	if (plain)
		memcpy(bytes, content, len + 1);
	else
		status = cairn_base64_decode((uint8_t *)bytes, len, &o->len, content, len);
	if (status != CAIRN_OK)
		return commit_bad_content(line);
	if (o->len > CAIRN_INDEX_INLINE_MAX)
		return commit_too_long(line);
	o->bytes = (uint8_t *)bytes;
	/* The text of a pointer stands for the file that it names, as in git. */
	if (cairn_lfs_pointer_parse(o->bytes, o->len, o->sha256, &size))
		o->kind = CAIRN_INDEX_PUT_FILE;
	return cairn_git_blob(&o->oid, o->bytes, o->len);
}

static enum cairn_status commit_lfs_file(struct commit_line *line, struct cairn_index_operation *o)
{
	const char *oid = commit_text(line, "oid"), *algo = commit_text(line, "algo");
	if (oid && (!algo || strcmp(algo, "sha256") == 0) &&
	    cairn_hex_parse(o->sha256, sizeof(o->sha256), oid, strlen(oid)) == CAIRN_OK)
		return CAIRN_OK;
	return cairn_fail(line->diag, CAIRN_E_FORMAT, "commit.sha256_text", CAIRN_NO_OFFSET,
			  "the oid of line %u is no SHA-256 of 64 hex digits", line->number);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool commit_kind(const char *key, enum cairn_index_operation_kind *out)
{
	static const char *const KEYS[] = {
		[CAIRN_INDEX_PUT_INLINE] = "file",
		[CAIRN_INDEX_PUT_FILE] = "lfsFile",
		[CAIRN_INDEX_DELETE] = "deletedFile",
		[CAIRN_INDEX_DELETE_FOLDER] = "deletedFolder",
	};
	for (unsigned i = 0; key && i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
		*out = (enum cairn_index_operation_kind)i;
		if (KEYS[i] && strcmp(key, KEYS[i]) == 0)
			return true;
	}
	return false;
}

static struct cairn_index_operation *commit_room(struct commit_line *line)
{
	struct cairn_hub_commit *commit = line->commit;
	if (commit->n == line->cap) {
		uint32_t cap = line->cap ? line->cap * 2 : 64;
		void *operations = realloc(commit->operations, cap * sizeof(*commit->operations));
		if (!operations)
			return NULL;
		commit->operations = operations;
		line->cap = cap;
	}
	return &commit->operations[commit->n++];
}

static enum cairn_status commit_operation(struct commit_line *line, const char *key)
{
	enum cairn_index_operation_kind kind;
	if (!commit_kind(key, &kind))
		return commit_bad_line(line);
	if (line->commit->n == CAIRN_INDEX_OPERATIONS_MAX)
		return cairn_fail(line->diag, CAIRN_E_LIMIT, "commit.lines", CAIRN_NO_OFFSET,
				  "more than %d operations; make several commits", CAIRN_INDEX_OPERATIONS_MAX);
	struct cairn_index_operation *o = commit_room(line);
	if (!o)
		return CAIRN_E_NOMEM;
	*o = (struct cairn_index_operation){.kind = kind};
	enum cairn_status status = commit_path(line, o);
	if (status == CAIRN_OK && kind == CAIRN_INDEX_PUT_INLINE)
		status = commit_file(line, o);
	if (status == CAIRN_OK && kind == CAIRN_INDEX_PUT_FILE)
		status = commit_lfs_file(line, o);
	return status;
}

static enum cairn_status commit_read_line(struct commit_line *line, const char *text, size_t len)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	enum cairn_status status = cairn_json_parse_some(&json, text, len, CAIRN_HUB_LINE_VALUES_MAX);
	if (status == CAIRN_E_NOMEM)
		return status;
	const char *key = cairn_json_text_of(json, "key");
	line->value = cairn_json_get(json, "value");
	if (!key || !cairn_json_is_object(line->value))
		return commit_bad_line(line);
	if (strcmp(key, "header") == 0 || !line->has_header)
		return commit_header(line);
	return commit_operation(line, key);
}

enum cairn_status cairn_hub_commit_read(struct cairn_hub_commit *out, const char *text, size_t len,
					struct cairn_diag *diag)
{
	struct commit_line line = {.commit = out, .diag = diag};
	enum cairn_status status = CAIRN_OK;
	*out = (struct cairn_hub_commit){0};
	for (const char *end = text + len; status == CAIRN_OK && text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;
		size_t line_len = (size_t)(stop - text);
		line.number++;
		if (line_len > 0 && text[line_len - 1] == '\r')
			line_len--;
		if (line_len > 0)
			status = commit_read_line(&line, text, line_len);
		text = stop + 1;
	}
	if (status == CAIRN_OK && !line.has_header)
		status = cairn_fail(diag, CAIRN_E_FORMAT, "commit.header", CAIRN_NO_OFFSET,
				    "the first line, and no other, is a header with a summary");
	if (status != CAIRN_OK)
		cairn_hub_commit_fini(out);
	return status;
}

/* --- committing --------------------------------------------------------------------------------------------------- */

/* Refuses an id chosen by a user: an id decides which files people get who pinned that revision. */
enum cairn_status cairn_hub_may_name(const struct cairn_hub_asker *asker, const struct cairn_hub_commit *commit,
				     struct cairn_diag *diag)
{
	if (!commit->has_id || asker->kind == CAIRN_HUB_OPERATOR)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_DENIED, "commit.id", CAIRN_NO_OFFSET,
			  "only an operator's key gives a commit the id that it has elsewhere");
}

enum cairn_status cairn_hub_commit(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				   const struct cairn_index_repo *repo, const char *revision,
				   const struct cairn_hub_commit *commit, struct cairn_git_oid *oid,
				   struct cairn_diag *diag)
{
	char email[CAIRN_HUB_EMAIL_BYTES];
	struct cairn_hub_ref_name ref;
	cairn_hub_ref_name(revision, &ref);
	cairn_hub_email(email, cairn_hub_author(asker));
	struct cairn_index_add_commit add = {
		.repo = repo->id,
		.kind = ref.kind,
		.ref = ref.name,
		.parent = commit->parent,
		.id = commit->has_id ? &commit->id : NULL,
		.message = {.author = cairn_hub_author(asker),
			    .email = email,
			    .title = commit->title,
			    .message = commit->message},
		.operations = commit->operations,
		.n = commit->n,
		.stranger = commit->is_stranger ? asker->account.id : 0,
	};
	if (ref.kind == CAIRN_INDEX_TAG)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "revision.unknown", CAIRN_NO_OFFSET, "Revision not found");
	enum cairn_status status = cairn_hub_may_name(asker, commit, diag);
	if (status == CAIRN_OK && commit->is_stranger)
		status = cairn_hub_check_proposal(repo, commit, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_add_commit(hub->index, &add);
	*oid = add.oid;
	*diag = add.write.diag;
	if (status == CAIRN_OK && ref.kind == CAIRN_INDEX_BRANCH && strcmp(ref.name, CAIRN_HUB_MAIN) == 0)
		cairn_hub_keep_card_after(hub, repo, commit->operations, commit->n);
	return status;
}

/* --- history ------------------------------------------------------------------------------------------------------ */

struct commit_page {
	uint32_t left;
	void (*visit)(void *ctx, const struct cairn_index_commit *commit, const char *message);
	void *ctx;
};

static bool commit_take(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	struct commit_page *page = ctx;
	page->visit(page->ctx, commit, message);
	return --page->left > 0;
}

enum cairn_status cairn_hub_each_commit(
	const struct cairn_hub *hub, const struct cairn_index_commit *from, uint64_t skip, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_commit *commit, const char *message), void *ctx)
{
	struct commit_page page = {.left = limit, .visit = visit, .ctx = ctx};
	if (limit == 0)
		return CAIRN_OK;
	return cairn_index_each_commit(hub->index, from, skip, commit_take, &page);
}
