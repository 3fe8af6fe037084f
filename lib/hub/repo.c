#include "hub/repo.h"

#include "hub/commit.h"
#include "hub/kept_card.h"
#include "hub/name.h"
#include "index/hub/access.h"
#include "index/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

_Static_assert((int)CAIRN_HUB_NAME_MAX == (int)CAIRN_INDEX_REPO_NAME_MAX, "what the index keeps of a name");

/* --- finding ------------------------------------------------------------------------------------------------------ */

static enum cairn_status repo_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
}

/* Finds the asker's access to the repositories of an account. A repository that does not exist is looked up as one of
 * account 0, so that it takes as long as a hidden one. */
enum cairn_status cairn_hub_access_in(const struct cairn_hub *hub, const struct cairn_hub_asker *asker, int64_t account,
				      enum cairn_hub_access *out)
{
	enum cairn_index_role role = CAIRN_INDEX_ROLE_NONE;
	enum cairn_status status = CAIRN_OK;
	if (asker->kind == CAIRN_HUB_ACCOUNT)
		status = cairn_index_role(hub->index, account, asker->account.id, &role);
	*out = cairn_hub_access(asker, account, role);
	return status;
}

/* Is the asker's key for this repository? */
static bool repo_is_keys(const struct cairn_hub_asker *asker, const struct cairn_index_repo *repo)
{
	char name[CAIRN_KEY_NAME_MAX + 1];
	if (!asker->key_repo[0] || repo->id == 0)
		return false;
	int n = snprintf(name, sizeof(name), "%s/%s/%s", cairn_index_kind_name(repo->kind), repo->account_name,
			 repo->name);
	return n > 0 && (size_t)n < sizeof(name) && strcasecmp(name, asker->key_repo) == 0;
}

