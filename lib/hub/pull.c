#include "hub/pull.h"

#include "hub/changes.h"
#include "hub/revision.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PULL_NUMBER_BYTES = 24 };

/* Titles of the commit that ends a pull request. Nobody else can write one, and the line takes no commit after it. */
static const char PULL_CLOSED[] = "Closed", PULL_MERGED[] = "Merged";

void cairn_hub_pull_fini(struct cairn_hub_pull *pull)
{
	free(pull->description);
	*pull = (struct cairn_hub_pull){0};
}

static void pull_text(char out[static PULL_NUMBER_BYTES], int64_t number)
{
	(void)snprintf(out, PULL_NUMBER_BYTES, "%" PRId64, number);
}

/* @param commit  the proposal; its parent and its id count only if it has operations */
static enum cairn_status pull_add(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
				  const struct cairn_index_repo *repo, const struct cairn_index_commit *start,
				  const struct cairn_hub_commit *commit, int64_t *number, struct cairn_git_oid *oid,
				  struct cairn_diag *diag)
{
	char email[CAIRN_HUB_EMAIL_BYTES];
	const char *author = cairn_hub_author(asker);
	cairn_hub_email(email, author);
	struct cairn_index_add_ref add = {
		.repo = repo->id,
		.kind = CAIRN_INDEX_PULL,
		.commit = start->id,
		.first = {.author = author, .email = email, .title = commit->title, .message = commit->message},
		.operations = commit->operations,
		.n = commit->n,
		.id = commit->has_id ? &commit->id : NULL,
	};
	enum cairn_status status = cairn_index_add_ref(cairn_cas_index(cas), &add);
	*number = add.number;
	*oid = add.oid;
	*diag = add.write.diag;
	return status;
}

enum cairn_status cairn_hub_add_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
				     const struct cairn_index_repo *repo, const struct cairn_index_commit *start,
				     const char *title, const char *description, int64_t *number,
				     struct cairn_diag *diag)
{
	const struct cairn_hub_commit none = {.title = title, .message = description};
	struct cairn_git_oid oid;
	return pull_add(cas, asker, repo, start, &none, number, &oid, diag);
}

/* Finds where a pull request starts: at main, or at the commit that the client began with. */
static enum cairn_status pull_find_start(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
					 const struct cairn_index_repo *repo, const char *revision, const char *parent,
					 struct cairn_index_commit *out, struct cairn_diag *diag)
{
	struct cairn_hub_ref_name ref;
	cairn_hub_ref_name(revision, &ref);
	/* Only refs are looked up: the id of a commit names no branch. */
	enum cairn_status status = cairn_index_ref(cairn_cas_index(cas), repo->id, ref.kind, ref.name, out);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(diag, status, "revision.unknown", CAIRN_NO_OFFSET, "Revision not found");
	if (status != CAIRN_OK)
		return status;
	if (ref.kind != CAIRN_INDEX_BRANCH || strcmp(ref.name, CAIRN_HUB_MAIN) != 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "pr.base", CAIRN_NO_OFFSET,
				  "a pull request is for main, and begins there: \"%.100s\" is not main", revision);
	return parent ? cairn_hub_find_revision(cas, asker, repo, parent, out, diag) : CAIRN_OK;
}

enum cairn_status cairn_hub_commit_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
					const struct cairn_index_repo *repo, const char *revision,
					const struct cairn_hub_commit *commit, int64_t *number,
					struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	struct cairn_index_commit start;
	enum cairn_status status = cairn_hub_may_name(asker, commit, diag);
	if (status == CAIRN_OK)
		status = pull_find_start(cas, asker, repo, revision, commit->parent, &start, diag);
	return status == CAIRN_OK ? pull_add(cas, asker, repo, &start, commit, number, oid, diag) : status;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

/* Reads the commits of the pull request's line, newest first. */
struct pull_reading {
	struct cairn_hub_pull *pull;
	bool ended, is_short;
};

/* Notes how the pull request ended. The message of a merge is the oid of main's commit, and the comment. */
static void pull_take_end(struct cairn_hub_pull *pull, const char *message)
{
	char oid[CAIRN_GIT_OID_CHARS + 1];
	(void)snprintf(oid, sizeof(oid), "%s", message);
	bool merged = strcmp(pull->head.title, PULL_MERGED) == 0 && cairn_git_oid_parse(oid, &pull->merged);
	pull->state = merged ? CAIRN_HUB_PULL_MERGED : CAIRN_HUB_PULL_CLOSED;
}

