#include "hub/access.h"

#include "base/utf8.h"
#include "hash/crypto.h"
#include "hub/name.h"
#include "hub/repo.h"

#include <string.h>

const char *cairn_hub_access_name(enum cairn_index_access_state state)
{
	return cairn_index_access_name(state);
}

enum cairn_index_access_state cairn_hub_access_parse(const char *name)
{
	for (int i = CAIRN_INDEX_ACCESS_PENDING; i <= CAIRN_INDEX_ACCESS_REJECTED; i++)
		if (strcmp(name, cairn_index_access_name((enum cairn_index_access_state)i)) == 0)
			return (enum cairn_index_access_state)i;
	return CAIRN_INDEX_ACCESS_NONE;
}

enum cairn_status cairn_hub_check_asks_access(const struct cairn_hub_asker *asker, struct cairn_diag *diag)
{
	return cairn_hub_acts_for_account(asker)
		       ? CAIRN_OK
		       : cairn_fail(diag, CAIRN_E_DENIED, "access.own", CAIRN_NO_OFFSET,
				    "only an account can ask for access, with a key that may write and is not for one "
				    "repository");
}

enum cairn_status cairn_hub_ask_access(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				       const struct cairn_index_repo *repo, enum cairn_index_access_state *state,
				       struct cairn_diag *diag)
{
	struct cairn_index_ask_access ask = {.repo = repo->id,
					     .account = asker->account.id,
					     .of_repo_max = CAIRN_HUB_REQUESTS_MAX,
					     .waiting_max = CAIRN_HUB_REQUESTS_WAITING_MAX};
	enum cairn_hub_access access;
	*state = CAIRN_INDEX_ACCESS_ACCEPTED;
	enum cairn_status status = cairn_hub_access_to(hub, asker, repo, &access);
	if (status != CAIRN_OK || access >= CAIRN_HUB_READ)
		return status;
	status = cairn_hub_check_asks_access(asker, diag);
	if (status == CAIRN_OK)
		status = cairn_random(ask.request, sizeof(ask.request));
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_ask_access(hub->index, &ask);
	*diag = ask.write.diag;
	*state = ask.state;
	return status;
}

enum cairn_status cairn_hub_own_request(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					const struct cairn_index_repo *repo, struct cairn_index_access_request *out)
{
	*out = (struct cairn_index_access_request){0};
	if (asker->kind != CAIRN_HUB_ACCOUNT)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_access_request(hub->index, repo->id, asker->account.id, out);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status access_check_gate(const struct cairn_index_repo *repo, struct cairn_diag *diag)
{
	return repo->gate != CAIRN_INDEX_GATE_NONE ? CAIRN_OK : cairn_index_access_open(diag);
}

/* Parses the id of a request. @return false: not an id */
static bool access_read_id(const char *text, uint8_t out[static CAIRN_INDEX_REQUEST_BYTES])
{
	return strlen(text) == CAIRN_HUB_REQUEST_BYTES - 1 &&
	       cairn_hex_parse(out, CAIRN_INDEX_REQUEST_BYTES, text, strlen(text)) == CAIRN_OK;
}

enum cairn_status cairn_hub_each_request(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					 enum cairn_index_access_state state, const char *after, uint32_t limit,
					 void (*visit)(void *ctx, const struct cairn_index_access_request *request),
					 void *ctx, struct cairn_diag *diag)
{
	uint8_t id[CAIRN_INDEX_REQUEST_BYTES];
	enum cairn_status status = access_check_gate(repo, diag);
	return status == CAIRN_OK
		       ? cairn_index_each_access_request(hub->index, repo->id, state,
							 access_read_id(after, id) ? id : NULL, limit, visit, ctx)
		       : status;
}

static enum cairn_status access_find_user(const struct cairn_hub *hub, const char *name, int64_t *id,
					  struct cairn_diag *diag)
{
	struct cairn_index_account account;
	enum cairn_status status =
		cairn_hub_name_is_good(name) ? cairn_index_account(hub->index, name, &account) : CAIRN_E_NOT_FOUND;
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && account.kind != CAIRN_INDEX_USER))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "user.unknown", CAIRN_NO_OFFSET,
				  "there is no user of this name");
	*id = status == CAIRN_OK ? account.id : 0;
	return status;
}

