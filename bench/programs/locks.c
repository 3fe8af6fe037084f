/* Loaded before the C library (LD_PRELOAD): how long each place that takes a mutex holds it and waits for it. The end
 * writes a line for each place to the file BENCH_LOCKS_FILE. It has the address in its file, how often, nanoseconds
 * held, how often it waited, nanoseconds waited, and the file. Waiting for a condition counts as neither. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOCKS_EXPORTED __attribute__((visibility("default")))

enum { LOCKS_PLACES = 4096, LOCKS_DEPTH = 16 };

struct locks_place {
	atomic_uintptr_t at; /* return address of the call; 0: free */
	atomic_uint_fast64_t n, held_ns, n_waits, waited_ns;
};

static struct locks_place places[LOCKS_PLACES];

/* The mutexes that this thread holds, the newest last. Mutexes beyond LOCKS_DEPTH are not counted. */
static __thread struct locks_held {
	const pthread_mutex_t *mutex;
	struct locks_place *place;
	uint64_t since_ns;
} held[LOCKS_DEPTH];
static __thread unsigned n_held;

static int (*real_lock)(pthread_mutex_t *), (*real_try)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);
static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

static void locks_find(void *out, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	memcpy(out, &found, sizeof(found));
}

__attribute__((constructor)) static void locks_begin(void)
{
	locks_find(&real_lock, "pthread_mutex_lock");
	locks_find(&real_try, "pthread_mutex_trylock");
	locks_find(&real_unlock, "pthread_mutex_unlock");
	locks_find(&real_wait, "pthread_cond_wait");
	locks_find(&real_timedwait, "pthread_cond_timedwait");
}

static uint64_t locks_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct locks_place *locks_place(void *from)
{
	uintptr_t at = (uintptr_t)from;
	for (size_t i = at * 0x9E3779B97F4A7C15u >> 52;; i = (i + 1) % LOCKS_PLACES) {
		uintptr_t found = atomic_load(&places[i].at);
		if (found == at ||
		    (found == 0 && (atomic_compare_exchange_strong(&places[i].at, &found, at) || found == at)))
			return &places[i];
	}
}

static void locks_taken(const pthread_mutex_t *mutex, struct locks_place *place)
{
	if (n_held < LOCKS_DEPTH)
		held[n_held++] = (struct locks_held){mutex, place, locks_now_ns()};
}

/* Removes a mutex from those of the thread. @return the place that took it; NULL: not counted */
static struct locks_place *locks_given(const pthread_mutex_t *mutex)
{
	for (unsigned i = n_held; i-- > 0;) {
		if (held[i].mutex != mutex)
			continue;
		struct locks_place *place = held[i].place;
		atomic_fetch_add(&place->held_ns, locks_now_ns() - held[i].since_ns);
		memmove(&held[i], &held[i + 1], (--n_held - i) * sizeof(held[0]));
		return place;
	}
	return NULL;
}

LOCKS_EXPORTED int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (!real_try)
		locks_begin();
	struct locks_place *place = locks_place(__builtin_return_address(0));
	int rc = real_try(mutex);
	if (rc != 0) {
		uint64_t began_ns = locks_now_ns();
		rc = real_lock(mutex);
		atomic_fetch_add(&place->waited_ns, locks_now_ns() - began_ns);
		atomic_fetch_add(&place->n_waits, 1);
	}
	atomic_fetch_add(&place->n, 1);
	locks_taken(mutex, place);
	return rc;
}

LOCKS_EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	(void)locks_given(mutex);
	return real_unlock(mutex);
}

LOCKS_EXPORTED int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	struct locks_place *place = locks_given(mutex);
	int rc = real_wait(cond, mutex);
	if (place)
		locks_taken(mutex, place);
	return rc;
}

LOCKS_EXPORTED int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	struct locks_place *place = locks_given(mutex);
	int rc = real_timedwait(cond, mutex, until);
	if (place)
		locks_taken(mutex, place);
	return rc;
}

__attribute__((destructor)) static void locks_end(void)
{
	const char *path = getenv("BENCH_LOCKS_FILE");
	FILE *out = path ? fopen(path, "we") : NULL;
	for (size_t i = 0; out && i < LOCKS_PLACES; i++) {
		struct locks_place *p = &places[i];
		uintptr_t at = atomic_load(&p->at);
		Dl_info in;
		if (at != 0 && dladdr((const void *)at, &in) != 0) /* the call stands before its return address */
			(void)fprintf(out, "%jx %ju %ju %ju %ju %s\n", (uintmax_t)(at - 1 - (uintptr_t)in.dli_fbase),
				      (uintmax_t)p->n, (uintmax_t)p->held_ns, (uintmax_t)p->n_waits,
				      (uintmax_t)p->waited_ns, in.dli_fname);
	}
	if (out)
		(void)fclose(out);
}
