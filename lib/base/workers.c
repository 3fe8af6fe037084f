#include "base/workers.h"

#include "base/cond.h"

#include <stdlib.h>
#include <time.h>

/* Number of turns. Owners with the same turn share it: each gets half. */
enum { WORKERS_TURNS = 256 };

/* Waiting work of one turn in one lane. */
struct workers_waiting {
	struct cairn_work *head, **tail;
	struct workers_turn *next; /* next turn in the lane's line; a turn is in the line while head is set */
};

struct workers_turn {
	struct workers_waiting waiting[CAIRN_LANES];
	size_t n_queued;
	unsigned n_running;
	unsigned n_aside; /* threads that have stepped aside, which do not count as running */
};

struct workers_lane {
	struct workers_turn *head, *tail; /* line of turns; the turn served last is at the end */
	unsigned n_running, n_running_max;
};

struct cairn_workers {
	pthread_mutex_t lock; /* guards the members below, except threads */
	struct workers_idle {
		pthread_cond_t wake;
		unsigned n;
	} idle, idle_stand_ins; /* stand-ins are woken last, because each active thread keeps memory */
	struct workers_lane lanes[CAIRN_LANES];
	struct workers_turn turns[WORKERS_TURNS];
	size_t n_queued, queue_max;
	const char *name;
	uint64_t n_taken; /* number of pieces of work taken */
	unsigned turn_running_max;
	unsigned n_running, n_places; /* work that runs now, and its limit */
	unsigned n_quick;             /* places that are never used by heavy work */
	unsigned n_aside, aside_max;
	bool closing;
	unsigned n_threads;
	pthread_t *threads;
};

/* The state of this worker's thread. */
static _Thread_local struct cairn_workers *workers_own;
static _Thread_local uint64_t workers_own_turn;
static _Thread_local enum cairn_lane workers_own_lane;

/* --- the line of a lane, under the lock --------------------------------------------------------------------------- */

static void lane_line_up(struct workers_lane *lane, enum cairn_lane kind, struct workers_turn *turn)
{
	turn->waiting[kind].next = NULL;
	if (lane->tail)
		lane->tail->waiting[kind].next = turn;
	else
		lane->head = turn;
	lane->tail = turn;
}

static void lane_step_out(struct workers_lane *lane, enum cairn_lane kind, struct workers_turn *turn,
			  struct workers_turn *before)
{
	struct workers_turn *after = turn->waiting[kind].next;
	if (before)
		before->waiting[kind].next = after;
	else
		lane->head = after;
	if (lane->tail == turn)
		lane->tail = before;
}

static unsigned workers_turn_aside_max(const struct cairn_workers *w)
{
	return (w->aside_max + 3) / 4;
}

/* May the turn run one more piece? If its share of the stand-ins is used up, it gets a single thread: further work
 * would wait where its other work waits, and occupy all places. */
static bool lane_may_run(const struct cairn_workers *w, const struct workers_turn *turn)
{
	bool waits = w->aside_max > 0 && turn->n_aside >= workers_turn_aside_max(w);
	return turn->n_running < (waits ? 1 : w->turn_running_max);
}

/* Returns the first turn in line that may use one more thread. */
static struct workers_turn *lane_first(const struct cairn_workers *w, enum cairn_lane kind,
				       struct workers_turn **before)
{
	*before = NULL;
	struct workers_turn *turn = w->lanes[kind].head;
	while (turn && !lane_may_run(w, turn)) {
		*before = turn;
		turn = turn->waiting[kind].next;
	}
	return turn;
}

/* Has the lane a place? Threads that step back may exceed the places, all with heavy work: quick work keeps its own. */
static bool lane_has_place(const struct cairn_workers *w, enum cairn_lane kind)
{
	return w->n_running < w->n_places ||
	       (kind == CAIRN_LANE_QUICK && w->lanes[CAIRN_LANE_QUICK].n_running < w->n_quick);
}

static struct cairn_work *lane_take(struct cairn_workers *w, enum cairn_lane kind)
{
	struct workers_lane *lane = &w->lanes[kind];
	struct workers_turn *before;
	if (lane->n_running >= lane->n_running_max || !lane_has_place(w, kind))
		return NULL;
	struct workers_turn *turn = lane_first(w, kind, &before);
	if (!turn)
		return NULL;
	struct workers_waiting *waiting = &turn->waiting[kind];
	struct cairn_work *work = waiting->head;
	lane_step_out(lane, kind, turn, before);
	waiting->head = work->next;
	if (waiting->head)
		lane_line_up(lane, kind, turn);
	turn->n_queued--;
	w->n_taken++;
	w->n_queued--;
	return work;
}

static struct workers_turn *workers_turn(struct cairn_workers *w, uint64_t turn)
{
	return &w->turns[turn % WORKERS_TURNS];
}

/* --- the threads -------------------------------------------------------------------------------------------------- */

/* Called with the lock. */
static void workers_enter(struct cairn_workers *w, enum cairn_lane lane, uint64_t turn)
{
	workers_turn(w, turn)->n_running++;
	w->lanes[lane].n_running++;
	w->n_running++;
}

