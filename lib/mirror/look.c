/* Looks up a revision of a repository at the upstream: its description, then its tree, page by page; then writes the
 * rows. */
#include "base/percent.h"
#include "hub/name.h"
#include "hub/revision.h"
#include "mirror/operate.h"
#include "mirror/parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* May a repository of a hub have this name, with or without an account? */
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

/* Is it a revision that can be mirrored? The id of a commit is allowed, too, and becomes the name of a branch. Refs of
 * other kinds are not mirrored. */
static bool look_revision_is_good(const char *revision)
{
	return look_is_commit(revision) || cairn_hub_ref_is_good(revision);
}

/* Makes the key of a look-up. Look-ups that may show a private repository are shared only under the same token. */
static void look_key(char out[static MIRROR_LOOK_KEY_BYTES], const struct cairn_mirror_want *what)
{
	char by[2 * CAIRN_SHA256_BYTES + 1] = "";
	if (what->sees && what->rule == 0)
		cairn_hex_text(by, what->who, sizeof(what->who));
	(void)snprintf(out, MIRROR_LOOK_KEY_BYTES, "look/%d/%s%s%s@%s", (int)what->kind, what->sees ? "seen/" : "", by,
		       what->name, what->revision);
	mirror_key_fold(out);
}

/* Chooses the token of a look-up: the rule's, or else the asker's if it may show a private repository. @return false:
 * the rules deny the repository */
static bool look_take_token(struct cairn_mirror *m, struct cairn_mirror_want *want)
{
	if (!want->sees)
		want->token[0] = '\0';
	bool found = mirror_take_rule(m, want);
	want->sees = want->sees && want->token[0];
	return found;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

/* @param here  id 0: the repository is not in the index */
static void look_write(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	struct cairn_index_repo here;
	struct cairn_index_commit commit;
	enum cairn_status status = mirror_rows_find(f, &here, &commit, &diag);
	if (status == CAIRN_OK && mirror_rows_is_another(f, &here))
		status = mirror_rows_replace(f, &here, &diag);
	else if (status == CAIRN_OK && commit.id != 0)
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
			  "the upstream has no public repository of this name");
}

/* Ends a look-up if the upstream has no such repository, or hides it from the asker. A repository that is hidden in
 * this server, or was looked up with the asker's own token, counts as gone only if the upstream said so to a rule's
 * token. */
static void look_leave(struct mirror_fetch *f, enum cairn_index_mirror_state state)
{
	struct cairn_diag diag = {0};
	struct cairn_index_repo here;
	enum cairn_status status = mirror_rows_find_repo(f, f->what.name, &here, &diag);
	bool is_told = state != CAIRN_INDEX_MIRROR_GONE || f->what.rule != 0 || !(f->what.sees || here.is_private);
	if (status == CAIRN_OK && here.id != 0 && is_told)
		status = mirror_rows_leave(f, &here, state, &diag);
	if (status == CAIRN_OK)
		status = look_unknown(&diag);
	mirror_fetch_end(f, status, &diag);
}

/* Stores the repository's new name as an alias. The next request looks up that name. */
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

/* Stores the alias only if its target is public: a token may have shown a name that is not for everybody, and an alias
 * reveals its target to all askers. If a repository is here under its former name, it is closed as its new name is, and
 * then renamed, unless the rules leave the new name out. */
static void look_at_target(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	struct cairn_index_repo former;
	enum cairn_status status = mirror_read_repo(&f->repo, &f->call, &diag);
	if (status == CAIRN_OK)
		status = mirror_rows_find_repo(f, f->what.name, &former, &diag);
	if (status == CAIRN_OK && former.id != 0)
		status = mirror_rows_close(f, &former, &diag);
	if (status == CAIRN_OK && (f->repo.is_private || f->repo.is_disabled || !look_name_is_good(f->repo.id, true)))
		status = look_unknown(&diag);
	if (status == CAIRN_OK && former.id != 0 && cairn_mirror_lets_in(f->m, f->what.kind, f->repo.id))
		status = mirror_rows_move(f, &former, &diag);
	if (status == CAIRN_OK)
		look_keep_alias(f, f->repo.id);
	else
		mirror_fetch_end(f, status, &diag);
}

/* Follows the upstream's redirect to another name. */
static void look_moved(struct mirror_fetch *f, const char *target)
{
	struct cairn_diag diag = {0};
	struct cairn_index_repo former;
	enum cairn_status status = mirror_rows_find_repo(f, f->what.name, &former, &diag);
	if (status == CAIRN_OK && former.id == 0 && !f->what.token[0]) {
		look_keep_alias(f, target);
		return;
	}
	if (status == CAIRN_OK && !look_name_is_good(target, true))
		status = look_unknown(&diag);
	if (status != CAIRN_OK) {
		mirror_fetch_end(f, status, &diag);
		return;
	}
	(void)snprintf(f->path, sizeof(f->path), "/api/%s/%s/revision/%s", cairn_mirror_type(f->what.kind), target,
		       CAIRN_HUB_MAIN);
	mirror_ask_repo(&f->call);
	f->step = look_at_target;
	mirror_fetch_send(f);
}

