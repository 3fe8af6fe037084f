#include "hub/revision.h"

#include "base/percent.h"
#include "hub/kept_card.h"
#include "hub/path.h"

#include <stdio.h>
#include <string.h>

enum { REVISION_SEGMENTS_MAX = 8 }; /* segments that a ref's name may have in a URL */

void cairn_hub_ref_name(const char *revision, struct cairn_hub_ref_name *out)
{
	static const struct {
		const char *start;
		enum cairn_index_ref_kind kind;
	} PLACES[] = {
		{"refs/heads/", CAIRN_INDEX_BRANCH}, {"refs/tags/", CAIRN_INDEX_TAG}, {"refs/pr/", CAIRN_INDEX_PULL}};
	*out = (struct cairn_hub_ref_name){.kind = CAIRN_INDEX_BRANCH, .name = revision};
	if (strcmp(revision, "HEAD") == 0)
		*out = (struct cairn_hub_ref_name){.kind = CAIRN_INDEX_BRANCH, .name = CAIRN_HUB_MAIN, .sure = true};
	for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
		size_t len = strlen(PLACES[i].start);
		if (strncmp(revision, PLACES[i].start, len) == 0)
			*out = (struct cairn_hub_ref_name){
				.kind = PLACES[i].kind, .name = revision + len, .sure = true};
	}
}

/* Is the text a valid part of a ref's name, between slashes? */
static bool revision_part_is_good(const char *part, size_t len)
{
	static const char LOCK[] = ".lock";
	const size_t lock_len = sizeof(LOCK) - 1;
	if (len == 0 || part[0] == '.')
		return false;
	return len < lock_len || memcmp(part + len - lock_len, LOCK, lock_len) != 0;
}

/* Is the first part of a name, or of a URL's revision and path, the whole id of a commit? */
static bool revision_is_oid(const char *raw)
{
	char first[CAIRN_GIT_OID_CHARS + 1];
	struct cairn_git_oid oid;
	if (strcspn(raw, "/") != CAIRN_GIT_OID_CHARS)
		return false;
	memcpy(first, raw, CAIRN_GIT_OID_CHARS);
	first[CAIRN_GIT_OID_CHARS] = '\0';
	return cairn_git_oid_parse(first, &oid);
}

bool cairn_hub_ref_is_good(const char *name)
{
	size_t len = strlen(name);
	if (len == 0 || len > CAIRN_INDEX_REF_NAME_MAX || cairn_hub_path_fault(name) || revision_is_oid(name))
		return false;
	bool taken = strcmp(name, "HEAD") == 0 || strcmp(name, "@") == 0 || strncmp(name, "refs/", 5) == 0;
	bool bad = strpbrk(name, " ~^:?*[\\") || strstr(name, "..") || strstr(name, "@{") || name[len - 1] == '.' ||
		   name[0] == '-';
	if (taken || bad)
		return false;
	for (const char *part = name;; part++) {
		size_t part_len = strcspn(part, "/");
		if (!revision_part_is_good(part, part_len))
			return false;
		part += part_len;
		if (*part == '\0')
			return true;
	}
}

bool cairn_hub_split_revision(const char *raw, unsigned n_segments, char revision[static CAIRN_HUB_REVISION_MAX + 1],
			      char path[static CAIRN_INDEX_PATH_MAX + 1])
{
	char start[3 * CAIRN_HUB_REVISION_MAX + 1];
	const char *end = raw;
	for (unsigned i = 0; i < n_segments; i++) {
		if (i > 0 && *end++ != '/')
			return false;
		end += strcspn(end, "/");
	}
	size_t len = (size_t)(end - raw);
	if (len == 0 || len >= sizeof(start))
		return false;
	memcpy(start, raw, len);
	start[len] = '\0';
	return cairn_percent_decode(revision, CAIRN_HUB_REVISION_MAX + 1, start) && revision[0] &&
	       cairn_percent_decode(path, CAIRN_INDEX_PATH_MAX + 1, *end == '/' ? end + 1 : end);
}

