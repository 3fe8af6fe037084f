#include "hub/duplicate.h"

#include "hub/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of the source as operations, with the memory that these borrow. */
struct duplicate {
	struct cairn_index_operation *operations; /* owned, with the path and bytes of each */
	int64_t *contents;                        /* owned: ids of the contents of inline files, else 0 */
	uint32_t n, cap;
	uint64_t text_bytes;
	enum cairn_status status;
	char lost[CAIRN_INDEX_PATH_MAX + 1]; /* with CAIRN_E_CONFLICT: the path of a file without bytes */
};

static void duplicate_fini(struct duplicate *d)
{
	for (uint32_t i = 0; i < d->n; i++) {
		free((void *)(uintptr_t)d->operations[i].path);
		free((void *)(uintptr_t)d->operations[i].bytes);
	}
	free(d->operations);
	free(d->contents);
}

static bool duplicate_room(struct duplicate *d)
{
	if (d->n < d->cap)
		return true;
	uint32_t cap = d->cap ? 2 * d->cap : 256;
	struct cairn_index_operation *operations = realloc(d->operations, cap * sizeof(*operations));
	d->operations = operations ? operations : d->operations;
	int64_t *contents = realloc(d->contents, cap * sizeof(*contents));
	d->contents = contents ? contents : d->contents;
	d->cap = operations && contents ? cap : d->cap;
	return d->n < d->cap;
}

/* Collects the entries. Inline files are read afterwards. */
static bool duplicate_take(void *ctx, const struct cairn_index_entry *entry)
{
	struct duplicate *d = ctx;
	bool is_inline = entry->kind == CAIRN_INDEX_INLINE;
	if (entry->kind == CAIRN_INDEX_FOLDER)
		return true;
	if (!is_inline && !entry->has_file) {
		(void)snprintf(d->lost, sizeof(d->lost), "%s%s%s", entry->folder, entry->folder[0] ? "/" : "",
			       entry->name);
		d->status = CAIRN_E_CONFLICT;
		return false;
	}
	d->text_bytes += is_inline ? entry->size_bytes : 0;
	if (d->n == CAIRN_INDEX_OPERATIONS_MAX || d->text_bytes > CAIRN_HUB_DUPLICATE_TEXT_BYTES_MAX) {
		d->status = CAIRN_E_LIMIT;
		return false;
	}
	char *path = duplicate_room(d) ? cairn_hub_entry_path_new(entry) : NULL;
	if (!path) {
		d->status = CAIRN_E_NOMEM;
		return false;
	}
	d->contents[d->n] = is_inline ? entry->content : 0;
	struct cairn_index_operation *o = &d->operations[d->n++];
	*o = (struct cairn_index_operation){.kind = is_inline ? CAIRN_INDEX_PUT_INLINE : CAIRN_INDEX_PUT_FILE,
					    .path = path,
					    .oid = entry->oid,
					    .len = is_inline ? entry->size_bytes : 0};
	memcpy(o->sha256, entry->sha256, sizeof(o->sha256));
	return true;
}

static enum cairn_status duplicate_read_text(const struct cairn_hub *hub, struct duplicate *d, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < d->n && status == CAIRN_OK; i++) {
		uint8_t *bytes;
		struct cairn_index_operation *o = &d->operations[i];
		const struct cairn_index_entry entry = {
			.kind = CAIRN_INDEX_INLINE, .content = d->contents[i], .oid = o->oid, .size_bytes = o->len};
		if (d->contents[i] == 0)
			continue;
		status = cairn_hub_read_inline(hub, &entry, &bytes, &o->len, diag);
		o->bytes = bytes;
	}
	return status;
}

static enum cairn_status duplicate_read(const struct cairn_hub *hub, const struct cairn_index_repo *source,
					struct duplicate *d, struct cairn_diag *diag)
{
	struct cairn_index_commit head;
	if (source->is_mirrored)
		return cairn_fail(diag, CAIRN_E_DENIED, "mirror.copy", CAIRN_NO_OFFSET,
				  "a repository of the mirrored hub is not copied here: download it, and upload it");
	enum cairn_status status = cairn_hub_find_ref(hub, source, CAIRN_HUB_MAIN, &head, diag);
	if (status == CAIRN_OK)
		status = cairn_hub_list_all(hub, &head, duplicate_take, d, diag);
	if (d->status == CAIRN_E_LIMIT)
		return cairn_fail(diag, d->status, "repo.duplicate", CAIRN_NO_OFFSET,
				  "a copy has at most %d files and %d MiB of text", CAIRN_INDEX_OPERATIONS_MAX,
				  CAIRN_HUB_DUPLICATE_TEXT_BYTES_MAX >> 20);
	if (d->status == CAIRN_E_CONFLICT)
		return cairn_fail(diag, d->status, "commit.bytes", CAIRN_NO_OFFSET,
				  "the bytes of \"%.150s\" were deleted, or do not have its SHA-256: upload the file "
				  "again or delete it, then copy",
				  d->lost);
	if (status == CAIRN_OK)
		status = d->status;
	return status == CAIRN_OK ? duplicate_read_text(hub, d, diag) : status;
}

