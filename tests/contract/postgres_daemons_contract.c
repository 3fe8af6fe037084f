/* Several daemons that share an index in PostgreSQL: leases of jobs and of files of the mirrored hub, a daemon that
 * hangs, and sessions. */
#include "postgres_fixture.h"

#include "base/clock.h"
#include "index/daemon/lease.h"
#include "index/daemon/session.h"
#include "index/hub/history.h"
#include "index/hub/mirror_list.h"
#include "index/hub/parts.h"
#include "index/transfer.h"
#include "support/history_fixture.h"
#include "support/pace.h"

#include <stdio.h>
#include <string.h>

/* Replaces the index of the fixture with a shared one, so that other daemons may write, too. */
static void share(void)
{
	cairn_index_free(pg.ix);
	pg.ix = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
}

static enum cairn_status take(struct cairn_index *of, struct cairn_index_lease *lease, const char **rule)
{
	static struct cairn_diag diag;
	diag = (struct cairn_diag){0};
	enum cairn_status status = cairn_index_take_lease(of, CAIRN_INDEX_COLLECT, lease, &diag);
	*rule = diag.rule;
	return status;
}

static enum cairn_status mark_with(const struct cairn_index_lease *lease)
{
	struct cairn_index_gc_mark mark = {.write.lease = lease, .now_unix_s = cairn_clock_unix_s() + 10, .grace_s = 1};
	enum cairn_status status = cairn_index_gc_mark(pg.ix, &mark);
	ck_assert(status != CAIRN_E_BUSY || strcmp(mark.write.diag.rule, "lease.over") == 0);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_BUSY);
	return status;
}

/* At most one daemon holds the lease. A lease that was taken over stays ended, even when nobody holds the job. */
START_TEST(leases)
{
	char text[256];
	const char *rule;
	struct cairn_index_lease one, two;
	share();
	struct cairn_index *other = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
	ck_assert(cairn_index_is_shared(pg.ix));
	ck_assert_int_eq(take(pg.ix, &one, &rule), CAIRN_OK);
	ck_assert_int_eq(take(other, &two, &rule), CAIRN_E_CONFLICT);
	ck_assert_str_eq(rule, "lease.taken");
	ck_assert_int_eq(mark_with(&one), CAIRN_OK);
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".job SET until = '-infinity'", pg.folder.path);
	(void)pgfx_sql(text);
	ck_assert_int_eq(take(other, &two, &rule), CAIRN_OK);
	ck_assert_int_eq(mark_with(&one), CAIRN_E_BUSY);
	ck_assert_int_eq(mark_with(&two), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &one, 7, 7), CAIRN_OK);
	ck_assert_int_eq(take(pg.ix, &one, &rule), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_index_give_lease(other, &two, 9, 8), CAIRN_OK);
	ck_assert_int_eq(mark_with(&one), CAIRN_OK); /* a lease without a fence is not checked */
	(void)snprintf(text, sizeof(text), "SELECT 1 FROM \"%s\".job WHERE name = 'collect' AND ran = 9 AND good = 8",
		       pg.folder.path);
	ck_assert_int_eq(pgfx_sql(text), 1);
	cairn_index_free(other);
}
END_TEST

/* A daemon that stood still cannot note anything about fetching ahead. The state of the job shows it that its lease is
 * lost. */
START_TEST(fetching_ahead_is_noted_by_the_last_holder)
{
	struct cairn_diag diag = {0};
	struct cairn_index_lease one, two;
	struct cairn_index_job_state state = {0};
	struct cairn_index_note_ahead note = {.repo = 1, .now = {.at_unix_s = 7}};
	share();
	struct cairn_index *other = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
	ck_assert_int_eq(cairn_index_take_lease(pg.ix, CAIRN_INDEX_AHEAD, &one, &diag), CAIRN_OK);
	note.write.lease = &one;
	ck_assert_int_eq(cairn_index_note_ahead(pg.ix, &note), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &one, 0, 0), CAIRN_OK);
	ck_assert_int_eq(cairn_index_take_lease(other, CAIRN_INDEX_AHEAD, &two, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_index_note_ahead(pg.ix, &note), CAIRN_E_BUSY);
	ck_assert_str_eq(note.write.diag.rule, "lease.over");
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	for (; state.fence <= one.fence && cairn_clock_mono_ms() < until_ms; pgfx_pause_for(PGFX_NEXT_MS))
		cairn_index_job_state(pg.ix, CAIRN_INDEX_AHEAD, &state);
	ck_assert_int_eq(state.fence, two.fence);
	ck_assert_int_eq(cairn_index_give_lease(other, &two, 0, 0), CAIRN_OK);
	cairn_index_free(other);
}
END_TEST