/* Finds a branch, a tag or a pull request. @param[out] sure  true: the revision's form rules out a commit */
static enum cairn_status revision_find_ref(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					   const char *revision, bool *sure, struct cairn_index_commit *out)
{
	struct cairn_index *ix = hub->index;
	struct cairn_hub_ref_name ref;
	cairn_hub_ref_name(revision, &ref);
	enum cairn_status status = cairn_index_ref(ix, repo->id, ref.kind, ref.name, out);
	if (status == CAIRN_E_NOT_FOUND && !ref.sure)
		status = cairn_index_ref(ix, repo->id, CAIRN_INDEX_TAG, revision, out);
	*sure = ref.sure;
	return status;
}

/* Finds a commit by its id. A commit that no ref reaches may have been squashed because of its content, so only people
 * who may write find it. Reached commits are searched first, so that unreached ones make no short id ambiguous. */
static enum cairn_status revision_find_commit(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					      const struct cairn_index_repo *repo, const char *id,
					      struct cairn_index_commit *out)
{
	struct cairn_index *ix = hub->index;
	enum cairn_hub_access access;
	enum cairn_status status = cairn_index_find_commit(ix, repo->id, id, CAIRN_INDEX_REACHED, out);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = cairn_hub_access_to(hub, asker, repo, &access);
	if (status != CAIRN_OK)
		return status;
	return access < CAIRN_HUB_WRITE ? CAIRN_E_NOT_FOUND
					: cairn_index_find_commit(ix, repo->id, id, CAIRN_INDEX_ALL_COMMITS, out);
}

static enum cairn_status revision_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "revision.unknown", CAIRN_NO_OFFSET, "Revision not found");
}

enum cairn_status cairn_hub_find_ref(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				     const char *revision, struct cairn_index_commit *out, struct cairn_diag *diag)
{
	bool sure;
	enum cairn_status status = revision_find_ref(hub, repo, revision, &sure, out);
	return status == CAIRN_E_NOT_FOUND ? revision_unknown(diag) : status;
}

enum cairn_status cairn_hub_find_revision(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					  const struct cairn_index_repo *repo, const char *revision,
					  struct cairn_index_commit *out, struct cairn_diag *diag)
{
	bool sure;
	enum cairn_status status = revision_find_ref(hub, repo, revision, &sure, out);
	if (status == CAIRN_E_NOT_FOUND && !sure)
		status = revision_find_commit(hub, asker, repo, revision, out);
	return status == CAIRN_E_NOT_FOUND ? revision_unknown(diag) : status;
}

/* Finds the longest ref at the start of a path. No ref's name is the start of another's up to a slash (ref.nested),
 * except for refs older than that rule. No name begins with a commit's id, which clients use for file after file. */
enum cairn_status cairn_hub_find_place(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *repo, const char *raw,
				       struct cairn_index_commit *out, char path[static CAIRN_INDEX_PATH_MAX + 1],
				       struct cairn_diag *diag)
{
	char revision[CAIRN_HUB_REVISION_MAX + 1];
	bool sure;
	enum cairn_status status = CAIRN_E_NOT_FOUND;
	bool split = revision_is_oid(raw) && cairn_hub_split_revision(raw, 1, revision, path);
	if (split)
		status = revision_find_commit(hub, asker, repo, revision, out);
	for (unsigned n = REVISION_SEGMENTS_MAX; n > 0 && status == CAIRN_E_NOT_FOUND; n--) {
		if (!cairn_hub_split_revision(raw, n, revision, path))
			continue;
		split = true;
		status = revision_find_ref(hub, repo, revision, &sure, out);
		if (status == CAIRN_E_NOT_FOUND && n == 1 && !sure)
			status = revision_find_commit(hub, asker, repo, revision, out);
	}
	if (!split)
		return cairn_fail(diag, CAIRN_E_FORMAT, "revision.text", CAIRN_NO_OFFSET,
				  "a revision and a path are text with whole escapes, of at most %d and %d bytes",
				  CAIRN_HUB_REVISION_MAX, CAIRN_INDEX_PATH_MAX);
	return status == CAIRN_E_NOT_FOUND ? revision_unknown(diag) : status;
}

