/* PostgreSQL prepares every statement of the records, and each call takes the expected number of exchanges. */
#include "postgres_fixture.h"

#include "db/db.h"
#include "index/daemon/device.h"
#include "index/daemon/keys.h"
#include "index/daemon/telemetry.h"
#include "index/hub/access.h"
#include "index/hub/alias.h"
#include "index/hub/card.h"
#include "index/hub/hub.h"
#include "index/hub/mirror_files.h"
#include "index/hub/mirror_offers.h"
#include "index/hub/mirror_state.h"
#include "index/operate.h"
#include "index/proof.h"
#include "index/quota.h"
#include "index/refer.h"

#include <stdio.h>
#include <string.h>

START_TEST(every_statement_is_prepared)
{
	size_t n;
	const struct cairn_sql *sql = cairn_db_statements(&n);
	pgfx_enter_schema();
	for (size_t i = 0; i < n; i++) {
		PGresult *r = PQprepare(pg.admin, sql[i].name, sql[i].postgres, 0, NULL);
		ck_assert_msg(PQresultStatus(r) == PGRES_COMMAND_OK, "%s: %s", sql[i].name, PQerrorMessage(pg.admin));
		PQclear(r);
	}
}
END_TEST

static uint64_t n_asked(void)
{
	struct cairn_index_stats stats;
	cairn_index_stats(pg.ix, &stats);
	return stats.n_asked;
}

static uint64_t before;
static unsigned n_wrong;

static void count(const char *call, unsigned expected, enum cairn_status status)
{
	uint64_t n = n_asked() - before;
	ck_assert_msg(status == CAIRN_OK, "%s answered %d", call, (int)status);
	if (n == expected)
		return;
	(void)fprintf(stderr, "%s took %u exchanges, not %u\n", call, (unsigned)n, expected);
	n_wrong++;
}
#define TAKES(expected, call) (before = n_asked(), count(#call, expected, call))

static int64_t ann, team, model, model_head, bucket, key_id;

static void make_accounts(void)
{
	struct cairn_index_add_account user = {.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = "", .email = ""};
	struct cairn_index_add_account other = {
		.kind = CAIRN_INDEX_ORGANISATION, .name = "team", .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(pg.ix, &user), CAIRN_OK); /* opens the connection */
	TAKES(3, cairn_index_add_account(pg.ix, &other));
	ann = user.id;
	team = other.id;
}

static void make_repos(void)
{
	struct cairn_index_add_repo of_commits = {
		.kind = CAIRN_INDEX_MODEL,
		.account = ann,
		.name = "model",
		.first = {.author = "ann", .email = "", .title = "first", .message = ""}};
	struct cairn_index_add_repo of_objects = {.kind = CAIRN_INDEX_BUCKET, .account = ann, .name = "bucket"};
	TAKES(11, cairn_index_add_repo(pg.ix, &of_commits));
	TAKES(4, cairn_index_add_repo(pg.ix, &of_objects)); /* the repository's account may have a quota */
	model = of_commits.id;
	bucket = of_objects.id;
}

static void make_key(void)
{
	struct cairn_index_add_key key = {.name = "laptop", .repo = "", .scopes = "read", .account = ann};
	struct cairn_hash digest = fx_hash("key", 1);
	struct cairn_index_key found;
	memcpy(key.digest, digest.b, sizeof(key.digest));
	TAKES(3, cairn_index_add_key(pg.ix, &key));
	key_id = key.id;
	key.good_max = 9;
	key.digest[0] ^= 1;
	TAKES(4, cairn_index_add_key(pg.ix, &key));
	ck_assert_int_eq(cairn_index_key(pg.ix, digest.b, &found), CAIRN_OK); /* opens the connection */
	TAKES(1, cairn_index_key(pg.ix, digest.b, &found));
}

static void no_key(void *ctx, const struct cairn_index_key *key)
{
	(void)ctx, (void)key;
}

static void no_account(void *ctx, const struct cairn_index_account *account)
{
	(void)ctx, (void)account;
}

static void no_member(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role)
{
	(void)ctx, (void)account, (void)role;
}

static void no_repo(void *ctx, const struct cairn_index_repo *repo)
{
	(void)ctx, (void)repo;
}

static bool no_ref(void *ctx, const struct cairn_index_ref_row *ref)
{
	(void)ctx, (void)ref;
	return true;
}

