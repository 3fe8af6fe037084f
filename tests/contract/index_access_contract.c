/* Requests for access to repositories with a gate: who gets access, limits, and what is removed with the repository. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include "index/hub/access.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPO_MAX = 20, WAITING_MAX = 3 };

static void id_of(uint8_t out[static CAIRN_INDEX_REQUEST_BYTES], int64_t repo, int64_t account)
{
	struct cairn_hash hash = fx_hash("request", (uint64_t)repo << 32 | (uint64_t)account);
	memcpy(out, hash.b, CAIRN_INDEX_REQUEST_BYTES);
}

static int64_t user(const char *name)
{
	return hx_add_account(CAIRN_INDEX_USER, name);
}

static void set_gate(int64_t repo, enum cairn_index_gate gate)
{
	struct cairn_index_set_repo set = {.id = repo, .keeps_private = true, .gate = gate};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &set), CAIRN_OK);
}

static int64_t gated(const char *name, enum cairn_index_gate gate)
{
	int64_t repo = hx_model(name);
	set_gate(repo, gate);
	return repo;
}

static enum cairn_status refused(enum cairn_status status, const struct cairn_index_write *write, const char *rule)
{
	ck_assert_int_ne(status, CAIRN_OK);
	ck_assert_str_eq(write->diag.rule, rule);
	return status;
}

static struct cairn_index_ask_access request(int64_t repo, int64_t account)
{
	struct cairn_index_ask_access ask = {
		.repo = repo, .account = account, .of_repo_max = REPO_MAX, .waiting_max = WAITING_MAX};
	id_of(ask.request, repo, account);
	return ask;
}

static enum cairn_index_access_state asked(int64_t repo, int64_t account)
{
	struct cairn_index_ask_access ask = request(repo, account);
	ck_assert_int_eq(cairn_index_ask_access(hx_index, &ask), CAIRN_OK);
	return ask.state;
}

static enum cairn_status ask_refused(int64_t repo, int64_t account, const char *rule)
{
	struct cairn_index_ask_access ask = request(repo, account);
	return refused(cairn_index_ask_access(hx_index, &ask), &ask.write, rule);
}

static void granted(int64_t repo, int64_t account)
{
	struct cairn_index_grant_access grant = {.repo = repo, .account = account, .of_repo_max = REPO_MAX};
	id_of(grant.request, repo, account);
	ck_assert_int_eq(cairn_index_grant_access(hx_index, &grant), CAIRN_OK);
}

static enum cairn_status grant_refused(int64_t repo, int64_t account, const char *rule)
{
	struct cairn_index_grant_access grant = {.repo = repo, .account = account, .of_repo_max = REPO_MAX};
	id_of(grant.request, repo, account);
	return refused(cairn_index_grant_access(hx_index, &grant), &grant.write, rule);
}

/* Sets the state of an account's request. @return as cairn_index_set_access() */
static enum cairn_status set(int64_t repo, int64_t account, enum cairn_index_access_state state, const char *reason)
{
	struct cairn_index_set_access change = {.repo = repo, .account = account, .state = state, .reason = reason};
	enum cairn_status status = cairn_index_set_access(hx_index, &change);
	return status == CAIRN_OK ? status : refused(status, &change.write, "access.unknown");
}

/* Returns the state of an account's request. @return CAIRN_INDEX_ACCESS_NONE: there is none */
static enum cairn_index_access_state state(int64_t repo, int64_t account)
{
	struct cairn_index_access_request found;
	enum cairn_status status = cairn_index_access_request(hx_index, repo, account, &found);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return found.state;
}

struct names {
	char text[HX_TEXT_MAX];
	uint8_t last[CAIRN_INDEX_REQUEST_BYTES];
	uint32_t n;
};

static void take_name(void *ctx, const struct cairn_index_access_request *one)
{
	struct names *names = ctx;
	size_t at = strlen(names->text);
	(void)snprintf(names->text + at, sizeof(names->text) - at, "%s ", one->name);
	memcpy(names->last, one->request, sizeof(names->last));
	names->n++;
}