static bool pull_take_commit(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	struct pull_reading *reading = ctx;
	struct cairn_hub_pull *pull = reading->pull;
	if (commit->line != pull->head.line)
		return false;
	if (commit->id == pull->head.id && reading->ended)
		pull_take_end(pull, message);
	pull->first = *commit;
	free(pull->description);
	pull->description = strdup(message);
	reading->is_short = !pull->description;
	return !reading->is_short;
}

static enum cairn_status pull_read(struct cairn_cas *cas, const struct cairn_index_repo *repo, int64_t number,
				   bool ended, struct cairn_hub_pull *out)
{
	struct cairn_index *ix = cairn_cas_index(cas);
	struct pull_reading reading = {.pull = out, .ended = ended};
	char name[PULL_NUMBER_BYTES];
	pull_text(name, number);
	*out = (struct cairn_hub_pull){.number = number};
	enum cairn_status status = cairn_index_ref(ix, repo->id, CAIRN_INDEX_PULL, name, &out->head);
	if (status == CAIRN_OK)
		status = cairn_index_each_commit(ix, &out->head, 0, pull_take_commit, &reading);
	if (status == CAIRN_OK && reading.is_short)
		status = CAIRN_E_NOMEM;
	if (status != CAIRN_OK)
		cairn_hub_pull_fini(out);
	return status;
}

struct pull_row {
	int64_t number;
	bool ended;
};

struct pull_rows {
	const struct cairn_hub_pull_list *list; /* NULL: find the one with this number */
	int64_t number;
	struct pull_row *all; /* owned */
	uint32_t n, room;
	bool is_short;
};

static void pull_rows_fini(struct pull_rows *rows)
{
	free(rows->all);
}

static bool pull_take_ref(void *ctx, const struct cairn_index_ref_row *ref)
{
	struct pull_rows *rows = ctx;
	struct pull_row row = {.number = strtoll(ref->name, NULL, 10), .ended = ref->ended};
	if (ref->kind != CAIRN_INDEX_PULL)
		return true;
	if (rows->list ? !(row.ended ? rows->list->is_ended : rows->list->is_open) : row.number != rows->number)
		return true;
	if (rows->n == rows->room) {
		uint32_t room = rows->room ? 2 * rows->room : 64;
		void *all = realloc(rows->all, room * sizeof(*rows->all));
		rows->is_short = !all;
		if (!all)
			return false;
		rows->all = all;
		rows->room = room;
	}
	rows->all[rows->n++] = row;
	return rows->list != NULL;
}

static enum cairn_status pull_read_rows(struct cairn_cas *cas, const struct cairn_index_repo *repo,
					struct pull_rows *rows)
{
	enum cairn_status status = cairn_hub_each_ref(cas, repo, pull_take_ref, rows);
	return status == CAIRN_OK && rows->is_short ? CAIRN_E_NOMEM : status;
}

static enum cairn_status pull_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "pr.unknown", CAIRN_NO_OFFSET,
			  "there is no pull request of this number");
}

enum cairn_status cairn_hub_find_pull(struct cairn_cas *cas, const struct cairn_index_repo *repo, int64_t number,
				      struct cairn_hub_pull *out, struct cairn_diag *diag)
{
	CLEANUP(pull_rows_fini) struct pull_rows rows = {.number = number};
	*out = (struct cairn_hub_pull){0};
	enum cairn_status status = pull_read_rows(cas, repo, &rows);
	if (status == CAIRN_OK)
		status = rows.n > 0 ? pull_read(cas, repo, number, rows.all[0].ended, out) : CAIRN_E_NOT_FOUND;
	return status == CAIRN_E_NOT_FOUND ? pull_unknown(diag) : status;
}

/* --- listing ------------------------------------------------------------------------------------------------------ */

static int pull_newer_first(const void *a, const void *b)
{
	int64_t x = ((const struct pull_row *)a)->number, y = ((const struct pull_row *)b)->number;
	return (x < y) - (x > y);
}

