#include "base/workers.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N_WORKS = 100 };

struct counted {
	struct cairn_work work; /* must be the first member, so that a pointer to the work also points to the struct */
	atomic_int *done;
};

static void count_one(struct cairn_work *work)
{
	atomic_fetch_add(((struct counted *)work)->done, 1);
}

/* A work that keeps its worker until it is released. */
struct gate {
	struct cairn_work work;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool entered, open;
};

static void gate_wait(struct cairn_work *work)
{
	struct gate *gate = (struct gate *)work;
	pthread_mutex_lock(&gate->lock);
	gate->entered = true;
	pthread_cond_broadcast(&gate->changed);
	while (!gate->open)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

#define GATE                                                                                                           \
	((struct gate){.work.run = gate_wait, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER})

static void gate_await(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	while (!gate->entered)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void gate_submit(struct gate *gate, struct cairn_workers *w, enum cairn_lane lane, uint64_t turn)
{
	*gate = GATE;
	gate->work.lane = lane;
	gate->work.turn = turn;
	ck_assert_int_eq(cairn_workers_submit(w, &gate->work), CAIRN_OK);
}

static void gate_enter(struct gate *gate, struct cairn_workers *w)
{
	*gate = GATE;
	ck_assert_int_eq(cairn_workers_submit(w, &gate->work), CAIRN_OK);
	gate_await(gate);
}

static void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = true;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

START_TEST(all_submitted_work_is_done_before_free_returns)
{
	struct cairn_workers *w = NULL;
	struct counted works[N_WORKS];
	atomic_int done = 0;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 3, 0, 2 * N_WORKS), CAIRN_OK);
	for (int i = 0; i < N_WORKS; i++) {
		works[i] = (struct counted){.work.run = count_one, .done = &done};
		ck_assert_int_eq(cairn_workers_submit(w, &works[i].work), CAIRN_OK);
	}
	cairn_workers_free(w);
	ck_assert_int_eq(done, N_WORKS);
	cairn_workers_free(NULL);
}
END_TEST

START_TEST(queue_is_bounded)
{
	struct cairn_workers *w = NULL;
	struct gate gate;
	struct counted works[3];
	atomic_int done = 0;
	for (int i = 0; i < 3; i++)
		works[i] = (struct counted){.work.run = count_one, .done = &done};
	ck_assert_int_eq(cairn_workers_new(&w, "test", 1, 0, 2), CAIRN_OK);
	gate_enter(&gate, w);
	ck_assert_int_eq(cairn_workers_submit(w, &works[0].work), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(w, &works[1].work), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(w, &works[2].work), CAIRN_E_BUSY);
	ck_assert_uint_eq(cairn_workers_pending(w), 3);
	gate_open(&gate);
	cairn_workers_free(w);
	ck_assert_int_eq(done, 2);
}
END_TEST

/* A caller that then does the work itself can still report how long it waited before. */
START_TEST(refused_work_keeps_its_wait)
{
	struct cairn_workers *w;
	struct gate busy, queued = GATE;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 1, 0, 1), CAIRN_OK);
	gate_enter(&busy, w);
	ck_assert_int_eq(cairn_workers_submit(w, &queued.work), CAIRN_OK);
	struct cairn_work refused = {.run = gate_wait, .queued_us = 7};
	ck_assert_int_eq(cairn_workers_submit(w, &refused), CAIRN_E_BUSY);
	ck_assert_uint_eq(refused.queued_us, 7);
	gate_open(&busy);
	gate_open(&queued);
	cairn_workers_free(w);
}
END_TEST

START_TEST(two_workers_work_at_the_same_time)
{
	struct cairn_workers *w = NULL;
	struct gate gates[2];
	ck_assert_int_eq(cairn_workers_new(&w, "test", 2, 0, 2), CAIRN_OK);
	gate_enter(&gates[0], w);
	gate_enter(&gates[1], w); /* would wait forever with a single thread */
	gate_open(&gates[1]);
	gate_open(&gates[0]);
	cairn_workers_free(w);
}
END_TEST