static void look_found(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	struct cairn_index_repo here;
	struct cairn_index_commit commit;
	bool is_main = mirror_fetch_is_of_main(f);
	enum cairn_status status = mirror_rows_find(f, &here, &commit, &diag);
	if (status == CAIRN_OK && here.id == 0 && !is_main)
		status = look_unknown(&diag); /* main is looked up first, with the repository */
	bool is_known = status == CAIRN_OK && commit.id != 0 && !mirror_rows_is_another(f, &here);
	if (is_known)
		status = mirror_rows_name(f, &here, &commit, &diag);
	else if (status == CAIRN_OK && here.id != 0)
		status = mirror_rows_close(f, &here, &diag);
	if (status != CAIRN_OK || is_known)
		mirror_fetch_end(f, status, &diag);
	else
		look_ask_page(f);
}

static void look_described(struct mirror_fetch *f)
{
	char target[MIRROR_ID_BYTES];
	struct cairn_diag diag = {0};
	if (mirror_read_moved(&f->call, cairn_mirror_type(f->what.kind), target)) {
		look_moved(f, target);
		return;
	}
	enum cairn_status status = mirror_read_repo(&f->repo, &f->call, &diag);
	if (status == CAIRN_E_NOT_FOUND && strcmp(f->call.error_code, "RepoNotFound") == 0) {
		look_leave(f, CAIRN_INDEX_MIRROR_GONE);
		return;
	}
	if (status == CAIRN_OK && (f->repo.is_disabled || (f->repo.is_private && !f->what.sees))) {
		look_leave(f, f->repo.is_disabled ? CAIRN_INDEX_MIRROR_DISABLED : CAIRN_INDEX_MIRROR_PRIVATE);
		return;
	}
	if (status == CAIRN_OK && !look_name_is_good(f->repo.id, true))
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
		look_moved(f, f->repo.id);
}

static void look_ask(struct mirror_fetch *f)
{
	char revision[3 * CAIRN_INDEX_REF_NAME_MAX + 1];
	cairn_percent_encode(revision, f->what.revision, CAIRN_PERCENT_UNRESERVED);
	(void)snprintf(f->path, sizeof(f->path), "/api/%s/%s/revision/%s", cairn_mirror_type(f->what.kind),
		       f->what.name, revision);
	mirror_ask_repo(&f->call);
	f->holds_s = f->m->refresh_s;
	f->step = look_described;
	mirror_fetch_send(f);
}

static void look_see(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_rows_see(f, &diag);
	if (status == CAIRN_OK)
		look_ask(f);
	else
		mirror_fetch_end(f, status, &diag);
}

/* Only a look-up of main opens a repository, so others need not know how it was before. */
static void look_begin(struct mirror_fetch *f)
{
	if (mirror_fetch_is_of_main(f))
		mirror_fetch_work(f, look_see);
	else
		look_ask(f);
}

void cairn_mirror_want_revision(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	char key[MIRROR_LOOK_KEY_BYTES];
	if (!cairn_mirror_type(want->kind) || !look_name_is_good(want->name, false) ||
	    !look_revision_is_good(want->revision) || !look_take_token(mirror, want)) {
		cairn_diag_clear(&want->diag);
		want->status = look_unknown(&want->diag);
		want->done(want);
		return;
	}
	look_key(key, want);
	mirror_join(mirror, want, key, false, look_begin);
}

bool cairn_mirror_is_fresh(struct cairn_mirror *mirror, const struct cairn_mirror_want *what, bool *is_stale)
{
	char key[MIRROR_LOOK_KEY_BYTES];
	struct cairn_mirror_want want = *what;
	(void)look_take_token(mirror, &want);
	look_key(key, &want);
	explicit_bzero(want.token, sizeof(want.token));
	return mirror_remembers(mirror, key, what->repo, is_stale);
}

void cairn_mirror_look_again(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	char key[MIRROR_LOOK_KEY_BYTES];
	want->sees = false;
	look_key(key, want);
	mirror_forget(mirror, key);
	want->sees = true; /* by the token of a rule; operators may see private repositories */
	(void)look_take_token(mirror, want);
	look_key(key, want);
	mirror_forget(mirror, key);
	cairn_mirror_want_revision(mirror, want);
}

/* --- the state in the index --------------------------------------------------------------------------------------- */

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

bool cairn_mirror_has_branch(struct cairn_mirror *mirror, int64_t repo, const char *revision)
{
	struct cairn_index_commit commit;
	return cairn_index_ref(mirror->hub->index, repo, CAIRN_INDEX_BRANCH, revision, &commit) == CAIRN_OK;
}

bool cairn_mirror_has_commit(struct cairn_mirror *mirror, int64_t repo, const char *revision)
{
	struct cairn_index_commit commit;
	return look_is_commit(revision) &&
	       cairn_index_find_commit(mirror->hub->index, repo, revision, CAIRN_INDEX_REACHED, &commit) == CAIRN_OK;
}