static bool no_commit(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	(void)ctx, (void)commit, (void)message;
	return true;
}

static bool no_object(void *ctx, const struct cairn_index_object *object)
{
	(void)ctx, (void)object;
	return true;
}

static void no_owner(void *ctx, int64_t owner, const char *name)
{
	(void)ctx, (void)owner, (void)name;
}

static void no_due(void *ctx, const struct cairn_index_due *due)
{
	(void)ctx, (void)due;
}

static void no_lie(void *ctx, const struct cairn_index_lie *lie)
{
	(void)ctx, (void)lie;
}

static void no_owned(void *ctx, const struct cairn_index_owned *file)
{
	(void)ctx, (void)file;
}

static void read_accounts(void)
{
	struct cairn_index_account account;
	enum cairn_index_role role;
	int64_t next;
	TAKES(1, cairn_index_account(pg.ix, "ANN", &account));
	TAKES(1, cairn_index_account_by_id(pg.ix, ann, &account));
	TAKES(1, cairn_index_each_account(pg.ix, 0, 9, no_account, NULL, &next));
	TAKES(1, cairn_index_role(pg.ix, team, ann, &role));
	TAKES(1, cairn_index_each_member(pg.ix, team, 0, no_member, NULL, &next));
	TAKES(1, cairn_index_each_organisation(pg.ix, ann, 0, no_member, NULL, &next));
	TAKES(1, cairn_index_each_key(pg.ix, 0, 9, no_key, NULL, &next));
}

static void read_repos(void)
{
	struct cairn_index_owned_after start = {.hash = NULL};
	struct cairn_hash name = fx_hash("file", 1);
	struct cairn_index_repo repo;
	struct cairn_index_repo_list list = {.limit = 9, .all = true};
	struct cairn_index_card_source source;
	struct cairn_index_quota quota;
	struct cairn_index_room room;
	struct cairn_index_commit head, found;
	int64_t next;
	bool more;
	TAKES(1, cairn_index_repo(pg.ix, CAIRN_INDEX_MODEL, "ann", "model", &repo));
	TAKES(1, cairn_index_list_repos(pg.ix, &list, no_repo, NULL, &more));
	list.cards = list.heads = true;
	TAKES(1, cairn_index_list_repos(pg.ix, &list, no_repo, NULL, &more));
	TAKES(1, cairn_index_card_source(pg.ix, model, &source));
	TAKES(1, cairn_index_each_described(pg.ix, 0, no_repo, NULL, &next));
	TAKES(1, cairn_index_quota(pg.ix, ann, model, &quota));
	TAKES(1, cairn_index_owner_quota(pg.ix, "", false, &room));
	TAKES(1, cairn_index_ref(pg.ix, model, CAIRN_INDEX_BRANCH, "main", &head));
	TAKES(1, cairn_index_each_ref(pg.ix, model, no_ref, NULL));
	TAKES(1, cairn_index_commit_by_id(pg.ix, head.id, &found));
	model_head = head.id;
	TAKES(1, cairn_index_each_object(pg.ix, bucket, "", "", no_object, NULL));
	TAKES(1, cairn_index_each_owner(pg.ix, no_owner, NULL));
	TAKES(1, cairn_index_each_owned(pg.ix, "ann", &start, 0, no_owned, NULL, &more));
	TAKES(1, cairn_index_each_owned(pg.ix, NULL, &start, 0, no_owned, NULL, &more));
	for (int i = 0; i < CAIRN_INDEX_MATCHES; i++) {
		enum cairn_index_match match = (enum cairn_index_match)i;
		TAKES(1, cairn_index_each_match(pg.ix, "ann", match, name.b, 0, no_owned, NULL, &more));
		TAKES(1, cairn_index_each_match(pg.ix, NULL, match, name.b, 0, no_owned, NULL, &more));
	}
	TAKES(1, cairn_index_each_due(pg.ix, -1, 1000, 0, no_due, NULL));
	TAKES(1, cairn_index_each_lie(pg.ix, NULL, 0, no_lie, NULL, &more));
	TAKES(1, cairn_index_each_commit(pg.ix, &head, 0, no_commit, NULL));
}