/* A lease is renewed while its holder makes progress. */
START_TEST(a_lease_is_renewed)
{
	char text[256];
	const char *rule;
	struct cairn_index_lease lease;
	struct cairn_index_job_state state = {0};
	share();
	ck_assert_int_eq(take(pg.ix, &lease, &rule), CAIRN_OK);
	(void)snprintf(text, sizeof(text),
		       "UPDATE \"%s\".job SET until = clock_timestamp() + interval '2 s' WHERE name = 'collect'",
		       pg.folder.path);
	(void)pgfx_sql(text);
	(void)snprintf(text, sizeof(text),
		       "SELECT count(*) FROM \"%s\".job WHERE until > clock_timestamp() + interval '5 s'",
		       pg.folder.path);
	pgfx_wait_for(text);
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	for (; !state.taken && cairn_clock_mono_ms() < until_ms; pgfx_pause_for(PGFX_NEXT_MS))
		cairn_index_job_state(pg.ix, CAIRN_INDEX_COLLECT, &state);
	ck_assert(state.taken);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &lease, 0, 0), CAIRN_OK);
}
END_TEST

/* The renewing thread reads which leases to renew, and then hangs until one of them has ended. */
START_TEST(a_lease_that_ended_is_not_renewed)
{
	char text[256];
	const char *rule;
	struct cairn_diag diag = {0};
	struct cairn_index_lease first, second, again;
	share();
	ck_assert_int_eq(take(pg.ix, &first, &rule), CAIRN_OK);
	ck_assert_int_eq(cairn_index_take_lease(pg.ix, CAIRN_INDEX_SCRUB, &second, &diag), CAIRN_OK);
	(void)pgfx_sql("BEGIN");
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".job SET until = 'infinity' WHERE name = 'collect'",
		       pg.folder.path);
	(void)pgfx_sql(text);
	pgfx_wait_for("SELECT count(*) FROM pg_locks WHERE NOT granted");
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &second, 0, 0), CAIRN_OK);
	(void)pgfx_sql("COMMIT");
	(void)snprintf(text, sizeof(text),
		       "SELECT count(*) FROM \"%s\".job WHERE name = 'collect' AND until < 'infinity'", pg.folder.path);
	pgfx_wait_for(text);
	ck_assert_int_eq(cairn_index_take_lease(pg.ix, CAIRN_INDEX_SCRUB, &again, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &again, 0, 0), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &first, 0, 0), CAIRN_OK);
}
END_TEST

/* A lease that ends later than any could was taken by the clock of a former primary. */
START_TEST(a_lease_of_another_clock)
{
	char text[256];
	const char *rule;
	struct cairn_index_lease one, two;
	share();
	ck_assert_int_eq(take(pg.ix, &one, &rule), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &one, 0, 0), CAIRN_OK);
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".job SET until = clock_timestamp() + interval '1 hour'",
		       pg.folder.path);
	(void)pgfx_sql(text);
	ck_assert_int_eq(take(pg.ix, &two, &rule), CAIRN_OK);
	ck_assert_int_gt(two.fence, one.fence);
	ck_assert_int_eq(take(pg.ix, &one, &rule), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &two, 0, 0), CAIRN_OK);
}
END_TEST

/* --- files of the mirrored hub ------------------------------------------------------------------------------------ */

/* Makes a mirrored repository with an absent text. @return the content */
static int64_t absent_content(int64_t *repo)
{
	const struct cairn_index_message message = {.author = "", .email = "", .title = "", .message = ""};
	struct cairn_git_oid id = {{1}};
	struct cairn_index_operation o = {.kind = CAIRN_INDEX_PUT_ABSENT, .path = "a", .size_bytes = 4};
	ck_assert_int_eq(cairn_git_blob(&o.oid, "text", 4), CAIRN_OK);
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = hx_add_mirrored(pg.ix),
					   .name = "model",
					   .first = message,
					   .first_id = &id,
					   .operations = &o,
					   .n = 1};
	ck_assert_int_eq(cairn_index_add_repo(pg.ix, &add), CAIRN_OK);
	*repo = add.id;
	pgfx_enter_schema();
	return pgfx_sql("SELECT id FROM content WHERE file IS NULL AND body IS NULL");
}

