/* Commits that are made in pieces while other daemons write to the index, collect, or end a connection or a daemon
 * between two pieces. */
#include "postgres_fixture.h"

#include "base/workers.h"
#include "index/examine.h"
#include "support/history_fixture.h"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, N_FOLDER = 500, N_BETWEEN = 6 };

static char paths[N][16];
static struct cairn_index_operation operations[N];
static int64_t large_repo, small_repo, staged_line;
static struct cairn_index_add_commit large;
static struct cairn_index_add_repo copy;
static struct cairn_index *other; /* the index as another daemon opened it */
static PGconn *held;

static void share(void)
{
	const struct cairn_index_options shared = {.shared = true};
	cairn_index_free(pg.ix);
	hx_index = pg.ix = fx_open_with(pg.folder.path, &shared);
	other = fx_open_with(pg.folder.path, &shared);
	hx_ann = hx_add_account(CAIRN_INDEX_USER, "Ann");
	large_repo = hx_model("large");
	small_repo = hx_model("small");
}

/* Commits of another sender between the pieces. Each has a transaction of its own, because it deletes. */
static struct between {
	struct cairn_work work;
	char path[N_BETWEEN][16];
	struct cairn_index_operation operation[N_BETWEEN];
	struct cairn_index_add_commit commit[N_BETWEEN];
	void (*act)(void); /* called on the writer's thread, after some pieces of the large write */
	unsigned n_done;
} between;

static void between_done(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
	if (++between.n_done == N_BETWEEN)
		between.act();
}

static void between_run(struct cairn_work *work)
{
	(void)work;
	for (unsigned i = 0; i < N_BETWEEN; i++) {
		between.operation[i] = hx_drop(between.path[i]);
		between.commit[i] = hx_request(small_repo, "main", &between.operation[i], 1);
		between.commit[i].write.done = between_done;
		ck_assert_int_eq(cairn_index_add_commit(pg.ix, &between.commit[i]), CAIRN_OK);
	}
}

static void large_done(struct cairn_index_write *write)
{
	(void)write;
}

static void put_all(void)
{
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "d%u/%u", i / N_FOLDER, i);
		operations[i] = hx_put(paths[i], "1");
	}
}

static void send_commit(void)
{
	put_all();
	large = hx_request(large_repo, "main", operations, N);
	large.write.done = large_done;
	ck_assert_int_eq(cairn_index_add_commit(pg.ix, &large), CAIRN_OK);
}

static void send_copy(void)
{
	put_all();
	copy = (struct cairn_index_add_repo){.kind = CAIRN_INDEX_MODEL,
					     .account = hx_ann,
					     .name = "copy",
					     .first = HX_MESSAGE,
					     .operations = operations,
					     .n = N,
					     .source = large_repo};
	copy.write.done = large_done;
	ck_assert_int_eq(cairn_index_add_repo(pg.ix, &copy), CAIRN_OK);
}

/* Queues a large write, and small writes of another sender. One of these comes after each piece. */
static void begin(void (*send)(void), void (*act)(void))
{
	struct cairn_workers *workers;
	struct cairn_index_operation put[N_BETWEEN];
	for (unsigned i = 0; i < N_BETWEEN; i++) {
		(void)snprintf(between.path[i], sizeof(between.path[i]), "f%u", i);
		put[i] = hx_put(between.path[i], "1");
	}
	ck_assert(hx_committed(small_repo, "main", put, N_BETWEEN));
	between.act = act;
	between.work = (struct cairn_work){.run = between_run, .turn = 1};
	ck_assert_int_eq(cairn_workers_new(&workers, "test", 1, 0, 1), CAIRN_OK);
	held = pgfx_lock_table("state", "EXCLUSIVE");
	send();
	ck_assert_int_eq(cairn_workers_submit(workers, &between.work), CAIRN_OK);
	cairn_workers_free(workers); /* all writes are queued */
	PQfinish(held);
}

static void sweep_all(struct cairn_index *of)
{
	struct cairn_index_sweep_repos sweep = {.at = {0}};
	do
		ck_assert_int_eq(cairn_index_sweep_repos(of, &sweep), CAIRN_OK);
	while (sweep.more);
}