/* Finds the state of the asker's own request for access. */
static enum cairn_status repo_find_request(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					   const struct cairn_index_repo *repo, enum cairn_index_access_state *out)
{
	struct cairn_index_access_request request;
	*out = CAIRN_INDEX_ACCESS_NONE;
	if (asker->kind != CAIRN_HUB_ACCOUNT)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_access_request(hub->index, repo->id, asker->account.id, &request);
	if (status == CAIRN_OK)
		*out = request.state;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Grants READ in a mirrored repository to members of the organisation that the mirror's rules name, and to nobody if
 * the rules shut it. */
static enum cairn_status repo_ask_mirror(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					 const struct cairn_index_repo *repo, enum cairn_hub_access *access)
{
	struct cairn_hub_gate gate = {.is_shut = false};
	struct cairn_index_account organisation;
	enum cairn_hub_access in_it = CAIRN_HUB_SEE;
	bool for_all = !repo->is_private && repo->gate == CAIRN_INDEX_GATE_NONE;
	if (repo->id == 0 || !repo->is_mirrored || for_all || !hub->gates.find)
		return CAIRN_OK;
	hub->gates.find(hub->gates.ctx, repo, &gate);
	if (gate.is_shut)
		*access = CAIRN_HUB_SEE;
	if (gate.is_shut || !gate.organisation[0] || asker->kind != CAIRN_HUB_ACCOUNT)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_account(hub->index, gate.organisation, &organisation);
	if (status == CAIRN_OK && organisation.kind == CAIRN_INDEX_ORGANISATION && !organisation.is_mirrored)
		status = cairn_hub_access_in(hub, asker, organisation.id, &in_it);
	if (in_it >= CAIRN_HUB_READ && *access < CAIRN_HUB_READ)
		*access = CAIRN_HUB_READ;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Grants READ to askers who passed the gate of a public repository: accounts here, others at the mirrored hub. */
static enum cairn_status repo_pass_gate(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					const struct cairn_index_repo *repo, enum cairn_hub_access *access)
{
	enum cairn_index_access_state state;
	bool reads = (asker->scopes & CAIRN_TOKEN_READ) && !asker->key_repo[0];
	bool admitted = repo->id != 0 && asker->admitted == repo->id && repo->is_mirrored;
	if (admitted && *access < CAIRN_HUB_READ)
		*access = CAIRN_HUB_READ;
	if (*access >= CAIRN_HUB_READ || !reads || repo->is_private || repo->gate == CAIRN_INDEX_GATE_NONE)
		return CAIRN_OK;
	enum cairn_status status = repo_find_request(hub, asker, repo, &state);
	if (state == CAIRN_INDEX_ACCESS_ACCEPTED)
		*access = CAIRN_HUB_READ;
	return status;
}

enum cairn_status cairn_hub_access_to(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				      const struct cairn_index_repo *repo, enum cairn_hub_access *out)
{
	struct cairn_hub_asker here = *asker;
	bool is_keys = repo_is_keys(asker, repo);
	if (is_keys)
		here.key_repo[0] = '\0';
	enum cairn_status status = cairn_hub_access_in(hub, &here, repo->account, out);
	if (is_keys && *out > CAIRN_HUB_WRITE)
		*out = CAIRN_HUB_WRITE;
	if (status == CAIRN_OK)
		status = repo_pass_gate(hub, &here, repo, out);
	return status == CAIRN_OK ? repo_ask_mirror(hub, &here, repo, out) : status;
}

/* Clients show people the text, which is that of the public hub. */
static enum cairn_status repo_gated(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				    const struct cairn_index_repo *repo, struct cairn_diag *diag)
{
	static const struct {
		const char *rule, *before, *after;
	} WHYS[] = {
		[CAIRN_INDEX_ACCESS_NONE] = {"repo.gated", "Access to",
					     "is restricted and you are not in the authorized list."},
		[CAIRN_INDEX_ACCESS_PENDING] = {"access.pending", "Your request to access",
						"is awaiting a review from the repo authors."},
		[CAIRN_INDEX_ACCESS_ACCEPTED] =
			{"repo.denied", "Access to",
			 "is restricted, and your key does not open it: it does not read, or is "
			 "for another repository."},
		[CAIRN_INDEX_ACCESS_REJECTED] = {"access.rejected", "Your request to access",
						 "has been rejected by the repo's authors."},
	};
	static const char *const KINDS[] = {[CAIRN_INDEX_MODEL] = "model",
					    [CAIRN_INDEX_DATASET] = "dataset",
					    [CAIRN_INDEX_SPACE] = "space",
					    [CAIRN_INDEX_BUCKET] = "bucket",
					    [CAIRN_INDEX_KERNEL] = "kernel"};
	enum cairn_index_access_state state;
	enum cairn_status status = repo_find_request(hub, asker, repo, &state);
	if (status != CAIRN_OK)
		return status;
	return cairn_fail(diag, CAIRN_E_DENIED, WHYS[state].rule, CAIRN_NO_OFFSET, "%s %s %s/%s %s", WHYS[state].before,
			  KINDS[repo->kind], repo->account_name, repo->name, WHYS[state].after);
}

enum cairn_status cairn_hub_refuse_mirrored(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_DENIED, "mirror.readonly", CAIRN_NO_OFFSET,
			  "this namespace is of the hub that is mirrored here: nobody writes in it; use another one");
}

enum cairn_status cairn_hub_find_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				      enum cairn_index_repo_kind kind, const char *account, const char *name,
				      enum cairn_hub_access need, struct cairn_index_repo *out, struct cairn_diag *diag)
{
	enum cairn_hub_access access;
	return cairn_hub_find_repo_access(hub, asker, kind, account, name, need, &access, out, diag);
}