static void workers_leave(struct cairn_workers *w, enum cairn_lane lane, uint64_t turn)
{
	workers_turn(w, turn)->n_running--;
	w->lanes[lane].n_running--;
	w->n_running--;
}

static struct cairn_work *workers_take(struct cairn_workers *w)
{
	struct cairn_work *work = lane_take(w, CAIRN_LANE_QUICK);
	if (!work)
		work = lane_take(w, CAIRN_LANE_HEAVY);
	if (work)
		workers_enter(w, work->lane, work->turn);
	return work;
}

static uint64_t workers_now_us(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Unlocks, and wakes an idle thread if there is work. Not the other way round: a woken thread may run at once in place
 * of this one, and all others would wait for the lock. */
static void workers_unlock_and_wake(struct cairn_workers *w)
{
	struct workers_idle *idle = w->idle.n > 0 ? &w->idle : &w->idle_stand_ins;
	bool wake = w->n_queued > 0 && idle->n > 0 && lane_has_place(w, CAIRN_LANE_QUICK);
	pthread_mutex_unlock(&w->lock);
	if (wake)
		pthread_cond_signal(&idle->wake);
}

static void workers_run(struct cairn_workers *w, struct cairn_work *work)
{
	workers_own_turn = work->turn; /* run() may free the work */
	workers_own_lane = work->lane;
	/* The end of one piece may allow more work than the piece that this thread takes next. */
	workers_unlock_and_wake(w);
	work->queued_us = workers_now_us() - work->queued_us;
	work->run(work);
	pthread_mutex_lock(&w->lock);
	workers_leave(w, workers_own_lane, workers_own_turn);
}

static void workers_wake_all(struct cairn_workers *w)
{
	pthread_cond_broadcast(&w->idle.wake);
	pthread_cond_broadcast(&w->idle_stand_ins.wake);
}

static void workers_work(struct cairn_workers *w, struct workers_idle *idle)
{
	(void)pthread_setname_np(pthread_self(), w->name);
	workers_own = w;
	pthread_mutex_lock(&w->lock);
	while (!w->closing || w->n_queued > 0) {
		struct cairn_work *work = workers_take(w);
		if (work) {
			workers_run(w, work);
			continue;
		}
		idle->n++;
		pthread_cond_wait(&idle->wake, &w->lock);
		idle->n--;
	}
	workers_wake_all(w); /* threads may wait for work that another thread took */
	pthread_mutex_unlock(&w->lock);
}

static void *workers_loop(void *arg)
{
	struct cairn_workers *w = arg;
	workers_work(w, &w->idle);
	return NULL;
}

static void *workers_stand_in_loop(void *arg)
{
	struct cairn_workers *w = arg;
	workers_work(w, &w->idle_stand_ins);
	return NULL;
}

static enum cairn_status workers_start(struct cairn_workers *w, unsigned n, void *(*loop)(void *))
{
	pthread_t *threads = realloc(w->threads, (w->n_threads + n) * sizeof(*threads));
	if (!threads)
		return CAIRN_E_NOMEM;
	w->threads = threads;
	for (; n > 0; n--, w->n_threads++)
		if (pthread_create(&w->threads[w->n_threads], NULL, loop, w) != 0)
			return CAIRN_E_NOMEM;
	return CAIRN_OK;
}

enum cairn_status cairn_workers_new(struct cairn_workers **out, const char *name, unsigned n_threads, unsigned n_quick,
				    size_t queue_max)
{
	*out = NULL;
	struct cairn_workers *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->idle.wake, NULL);
	pthread_cond_init(&w->idle_stand_ins.wake, NULL);
	w->name = name;
	w->queue_max = queue_max;
	w->turn_running_max = n_quick > 0 ? n_threads - 1 : n_threads;
	w->lanes[CAIRN_LANE_QUICK].n_running_max = n_threads;
	w->lanes[CAIRN_LANE_HEAVY].n_running_max = n_threads - n_quick;
	w->n_places = n_threads;
	w->n_quick = n_quick;
	if (workers_start(w, n_threads, workers_loop) != CAIRN_OK) {
		cairn_workers_free(w);
		return CAIRN_E_NOMEM;
	}
	*out = w;
	return CAIRN_OK;
}

enum cairn_status cairn_workers_add_stand_ins(struct cairn_workers *w, unsigned n)
{
	enum cairn_status status = workers_start(w, n, workers_stand_in_loop);
	pthread_mutex_lock(&w->lock);
	w->aside_max = status == CAIRN_OK ? n : 0;
	pthread_mutex_unlock(&w->lock);
	return status;
}

/* --- stepping aside ----------------------------------------------------------------------------------------------- */

uint64_t cairn_workers_turn(void)
{
	return workers_own_turn;
}