static enum cairn_status access_check_reason(const char *reason, struct cairn_diag *diag)
{
	size_t left = strlen(reason), n = 0, bytes = 1;
	for (const uint8_t *p = (const uint8_t *)reason; left > 0 && bytes > 0; p += bytes, left -= bytes, n++)
		bytes = cairn_utf8_sequence(p, left);
	return bytes > 0 && n <= CAIRN_INDEX_REASON_CHARS_MAX
		       ? CAIRN_OK
		       : cairn_fail(diag, CAIRN_E_USAGE, "access.reason", CAIRN_NO_OFFSET,
				    "a reason is a text of at most %d characters", CAIRN_INDEX_REASON_CHARS_MAX);
}

/* Finds the account whose request is answered: by user, else by id. */
static enum cairn_status access_find_request(const struct cairn_hub *hub, const struct cairn_hub_access_answer *answer,
					     struct cairn_index_set_access *set, struct cairn_diag *diag)
{
	if (answer->user)
		return access_find_user(hub, answer->user, &set->account, diag);
	return access_read_id(answer->request, set->request)
		       ? CAIRN_OK
		       : cairn_fail(diag, CAIRN_E_NOT_FOUND, "access.unknown", CAIRN_NO_OFFSET,
				    "there is no request for access with this id");
}

enum cairn_status cairn_hub_answer_request(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					   const struct cairn_index_repo *repo,
					   const struct cairn_hub_access_answer *answer, struct cairn_diag *diag)
{
	bool rejects = answer->state == CAIRN_INDEX_ACCESS_REJECTED;
	struct cairn_index_set_access set = {
		.repo = repo->id, .state = answer->state, .reason = rejects && answer->reason ? answer->reason : ""};
	enum cairn_status status = access_check_gate(repo, diag);
	if (status == CAIRN_OK && answer->state == CAIRN_INDEX_ACCESS_ACCEPTED)
		status = cairn_hub_check_guard(hub, asker, repo, diag);
	if (status == CAIRN_OK)
		status = access_check_reason(set.reason, diag);
	if (status == CAIRN_OK)
		status = access_find_request(hub, answer, &set, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_set_access(hub->index, &set);
	*diag = set.write.diag;
	return status;
}

/* Does the user own the repository, or is a member of the organisation that does? */
static enum cairn_status access_is_member(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
					  int64_t user, bool *out)
{
	enum cairn_index_role role = CAIRN_INDEX_ROLE_NONE;
	enum cairn_status status = cairn_index_role(hub->index, repo->account, user, &role);
	*out = repo->account == user || role != CAIRN_INDEX_ROLE_NONE;
	return status;
}

enum cairn_status cairn_hub_grant_access(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					 const struct cairn_index_repo *repo, const char *user, struct cairn_diag *diag)
{
	struct cairn_index_grant_access grant = {.repo = repo->id, .of_repo_max = CAIRN_HUB_REQUESTS_MAX};
	bool is_member = false;
	enum cairn_status status = access_check_gate(repo, diag);
	if (status == CAIRN_OK)
		status = cairn_hub_check_guard(hub, asker, repo, diag);
	if (status == CAIRN_OK)
		status = access_find_user(hub, user, &grant.account, diag);
	if (status == CAIRN_OK)
		status = access_is_member(hub, repo, grant.account, &is_member);
	if (status == CAIRN_OK && is_member)
		return cairn_index_access_granted(diag);
	if (status == CAIRN_OK)
		status = cairn_random(grant.request, sizeof(grant.request));
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_grant_access(hub->index, &grant);
	*diag = grant.write.diag;
	return status;
}