static void note_line(void)
{
	staged_line = pgfx_sql_in("SELECT id FROM line WHERE head < -1");
	ck_assert_int_gt(pgfx_sql_in("SELECT count(*) FROM entry e JOIN line l ON l.id = e.line AND l.head < 0"), 0);
}

static void an_hour_passes(void)
{
	(void)pgfx_sql_in("UPDATE line SET head = head + 3601 WHERE head < -1");
}

static int64_t line_of_main(void)
{
	char text[128];
	(void)snprintf(text, sizeof(text), "SELECT line FROM ref WHERE repo = %lld", (long long)large_repo);
	return pgfx_sql_in(text);
}

static void take_fault(void *ctx, const struct cairn_index_fault *fault)
{
	(void)ctx;
	ck_abort_msg("%s", fault->text);
}

static void is_whole(void)
{
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_examine(pg.ix, take_fault, NULL, &diag), CAIRN_OK);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM repo WHERE dropped IS NOT NULL"), 0);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM line l WHERE NOT EXISTS(SELECT 1 FROM ref WHERE line = l.id)"
				     " AND NOT EXISTS(SELECT 1 FROM line c WHERE c.parent = l.id)"),
			 0);
}

/* Checks that the commit has all its files, each of them once. */
static void is_made(void)
{
	ck_assert(cairn_index_flush(pg.ix, 60000));
	ck_assert_msg(large.write.status == CAIRN_OK, "%s", large.write.diag.text);
	ck_assert_uint_eq(between.n_done, N_BETWEEN);
	struct cairn_index_commit head = hx_head(large_repo, "main");
	ck_assert(head.n_files == N + 1 && head.number == 2);
	for (unsigned i = 0; i < N; i += N_FOLDER)
		hx_text_is(&head, paths[i], "1");
	sweep_all(pg.ix);
	is_whole();
	cairn_index_free(other);
}

/* --- collections of another daemon -------------------------------------------------------------------------------- */

static void act_sweep(void)
{
	note_line();
	sweep_all(other);
}

START_TEST(another_daemon_leaves_a_live_commit)
{
	share();
	begin(send_commit, act_sweep);
	is_made();
	ck_assert_int_eq(line_of_main(), staged_line);
}
END_TEST

static void act_sweep_late(void)
{
	struct cairn_index_sweep_repos sweep = {.at = {0}};
	note_line();
	an_hour_passes();
	do /* until the line of the commit exists */
		ck_assert_int_eq(cairn_index_sweep_repos(other, &sweep), CAIRN_OK);
	while (pgfx_sql_in("SELECT count(*) FROM line WHERE head < -1") > 0 && sweep.more);
}

/* A daemon that was stopped for an hour does not go on with a line that lacks rows. */
START_TEST(a_commit_whose_rows_were_removed_begins_again)
{
	share();
	begin(send_commit, act_sweep_late);
	is_made();
	ck_assert_int_gt(line_of_main(), staged_line);
}
END_TEST

/* --- connections that end ----------------------------------------------------------------------------------------- */

static sem_t locked;

static void act_lock(void)
{
	note_line();
	held = pgfx_lock_table("entry", "SHARE");
	(void)sem_post(&locked);
}

/* The server has rolled the piece back, but the daemon's state counts the rows of the piece. */
START_TEST(a_commit_begins_again_after_its_connection_ended)
{
	share();
	ck_assert_int_eq(sem_init(&locked, 0, 0), 0);
	begin(send_commit, act_lock);
	ck_assert_int_eq(sem_wait(&locked), 0);
	pgfx_wait_for("SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l WHERE NOT l.granted"
		      " AND l.mode = 'RowExclusiveLock'");
	PQfinish(held);
	is_made();
	ck_assert_int_gt(line_of_main(), staged_line);
}
END_TEST

/* --- transactions that fail --------------------------------------------------------------------------------------- */