/* Finds the account whose admins decide whether a copy is public. If there are two such accounts, only the operator
 * decides.
 * @return as the guard of struct cairn_index_repo; 0: everybody may have the files */
static int64_t duplicate_guard(const struct cairn_index_repo *source)
{
	if (!source->is_private && source->gate == CAIRN_INDEX_GATE_NONE)
		return 0;
	return source->guard == 0 || source->guard == source->account ? source->account : CAIRN_INDEX_NO_ACCOUNT;
}

/* Decides whether the copy is private. If only members may have the source's files, a reader may not publish them. */
static enum cairn_status duplicate_privacy(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					   const struct cairn_index_repo *source, const bool *said, bool *is_private,
					   struct cairn_diag *diag)
{
	int64_t guard = duplicate_guard(source);
	enum cairn_hub_access access = CAIRN_HUB_SEE;
	*is_private = said ? *said : guard != 0;
	if (guard == 0 || *is_private)
		return CAIRN_OK;
	enum cairn_status status = cairn_hub_access_in(hub, asker, guard, &access);
	if (status != CAIRN_OK || access >= CAIRN_HUB_ADMIN)
		return status;
	return cairn_fail(diag, CAIRN_E_DENIED, "repo.guarded", CAIRN_NO_OFFSET,
			  "\"%s/%s\" is private or gated: make the copy private, or let an admin of the source "
			  "make it",
			  source->account_name, source->name);
}

enum cairn_status cairn_hub_duplicate(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				      const struct cairn_index_repo *source, const struct cairn_hub_new_repo *copy,
				      const bool *is_private, struct cairn_index_repo *out, struct cairn_diag *diag)
{
	CLEANUP(duplicate_fini) struct duplicate d = {.status = CAIRN_OK};
	struct cairn_hub_new_repo made = *copy;
	*out = (struct cairn_index_repo){0};
	enum cairn_status status = duplicate_privacy(hub, asker, source, is_private, &made.is_private, diag);
	if (status == CAIRN_OK)
		status = duplicate_read(hub, source, &d, diag);
	if (status != CAIRN_OK)
		return status;
	made.sdk = source->sdk;
	made.source = source->id;
	made.guard = duplicate_guard(source);
	made.operations = d.operations;
	made.n = d.n;
	return cairn_hub_make_repo(hub, asker, &made, out, diag);
}

enum cairn_status cairn_hub_guard_copy(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *source, struct cairn_index_repo *target,
				       struct cairn_diag *diag)
{
	struct cairn_index_guard_repo request = {.id = target->id, .guard = duplicate_guard(source)};
	enum cairn_hub_access access = CAIRN_HUB_SEE;
	if (request.guard == 0 || source->id == target->id)
		return CAIRN_OK;
	enum cairn_status status = cairn_hub_access_in(hub, asker, request.guard, &access);
	if (status != CAIRN_OK || access >= CAIRN_HUB_ADMIN)
		return status;
	/* Refuse a target with a gate: its admins could admit anybody. */
	if (!target->is_private)
		return cairn_fail(diag, CAIRN_E_DENIED, "repo.guarded", CAIRN_NO_OFFSET,
				  "\"%s/%s\" is private or gated: only an admin of it can copy its files to a place "
				  "that others may read",
				  source->account_name, source->name);
	/* only admins of the guard can publish the target, so it needs no guard */
	if (target->account == request.guard && target->guard == 0)
		return CAIRN_OK;
	if (target->guard == request.guard || target->guard == CAIRN_INDEX_NO_ACCOUNT)
		return CAIRN_OK;
	status = cairn_index_guard_repo(hub->index, &request);
	*diag = request.write.diag;
	if (status == CAIRN_OK)
		target->guard = target->guard == 0 ? request.guard : CAIRN_INDEX_NO_ACCOUNT;
	return status;
}

enum cairn_status cairn_hub_duplicate_files(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					    const struct cairn_index_repo *source,
					    const struct cairn_index_repo *target, struct cairn_index_adopted *files,
					    uint32_t n, struct cairn_diag *diag)
{
	struct cairn_index_adopt_files adopt = {.source = source->id, .repo = target->id, .files = files, .n = n};
	struct cairn_index_repo guarded = *target;
	enum cairn_status status = cairn_hub_guard_copy(hub, asker, source, &guarded, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_adopt_files(hub->index, &adopt);
	*diag = adopt.write.diag;
	return status;
}