/* Work that submits more work, one at a time, until it is refused. The queue is never full, so a refusal means that the
 * pool closes. */
struct submitter {
	struct cairn_work work;
	struct cairn_workers *w;
	struct gate extra;
};

static void submit_until_refused(struct cairn_work *work)
{
	struct submitter *s = (struct submitter *)work;
	for (;;) {
		s->extra.entered = false;
		if (cairn_workers_submit(s->w, &s->extra.work) != CAIRN_OK)
			return;
		gate_await(&s->extra);
	}
}

START_TEST(a_closing_pool_takes_no_more)
{
	struct submitter s = {.work.run = submit_until_refused, .extra = GATE};
	s.extra.open = true;
	ck_assert_int_eq(cairn_workers_new(&s.w, "test", 2, 0, 100), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(s.w, &s.work), CAIRN_OK);
	cairn_workers_free(s.w); /* would never return if the pool accepted more work */
}
END_TEST

/* Between closing and freeing the pool refuses new work. */
START_TEST(a_closed_pool_refuses)
{
	struct cairn_workers *w = NULL;
	struct gate gate;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 2, 0, 10), CAIRN_OK);
	gate_enter(&gate, w);
	gate_open(&gate);
	cairn_workers_close(w);
	ck_assert_uint_eq(cairn_workers_pending(w), 0); /* accepted work is done */
	ck_assert_int_eq(cairn_workers_submit(w, &gate.work), CAIRN_E_BUSY);
	cairn_workers_free(w);
}
END_TEST

/* The third heavy work waits, while quick work is still done. */
START_TEST(heavy_work_leaves_threads_to_quick_work)
{
	struct cairn_workers *w = NULL;
	struct gate heavy[3], quick;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 3, 1, 100), CAIRN_OK);
	for (uint64_t i = 0; i < 3; i++)
		gate_submit(&heavy[i], w, CAIRN_LANE_HEAVY, i);
	gate_await(&heavy[0]);
	gate_await(&heavy[1]);
	gate_submit(&quick, w, CAIRN_LANE_QUICK, 3);
	gate_await(&quick); /* would wait forever if the third heavy work had the last thread */
	ck_assert(!heavy[2].entered);
	gate_open(&quick);
	for (size_t i = 0; i < 3; i++)
		gate_open(&heavy[i]);
	cairn_workers_free(w);
	ck_assert(heavy[2].entered);
}
END_TEST

/* With two threads for quick work, the heavy work of one turn leaves a thread even to that turn's own quick work. */
START_TEST(heavy_work_of_one_turn_leaves_a_thread_to_the_same_turn)
{
	struct cairn_workers *w = NULL;
	struct gate heavy[4], quick;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 6, 2, 100), CAIRN_OK);
	for (size_t i = 0; i < 4; i++)
		gate_submit(&heavy[i], w, CAIRN_LANE_HEAVY, 1);
	for (size_t i = 0; i < 4; i++)
		gate_await(&heavy[i]);
	gate_submit(&quick, w, CAIRN_LANE_QUICK, 1);
	gate_await(&quick);
	gate_open(&quick);
	for (size_t i = 0; i < 4; i++)
		gate_open(&heavy[i]);
	cairn_workers_free(w);
}
END_TEST

START_TEST(one_turn_never_has_all_threads)
{
	struct cairn_workers *w = NULL;
	struct gate greedy[4], other;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 4, 2, 100), CAIRN_OK);
	for (size_t i = 0; i < 4; i++)
		gate_submit(&greedy[i], w, CAIRN_LANE_QUICK, 1);
	for (size_t i = 0; i < 3; i++)
		gate_await(&greedy[i]);
	gate_submit(&other, w, CAIRN_LANE_QUICK, 2);
	gate_await(&other);
	ck_assert(!greedy[3].entered);
	gate_open(&other);
	for (size_t i = 0; i < 4; i++)
		gate_open(&greedy[i]);
	cairn_workers_free(w);
	ck_assert(greedy[3].entered);
}
END_TEST

/* Work that notes when it is done. Only one runs at a time. */
struct noted {
	struct cairn_work work;
	char name;
	char *notes;
	size_t *n;
};