enum cairn_status cairn_hub_find_repo_access(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					     enum cairn_index_repo_kind kind, const char *account, const char *name,
					     enum cairn_hub_access need, enum cairn_hub_access *access,
					     struct cairn_index_repo *out, struct cairn_diag *diag)
{
	*out = (struct cairn_index_repo){0};
	enum cairn_status status = cairn_index_repo(hub->index, kind, account, name, out);
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	bool found = status == CAIRN_OK && strcmp(out->name, CAIRN_INDEX_PROPOSALS) != 0;
	status = cairn_hub_access_to(hub, asker, out, access);
	if (status != CAIRN_OK)
		return status;
	if (!found || asker->shut_out || (out->is_private && *access < CAIRN_HUB_READ))
		return repo_unknown(diag);
	if (*access >= need || (need == CAIRN_HUB_READ && out->gate == CAIRN_INDEX_GATE_NONE))
		return out->is_mirrored && need > CAIRN_HUB_READ ? cairn_hub_refuse_mirrored(diag) : CAIRN_OK;
	if (need == CAIRN_HUB_READ)
		return repo_gated(hub, asker, out, diag);
	return cairn_fail(diag, CAIRN_E_DENIED, "repo.denied", CAIRN_NO_OFFSET,
			  "you do not have the right to do that with this repository");
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static void repo_note(void *ctx, const struct cairn_index_repo *repo)
{
	(void)repo;
	*(bool *)ctx = true;
}

/* May the asker see any repository of a mirrored namespace in lists? */
static enum cairn_status repo_sees_any(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       int64_t account, bool *sees)
{
	enum cairn_hub_access access;
	bool more;
	struct cairn_index_repo_list list = {
		.account = account, .sort = CAIRN_INDEX_BY_CREATION, .ascending = true, .limit = 1};
	*sees = false;
	enum cairn_status status = cairn_hub_access_in(hub, asker, account, &access);
	list.all = access >= CAIRN_HUB_READ;
	return status == CAIRN_OK ? cairn_index_list_repos(hub->index, &list, repo_note, sees, &more) : status;
}

enum cairn_status cairn_hub_see_account(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					const char *name, struct cairn_index_account *out, struct cairn_diag *diag)
{
	bool sees = true;
	enum cairn_status status = cairn_hub_find_account(hub, name, out, diag);
	if (status == CAIRN_OK && out->is_mirrored)
		status = repo_sees_any(hub, asker, out->id, &sees);
	return status == CAIRN_OK && !sees ? cairn_hub_no_account(diag) : status;
}

static enum cairn_status repo_account_denied(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_DENIED, "account.denied", CAIRN_NO_OFFSET,
			  "you do not have the right to do that in this namespace, or there is none of this name");
}

/* Finds or makes the operator's own account, which owns repositories of operators without an account. */
static enum cairn_status repo_operators_account(const struct cairn_hub *hub, struct cairn_index_account *out)
{
	struct cairn_index_add_account add = {
		.kind = CAIRN_INDEX_USER, .name = CAIRN_HUB_OPERATOR_NAME, .fullname = "", .email = ""};
	enum cairn_status status = cairn_index_account(hub->index, CAIRN_HUB_OPERATOR_NAME, out);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = cairn_index_add_account(hub->index, &add);
	if (status != CAIRN_OK && status != CAIRN_E_CONFLICT)
		return status;
	return cairn_index_account(hub->index, CAIRN_HUB_OPERATOR_NAME, out);
}

/* Finds the account in which the asker wants to make a repository. */
static enum cairn_status repo_account(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				      const char *name, int64_t *id, struct cairn_diag *diag)
{
	struct cairn_index_account account = asker->account;
	enum cairn_hub_access access;
	enum cairn_status status = CAIRN_OK;
	bool operator= asker->kind == CAIRN_HUB_OPERATOR, me = strcmp(name, CAIRN_HUB_ME) == 0;
	*id = 0;
	if (asker->kind == CAIRN_HUB_NOBODY)
		return repo_account_denied(diag);
	if (operator&&(me || strcmp(name, CAIRN_HUB_OPERATOR_NAME) == 0))
		status = repo_operators_account(hub, &account);
	else if (!me)
		status = cairn_index_account(hub->index, name, &account);
	if (status == CAIRN_E_NOT_FOUND)
		return repo_account_denied(diag);
	if (status == CAIRN_OK)
		status = cairn_hub_access_in(hub, asker, account.id, &access);
	if (status != CAIRN_OK)
		return status;
	*id = account.id;
	bool sees = true;
	if (account.is_mirrored)
		status = repo_sees_any(hub, asker, account.id, &sees);
	if (status != CAIRN_OK)
		return status;
	if (account.is_mirrored && sees)
		return cairn_hub_refuse_mirrored(diag);
	return access >= CAIRN_HUB_WRITE && !account.is_mirrored ? CAIRN_OK : repo_account_denied(diag);
}