bool cairn_workers_step_aside(void)
{
	struct cairn_workers *w = workers_own;
	if (!w)
		return false;
	pthread_mutex_lock(&w->lock);
	struct workers_turn *turn = workers_turn(w, workers_own_turn);
	bool aside = w->n_aside < w->aside_max && turn->n_aside < workers_turn_aside_max(w);
	if (aside) {
		w->n_aside++;
		turn->n_aside++;
		workers_leave(w, workers_own_lane, workers_own_turn);
	}
	workers_unlock_and_wake(w);
	return aside;
}

void cairn_workers_step_back(void)
{
	struct cairn_workers *w = workers_own;
	pthread_mutex_lock(&w->lock);
	w->n_aside--;
	workers_turn(w, workers_own_turn)->n_aside--;
	workers_enter(w, workers_own_lane, workers_own_turn);
	workers_unlock_and_wake(w); /* the turn may get more threads again */
}

/* --- submitting --------------------------------------------------------------------------------------------------- */

/* Called with the lock. */
static bool workers_has_room(const struct cairn_workers *w, const struct workers_turn *turn)
{
	return !w->closing && w->n_queued < w->queue_max && turn->n_queued < w->queue_max - w->queue_max / 4;
}

enum cairn_status cairn_workers_submit(struct cairn_workers *w, struct cairn_work *work)
{
	enum cairn_status status = CAIRN_E_BUSY;
	uint64_t now_us = workers_now_us();
	pthread_mutex_lock(&w->lock);
	struct workers_turn *turn = workers_turn(w, work->turn);
	struct workers_waiting *waiting = &turn->waiting[work->lane];
	if (workers_has_room(w, turn)) {
		work->next = NULL;
		work->queued_us = now_us;
		if (waiting->head) {
			*waiting->tail = work;
		} else {
			waiting->head = work;
			lane_line_up(&w->lanes[work->lane], work->lane, turn);
		}
		waiting->tail = &work->next;
		turn->n_queued++;
		w->n_queued++;
		status = CAIRN_OK;
	}
	workers_unlock_and_wake(w);
	return status;
}

/* --- probing ------------------------------------------------------------------------------------------------------ */

static void ask_run(struct cairn_work *work)
{
	struct cairn_workers_ask *ask = (struct cairn_workers_ask *)work;
	pthread_mutex_lock(&ask->lock);
	ask->waiting = false;
	pthread_cond_signal(&ask->changed);
	pthread_mutex_unlock(&ask->lock);
}

static void ask_make(struct cairn_workers_ask *ask)
{
	if (ask->made)
		return;
	pthread_mutex_init(&ask->lock, NULL);
	cairn_cond_init(&ask->changed);
	ask->made = true;
}

/* Called with the probe's lock. @return whether the probe was answered */
static bool ask_wait(struct cairn_workers_ask *ask, unsigned timeout_ms)
{
	const struct timespec until = cairn_cond_in_ms(timeout_ms);
	while (ask->waiting && cairn_cond_wait_until(&ask->changed, &ask->lock, &until))
		continue;
	return !ask->waiting;
}

bool cairn_workers_answer(struct cairn_workers *w, struct cairn_workers_ask *ask, unsigned timeout_ms)
{
	ask_make(ask);
	pthread_mutex_lock(&ask->lock);
	bool again = ask->waiting;
	ask->waiting = true;
	pthread_mutex_unlock(&ask->lock);
	pthread_mutex_lock(&w->lock);
	bool moved = ask->n_taken != w->n_taken;
	ask->n_taken = w->n_taken;
	pthread_mutex_unlock(&w->lock);
	if (!again) { /* each probe has a new turn, so that no owner's work delays probes repeatedly */
		ask->work = (struct cairn_work){.run = ask_run, .lane = CAIRN_LANE_QUICK, .turn = ask->work.turn + 1};
		if (cairn_workers_submit(w, &ask->work) != CAIRN_OK) {
			ask->waiting = false;
			return moved;
		}
	}
	pthread_mutex_lock(&ask->lock);
	bool answered = ask_wait(ask, timeout_ms);
	pthread_mutex_unlock(&ask->lock);
	return answered;
}

void cairn_workers_ask_fini(struct cairn_workers_ask *ask)
{
	if (ask->made) {
		(void)pthread_cond_destroy(&ask->changed);
		(void)pthread_mutex_destroy(&ask->lock);
	}
	*ask = (struct cairn_workers_ask){0};
}

size_t cairn_workers_pending(struct cairn_workers *w)
{
	pthread_mutex_lock(&w->lock);
	size_t n = w->n_queued + w->n_running + w->n_aside;
	pthread_mutex_unlock(&w->lock);
	return n;
}

void cairn_workers_close(struct cairn_workers *w)
{
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	workers_wake_all(w);
	pthread_mutex_unlock(&w->lock);
	for (; w->n_threads > 0; w->n_threads--)
		pthread_join(w->threads[w->n_threads - 1], NULL);
}

void cairn_workers_free(struct cairn_workers *w)
{
	if (!w)
		return;
	cairn_workers_close(w);
	pthread_cond_destroy(&w->idle.wake);
	pthread_cond_destroy(&w->idle_stand_ins.wake);
	pthread_mutex_destroy(&w->lock);
	free(w->threads);
	free(w);
}