static void note_one(struct cairn_work *work)
{
	struct noted *noted = (struct noted *)work;
	noted->notes[(*noted->n)++] = noted->name;
}

START_TEST(turns_alternate_and_quick_work_comes_first)
{
	struct cairn_workers *w = NULL;
	struct gate gate;
	struct noted works[6];
	char notes[7] = "";
	size_t n = 0;
	static const struct {
		char name;
		uint64_t turn;
		enum cairn_lane lane;
	} order[] = {
		{'a', 1, CAIRN_LANE_HEAVY}, {'b', 1, CAIRN_LANE_HEAVY}, {'c', 1, CAIRN_LANE_HEAVY},
		{'d', 2, CAIRN_LANE_HEAVY}, {'e', 3, CAIRN_LANE_HEAVY}, {'q', 1, CAIRN_LANE_QUICK},
	};
	ck_assert_int_eq(cairn_workers_new(&w, "test", 1, 0, 100), CAIRN_OK);
	gate_enter(&gate, w);
	for (size_t i = 0; i < 6; i++) {
		works[i] = (struct noted){.name = order[i].name, .notes = notes, .n = &n};
		works[i].work = (struct cairn_work){.run = note_one, .lane = order[i].lane, .turn = order[i].turn};
		ck_assert_int_eq(cairn_workers_submit(w, &works[i].work), CAIRN_OK);
	}
	gate_open(&gate);
	cairn_workers_free(w);
	ck_assert_str_eq(notes, "qadebc");
}
END_TEST

/* A gate that gives up its place while it waits. */
static void gate_wait_aside(struct cairn_work *work)
{
	bool aside = cairn_workers_step_aside();
	gate_wait(work);
	if (aside)
		cairn_workers_step_back();
}

static void gate_submit_aside(struct gate *gate, struct cairn_workers *w, uint64_t turn)
{
	*gate = GATE;
	gate->work.run = gate_wait_aside;
	gate->work.turn = turn;
	ck_assert_int_eq(cairn_workers_submit(w, &gate->work), CAIRN_OK);
	gate_await(gate);
}

/* In a pool with one place, four threads give up their places while they wait. A fifth thread would keep its place. */
START_TEST(threads_that_wait_aside_leave_their_places)
{
	enum { STAND_INS = 4 };
	struct cairn_workers *w = NULL;
	struct gate aside[STAND_INS], keeps, late;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 1, 0, 100), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_add_stand_ins(w, STAND_INS), CAIRN_OK);
	for (uint64_t i = 0; i < STAND_INS; i++)
		gate_submit_aside(&aside[i], w, i);
	gate_submit_aside(&keeps, w, STAND_INS);
	gate_submit(&late, w, CAIRN_LANE_QUICK, STAND_INS + 1);
	ck_assert_uint_eq(cairn_workers_pending(w), STAND_INS + 2);
	ck_assert(!late.entered);
	gate_open(&keeps);
	gate_await(&late);
	gate_open(&late);
	for (size_t i = 0; i < STAND_INS; i++)
		gate_open(&aside[i]);
	cairn_workers_free(w);
}
END_TEST

/* Work that gives up its place, takes it again, and continues. */
struct long_gate {
	struct gate gate, after; /* gate must be the first member */
};

static void long_gate_run(struct cairn_work *work)
{
	struct long_gate *g = (struct long_gate *)work;
	gate_wait_aside(work);
	gate_wait(&g->after.work);
}

/* Two heavy works run in a pool with one place for heavy work. Quick work still has its own place. */
START_TEST(heavy_work_that_steps_back_leaves_the_places_of_quick_work)
{
	struct cairn_workers *w = NULL;
	struct long_gate back = {.gate = GATE, .after = GATE};
	struct gate heavy, quick;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 2, 1, 100), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_add_stand_ins(w, 4), CAIRN_OK);
	back.gate.work = (struct cairn_work){.run = long_gate_run, .lane = CAIRN_LANE_HEAVY, .turn = 1};
	ck_assert_int_eq(cairn_workers_submit(w, &back.gate.work), CAIRN_OK);
	gate_await(&back.gate);
	gate_submit(&heavy, w, CAIRN_LANE_HEAVY, 2);
	gate_await(&heavy); /* it has its place again */
	gate_open(&back.gate);
	gate_await(&back.after);
	gate_submit(&quick, w, CAIRN_LANE_QUICK, 3);
	gate_await(&quick); /* would wait forever if heavy work had both places */
	gate_open(&quick);
	gate_open(&heavy);
	gate_open(&back.after);
	cairn_workers_free(w);
}
END_TEST

