/* Looks for a revision of a repository: its description, then its tree, page by page, then the rows. */
#include "base/percent.h"
#include "hub/name.h"
#include "hub/revision.h"
#include "mirror/parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Is the name one that a repository of a hub may have, with or without an account? */
static bool look_name_is_good(const char *name, bool needs_account)
{
	char account[CAIRN_HUB_NAME_MAX + 1];
	const char *slash = strchr(name, '/');
	if (!slash)
		return !needs_account && cairn_hub_name_is_good(name) && !cairn_hub_name_is_reserved(name);
	size_t len = (size_t)(slash - name);
	if (len >= sizeof(account))
		return false;
	memcpy(account, name, len);
	account[len] = '\0';
	return cairn_hub_name_is_good(account) && !cairn_hub_name_is_reserved(account) &&
	       cairn_hub_name_is_good(slash + 1);
}

static bool look_is_commit(const char *revision)
{
	return strlen(revision) == CAIRN_GIT_OID_CHARS && strspn(revision, "0123456789abcdef") == CAIRN_GIT_OID_CHARS;
}

/* A commit's id is asked for, too; it becomes the name of a branch. Refs of other kinds are not mirrored. */
static bool look_revision_is_good(const char *revision)
{
	return look_is_commit(revision) || cairn_hub_ref_is_good(revision);
}

static void look_key(char *out, size_t size, enum cairn_index_repo_kind kind, const char *name, const char *revision)
{
	(void)snprintf(out, size, "look/%d/%s@%s", (int)kind, name, revision);
	for (char *p = out; *p && *p != '@'; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 'a' - 'A' : *p);
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

/* @param here  id 0: the repository is not here */
static void look_write(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	struct cairn_index_repo here;
	struct cairn_index_commit commit;
	enum cairn_status status = mirror_rows_find(f, &here, &commit, &diag);
	if (status == CAIRN_OK && commit.id != 0)
		status = mirror_rows_name(f, &here, &commit, &diag); /* another daemon was faster */
	else if (status == CAIRN_OK)
		status = mirror_rows_write(f, &here, &diag);
	mirror_fetch_end(f, status, &diag);
}

static void look_ask_page(struct mirror_fetch *f);

static void look_listed(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_read_tree(&f->tree, &f->call, &diag);
	if (status != CAIRN_OK)
		mirror_fetch_end(f, status, &diag);
	else if (f->tree.next[0])
		look_ask_page(f);
	else
		look_write(f);
}

static void look_ask_page(struct mirror_fetch *f)
{
	if (f->tree.next[0])
		memcpy(f->path, f->tree.next, sizeof(f->tree.next));
	else
		(void)snprintf(f->path, sizeof(f->path), "/api/%s/%s/tree/%s?recursive=true",
			       cairn_mirror_type(f->what.kind), f->repo.id, f->repo.sha);
	mirror_ask_tree(&f->call);
	f->step = look_listed;
	mirror_fetch_send(f);
}

/* --- the description ---------------------------------------------------------------------------------------------- */

static enum cairn_status look_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.unknown", CAIRN_NO_OFFSET,
			  "the upstream shows no such repository to everybody");
}

/* The repository has another name today: it is looked for by that one when somebody asks for it. */
static void look_keep_alias(struct mirror_fetch *f, const char *target)
{
	struct cairn_index_add_alias add = {.kind = f->what.kind, .name = f->what.name, .target = target};
	struct cairn_diag diag = {0};
	enum cairn_status status = CAIRN_OK;
	if (!look_name_is_good(target, true) || strcasecmp(target, f->what.name) == 0)
		status = look_unknown(&diag);
	if (status == CAIRN_OK) {
		status = cairn_index_add_alias(f->m->hub->index, &add);
		diag = add.write.diag;
	}
	mirror_fetch_end(f, status, &diag);
}