static enum cairn_status take_fetch(struct cairn_index *of, int64_t content, struct cairn_index_lease *lease)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_index_take_fetch(of, content, lease, &diag);
	ck_assert(status == CAIRN_OK || (status == CAIRN_E_CONFLICT && strcmp(diag.rule, "lease.taken") == 0));
	return status;
}

static enum cairn_status drop_with(const struct cairn_index_lease *lease, int64_t repo)
{
	struct cairn_index_drop_parts drop = {.write.lease = lease, .repo = repo, .content = lease->content};
	enum cairn_status status = cairn_index_drop_parts(pg.ix, &drop);
	ck_assert(status != CAIRN_E_BUSY || strcmp(drop.write.diag.rule, "lease.over") == 0);
	return status;
}

static bool is_taken(int64_t repo, int64_t content)
{
	struct cairn_index_fetch fetch;
	ck_assert_int_eq(cairn_index_fetch(pg.ix, repo, content, &fetch), CAIRN_OK);
	ck_assert(!fetch.is_here);
	return fetch.is_taken;
}

/* At most one daemon fetches a file. A lease that was taken over stays ended, even when nobody fetches the file. */
START_TEST(leases_of_fetches)
{
	struct cairn_index_lease one, two;
	struct cairn_index_fetch fetch;
	int64_t repo;
	share();
	struct cairn_index *other = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
	int64_t content = absent_content(&repo);
	ck_assert(!is_taken(repo, content));
	ck_assert_int_eq(take_fetch(pg.ix, content, &one), CAIRN_OK);
	ck_assert_int_eq(take_fetch(other, content, &two), CAIRN_E_CONFLICT);
	ck_assert(is_taken(repo, content));
	ck_assert_int_eq(drop_with(&one, repo), CAIRN_OK);
	(void)pgfx_sql("UPDATE mirror_lease SET until = clock_timestamp() - interval '1 s'");
	ck_assert(!is_taken(repo, content));
	ck_assert_int_eq(drop_with(&one, repo), CAIRN_OK); /* no other daemon has taken over */
	ck_assert_int_eq(take_fetch(other, content, &two), CAIRN_OK);
	ck_assert_int_gt(two.fence, one.fence);
	ck_assert_int_eq(drop_with(&one, repo), CAIRN_E_BUSY);
	ck_assert_int_eq(drop_with(&two, repo), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &one, 0, 0), CAIRN_OK);
	ck_assert(is_taken(repo, content));
	ck_assert_int_eq(cairn_index_give_lease(other, &two, 0, 0), CAIRN_OK);
	ck_assert(!is_taken(repo, content));
	ck_assert_int_eq(drop_with(&one, repo), CAIRN_E_BUSY);
	/* by another server's clock */
	(void)pgfx_sql("UPDATE mirror_lease SET until = clock_timestamp() + interval '1 hour'");
	ck_assert(!is_taken(repo, content));
	ck_assert_int_eq(take_fetch(pg.ix, content, &one), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &one, 0, 0), CAIRN_OK);
	struct cairn_index_fill_content fill = {
		.repo = repo, .content = content, .bytes = (const uint8_t *)"text", .len = 4};
	ck_assert_int_eq(cairn_index_fill_content(pg.ix, &fill), CAIRN_OK);
	ck_assert_int_eq(take_fetch(pg.ix, content, &one), CAIRN_E_CONFLICT); /* the file is here already */
	ck_assert_int_eq(cairn_index_fetch(pg.ix, repo, content, &fetch), CAIRN_OK);
	ck_assert(fetch.is_here && !fetch.is_taken);
	ck_assert_int_eq(cairn_index_fetch(pg.ix, repo + 1, content, &fetch), CAIRN_E_NOT_FOUND);
	cairn_index_free(other);
}
END_TEST