/* A turn may use a quarter of the stand-ins. Its next thread keeps its place, while the thread of another turn gives
 * its place up. */
START_TEST(one_turn_has_a_quarter_of_the_stand_ins)
{
	struct cairn_workers *w = NULL;
	struct gate greedy[2], other, last;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 2, 0, 100), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_add_stand_ins(w, 4), CAIRN_OK);
	for (size_t i = 0; i < 2; i++)
		gate_submit_aside(&greedy[i], w, 1); /* the second one keeps one of two places */
	gate_submit_aside(&other, w, 2);
	gate_submit(&last, w, CAIRN_LANE_QUICK, 3);
	gate_await(&last); /* would wait forever if the other turn's thread kept the second place */
	gate_open(&last);
	gate_open(&other);
	for (size_t i = 0; i < 2; i++)
		gate_open(&greedy[i]);
	cairn_workers_free(w);
}
END_TEST

/* A turn whose share of the stand-ins waits gets one place of three. The work of other turns has two. */
START_TEST(a_turn_that_waits_aside_gets_one_place_more)
{
	struct cairn_workers *w = NULL;
	struct gate greedy[3], others[2];
	ck_assert_int_eq(cairn_workers_new(&w, "test", 3, 0, 100), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_add_stand_ins(w, 4), CAIRN_OK);
	for (size_t i = 0; i < 2; i++)
		gate_submit_aside(&greedy[i], w, 1);
	gate_submit(&greedy[2], w, CAIRN_LANE_QUICK, 1);
	for (size_t i = 0; i < 2; i++)
		gate_submit(&others[i], w, CAIRN_LANE_QUICK, 2 + i);
	for (size_t i = 0; i < 2; i++)
		gate_await(&others[i]); /* would wait forever if the first turn had a second place */
	ck_assert(!greedy[2].entered);
	gate_open(&greedy[0]); /* takes its place again */
	gate_open(&greedy[1]);
	gate_await(&greedy[2]);
	gate_open(&greedy[2]);
	for (size_t i = 0; i < 2; i++)
		gate_open(&others[i]);
	cairn_workers_free(w);
}
END_TEST

static void note_turn(struct cairn_work *work)
{
	atomic_store(((struct counted *)work)->done, (int)cairn_workers_turn());
}

START_TEST(a_thread_knows_the_turn_of_its_work)
{
	struct cairn_workers *w = NULL;
	atomic_int turn = 0;
	struct counted one = {.work = {.run = note_turn, .turn = 7}, .done = &turn};
	ck_assert_int_eq(cairn_workers_new(&w, "test", 1, 0, 10), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(w, &one.work), CAIRN_OK);
	cairn_workers_free(w);
	ck_assert_int_eq(atomic_load(&turn), 7);
	ck_assert_uint_eq(cairn_workers_turn(), 0);
	ck_assert(!cairn_workers_step_aside());
}
END_TEST

START_TEST(one_turn_never_has_the_whole_queue)
{
	struct cairn_workers *w = NULL;
	struct gate gate;
	struct counted works[5];
	atomic_int done = 0;
	for (int i = 0; i < 5; i++)
		works[i] = (struct counted){.work = {.run = count_one, .turn = 1}, .done = &done};
	ck_assert_int_eq(cairn_workers_new(&w, "test", 1, 0, 4), CAIRN_OK);
	gate_enter(&gate, w);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(cairn_workers_submit(w, &works[i].work), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(w, &works[3].work), CAIRN_E_BUSY);
	works[4].work.turn = 2;
	ck_assert_int_eq(cairn_workers_submit(w, &works[4].work), CAIRN_OK);
	gate_open(&gate);
	cairn_workers_free(w);
	ck_assert_int_eq(done, 4);
}
END_TEST