static void change(void)
{
	struct cairn_index_set_member member = {.organisation = "team", .user = "ann", .role = CAIRN_INDEX_ROLE_ADMIN};
	struct cairn_index_disable_account disable = {.name = "team", .disabled = true};
	struct cairn_index_set_repo set = {.id = model, .is_private = true};
	struct cairn_index_move_repo move = {.id = model, .account = team, .name = "moved"};
	struct cairn_index_set_quota quota = {.account = ann, .limit_bytes = 1000000};
	struct cairn_index_add_telemetry telemetry = {.sender = "me", .body = "x", .body_len = 1, .keep_max = 5};
	struct cairn_index_trim trim = {.what = CAIRN_INDEX_TRIM_TELEMETRY};
	TAKES(4, cairn_index_set_member(pg.ix, &member));
	member.keeps_admin = true;
	TAKES(4, cairn_index_set_member(pg.ix, &member));
	TAKES(4, cairn_index_disable_account(pg.ix, &disable));
	TAKES(3, cairn_index_set_repo(pg.ix, &set));
	TAKES(5, cairn_index_move_repo(pg.ix, &move));
	TAKES(3, cairn_index_set_quota(pg.ix, &quota));
	TAKES(4, cairn_index_add_telemetry(pg.ix, &telemetry));
	TAKES(3, cairn_index_trim(pg.ix, &trim));
}

static void let_a_program_in(void)
{
	struct cairn_index_add_device add = {
		.address = "", .now_unix_s = 1, .ends_unix_s = 9, .n_max = 9, .n_of_one_max = 9};
	struct cairn_index_answer_device answer = {.now_unix_s = 1, .allowed = true, .name = "n", .scopes = "read"};
	struct cairn_index_take_device take = {.now_unix_s = 1, .good_max = 9, .kept_max = 9};
	struct cairn_index_device device;
	uint32_t n, n_of_one;
	answer.account = ann;
	TAKES(1, cairn_index_count_devices(pg.ix, add.sender, 1, &n, &n_of_one));
	TAKES(4, cairn_index_add_device(pg.ix, &add));
	TAKES(1, cairn_index_device(pg.ix, add.device, 1, &device));
	TAKES(1, cairn_index_device_by_code(pg.ix, add.code, 1, &device));
	TAKES(3, cairn_index_answer_device(pg.ix, &answer));
	TAKES(5, cairn_index_take_device(pg.ix, &take));
}

static void keep_card(void)
{
	const struct cairn_index_card card = {.tags = "[]", .data = "", .config = "", .words = "[\"a\",\"b\"]"};
	struct cairn_index_set_card keep = {.repo = model, .commit = model_head, .card = &card};
	TAKES(4, cairn_index_set_card(pg.ix, &keep));
	ck_assert(keep.kept);
}

static void keep_alias(void)
{
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
	struct cairn_index_add_alias add = {.kind = CAIRN_INDEX_MODEL, .name = "cats", .target = "ann/model"};
	TAKES(3, cairn_index_add_alias(pg.ix, &add));
	TAKES(1, cairn_index_alias(pg.ix, CAIRN_INDEX_MODEL, "cats", target));
	struct cairn_index_drop_aliases drop = {.kind = CAIRN_INDEX_MODEL, .account = "ann", .name = "model"};
	TAKES(4, cairn_index_drop_aliases(pg.ix, &drop));
	struct cairn_index_set_mirror_state set = {.repo = model, .state = CAIRN_INDEX_MIRROR_GONE, .looked_unix_s = 1};
	enum cairn_index_mirror_state state;
	int64_t looked;
	TAKES(3, cairn_index_set_mirror_state(pg.ix, &set));
	TAKES(1, cairn_index_mirror_state(pg.ix, model, &state, &looked));
}

static void no_evictable(void *ctx, const struct cairn_index_evictable *file)
{
	(void)ctx, (void)file;
}

static void no_needed(void *ctx, const struct cairn_index_unoffered *xorb)
{
	(void)ctx, (void)xorb;
}