/* Each piece that writes entries of the commit fails as if by a deadlock, however often it is tried. */
START_TEST(a_commit_whose_transactions_fail_ends_with_their_failure)
{
	share();
	cairn_index_free(other);
	int64_t head = hx_head(large_repo, "main").id;
	(void)pgfx_sql_in("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
			  " $$BEGIN RAISE EXCEPTION 'failed' USING ERRCODE = 'deadlock_detected'; END$$");
	(void)pgfx_sql_in("CREATE TRIGGER fails BEFORE INSERT ON entry FOR EACH STATEMENT EXECUTE FUNCTION fail()");
	send_commit();
	ck_assert(cairn_index_flush(pg.ix, 60000));
	ck_assert_int_eq(large.write.status, CAIRN_E_BUSY);
	ck_assert_str_eq(large.write.diag.rule, "index.write");
	ck_assert_int_eq(hx_head(large_repo, "main").id, head);
	(void)pgfx_sql_in("DROP TRIGGER fails ON entry");
	sweep_all(pg.ix);
	is_whole();
	ck_assert(hx_committed(large_repo, "main", operations, N));
}
END_TEST

/* The first page of a squash takes the server longer than any other answer may take. The next page is shorter. */
START_TEST(a_slow_page_of_a_squash_is_no_silence)
{
	enum { N_FILES = 2500, N_FIRST = 2000, SLOW_MS = 4500 };
	char text[512];
	share();
	cairn_index_free(other);
	put_all();
	ck_assert(hx_committed(large_repo, "main", operations, N_FILES));
	(void)pgfx_sql_in("CREATE TABLE copied(n bigint)");
	(void)snprintf(text, sizeof(text),
		       "CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
		       " IF NOT EXISTS(SELECT 1 FROM copied) THEN PERFORM pg_sleep(%d / 1000.0); END IF;"
		       " INSERT INTO copied SELECT count(*) FROM added; RETURN NULL; END$$",
		       SLOW_MS);
	(void)pgfx_sql_in(text);
	(void)pgfx_sql_in("CREATE TRIGGER takes_time AFTER INSERT ON entry REFERENCING NEW TABLE AS added"
			  " FOR EACH STATEMENT EXECUTE FUNCTION take_time()");
	struct cairn_index_squash squash = {
		.repo = large_repo, .kind = CAIRN_INDEX_BRANCH, .name = "main", .message = HX_MESSAGE};
	ck_assert_msg(cairn_index_squash(pg.ix, &squash) == CAIRN_OK, "%s", squash.write.diag.text);
	ck_assert_uint_eq(hx_head(large_repo, "main").n_files, N_FILES + 1);
	ck_assert_int_gt(pgfx_sql_in("SELECT max(n) FROM copied"), N_FIRST / 2);
	ck_assert_int_eq(pgfx_sql_in("SELECT count(*) FROM copied WHERE n > 1000"), 1);
}
END_TEST

START_TEST(a_piece_has_few_bytes)
{
	enum { N_LONG = 1000, LONG_BYTES = 4000, PIECE_BYTES = 1024 * 1024 };
	static char texts[N_LONG][LONG_BYTES + 1];
	share();
	cairn_index_free(other);
	put_all();
	for (unsigned i = 0; i < N_LONG; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "%0*u", LONG_BYTES, i);
		operations[i] = hx_put(paths[i], texts[i]);
	}
	(void)pgfx_sql_in("CREATE TABLE added_bytes(tx bigint, n bigint)");
	(void)pgfx_sql_in("CREATE FUNCTION note_bytes() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
			  " INSERT INTO added_bytes SELECT txid_current(), sum(size) FROM added; RETURN NULL; END$$");
	(void)pgfx_sql_in("CREATE TRIGGER notes_bytes AFTER INSERT ON content REFERENCING NEW TABLE AS added"
			  " FOR EACH STATEMENT EXECUTE FUNCTION note_bytes()");
	ck_assert(hx_committed(large_repo, "main", operations, N));
	ck_assert_int_le(pgfx_sql_in("SELECT max(n) FROM (SELECT sum(n) AS n FROM added_bytes GROUP BY tx) t"),
			 PIECE_BYTES + LONG_BYTES);
	ck_assert_int_ge(pgfx_sql_in("SELECT sum(n) FROM added_bytes"), N_LONG * LONG_BYTES);
}
END_TEST