static enum cairn_status repo_check_name(const char *name, struct cairn_diag *diag)
{
	if (cairn_hub_name_is_good(name))
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_USAGE, "repo.name", CAIRN_NO_OFFSET,
			  "a name has 1 to %d letters, digits, \"-\", \"_\" and \".\"; not \"-\" or \".\" at an end, "
			  "and not \"--\" or \"..\"",
			  CAIRN_HUB_NAME_MAX);
}

/* The files of the first commit: those that each repository of the kind begins with, and those of the request. */
struct repo_first {
	struct cairn_index_operation operations[CAIRN_HUB_FIRST_FILES_MAX + 2];
	uint32_t n;
	char attributes[4096], readme[512];
};

static enum cairn_status repo_first_file(struct repo_first *first, const char *path, const char *text)
{
	struct cairn_index_operation *o = &first->operations[first->n++];
	*o = (struct cairn_index_operation){
		.kind = CAIRN_INDEX_PUT_INLINE, .path = path, .bytes = (const uint8_t *)text, .len = strlen(text)};
	return cairn_git_blob(&o->oid, o->bytes, o->len);
}

/* Writes .gitattributes: which files are not text, for preupload and for git. */
static void repo_attributes(char *out, size_t size, enum cairn_index_repo_kind kind)
{
	static const char *const FILES[] = {
		"*.7z",          "*.arrow",
		"*.bin",         "*.bz2",
		"*.ckpt",        "*.ftz",
		"*.gz",          "*.h5",
		"*.joblib",      "*.lfs.*",
		"*.mlmodel",     "*.model",
		"*.msgpack",     "*.npy",
		"*.npz",         "*.onnx",
		"*.ot",          "*.parquet",
		"*.pb",          "*.pickle",
		"*.pkl",         "*.pt",
		"*.pth",         "*.rar",
		"*.safetensors", "saved_model/**/*",
		"*.tar.*",       "*.tar",
		"*.tflite",      "*.tgz",
		"*.wasm",        "*.xz",
		"*.zip",         "*.zst",
		"*tfevents*",
	};
	static const char *const MEDIA[] = {"*.lz4", "*.mds",  "*.pcm",  "*.sam", "*.raw", "*.aac", "*.flac",
					    "*.mp3", "*.ogg",  "*.wav",  "*.bmp", "*.gif", "*.png", "*.tiff",
					    "*.jpg", "*.jpeg", "*.webp", "*.mp4", "*.webm"};
	const size_t n_files = sizeof(FILES) / sizeof(FILES[0]), n_media = sizeof(MEDIA) / sizeof(MEDIA[0]);
	size_t n = n_files + (kind == CAIRN_INDEX_DATASET ? n_media : 0), at = 0;
	for (size_t i = 0; i < n; i++) {
		const char *pattern = i < n_files ? FILES[i] : MEDIA[i - n_files];
		int len = snprintf(out + at, size - at, "%s filter=lfs diff=lfs merge=lfs -text\n", pattern);
		at += (size_t)len;
	}
}