enum cairn_status cairn_hub_each_ref(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				     bool (*visit)(void *ctx, const struct cairn_index_ref_row *ref), void *ctx)
{
	return cairn_index_each_ref(hub->index, repo->id, visit, ctx);
}

enum cairn_status cairn_hub_add_ref(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				    const struct cairn_index_repo *repo, const struct cairn_hub_new_ref *ref,
				    struct cairn_diag *diag)
{
	char email[CAIRN_HUB_EMAIL_BYTES];
	const char *author = cairn_hub_author(asker);
	struct cairn_index_commit start = {0};
	enum cairn_status status = CAIRN_OK;
	/* Report a revision that does not exist before a bad name, because clients catch that error by its kind. */
	if (!ref->empty)
		status = cairn_hub_find_revision(hub, asker, repo, ref->start ? ref->start : CAIRN_HUB_MAIN, &start,
						 diag);
	if (status != CAIRN_OK)
		return status;
	if (!cairn_hub_ref_is_good(ref->name))
		return cairn_fail(diag, CAIRN_E_USAGE, "ref.name", CAIRN_NO_OFFSET,
				  "\"%.100s\" is no name for a branch or a tag", ref->name);
	cairn_hub_email(email, author);
	struct cairn_index_add_ref add = {
		.repo = repo->id,
		.kind = ref->kind,
		.name = ref->name,
		.commit = start.id,
		.overwrite = ref->overwrite,
		.first = {.author = author, .email = email, .title = "Initial commit", .message = ""},
	};
	status = cairn_index_add_ref(hub->index, &add);
	*diag = add.write.diag;
	if (status == CAIRN_OK && ref->kind == CAIRN_INDEX_BRANCH && strcmp(ref->name, CAIRN_HUB_MAIN) == 0)
		cairn_hub_keep_card(hub, repo);
	return status;
}

enum cairn_status cairn_hub_squash(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				   const struct cairn_index_repo *repo, const char *revision, const char *title,
				   struct cairn_diag *diag)
{
	char email[CAIRN_HUB_EMAIL_BYTES];
	const char *author = cairn_hub_author(asker);
	struct cairn_hub_ref_name ref;
	cairn_hub_ref_name(revision, &ref);
	struct cairn_index_squash squash = {.repo = repo->id, .kind = ref.kind, .name = ref.name};
	if (strlen(title) > CAIRN_INDEX_TITLE_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "commit.limit", CAIRN_NO_OFFSET, "a title has at most %d bytes",
				  CAIRN_INDEX_TITLE_MAX);
	if (ref.kind == CAIRN_INDEX_TAG)
		return revision_unknown(diag);
	cairn_hub_email(email, author);
	squash.message = (struct cairn_index_message){.author = author, .email = email, .title = title, .message = ""};
	enum cairn_status status = cairn_index_squash(hub->index, &squash);
	*diag = squash.write.diag;
	return status;
}

enum cairn_status cairn_hub_drop_ref(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				     enum cairn_index_ref_kind kind, const char *name, struct cairn_diag *diag)
{
	struct cairn_index_drop_ref drop = {.repo = repo->id, .kind = kind, .name = name};
	enum cairn_status status = cairn_index_drop_ref(hub->index, &drop);
	if (status == CAIRN_E_NOT_FOUND && cairn_diag_has(&drop.write.diag, "revision.unknown"))
		/* clients search for these very words */
		return cairn_fail(diag, status, "revision.unknown", CAIRN_NO_OFFSET, "Invalid rev id: %.150s", name);
	*diag = drop.write.diag;
	return status;
}