/* Lists the names of those who asked, n to a page. */
static const char *listed(int64_t repo, enum cairn_index_access_state of, uint32_t limit)
{
	static struct names names;
	const uint8_t *after = NULL;
	names.text[0] = '\0';
	do {
		names.n = 0;
		ck_assert_int_eq(cairn_index_each_access_request(hx_index, repo, of, after, limit, take_name, &names),
				 CAIRN_OK);
		after = names.last;
	} while (names.n == limit);
	return names.text;
}

START_TEST(a_gate_accepts_at_once_or_lets_wait)
{
	int64_t by_hand = gated("by-hand", CAIRN_INDEX_GATE_MANUAL), at_once = gated("at-once", CAIRN_INDEX_GATE_AUTO);
	int64_t bob = user("bob"), eve = user("eve"), zoe = user("zoe");
	ck_assert_int_eq(asked(by_hand, bob), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(asked(by_hand, eve), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(asked(at_once, bob), CAIRN_INDEX_ACCESS_ACCEPTED);
	ck_assert_int_eq(state(by_hand, zoe), CAIRN_INDEX_ACCESS_NONE);
	ck_assert_int_eq(set(by_hand, bob, CAIRN_INDEX_ACCESS_ACCEPTED, ""), CAIRN_OK);
	ck_assert_int_eq(asked(by_hand, bob), CAIRN_INDEX_ACCESS_ACCEPTED);
	/* a pending request stays pending when the gate changes, because an admin may have taken the access away */
	set_gate(by_hand, CAIRN_INDEX_GATE_AUTO);
	ck_assert_int_eq(asked(by_hand, eve), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(asked(by_hand, zoe), CAIRN_INDEX_ACCESS_ACCEPTED);
	ck_assert_str_eq(listed(by_hand, CAIRN_INDEX_ACCESS_ACCEPTED, 1), "bob zoe ");
	ck_assert_str_eq(listed(by_hand, CAIRN_INDEX_ACCESS_PENDING, 9), "eve ");
	ck_assert_str_eq(listed(at_once, CAIRN_INDEX_ACCESS_REJECTED, 9), "");
}
END_TEST

START_TEST(a_rejected_account_cannot_ask_again)
{
	struct cairn_index_access_request found;
	int64_t repo = gated("one", CAIRN_INDEX_GATE_AUTO), bob = user("bob");
	ck_assert_int_eq(set(repo, bob, CAIRN_INDEX_ACCESS_REJECTED, ""), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(asked(repo, bob), CAIRN_INDEX_ACCESS_ACCEPTED);
	ck_assert_int_eq(set(repo, bob, CAIRN_INDEX_ACCESS_REJECTED, "nö"), CAIRN_OK);
	ck_assert_int_eq(set(repo, bob, CAIRN_INDEX_ACCESS_REJECTED, "again"), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(ask_refused(repo, bob, "access.rejected"), CAIRN_E_DENIED);
	ck_assert_int_eq(cairn_index_access_request(hx_index, repo, bob, &found), CAIRN_OK);
	ck_assert_int_eq(found.state, CAIRN_INDEX_ACCESS_REJECTED);
	ck_assert_str_eq(found.reason, "nö");
	ck_assert_str_eq(found.name, "bob");
	ck_assert_int_gt(found.asked_unix_ms, 0);
	ck_assert_int_ge(found.at_unix_ms, found.asked_unix_ms);
	ck_assert_int_eq(set(repo, bob, CAIRN_INDEX_ACCESS_PENDING, ""), CAIRN_OK);
	ck_assert_int_eq(asked(repo, bob), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(cairn_index_access_request(hx_index, repo, bob, &found), CAIRN_OK);
	ck_assert_str_eq(found.reason, "");
}
END_TEST

START_TEST(access_is_granted_unasked)
{
	struct cairn_index_access_request found;
	int64_t repo = gated("one", CAIRN_INDEX_GATE_MANUAL), bob = user("bob"), eve = user("eve");
	granted(repo, bob);
	ck_assert_int_eq(grant_refused(repo, bob, "access.granted"), CAIRN_E_USAGE);
	ck_assert_int_eq(cairn_index_access_request(hx_index, repo, bob, &found), CAIRN_OK);
	ck_assert_int_eq(found.state, CAIRN_INDEX_ACCESS_ACCEPTED);
	ck_assert_int_eq(found.asked_unix_ms, 0);
	ck_assert_int_eq(asked(repo, eve), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(set(repo, eve, CAIRN_INDEX_ACCESS_REJECTED, "no"), CAIRN_OK);
	granted(repo, eve);
	ck_assert_int_eq(cairn_index_access_request(hx_index, repo, eve, &found), CAIRN_OK);
	ck_assert_int_eq(found.state, CAIRN_INDEX_ACCESS_ACCEPTED);
	ck_assert_str_eq(found.reason, "");
	ck_assert_int_gt(found.asked_unix_ms, 0);
	ck_assert_str_eq(listed(repo, CAIRN_INDEX_ACCESS_ACCEPTED, 9), "bob eve ");
}
END_TEST

START_TEST(a_request_is_found_by_its_id_in_its_repository_alone)
{
	int64_t repo = gated("one", CAIRN_INDEX_GATE_MANUAL), other = gated("two", CAIRN_INDEX_GATE_MANUAL);
	int64_t bob = user("bob");
	struct cairn_index_set_access accept = {.repo = other, .state = CAIRN_INDEX_ACCESS_ACCEPTED, .reason = ""};
	ck_assert_int_eq(asked(other, hx_ann), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(asked(repo, bob), CAIRN_INDEX_ACCESS_PENDING);
	id_of(accept.request, repo, bob);
	ck_assert_int_eq(cairn_index_set_access(hx_index, &accept), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(state(repo, bob), CAIRN_INDEX_ACCESS_PENDING);
	/* the id of another repository's request is not a place in this list */
	struct names names = {.n = 0};
	ck_assert_int_eq(cairn_index_each_access_request(hx_index, other, CAIRN_INDEX_ACCESS_PENDING, accept.request, 9,
							 take_name, &names),
			 CAIRN_OK);
	ck_assert_str_eq(names.text, "Ann ");
	accept.repo = repo;
	ck_assert_int_eq(cairn_index_set_access(hx_index, &accept), CAIRN_OK);
	ck_assert_int_eq(state(repo, bob), CAIRN_INDEX_ACCESS_ACCEPTED);
	ck_assert_int_eq(state(other, bob), CAIRN_INDEX_ACCESS_NONE);
}
END_TEST

START_TEST(access_is_requested_only_at_a_gate)
{
	int64_t open = hx_model("open"), hidden = gated("hidden", CAIRN_INDEX_GATE_AUTO), bob = user("bob");
	struct cairn_index_set_repo hide = {.id = hidden, .keeps_gate = true, .is_private = true};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(ask_refused(open, bob, "access.open"), CAIRN_E_USAGE);
	ck_assert_int_eq(ask_refused(hidden, bob, "access.open"), CAIRN_E_USAGE);
	ck_assert_int_eq(ask_refused(99, bob, "access.open"), CAIRN_E_USAGE);
	ck_assert_int_eq(grant_refused(open, bob, "access.open"), CAIRN_E_USAGE);
	ck_assert_int_eq(grant_refused(99, bob, "access.open"), CAIRN_E_USAGE);
	granted(hidden, bob);
	ck_assert_int_eq(state(hidden, bob), CAIRN_INDEX_ACCESS_ACCEPTED);
}
END_TEST

/* A copy has files of an account whose admins are not the gate's admins. */
START_TEST(a_guarded_gate_accepts_nobody_by_itself)
{
	int64_t repo = gated("copy", CAIRN_INDEX_GATE_AUTO), bob = user("bob"), eve = user("eve");
	struct cairn_index_set_repo hide = {.id = repo, .keeps_gate = true, .is_private = true};
	struct cairn_index_set_repo show = {.id = repo, .keeps_gate = true};
	struct cairn_index_guard_repo guard = {.id = repo, .guard = bob};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_guard_repo(hx_index, &guard), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &show), CAIRN_OK);
	ck_assert_int_eq(asked(repo, eve), CAIRN_INDEX_ACCESS_PENDING);
}
END_TEST

START_TEST(requests_go_with_their_repository)
{
	int64_t repo = gated("one", CAIRN_INDEX_GATE_MANUAL), other = gated("two", CAIRN_INDEX_GATE_MANUAL);
	int64_t bob = user("bob");
	struct cairn_index_drop_repo drop = {.id = repo};
	ck_assert_int_eq(asked(repo, bob), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(asked(other, bob), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(state(repo, bob), CAIRN_INDEX_ACCESS_NONE);
	ck_assert_int_eq(ask_refused(repo, bob, "access.open"), CAIRN_E_USAGE);
	ck_assert_int_eq(state(other, bob), CAIRN_INDEX_ACCESS_PENDING);
}
END_TEST

/* A grant that was withdrawn does not count as pending. Otherwise the admin of many repositories could keep others from
 * asking elsewhere. */
START_TEST(pending_requests_of_an_account_are_limited)
{
	int64_t bob = user("bob"), eve = user("eve"), first = 0;
	char name[32];
	for (int i = 0; i <= WAITING_MAX; i++) {
		(void)snprintf(name, sizeof(name), "model-%d", i);
		int64_t repo = gated(name, CAIRN_INDEX_GATE_MANUAL);
		first = first ? first : repo;
		granted(repo, eve);
		ck_assert_int_eq(set(repo, eve, CAIRN_INDEX_ACCESS_PENDING, ""), CAIRN_OK);
		if (i < WAITING_MAX)
			ck_assert_int_eq(asked(repo, bob), CAIRN_INDEX_ACCESS_PENDING);
		else
			ck_assert_int_eq(ask_refused(repo, bob, "access.waiting"), CAIRN_E_CONFLICT);
	}
	int64_t last = gated("last", CAIRN_INDEX_GATE_MANUAL);
	ck_assert_int_eq(asked(last, eve), CAIRN_INDEX_ACCESS_PENDING);
	ck_assert_int_eq(ask_refused(last, bob, "access.waiting"), CAIRN_E_CONFLICT);
	ck_assert_int_eq(set(first, bob, CAIRN_INDEX_ACCESS_REJECTED, ""), CAIRN_OK);
	ck_assert_int_eq(asked(last, bob), CAIRN_INDEX_ACCESS_PENDING);
}
END_TEST

START_TEST(a_repository_has_so_many)
{
	int64_t repo = gated("one", CAIRN_INDEX_GATE_AUTO), bob = user("bob");
	char name[32];
	for (int i = 0; i < REPO_MAX; i++) {
		(void)snprintf(name, sizeof(name), "user-%d", i);
		int64_t one = user(name);
		ck_assert_int_eq(asked(repo, one), CAIRN_INDEX_ACCESS_ACCEPTED);
	}
	ck_assert_int_eq(ask_refused(repo, bob, "access.many"), CAIRN_E_CONFLICT);
	ck_assert_int_eq(grant_refused(repo, bob, "access.many"), CAIRN_E_CONFLICT);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_access_contract");
	TCase *t = tcase_create("access");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_gate_accepts_at_once_or_lets_wait);
	tcase_add_test(t, a_rejected_account_cannot_ask_again);
	tcase_add_test(t, access_is_granted_unasked);
	tcase_add_test(t, a_request_is_found_by_its_id_in_its_repository_alone);
	tcase_add_test(t, access_is_requested_only_at_a_gate);
	tcase_add_test(t, a_guarded_gate_accepts_nobody_by_itself);
	tcase_add_test(t, requests_go_with_their_repository);
	tcase_add_test(t, pending_requests_of_an_account_are_limited);
	tcase_add_test(t, a_repository_has_so_many);
	suite_add_tcase(s, t);
	return run_suite(s);
}
