#include "hub/repo.h"

#include "hub/name.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)CAIRN_HUB_NAME_MAX == (int)CAIRN_INDEX_REPO_NAME_MAX, "what the index keeps of a name");

/* --- finding ------------------------------------------------------------------------------------------------------ */

static enum cairn_status repo_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
}

/* What the asker may do with the repositories of an account. It is asked for account 0, too, so that what is not there
 * takes as long as what may not be seen. */
static enum cairn_status repo_access(struct cairn_cas *cas, const struct cairn_hub_asker *asker, int64_t account,
				     enum cairn_hub_access *out)
{
	enum cairn_index_role role = CAIRN_INDEX_ROLE_NONE;
	enum cairn_status status = CAIRN_OK;
	if (asker->kind == CAIRN_HUB_ACCOUNT)
		status = cairn_index_role(cairn_cas_index(cas), account, asker->account.id, &role);
	*out = cairn_hub_access(asker, account, role);
	return status;
}

enum cairn_status cairn_hub_find_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker, const char *account,
				      const char *name, enum cairn_hub_access need, struct cairn_index_repo *out,
				      struct cairn_diag *diag)
{
	enum cairn_hub_access access;
	*out = (struct cairn_index_repo){0};
	enum cairn_status status = cairn_index_repo(cairn_cas_index(cas), CAIRN_INDEX_BUCKET, account, name, out);
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	bool found = status == CAIRN_OK;
	status = repo_access(cas, asker, out->account, &access);
	if (status != CAIRN_OK)
		return status;
	if (!found || (out->is_private && access < CAIRN_HUB_READ))
		return repo_unknown(diag);
	if (access >= need || need <= CAIRN_HUB_READ)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_DENIED, "repo.denied", CAIRN_NO_OFFSET,
			  "you do not have the right to do that with this repository");
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static enum cairn_status repo_account_denied(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_DENIED, "account.denied", CAIRN_NO_OFFSET,
			  "you do not have the right to do that in this namespace, or there is none of this name");
}

/* Where no account is needed to ask, there is one for what is made. */
static enum cairn_status repo_operators_account(struct cairn_cas *cas, struct cairn_index_account *out)
{
	struct cairn_index_add_account add = {
		.kind = CAIRN_INDEX_USER, .name = CAIRN_HUB_OPERATOR_NAME, .fullname = "", .email = ""};
	enum cairn_status status = cairn_index_account(cairn_cas_index(cas), CAIRN_HUB_OPERATOR_NAME, out);
	if (status != CAIRN_E_NOT_FOUND)
		return status;
	status = cairn_index_add_account(cairn_cas_index(cas), &add);
	if (status != CAIRN_OK && status != CAIRN_E_CONFLICT)
		return status;
	return cairn_index_account(cairn_cas_index(cas), CAIRN_HUB_OPERATOR_NAME, out);
}