static void look_found(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	struct cairn_index_repo here;
	struct cairn_index_commit commit;
	bool is_main = strcmp(f->what.revision, CAIRN_HUB_MAIN) == 0;
	enum cairn_status status = mirror_rows_find(f, &here, &commit, &diag);
	if (status == CAIRN_OK && here.id == 0 && !is_main)
		status = look_unknown(&diag); /* main comes first, when the repository is asked for */
	if (status == CAIRN_OK && commit.id != 0)
		status = mirror_rows_name(f, &here, &commit, &diag);
	if (status != CAIRN_OK || commit.id != 0)
		mirror_fetch_end(f, status, &diag);
	else
		look_ask_page(f);
}

static void look_described(struct mirror_fetch *f)
{
	char target[MIRROR_ID_BYTES];
	struct cairn_diag diag = {0};
	if (mirror_read_moved(&f->call, cairn_mirror_type(f->what.kind), target)) {
		look_keep_alias(f, target);
		return;
	}
	enum cairn_status status = mirror_read_repo(&f->repo, &f->call, &diag);
	if (status == CAIRN_OK && (f->repo.is_private || f->repo.is_disabled || !look_name_is_good(f->repo.id, true)))
		status = look_unknown(&diag);
	if (status != CAIRN_OK) {
		mirror_fetch_end(f, status, &diag);
		return;
	}
	f->info = f->call.body;
	f->call.body = (struct cairn_buf){0};
	if (strcasecmp(f->repo.id, f->what.name) == 0)
		look_found(f);
	else
		look_keep_alias(f, f->repo.id);
}

static void look_begin(struct mirror_fetch *f)
{
	char revision[3 * CAIRN_INDEX_REF_NAME_MAX + 1];
	cairn_percent_encode(revision, f->what.revision, CAIRN_PERCENT_UNRESERVED);
	(void)snprintf(f->path, sizeof(f->path), "/api/%s/%s/revision/%s", cairn_mirror_type(f->what.kind),
		       f->what.name, revision);
	mirror_ask_repo(&f->call);
	f->step = look_described;
	mirror_fetch_send(f);
}

void cairn_mirror_want_revision(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	char key[CAIRN_INDEX_ALIAS_MAX + CAIRN_INDEX_REF_NAME_MAX + 32];
	if (!cairn_mirror_type(want->kind) || !look_name_is_good(want->name, false) ||
	    !look_revision_is_good(want->revision) || !mirror_lets_in(mirror, want)) {
		cairn_diag_clear(&want->diag);
		want->status = look_unknown(&want->diag);
		want->done(want);
		return;
	}
	look_key(key, sizeof(key), want->kind, want->name, want->revision);
	mirror_join(mirror, want, key, false, look_begin);
}

bool cairn_mirror_is_fresh(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name,
			   const char *revision, bool *is_stale)
{
	char key[CAIRN_INDEX_ALIAS_MAX + CAIRN_INDEX_REF_NAME_MAX + 32];
	look_key(key, sizeof(key), kind, name, revision);
	return mirror_remembers(mirror, key, is_stale);
}

/* --- what is here ------------------------------------------------------------------------------------------------- */

bool cairn_mirror_may_have(struct cairn_mirror *mirror, const char *name)
{
	struct cairn_index_account account;
	enum cairn_status status = cairn_index_account(mirror->hub->index, name, &account);
	return status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && account.is_mirrored);
}

bool cairn_mirror_alias(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name,
			char target[static CAIRN_INDEX_ALIAS_MAX + 1])
{
	return cairn_index_alias(mirror->hub->index, kind, name, target) == CAIRN_OK;
}

bool cairn_mirror_has_commit(struct cairn_mirror *mirror, int64_t repo, const char *revision)
{
	struct cairn_index_commit commit;
	return look_is_commit(revision) &&
	       cairn_index_find_commit(mirror->hub->index, repo, revision, CAIRN_INDEX_REACHED, &commit) == CAIRN_OK;
}