enum cairn_status cairn_hub_each_pull(struct cairn_cas *cas, const struct cairn_index_repo *repo,
				      const struct cairn_hub_pull_list *list,
				      void (*visit)(void *ctx, const struct cairn_hub_pull *pull), void *ctx,
				      uint32_t *n)
{
	CLEANUP(pull_rows_fini) struct pull_rows rows = {.list = list};
	*n = 0;
	enum cairn_status status = pull_read_rows(cas, repo, &rows);
	if (rows.n > 0)
		qsort(rows.all, rows.n, sizeof(*rows.all), pull_newer_first);
	for (uint32_t i = 0; i < rows.n && i < CAIRN_HUB_PULLS_MAX && status == CAIRN_OK; i++) {
		CLEANUP(cairn_hub_pull_fini) struct cairn_hub_pull pull = {0};
		bool on_page = *n >= list->skip && *n - list->skip < list->limit;
		if (on_page || list->author)
			status = pull_read(cas, repo, rows.all[i].number, rows.all[i].ended, &pull);
		if (status == CAIRN_E_NOT_FOUND) { /* it was deleted meanwhile */
			status = CAIRN_OK;
			continue;
		}
		if (status != CAIRN_OK || (list->author && strcmp(pull.first.author, list->author) != 0))
			continue;
		if (on_page)
			visit(ctx, &pull);
		(*n)++;
	}
	return status;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_hub_close_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *repo, const struct cairn_hub_pull *pull,
				       const char *comment, struct cairn_diag *diag)
{
	char name[PULL_NUMBER_BYTES], parent[CAIRN_GIT_OID_CHARS + 1], email[CAIRN_HUB_EMAIL_BYTES];
	const char *author = cairn_hub_author(asker);
	pull_text(name, pull->number);
	cairn_git_oid_text(parent, &pull->head.oid);
	cairn_hub_email(email, author);
	struct cairn_index_add_commit last = {
		.repo = repo->id,
		.kind = CAIRN_INDEX_PULL,
		.ref = name,
		.parent = parent,
		.message = {.author = author, .email = email, .title = PULL_CLOSED, .message = comment},
		.ends = true,
	};
	enum cairn_status status = cairn_index_add_commit(cairn_cas_index(cas), &last);
	*diag = last.write.diag;
	return status;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

struct pull_merge {
	struct cairn_cas *cas;
	struct cairn_index_commit main;
	struct cairn_hub_changes changes;
	struct cairn_index_operation *operations; /* owned, with the text of each */
	uint32_t n;
	size_t text_bytes;
};

static void pull_merge_fini(struct pull_merge *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free((void *)(uintptr_t)m->operations[i].bytes);
	free(m->operations);
	cairn_hub_changes_fini(&m->changes);
}

static enum cairn_status pull_too_large(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_LIMIT, "pr.large", CAIRN_NO_OFFSET,
			  "the pull request changes more than %d files, or more than %d MiB of text: commit it to main "
			  "in parts",
			  CAIRN_INDEX_OPERATIONS_MAX, CAIRN_HUB_MERGE_TEXT_BYTES_MAX >> 20);
}

static bool pull_same(const struct cairn_index_entry *a, bool has_a, const struct cairn_index_entry *b, bool has_b)
{
	if (!has_a || !has_b)
		return has_a == has_b;
	return a->kind == b->kind && cairn_git_oid_equal(&a->oid, &b->oid);
}

static enum cairn_status pull_put_text(struct pull_merge *m, const struct cairn_index_entry *entry,
				       struct cairn_index_operation *o, struct cairn_diag *diag)
{
	uint8_t *bytes;
	enum cairn_status status = cairn_hub_read_inline(m->cas, entry, &bytes, &o->len, diag);
	o->bytes = bytes;
	m->text_bytes += o->len;
	return status == CAIRN_OK && m->text_bytes > CAIRN_HUB_MERGE_TEXT_BYTES_MAX ? pull_too_large(diag) : status;
}

static enum cairn_status pull_add_operation(struct pull_merge *m, const struct cairn_hub_change *change,
					    struct cairn_diag *diag)
{
	const struct cairn_index_entry *after = &change->after;
	struct cairn_index_operation *o = &m->operations[m->n++];
	*o = (struct cairn_index_operation){.kind = CAIRN_INDEX_DELETE, .path = change->path, .oid = after->oid};
	if (change->kind == CAIRN_HUB_REMOVED)
		return CAIRN_OK;
	o->kind = after->kind == CAIRN_INDEX_XET ? CAIRN_INDEX_PUT_FILE : CAIRN_INDEX_PUT_INLINE;
	memcpy(o->sha256, after->sha256, sizeof(o->sha256));
	return after->kind == CAIRN_INDEX_XET ? CAIRN_OK : pull_put_text(m, after, o, diag);
}