/* The account in which the asker wants to make something. */
static enum cairn_status repo_account(struct cairn_cas *cas, const struct cairn_hub_asker *asker, const char *name,
				      int64_t *id, struct cairn_diag *diag)
{
	struct cairn_index_account account = asker->account;
	enum cairn_hub_access access;
	enum cairn_status status = CAIRN_OK;
	bool operator= asker->kind == CAIRN_HUB_OPERATOR, me = strcmp(name, CAIRN_HUB_ME) == 0;
	*id = 0;
	if (asker->kind == CAIRN_HUB_NOBODY)
		return repo_account_denied(diag);
	if (operator&&(me || strcmp(name, CAIRN_HUB_OPERATOR_NAME) == 0))
		status = repo_operators_account(cas, &account);
	else if (!me)
		status = cairn_index_account(cairn_cas_index(cas), name, &account);
	if (status == CAIRN_E_NOT_FOUND)
		return repo_account_denied(diag);
	if (status == CAIRN_OK)
		status = repo_access(cas, asker, account.id, &access);
	if (status != CAIRN_OK)
		return status;
	*id = account.id;
	return access >= CAIRN_HUB_WRITE ? CAIRN_OK : repo_account_denied(diag);
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

enum cairn_status cairn_hub_make_bucket(struct cairn_cas *cas, const struct cairn_hub_asker *asker, const char *account,
					const char *name, bool is_private, struct cairn_index_repo *out,
					struct cairn_diag *diag)
{
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_BUCKET, .name = name, .is_private = is_private};
	*out = (struct cairn_index_repo){0};
	enum cairn_status status = repo_check_name(name, diag);
	if (status == CAIRN_OK)
		status = repo_account(cas, asker, account, &add.account, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_add_repo(cairn_cas_index(cas), &add);
	*diag = add.write.diag;
	if (status != CAIRN_OK && status != CAIRN_E_CONFLICT)
		return status;
	struct cairn_index_account owner;
	enum cairn_status found = cairn_index_account_by_id(cairn_cas_index(cas), add.account, &owner);
	if (found == CAIRN_OK)
		found = cairn_index_repo(cairn_cas_index(cas), CAIRN_INDEX_BUCKET, owner.name, name, out);
	return status == CAIRN_OK ? found : status;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

enum cairn_status cairn_hub_set_private(struct cairn_cas *cas, const struct cairn_index_repo *repo, bool is_private,
					struct cairn_diag *diag)
{
	struct cairn_index_set_repo set = {.id = repo->id, .is_private = is_private};
	enum cairn_status status = cairn_index_set_repo(cairn_cas_index(cas), &set);
	*diag = set.write.diag;
	return status;
}

enum cairn_status cairn_hub_move_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
				      const struct cairn_index_repo *repo, const char *account, const char *name,
				      struct cairn_diag *diag)
{
	struct cairn_index_move_repo move = {.id = repo->id, .name = name};
	enum cairn_status status = repo_check_name(name, diag);
	if (status == CAIRN_OK)
		status = repo_account(cas, asker, account, &move.account, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_move_repo(cairn_cas_index(cas), &move);
	*diag = move.write.diag;
	return status;
}

enum cairn_status cairn_hub_drop_repo(struct cairn_cas *cas, const struct cairn_index_repo *repo,
				      struct cairn_diag *diag)
{
	struct cairn_index_drop_repo drop = {.id = repo->id};
	enum cairn_status status = cairn_index_drop_repo(cairn_cas_index(cas), &drop);
	*diag = drop.write.diag;
	return status;
}

/* --- listing ------------------------------------------------------------------------------------------------------ */

struct repo_list {
	const char *search;
	bool all; /* private ones, too */
	unsigned n;
	int64_t last; /* number of the last one visited */
	bool more;    /* there is one behind it */
	cairn_index_visit_repo *visit;
	void *ctx;
};

static void repo_take(void *ctx, const struct cairn_index_repo *repo)
{
	struct repo_list *list = ctx;
	bool wanted = (list->all || !repo->is_private) && (!list->search || strcasestr(repo->name, list->search));
	if (!wanted || list->more)
		return;
	if (list->n == CAIRN_HUB_REPOS_MAX) {
		list->more = true;
		return;
	}
	list->n++;
	list->last = repo->id;
	list->visit(list->ctx, repo);
}

/* Whose repositories are listed; those of nobody are none. */
static enum cairn_status repo_listed(struct cairn_cas *cas, const struct cairn_hub_asker *asker, const char *account,
				     int64_t *id, struct cairn_diag *diag)
{
	struct cairn_index_account found = asker->account;
	enum cairn_status status = CAIRN_OK;
	bool me = strcmp(account, CAIRN_HUB_ME) == 0, mine = me && asker->kind == CAIRN_HUB_OPERATOR;
	if (me && asker->kind == CAIRN_HUB_NOBODY)
		return repo_account_denied(diag);
	if (!me || mine)
		status = cairn_index_account(cairn_cas_index(cas), mine ? CAIRN_HUB_OPERATOR_NAME : account, &found);
	*id = status == CAIRN_OK ? found.id : 0;
	if (status == CAIRN_E_NOT_FOUND && !mine)
		return cairn_fail(diag, status, "account.unknown", CAIRN_NO_OFFSET, "there is no account of this name");
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_hub_each_bucket(struct cairn_cas *cas, const struct cairn_hub_asker *asker, const char *account,
					const char *search, int64_t from_id, cairn_index_visit_repo *visit, void *ctx,
					int64_t *next_id, struct cairn_diag *diag)
{
	struct repo_list list = {.search = search, .visit = visit, .ctx = ctx};
	enum cairn_hub_access access = CAIRN_HUB_NO_ACCESS;
	int64_t id = 0;
	*next_id = 0;
	enum cairn_status status = repo_listed(cas, asker, account, &id, diag);
	if (status == CAIRN_OK)
		status = repo_access(cas, asker, id, &access);
	if (status != CAIRN_OK)
		return status;
	list.all = access >= CAIRN_HUB_READ;
	do {
		status = cairn_index_each_repo(cairn_cas_index(cas), id, CAIRN_INDEX_BUCKET, from_id, repo_take, &list,
					       &from_id);
	} while (status == CAIRN_OK && from_id != 0 && !list.more);
	*next_id = list.more ? list.last : 0;
	return status;
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

void cairn_hub_token_claims(const struct cairn_hub_asker *asker, const struct cairn_index_repo *repo, bool write,
			    struct cairn_token_claims *out)
{
	const char *name = asker->kind == CAIRN_HUB_NOBODY ? "anonymous" : asker->key_name;
	*out = (struct cairn_token_claims){
		.scopes = CAIRN_TOKEN_READ | (write ? (unsigned)CAIRN_TOKEN_WRITE : 0),
		.api_key = asker->key,
		.has_dedupe = repo->is_private,
		.dedupe = CAIRN_DEDUPE_REPOSITORY,
	};
	(void)snprintf(out->subject, sizeof(out->subject), "%.*s", (int)sizeof(out->subject) - 1, name);
	cairn_index_repo_owner(out->repo, repo->id);
}
