#include "server/http/http_waits.h"

void http_waits_init(struct http_waits *waits, unsigned places_max)
{
	*waits = (struct http_waits){.places_max = places_max,
				     .places_of_turn_max = places_max < 3 ? 1 : places_max / 3};
	pthread_mutex_init(&waits->lock, NULL);
}

void http_waits_fini(struct http_waits *waits)
{
	pthread_mutex_destroy(&waits->lock);
}

static unsigned waits_places_of(const struct http_waits *waits, uint64_t turn)
{
	unsigned n = 0;
	for (const struct http_place *place = waits->places; place; place = place->next)
		n += place->turn == turn;
	return n;
}

bool http_waits_take(struct http_waits *waits, struct http_place *place, uint64_t turn)
{
	pthread_mutex_lock(&waits->lock);
	place->taken = waits->n_places < waits->places_max && waits_places_of(waits, turn) < waits->places_of_turn_max;
	if (place->taken) {
		place->turn = turn;
		place->next = waits->places;
		waits->places = place;
		waits->n_places++;
	}
	pthread_mutex_unlock(&waits->lock);
	return place->taken;
}

void http_waits_give(struct http_waits *waits, struct http_place *place)
{
	if (!place->taken)
		return;
	pthread_mutex_lock(&waits->lock);
	struct http_place **at = &waits->places;
	while (*at != place)
		at = &(*at)->next;
	*at = place->next;
	waits->n_places--;
	pthread_mutex_unlock(&waits->lock);
	place->taken = false;
}

static void waits_list(struct http_waits *waits, struct http_wait *wait)
{
	wait->next = waits->first;
	wait->prev = &waits->first;
	if (wait->next)
		wait->next->prev = &wait->next;
	waits->first = wait;
	atomic_fetch_add(&waits->n, 1);
}

static void waits_unlist(struct http_wait *wait)
{
	*wait->prev = wait->next;
	if (wait->next)
		wait->next->prev = wait->prev;
	atomic_fetch_sub(&wait->waits->n, 1);
}

static void waits_wake(struct http_waiter *waiter)
{
	struct http_wait *wait = (struct http_wait *)waiter;
	struct http_waits *waits = wait->waits;
	pthread_mutex_lock(&waits->lock);
	waits_unlist(wait);
	pthread_mutex_unlock(&waits->lock);
	wait->ended(wait, true);
}

/* Begins a wait. The source gets the waiter under lock, so a thread that finds the wait can take the waiter back. */
enum http_wait_begin http_waits_begin(struct http_waits *waits, struct http_wait *wait, uint64_t pos)
{
	enum http_wait_begin begin = HTTP_WAIT_BEGUN;
	wait->waiter.wake = waits_wake;
	wait->waits = waits;
	pthread_mutex_lock(&waits->lock);
	waits_list(waits, wait);
	if (!wait->source->wait(wait->source->ctx, pos, &wait->waiter))
		begin = HTTP_WAIT_NO_NEED;
	else if (waits->stopped && wait->source->leave(wait->source->ctx, &wait->waiter))
		begin = HTTP_WAIT_STOPPED; /* else the source is about to wake the listed waiter */
	if (begin != HTTP_WAIT_BEGUN)
		waits_unlist(wait);
	pthread_mutex_unlock(&waits->lock);
	return begin;
}

/* Removes waits from the list, except those whose source is about to wake them. */
static struct http_wait *waits_take_over(struct http_waits *waits, bool all)
{
	struct http_wait *taken = NULL;
	for (struct http_wait *wait = waits->first, *next; wait; wait = next) {
		next = wait->next;
		if (!(all || wait->is_left(wait->ctx)) || !wait->source->leave(wait->source->ctx, &wait->waiter))
			continue;
		waits_unlist(wait);
		wait->next = taken;
		taken = wait;
	}
	return taken;
}

static void waits_end(struct http_waits *waits, bool all)
{
	pthread_mutex_lock(&waits->lock);
	waits->stopped |= all;
	struct http_wait *taken = waits_take_over(waits, all);
	pthread_mutex_unlock(&waits->lock);
	for (struct http_wait *wait = taken, *next; wait; wait = next) {
		next = wait->next;
		wait->ended(wait, false);
	}
}

void http_waits_sweep(struct http_waits *waits)
{
	waits_end(waits, false);
}

void http_waits_stop(struct http_waits *waits)
{
	waits_end(waits, true);
}

unsigned http_waits_count(const struct http_waits *waits)
{
	return atomic_load(&waits->n);
}