/* Merges one change. Main may have it already. If main has neither that nor the state before, it is a conflict. */
static enum cairn_status pull_merge_one(struct pull_merge *m, const struct cairn_hub_change *change,
					struct cairn_diag *diag)
{
	struct cairn_index_entry now;
	enum cairn_status status = cairn_index_entry(cairn_cas_index(m->cas), &m->main, change->path, &now);
	bool has_now = status == CAIRN_OK;
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	if (pull_same(&now, has_now, &change->after, change->kind != CAIRN_HUB_REMOVED))
		return CAIRN_OK;
	if (pull_same(&now, has_now, &change->before, change->kind != CAIRN_HUB_ADDED))
		return pull_add_operation(m, change, diag);
	return cairn_fail(
		diag, CAIRN_E_CONFLICT, "pr.conflict", CAIRN_NO_OFFSET,
		"\"%.200s\" was changed on main, too, since the pull request began: commit it to main yourself, "
		"and close this one",
		change->path);
}

/* Deletions come first: a file may take the place of a folder. */
static enum cairn_status pull_plan(struct pull_merge *m, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	m->operations = calloc((size_t)m->changes.n + 1, sizeof(*m->operations));
	if (!m->operations)
		return CAIRN_E_NOMEM;
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < m->changes.n && status == CAIRN_OK; i++)
			if ((m->changes.all[i].kind == CAIRN_HUB_REMOVED) == (pass == 0))
				status = pull_merge_one(m, &m->changes.all[i], diag);
	return status;
}

static void pull_merge_title(char out[static CAIRN_INDEX_TITLE_MAX + 1], const struct cairn_hub_pull *pull)
{
	int len = snprintf(out, CAIRN_INDEX_TITLE_MAX + 1, "Merge refs/pr/%" PRId64 ": %s", pull->number,
			   pull->first.title);
	if (len < 0 || len > CAIRN_INDEX_TITLE_MAX) /* cutting it might split a character */
		(void)snprintf(out, CAIRN_INDEX_TITLE_MAX + 1, "Merge refs/pr/%" PRId64, pull->number);
}

/* Merges and ends the pull request in one write, so both happen or neither. The write is refused if main or the pull
 * request got another commit since it was read. */
static enum cairn_status pull_commit(struct pull_merge *m, const struct cairn_hub_asker *asker,
				     const struct cairn_index_repo *repo, const struct cairn_hub_pull *pull,
				     const char *comment, struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	char title[CAIRN_INDEX_TITLE_MAX + 1], main[CAIRN_GIT_OID_CHARS + 1], head[CAIRN_GIT_OID_CHARS + 1];
	char email[CAIRN_HUB_EMAIL_BYTES], name[PULL_NUMBER_BYTES];
	const char *author = cairn_hub_author(asker);
	pull_merge_title(title, pull);
	pull_text(name, pull->number);
	cairn_git_oid_text(main, &m->main.oid);
	cairn_git_oid_text(head, &pull->head.oid);
	cairn_hub_email(email, author);
	struct cairn_index_add_commit add = {
		.repo = repo->id,
		.kind = CAIRN_INDEX_BRANCH,
		.ref = CAIRN_HUB_MAIN,
		.parent = main,
		.message = {.author = author, .email = email, .title = title, .message = comment},
		.operations = m->operations,
		.n = m->n,
		.merge = {.pull = name, .head = head, .last = {.author = author, .email = email, .title = PULL_MERGED}},
	};
	enum cairn_status status = cairn_index_add_commit(cairn_cas_index(m->cas), &add);
	*oid = add.oid;
	*diag = add.write.diag;
	return status;
}

enum cairn_status cairn_hub_merge_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *repo, const struct cairn_hub_pull *pull,
				       const char *comment, struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	CLEANUP(pull_merge_fini) struct pull_merge m = {.cas = cas};
	if (pull->state != CAIRN_HUB_PULL_OPEN)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "pr.ended", CAIRN_NO_OFFSET,
				  "The pull request was merged or closed: open another");
	enum cairn_status status = cairn_hub_find_ref(cas, repo, CAIRN_HUB_MAIN, &m.main, diag);
	if (status == CAIRN_OK)
		status = cairn_hub_compare(cas, &pull->first, &pull->head, CAIRN_INDEX_OPERATIONS_MAX, &m.changes);
	if (status == CAIRN_OK && m.changes.more)
		status = pull_too_large(diag);
	if (status == CAIRN_OK)
		status = pull_plan(&m, diag);
	return status == CAIRN_OK ? pull_commit(&m, asker, repo, pull, comment, oid, diag) : status;
}