/* A store that was moved out, and comes back without a content that was fetched here. */
START_TEST(a_move_leaves_no_lease_of_a_fetch)
{
	CLEANUP(cairn_index_transfer_freep) struct cairn_index_transfer *t = NULL;
	const int64_t last[CAIRN_TABLES] = {0};
	const struct cairn_index_state state = {.n_files = 0};
	struct cairn_index_lease lease;
	struct cairn_diag diag = {0};
	int64_t repo;
	share();
	ck_assert_int_eq(take_fetch(pg.ix, absent_content(&repo), &lease), CAIRN_OK);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &lease, 0, 0), CAIRN_OK);
	cairn_index_free(pg.ix);
	pg.ix = NULL;
	ck_assert_int_eq(cairn_index_transfer_open(&t, fx_url(pg.folder.path).text, true, &diag), CAIRN_OK);
	ck_assert_msg(cairn_index_transfer_begin(t, &diag) == CAIRN_OK, "%s", diag.text);
	(void)pgfx_sql("DELETE FROM entry");
	(void)pgfx_sql("DELETE FROM content");
	ck_assert_msg(cairn_index_transfer_end(t, &state, last, &diag) == CAIRN_OK, "%s", diag.text);
}
END_TEST

/* The leases of all fetches are renewed, until they are returned. */
START_TEST(leases_of_fetches_are_renewed)
{
	static const char RENEWED[] =
		"SELECT count(*) FROM mirror_lease WHERE until > clock_timestamp() + interval '5 s'";
	struct cairn_index_lease lease, again;
	int64_t repo;
	share();
	int64_t content = absent_content(&repo);
	ck_assert_int_eq(take_fetch(pg.ix, content, &lease), CAIRN_OK);
	(void)pgfx_sql("UPDATE mirror_lease SET until = clock_timestamp() + interval '2 s'");
	pgfx_wait_for(RENEWED);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &lease, 0, 0), CAIRN_OK);
	ck_assert_int_eq(take_fetch(pg.ix, content, &again), CAIRN_OK);
	/* another daemon has taken over */
	(void)pgfx_sql("UPDATE mirror_lease SET fence = fence + 1, until = '-infinity'");
	ck_assert_int_eq(take_fetch(pg.ix, content, &lease), CAIRN_OK);
	(void)pgfx_sql("UPDATE mirror_lease SET until = clock_timestamp() + interval '2 s'");
	pgfx_wait_for(RENEWED);
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &again, 0, 0), CAIRN_OK);
	ck_assert(is_taken(repo, content));
	ck_assert_int_eq(cairn_index_give_lease(pg.ix, &lease, 0, 0), CAIRN_OK);
	ck_assert(!is_taken(repo, content));
}
END_TEST

static void set_note(struct cairn_index_note *note, const char *text)
{
	(void)snprintf(note->text, sizeof(note->text), "%s", text);
}