static void use_mirrored(void)
{
	const int64_t xorb = 1;
	struct cairn_index_withdraw_xorbs withdraw = {.xorbs = &xorb, .n = 1, .now_unix_s = 1};
	struct cairn_index_offer_xorbs offer = {.xorbs = &xorb, .n = 1};
	struct cairn_index_retire_xorbs retire = {.xorbs = &xorb, .n = 1, .now_unix_s = 1, .grace_s = 1};
	struct cairn_index_unoffered_sum sum;
	const struct cairn_index_evictable start = {.content = 0};
	struct cairn_index_use_content use = {.content = 1, .day = 20000};
	struct cairn_index_forget_use forget = {.content = 1};
	const uint8_t sha256[CAIRN_SHA256_BYTES] = {0};
	struct cairn_index_absent absent;
	uint64_t bytes, n_files;
	ck_assert_int_eq(cairn_index_find_absent(pg.ix, model, sha256, &absent), CAIRN_E_NOT_FOUND);
	TAKES(3, cairn_index_use_content(pg.ix, &use));
	TAKES(1, cairn_index_mirror_sum(pg.ix, &bytes, &n_files));
	TAKES(1, cairn_index_each_evictable(pg.ix, &start, 30000, 0, no_evictable, NULL));
	TAKES(3, cairn_index_forget_use(pg.ix, &forget));
	TAKES(3, cairn_index_withdraw_xorbs(pg.ix, &withdraw));
	TAKES(3, cairn_index_offer_xorbs(pg.ix, &offer));
	TAKES(1, cairn_index_each_needed(pg.ix, 30000, no_needed, NULL));
	TAKES(1, cairn_index_each_needed(pg.ix, INT64_MAX, no_needed, NULL));
	TAKES(3, cairn_index_retire_xorbs(pg.ix, &retire));
	TAKES(1, cairn_index_unoffered_sum(pg.ix, 30000, &sum));
}

static void no_request(void *ctx, const struct cairn_index_access_request *request)
{
	(void)ctx, (void)request;
}

static void ask_for_access(void)
{
	struct cairn_index_set_repo gate = {.id = model, .keeps_private = true, .gate = CAIRN_INDEX_GATE_MANUAL};
	struct cairn_index_ask_access ask = {
		.repo = model, .account = ann, .request = {1}, .of_repo_max = 9, .waiting_max = 9};
	struct cairn_index_set_access set = {
		.repo = model, .account = ann, .state = CAIRN_INDEX_ACCESS_REJECTED, .reason = "no"};
	struct cairn_index_grant_access grant = {.repo = model, .account = ann, .of_repo_max = 9};
	struct cairn_index_access_request request;
	TAKES(3, cairn_index_set_repo(pg.ix, &gate));
	TAKES(4, cairn_index_ask_access(pg.ix, &ask));
	TAKES(3, cairn_index_set_access(pg.ix, &set));
	TAKES(4, cairn_index_grant_access(pg.ix, &grant));
	set = (struct cairn_index_set_access){
		.repo = model, .request = {1}, .state = CAIRN_INDEX_ACCESS_PENDING, .reason = ""};
	TAKES(3, cairn_index_set_access(pg.ix, &set));
	TAKES(1, cairn_index_access_request(pg.ix, model, ann, &request));
	ck_assert_int_eq(request.state, CAIRN_INDEX_ACCESS_PENDING);
	TAKES(1, cairn_index_each_access_request(pg.ix, model, CAIRN_INDEX_ACCESS_PENDING, ask.request, 9, no_request,
						 NULL));
}

static void remove_all(void)
{
	struct cairn_index_use_key use = {.id = key_id, .used_unix_s = 1};
	struct cairn_index_revoke_key revoke = {.id = key_id};
	struct cairn_index_drop_repo drop = {.id = bucket};
	TAKES(3, cairn_index_use_key(pg.ix, &use));
	TAKES(3, cairn_index_revoke_key(pg.ix, &revoke));
	TAKES(4, cairn_index_drop_repo(pg.ix, &drop));
}

/* A read takes one exchange. A write takes one to begin, one to commit, and at least one between. */
START_TEST(calls_take_as_many_exchanges_as_they_should)
{
	make_accounts();
	make_repos();
	make_key();
	let_a_program_in();
	ask_for_access();
	change();
	read_accounts();
	read_repos();
	keep_card();
	keep_alias();
	use_mirrored();
	remove_all();
	ck_assert_uint_eq(n_wrong, 0);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("statements");
	tcase_add_test(t, every_statement_is_prepared);
	tcase_add_test(t, calls_take_as_many_exchanges_as_they_should);
	return pgfx_run(argc, argv, t);
}