/* The rows of a page that are not visited are read again by the next piece, and count once. */
START_TEST(folders_of_many_files_are_deleted_together)
{
	enum { N_OF_ONE = 80000 }; /* of the 200,000 that a commit may delete */
	char text[1024];
	const struct cairn_index_operation puts[] = {hx_put("a/first", "1"), hx_put("b/first", "1")};
	const struct cairn_index_operation drops[] = {hx_drop_folder("a"), hx_drop_folder("b")};
	share();
	cairn_index_free(other);
	ck_assert(hx_committed(large_repo, "main", puts, 2));
	(void)snprintf(text, sizeof(text),
		       "WITH e AS (SELECT * FROM entry WHERE line = %lld AND folder = 'a'),"
		       " n AS (INSERT INTO entry(line, folder, name, since, oid, content)"
		       " SELECT line, folder, convert_to('n' || i, 'UTF8'), since, oid, content"
		       " FROM e, generate_series(1, %d) i),"
		       " c AS (UPDATE commit_ SET files = files + %d WHERE line = %lld)"
		       " UPDATE content SET uses = uses + %d WHERE id = (SELECT content FROM e)",
		       (long long)line_of_main(), N_OF_ONE, N_OF_ONE, (long long)line_of_main(), N_OF_ONE);
	(void)pgfx_sql_in(text);
	ck_assert(hx_committed(large_repo, "main", drops, 2));
	ck_assert_str_eq(hx_all(large_repo, "main"), ".gitattributes ");
}
END_TEST

/* --- daemons that end --------------------------------------------------------------------------------------------- */

static void act_die(void)
{
	(void)raise(SIGKILL);
}

static void die_in(void (*send)(void))
{
	int state = 0;
	cairn_index_free(pg.ix);
	cairn_index_free(other);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		hx_index = pg.ix = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
		begin(send, act_die);
		(void)cairn_index_flush(pg.ix, 60000);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &state, 0), child);
	ck_assert(WIFSIGNALED(state));
	hx_index = pg.ix = fx_open_with(pg.folder.path, &(struct cairn_index_options){.shared = true});
}

static void (*const SEND[])(void) = {send_commit, send_copy};

START_TEST(what_a_dead_daemon_left_is_removed_an_hour_later)
{
	struct cairn_index_repo repo;
	share();
	int64_t head = hx_head(large_repo, "main").id;
	uint64_t bytes = hx_account_held(hx_ann);
	die_in(SEND[_i]);
	ck_assert_int_eq(hx_head(large_repo, "main").id, head);
	ck_assert_int_eq(cairn_index_repo(pg.ix, CAIRN_INDEX_MODEL, "Ann", "copy", &repo), CAIRN_E_NOT_FOUND);
	sweep_all(pg.ix);
	note_line();
	an_hour_passes();
	(void)pgfx_sql_in("UPDATE repo SET dropped = 1 WHERE dropped IS NOT NULL");
	sweep_all(pg.ix);
	is_whole();
	ck_assert_uint_le(hx_account_held(hx_ann), bytes + (uint64_t)2 * 4096 * N_BETWEEN);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("staged");
	tcase_add_test(t, another_daemon_leaves_a_live_commit);
	tcase_add_test(t, a_commit_whose_rows_were_removed_begins_again);
	tcase_add_test(t, a_commit_begins_again_after_its_connection_ended);
	tcase_add_test(t, a_commit_whose_transactions_fail_ends_with_their_failure);
	tcase_add_test(t, a_slow_page_of_a_squash_is_no_silence);
	tcase_add_test(t, a_piece_has_few_bytes);
	tcase_add_test(t, folders_of_many_files_are_deleted_together);
	tcase_add_loop_test(t, what_a_dead_daemon_left_is_removed_an_hour_later, 0, sizeof(SEND) / sizeof(SEND[0]));
	return pgfx_run(argc, argv, t);
}