START_TEST(a_question_is_answered_while_quick_work_gets_a_thread)
{
	struct cairn_workers *w = NULL;
	struct cairn_workers_ask ask = {0};
	struct gate gates[3];
	ck_assert_int_eq(cairn_workers_new(&w, "test", 3, 1, 8), CAIRN_OK);
	ck_assert(cairn_workers_answer(w, &ask, 10000));
	gate_submit(&gates[0], w, CAIRN_LANE_HEAVY, 5);
	gate_submit(&gates[1], w, CAIRN_LANE_HEAVY, 6);
	gate_await(&gates[0]);
	gate_await(&gates[1]);
	ck_assert(cairn_workers_answer(w, &ask, 10000));
	gate_submit(&gates[2], w, CAIRN_LANE_QUICK, 7);
	gate_await(&gates[2]);
	ck_assert(!cairn_workers_answer(w, &ask, 50));
	ck_assert(!cairn_workers_answer(w, &ask, 50)); /* the same probe is still waiting */
	gate_open(&gates[2]);
	ck_assert(cairn_workers_answer(w, &ask, 10000));
	ck_assert(cairn_workers_answer(w, &ask, 10000));
	gate_open(&gates[0]);
	gate_open(&gates[1]);
	cairn_workers_free(w);
	cairn_workers_ask_fini(&ask);
}
END_TEST

START_TEST(a_full_queue_is_alive_if_it_took_work)
{
	struct cairn_workers *w = NULL;
	struct cairn_workers_ask ask = {0};
	struct gate first, second;
	struct counted one;
	atomic_int done = 0;
	ck_assert_int_eq(cairn_workers_new(&w, "test", 1, 0, 1), CAIRN_OK);
	gate_enter(&first, w);
	gate_submit(&second, w, CAIRN_LANE_QUICK, 1);
	ck_assert(cairn_workers_answer(w, &ask, 10)); /* the worker has taken work since the probe was made */
	ck_assert(!cairn_workers_answer(w, &ask, 10));
	gate_open(&first);
	gate_await(&second);
	one = (struct counted){.work.run = count_one, .done = &done};
	ck_assert_int_eq(cairn_workers_submit(w, &one.work), CAIRN_OK);
	ck_assert(cairn_workers_answer(w, &ask, 10));
	gate_open(&second);
	cairn_workers_free(w);
	cairn_workers_ask_fini(&ask);
	ck_assert_int_eq(done, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workers");
	TCase *tc = tcase_create("workers");
	tcase_add_test(tc, all_submitted_work_is_done_before_free_returns);
	tcase_add_test(tc, queue_is_bounded);
	tcase_add_test(tc, refused_work_keeps_its_wait);
	tcase_add_test(tc, two_workers_work_at_the_same_time);
	tcase_add_test(tc, a_closing_pool_takes_no_more);
	tcase_add_test(tc, a_closed_pool_refuses);
	tcase_add_test(tc, heavy_work_leaves_threads_to_quick_work);
	tcase_add_test(tc, heavy_work_of_one_turn_leaves_a_thread_to_the_same_turn);
	tcase_add_test(tc, one_turn_never_has_all_threads);
	tcase_add_test(tc, turns_alternate_and_quick_work_comes_first);
	tcase_add_test(tc, threads_that_wait_aside_leave_their_places);
	tcase_add_test(tc, heavy_work_that_steps_back_leaves_the_places_of_quick_work);
	tcase_add_test(tc, one_turn_has_a_quarter_of_the_stand_ins);
	tcase_add_test(tc, a_turn_that_waits_aside_gets_one_place_more);
	tcase_add_test(tc, a_thread_knows_the_turn_of_its_work);
	tcase_add_test(tc, one_turn_never_has_the_whole_queue);
	tcase_add_test(tc, a_question_is_answered_while_quick_work_gets_a_thread);
	tcase_add_test(tc, a_full_queue_is_alive_if_it_took_work);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