static enum cairn_status repo_first_files(struct repo_first *first, const struct cairn_hub_new_repo *new_repo)
{
	enum cairn_status status = CAIRN_OK;
	if (new_repo->kind == CAIRN_INDEX_BUCKET || new_repo->source != 0)
		return CAIRN_OK;
	repo_attributes(first->attributes, sizeof(first->attributes), new_repo->kind);
	status = repo_first_file(first, ".gitattributes", first->attributes);
	if (status == CAIRN_OK && new_repo->kind == CAIRN_INDEX_SPACE) {
		(void)snprintf(first->readme, sizeof(first->readme), "---\ntitle: %s\nsdk: %.32s\n---\n",
			       new_repo->name, new_repo->sdk ? new_repo->sdk : "static");
		status = repo_first_file(first, "README.md", first->readme);
	}
	for (uint32_t i = 0; i < new_repo->n; i++)
		first->operations[first->n++] = new_repo->operations[i];
	return status;
}

static enum cairn_status repo_check_new(const struct cairn_hub_new_repo *new_repo, struct cairn_diag *diag)
{
	if (new_repo->source == 0 && new_repo->n > CAIRN_HUB_FIRST_FILES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "commit.lines", CAIRN_NO_OFFSET,
				  "more than %d files; make the repository, and commit them then",
				  CAIRN_HUB_FIRST_FILES_MAX);
	return repo_check_name(new_repo->name, diag);
}

