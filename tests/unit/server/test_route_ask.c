/* Lookups of routes in the index: done at once if they are quick, and on a worker if they may take long. */
#include "server/ask/route_job.h"

#include "data_dir/data_dir.h"
#include "support/http_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tempdir dir;
static struct cairn_data_dir *data;
static struct app app;
static pthread_t ran_on, replied_on;
static atomic_uint n_freed;

struct question {
	struct route_job job;
	char text[16];
	char answer[32];
};

static void question_run(struct route_job *job)
{
	struct question *q = (struct question *)job;
	ran_on = pthread_self();
	(void)snprintf(q->answer, sizeof(q->answer), "{\"a\":\"%s\"}", q->text);
}

static void question_reply(struct http_request *req, struct route_job *job)
{
	replied_on = pthread_self();
	http_reply_json(req, 200, ((struct question *)job)->answer);
}

static void question_get(struct http_request *req)
{
	struct question q = {.job = {.run = question_run, .reply = question_reply}};
	(void)snprintf(q.text, sizeof(q.text), "%s", http_path_arg(req, "text"));
	route_ask(req, &q.job, sizeof(q));
	memset(&q, 'x', sizeof(q)); /* nothing borrows from it */
}

static void question_free(void *state)
{
	atomic_fetch_add(&n_freed, 1);
	free(state);
}

static const struct http_route ROUTES[] = {
	{.method = "GET", .pattern = "/ask/{text}", .name = "ask", .done = question_get, .free = question_free},
	{.method = NULL},
};
static const struct http_route *const TABLES[] = {ROUTES, NULL};

static bool let_in(void *ctx, const char *authorization, unsigned scope, struct auth_identity *out, unsigned *code,
		   struct cairn_diag *diag)
{
	(void)ctx, (void)authorization, (void)scope, (void)out, (void)code, (void)diag;
	return true;
}

static void serve(const char *store)
{
	dir = tempdir_new();
	const struct cairn_data_dir_options folder = {.path = dir.path, .store = store};
	ck_assert_int_eq(cairn_data_dir_open(&data, &folder, NULL), CAIRN_OK);
	const struct cairn_cas_parts parts = cairn_cas_parts_of(data);
	ck_assert_int_eq(cairn_cas_open(&app.cas, &parts, &CAIRN_CAS_DEFAULTS, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_new(&app.workers, "test", 2, 0, 8), CAIRN_OK);
	struct http_server_options o = fixture_options();
	o.app = &app;
	o.routes = TABLES;
	o.authorise = let_in;
	o.ended = NULL;
	o.tick = NULL;
	fixture_start(&o);
}

static void stop(void)
{
	cairn_workers_free(app.workers);
	fixture_stop();
	cairn_cas_free(app.cas);
	cairn_data_dir_free(data);
	tempdir_fini(&dir);
}

static void ask(void)
{
	struct client_reply reply;
	int fd = client_connect();
	client_send(fd, "GET /ask/what HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read(fd, &reply, "GET");
	ck_assert_uint_eq(reply.code, 200);
	ck_assert_str_eq(reply.body, "{\"a\":\"what\"}");
	close(fd);
}

START_TEST(files_are_asked_on_the_spot)
{
	serve(NULL);
	ask();
	stop();
	ck_assert(pthread_equal(ran_on, replied_on));
	ck_assert_uint_eq(atomic_load(&n_freed), 0);
}
END_TEST

START_TEST(a_remote_index_is_asked_on_a_worker)
{
	serve("memory:");
	ask();
	stop();
	ck_assert(!pthread_equal(ran_on, replied_on));
	ck_assert_uint_eq(atomic_load(&n_freed), 1);
}
END_TEST

static Suite *route_ask_suite(void)
{
	Suite *s = suite_create("route_ask");
	TCase *t = tcase_create("route_ask");
	tcase_add_test(t, files_are_asked_on_the_spot);
	tcase_add_test(t, a_remote_index_is_asked_on_a_worker);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(route_ask_suite());
}