/* A note replaces only the note that was read, and only for the holder of the lease. Everybody can see who that is. */
START_TEST(notes_of_a_job)
{
	char text[256];
	struct cairn_diag diag = {0};
	struct cairn_index_lease lease;
	struct cairn_index_job_state state = {0};
	struct cairn_index_put_note put = {.job = CAIRN_INDEX_SCRUB};
	/* Jobs are found by name: a newer Cairn may have added one, wherever its name sorts. */
	(void)snprintf(text, sizeof(text), "INSERT INTO \"%s\".job(name) VALUES ('another')", pg.folder.path);
	(void)pgfx_sql(text);
	share();
	struct cairn_index *other = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
	ck_assert_str_eq(cairn_index_introduce(pg.ix, "h\xf6st:1\n"), "h?st:1?");
	ck_assert_int_eq(cairn_index_take_lease(pg.ix, CAIRN_INDEX_SCRUB, &lease, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_index_note(other, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	ck_assert_str_eq(put.note.text, "");
	set_note(&put.note, "told");
	ck_assert_int_eq(cairn_index_put_note(other, &put), CAIRN_OK);
	ck_assert_int_eq(cairn_index_put_note(pg.ix, &put), CAIRN_E_CONFLICT);
	ck_assert_str_eq(put.write.diag.rule, "lease.note");
	put.write.lease = &lease;
	ck_assert_int_eq(cairn_index_note(pg.ix, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	ck_assert_str_eq(put.note.text, "told");
	set_note(&put.note, "further");
	ck_assert_int_eq(cairn_index_put_note(pg.ix, &put), CAIRN_OK);
	int64_t until_ms = cairn_clock_mono_ms() + PGFX_WITHIN_MS;
	for (; !state.taken && cairn_clock_mono_ms() < until_ms; pgfx_pause_for(PGFX_NEXT_MS))
		cairn_index_job_state(other, CAIRN_INDEX_SCRUB, &state);
	ck_assert_str_eq(state.who, "h?st:1?");
	ck_assert_int_gt(state.since_unix_s, cairn_clock_unix_s() - 60);
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".job SET epoch = epoch + 1", pg.folder.path);
	(void)pgfx_sql(text);
	set_note(&put.note, "furthest");
	ck_assert_int_eq(cairn_index_put_note(pg.ix, &put), CAIRN_E_BUSY);
	ck_assert_str_eq(put.write.diag.rule, "lease.over");
	ck_assert_int_eq(cairn_index_note(other, CAIRN_INDEX_SCRUB, &put.note), CAIRN_OK);
	ck_assert_str_eq(put.note.text, "further");
	ck_assert_int_eq(put.note.version, 2);
	cairn_index_free(other);
}
END_TEST

/* A connection hangs within a transaction or within an exchange, at several moments of a second. A waiting writer still
 * gets the row before its deadline. */
START_TEST(a_stopped_daemon_is_ended)
{
	enum { MOMENT_MS = 250 };
	share();
	pgfx_pause_for(MOMENT_MS * _i);
	PGconn *still = pgfx_stand_still(_i != 0);
	int64_t began_ms = cairn_clock_mono_ms();
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	ck_assert(pace_in_time(cairn_clock_mono_ms() - began_ms, 5000));
	PQfinish(still);
}
END_TEST

START_TEST(sessions)
{
	struct cairn_index_session found;
	struct cairn_index_begin_session begin = {
		.session = {.digest = {1}, .key = {2}, .account = 3, .ends_unix_s = 1000},
		.now_unix_s = 100,
		.n_max = 4,
		.n_of_one_max = 2};
	struct cairn_index_end_session end = {.digest = {1}};
	share();
	ck_assert_int_eq(cairn_index_begin_session(pg.ix, &begin), CAIRN_OK);
	ck_assert_int_eq(cairn_index_session(pg.ix, begin.session.digest, 999, &found), CAIRN_OK);
	ck_assert_mem_eq(&found, &begin.session, sizeof(found));
	ck_assert_int_eq(cairn_index_session(pg.ix, begin.session.digest, 1000, &found), CAIRN_E_NOT_FOUND);
	/* The third session of a user ends the user's first. A fifth session ends the oldest of all. */
	for (uint8_t i = 2; i <= 3; i++) {
		begin.session.digest[0] = i;
		begin.session.ends_unix_s++;
		ck_assert_int_eq(cairn_index_begin_session(pg.ix, &begin), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_index_session(pg.ix, end.digest, 100, &found), CAIRN_E_NOT_FOUND);
	for (uint8_t i = 4; i <= 6; i++) { /* each operator's key counts separately */
		begin.session = (struct cairn_index_session){.digest = {i}, .key = {i}, .ends_unix_s = 1000 + i};
		ck_assert_int_eq(cairn_index_begin_session(pg.ix, &begin), CAIRN_OK);
	}
	end.digest[0] = 2;
	ck_assert_int_eq(cairn_index_session(pg.ix, end.digest, 100, &found), CAIRN_E_NOT_FOUND);
	end.digest[0] = 3;
	ck_assert_int_eq(cairn_index_session(pg.ix, end.digest, 100, &found), CAIRN_OK);
	ck_assert_int_eq(cairn_index_end_session(pg.ix, &end), CAIRN_OK);
	ck_assert_int_eq(cairn_index_end_session(pg.ix, &end), CAIRN_OK);
	ck_assert_int_eq(cairn_index_session(pg.ix, end.digest, 100, &found), CAIRN_E_NOT_FOUND);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("several daemons");
	tcase_add_test(t, leases);
	tcase_add_test(t, fetching_ahead_is_noted_by_the_last_holder);
	tcase_add_test(t, a_lease_is_renewed);
	tcase_add_test(t, a_lease_that_ended_is_not_renewed);
	tcase_add_test(t, a_lease_of_another_clock);
	tcase_add_test(t, leases_of_fetches);
	tcase_add_test(t, a_move_leaves_no_lease_of_a_fetch);
	tcase_add_test(t, leases_of_fetches_are_renewed);
	tcase_add_test(t, notes_of_a_job);
	tcase_add_loop_test(t, a_stopped_daemon_is_ended, 0, 5);
	tcase_add_test(t, sessions);
	return pgfx_run(argc, argv, t);
}