enum cairn_status cairn_hub_make_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				      const struct cairn_hub_new_repo *new_repo, struct cairn_index_repo *out,
				      struct cairn_diag *diag)
{
	struct repo_first first = {.n = 0};
	char email[CAIRN_HUB_EMAIL_BYTES];
	struct cairn_index_add_repo add = {
		.kind = new_repo->kind,
		.name = new_repo->name,
		.is_private = new_repo->is_private,
		.sdk = new_repo->sdk,
		.first = {.author = cairn_hub_author(asker), .email = email, .title = "initial commit", .message = ""},
		.operations = first.operations,
	};
	*out = (struct cairn_index_repo){0};
	cairn_hub_email(email, add.first.author);
	enum cairn_status status = repo_check_new(new_repo, diag);
	if (status == CAIRN_OK)
		status = repo_account(hub, asker, new_repo->account, &add.account, diag);
	if (status == CAIRN_OK)
		status = repo_first_files(&first, new_repo);
	if (status != CAIRN_OK)
		return status;
	add.n = first.n;
	if (new_repo->source != 0) {
		add.source = new_repo->source;
		add.guard = new_repo->guard;
		add.operations = new_repo->operations;
		add.n = new_repo->n;
	}
	status = cairn_index_add_repo(hub->index, &add);
	*diag = add.write.diag;
	if (status != CAIRN_OK && status != CAIRN_E_CONFLICT)
		return status;
	struct cairn_index_account owner;
	enum cairn_status found = cairn_index_account_by_id(hub->index, add.account, &owner);
	if (found == CAIRN_OK)
		found = cairn_index_repo(hub->index, new_repo->kind, owner.name, new_repo->name, out);
	if (status == CAIRN_OK && found == CAIRN_OK)
		cairn_hub_keep_card_after(hub, out, add.operations, add.n);
	return status == CAIRN_OK ? found : status;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

/* Would more people see the repository, or get its files? */
static bool repo_is_opened(const struct cairn_index_repo *repo, const bool *is_private,
			   const enum cairn_index_gate *gate)
{
	bool hides = is_private ? *is_private : repo->is_private;
	bool gate_goes = gate && *gate == CAIRN_INDEX_GATE_NONE && repo->gate != CAIRN_INDEX_GATE_NONE;
	return !hides && (repo->is_private || gate_goes);
}

enum cairn_status cairn_hub_check_guard(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					const struct cairn_index_repo *repo, struct cairn_diag *diag)
{
	enum cairn_hub_access access = CAIRN_HUB_SEE;
	if (repo->guard == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_hub_access_in(hub, asker, repo->guard, &access);
	if (status != CAIRN_OK || access >= CAIRN_HUB_ADMIN)
		return status;
	return cairn_fail(diag, CAIRN_E_DENIED, "repo.guarded", CAIRN_NO_OFFSET,
			  "\"%s/%s\" is a copy of a repository that was private, or had a gate: only an admin of that "
			  "one's account, or the operator, makes it public, or lets others in",
			  repo->account_name, repo->name);
}

enum cairn_status cairn_hub_set_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				     const struct cairn_index_repo *repo, const bool *is_private,
				     const enum cairn_index_gate *gate, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	if (repo_is_opened(repo, is_private, gate))
		status = cairn_hub_check_guard(hub, asker, repo, diag);
	if (status != CAIRN_OK)
		return status;
	struct cairn_index_set_repo set = {.id = repo->id, .keeps_private = !is_private, .keeps_gate = !gate};
	if (is_private)
		set.is_private = *is_private;
	if (gate)
		set.gate = *gate;
	status = cairn_index_set_repo(hub->index, &set);
	*diag = set.write.diag;
	return status;
}

enum cairn_status cairn_hub_move_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				      const struct cairn_index_repo *repo, const char *account, const char *name,
				      struct cairn_diag *diag)
{
	struct cairn_index_move_repo move = {.id = repo->id, .name = name};
	enum cairn_status status = repo_check_name(name, diag);
	if (status == CAIRN_OK)
		status = repo_account(hub, asker, account, &move.account, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_move_repo(hub->index, &move);
	*diag = move.write.diag;
	return status;
}

enum cairn_status cairn_hub_drop_repo(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				      struct cairn_diag *diag)
{
	struct cairn_index_drop_repo drop = {.id = repo->id};
	enum cairn_status status = cairn_index_drop_repo(hub->index, &drop);
	*diag = drop.write.diag;
	return status;
}

/* --- listing ------------------------------------------------------------------------------------------------------ */

struct repo_list {
	const char *search;
	unsigned n; /* number of repositories visited */
	cairn_index_visit_repo *visit;
	void *ctx;
};

static void repo_take(void *ctx, const struct cairn_index_repo *repo)
{
	struct repo_list *list = ctx;
	if (list->search && !strcasestr(repo->name, list->search))
		return;
	list->n++;
	list->visit(list->ctx, repo);
}

/* Finds the account whose repositories are listed; 0: nobody's, and the list is empty. */
static enum cairn_status repo_listed(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				     const char *account, int64_t *id, struct cairn_diag *diag)
{
	struct cairn_index_account found = asker->account;
	struct cairn_diag unsaid = {0};
	enum cairn_status status = CAIRN_OK;
	bool me = strcmp(account, CAIRN_HUB_ME) == 0, mine = me && asker->kind == CAIRN_HUB_OPERATOR;
	if (me && asker->kind == CAIRN_HUB_NOBODY)
		return repo_account_denied(diag);
	if (!me || mine)
		status = mine ? cairn_index_account(hub->index, CAIRN_HUB_OPERATOR_NAME, &found)
			      : cairn_hub_see_account(hub, asker, account, &found, &unsaid);
	*id = status == CAIRN_OK ? found.id : 0;
	if (status == CAIRN_E_NOT_FOUND && !mine && !asker->shut_out)
		return cairn_fail(diag, status, "account.unknown", CAIRN_NO_OFFSET, "there is no account of this name");
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_hub_each_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				      enum cairn_index_repo_kind kind, const char *account, const char *search,
				      int64_t from_id, cairn_index_visit_repo *visit, void *ctx, int64_t *next_id,
				      struct cairn_diag *diag)
{
	enum { PAGES_MAX = 4 }; /* pages read if few names match */
	struct repo_list list = {.search = search, .visit = visit, .ctx = ctx};
	struct cairn_index_repo_list page = {
		.kind = kind, .sort = CAIRN_INDEX_BY_CREATION, .ascending = true, .after_id = from_id};
	enum cairn_hub_access access = CAIRN_HUB_SEE;
	bool more = true;
	*next_id = 0;
	enum cairn_status status = repo_listed(hub, asker, account, &page.account, diag);
	if (status == CAIRN_OK)
		status = cairn_hub_access_in(hub, asker, page.account, &access);
	page.all = access >= CAIRN_HUB_READ;
	if (status != CAIRN_OK || page.account == 0 || (asker->shut_out && !page.all))
		return status;
	for (int i = 0; i < PAGES_MAX && status == CAIRN_OK && more && list.n < CAIRN_HUB_REPOS_MAX; i++) {
		page.limit = CAIRN_HUB_REPOS_MAX - list.n;
		status = cairn_index_list_repos(hub->index, &page, repo_take, &list, &more);
	}
	*next_id = more ? page.after_id : 0;
	return status;
}

/* Parses a cursor, where the list continues: number, time, name. Any other text starts at the beginning. */
static void repo_read_cursor(const char *cursor, struct cairn_index_repo_list *list)
{
	char *end = NULL;
	long long id = strtoll(cursor, &end, 10);
	long long at = *end == '.' ? strtoll(end + 1, &end, 10) : 0;
	if (*end != '.' || id <= 0 || strlen(end + 1) >= sizeof(list->after_name))
		return;
	list->after_id = id;
	list->after_unix_ms = at;
	(void)snprintf(list->after_name, sizeof(list->after_name), "%s", end + 1);
}

enum cairn_status cairn_hub_list_repos(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_hub_repo_list *list, cairn_index_visit_repo *visit, void *ctx,
				       char next[static CAIRN_HUB_CURSOR_BYTES])
{
	enum cairn_hub_access access = cairn_hub_access(asker, 0, CAIRN_INDEX_ROLE_READ);
	struct cairn_index_repo_list page = {
		.kind = list->kind,
		.account = list->account,
		.search = list->search,
		.reader = access >= CAIRN_HUB_READ ? asker->account.id : 0,
		.all = access >= CAIRN_HUB_READ && asker->kind == CAIRN_HUB_OPERATOR,
		.sort = list->sort,
		.ascending = list->ascending,
		.limit = list->limit,
		.is_private = list->is_private,
		.gated = list->gated,
		.words = list->words,
		.n_words = list->n_words,
		.cards = list->cards,
		.heads = list->heads,
	};
	struct cairn_index_account author;
	bool more = false;
	next[0] = '\0';
	repo_read_cursor(list->cursor, &page);
	enum cairn_status status = CAIRN_OK;
	if (list->author)
		status = cairn_index_account(hub->index, list->author, &author);
	if (status == CAIRN_E_NOT_FOUND || asker->shut_out)
		return CAIRN_OK; /* the asker may see no repository */
	if (status == CAIRN_OK && list->author)
		page.account = author.id;
	if (status == CAIRN_OK)
		status = cairn_index_list_repos(hub->index, &page, visit, ctx, &more);
	if (status == CAIRN_OK && more)
		(void)snprintf(next, CAIRN_HUB_CURSOR_BYTES, "%" PRId64 ".%" PRId64 ".%s", page.after_id,
			       page.after_unix_ms, page.after_name);
	return status;
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

void cairn_hub_token_claims(const struct cairn_hub_asker *asker, const struct cairn_index_repo *repo, bool write,
			    struct cairn_token_claims *out)
{
	const char *name = asker->kind == CAIRN_HUB_NOBODY ? CAIRN_TOKEN_ANYBODY : asker->key_name;
	*out = (struct cairn_token_claims){
		.scopes = CAIRN_TOKEN_READ | (write ? (unsigned)CAIRN_TOKEN_WRITE : 0),
		.api_key = asker->key,
		.account = asker->account.id,
		.has_dedupe = repo->is_private,
		.dedupe = CAIRN_DEDUPE_REPOSITORY,
	};
	(void)snprintf(out->subject, sizeof(out->subject), "%.*s", (int)sizeof(out->subject) - 1, name);
	cairn_index_repo_owner(out->repo, repo->id);
}
