#include "server/prover.h"

#include "base/clock.h"
#include "cas/keep/proof.h"
#include "hash/crypto.h"
#include "server/log/log.h"
#include "server/pace.h"
#include "server/rest.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	PROVER_LOOK_US = 1000 * 1000,  /* how often to look for work while nothing is due */
	PROVER_AGAIN_US = 5000 * 1000, /* when to retry after index or store failed, or while another daemon proves */
	PROVER_COUNT_MS = 60 * 1000,   /* how often rows are counted while nothing changes */
	PROVER_COUNT_SHARE = 50,       /* counting may take one part in this many of the time */
};

struct prover {
	struct cairn_cas *cas;
	const _Atomic uint64_t *rate;
	struct prover_counts *counts;
	struct rest rest;
	struct pace pace;
	struct cairn_proof_parts *parts; /* owned */
	pthread_t thread;
	bool holds; /* this daemon holds the lease, so this daemon proves */
	struct cairn_index_lease lease;
	int64_t after_owner;
	int64_t count_ms; /* the earliest time of the next count, on the monotonic clock */
	bool changed;     /* something has changed since rows were counted */
};

static bool prover_go_on(void *ctx, size_t bytes)
{
	struct prover *p = ctx;
	uint64_t rate = atomic_load(p->rate);
	if (rate == 0)
		return false;
	atomic_fetch_add(&p->counts->read_bytes, bytes);
	int64_t us = pace_pay(&p->pace, bytes, rate);
	return rest_for(&p->rest, us);
}

static void prover_log_lie(void *ctx, const struct cairn_index_lie *lie)
{
	char file[CAIRN_HASH_TEXT_BYTES], said[2 * CAIRN_SHA256_BYTES + 1], proof[sizeof(said)];
	(void)ctx;
	cairn_hash_text(file, &lie->file);
	cairn_hex_text(said, lie->said, sizeof(lie->said));
	cairn_hex_text(proof, lie->proof, sizeof(lie->proof));
	LOG(LOG_WARNING, "claim_false", LOG_T("file", file), LOG_T("owner", lie->owner), LOG_T("said", said),
	    LOG_T("sha256", proof));
}

/* Counts the claims that wait. The more there are, the longer the count takes, so the figures are slightly old. */
static void prover_count(struct prover *p)
{
	struct prover_counts *counts = p->counts;
	struct cairn_index_claims claims;
	int64_t began_ms = cairn_clock_mono_ms();
	if (began_ms < p->count_ms)
		return;
	if (cairn_cas_claims(p->cas, &claims) == CAIRN_OK) {
		atomic_store(&counts->due, claims.n_due);
		atomic_store(&counts->due_bytes, claims.due_bytes);
		atomic_store(&counts->lies, claims.n_false);
		atomic_store(&counts->counted_unix_s, cairn_clock_unix_s());
	}
	int64_t now_ms = cairn_clock_mono_ms(), wait_ms = (now_ms - began_ms) * PROVER_COUNT_SHARE;
	p->count_ms = now_ms + (wait_ms < PROVER_COUNT_MS ? PROVER_COUNT_MS : wait_ms);
}

/* Has the rows counted soon after a change, if the last count was quick. */
static void prover_count_soon(struct prover *p)
{
	int64_t soon_ms = p->count_ms - PROVER_COUNT_MS;
	if (p->changed && cairn_clock_mono_ms() >= soon_ms)
		p->count_ms = 0;
	p->changed = false;
}

static bool prover_take(struct prover *p)
{
	p->holds = p->holds || cairn_cas_take_proving(p->cas, &p->lease) == CAIRN_OK;
	return p->holds;
}

static void prover_give(struct prover *p)
{
	if (p->holds)
		cairn_cas_give_proving(p->cas, &p->lease);
	p->holds = false;
}

/* Proves one file, if a claim waits. @return how long to rest before the next turn */
static int64_t prover_turn(struct prover *p)
{
	struct prover_counts *counts = p->counts;
	struct cairn_proof_turn turn = {
		.parts = p->parts,
		.after_owner = p->after_owner,
		.now_unix_s = cairn_clock_unix_s(),
		.lease = &p->lease,
		.pace = {prover_go_on, p},
		.lied = prover_log_lie,
	};
	if (atomic_load(p->rate) == 0) {
		prover_give(p);
		return PROVER_LOOK_US;
	}
	if (!prover_take(p))
		return PROVER_AGAIN_US;
	enum cairn_status status = cairn_cas_prove_turn(p->cas, &turn);
	uint64_t n = turn.n_proved + turn.n_false + turn.n_unread;
	atomic_fetch_add(&counts->n_proved, turn.n_proved);
	atomic_fetch_add(&counts->n_false, turn.n_false);
	atomic_fetch_add(&counts->n_unread, turn.n_unread);
	p->changed = p->changed || n > 0;
	p->holds = p->holds && !turn.lease_over;
	bool round_ended = status == CAIRN_OK && turn.owner < 0;
	bool was_first = p->after_owner < 0;
	p->after_owner = round_ended ? -1 : turn.owner;
	if (round_ended)
		prover_count_soon(p);
	if (status != CAIRN_OK)
		return PROVER_AGAIN_US;
	return round_ended && was_first ? PROVER_LOOK_US : 0;
}

static void *prover_loop(void *arg)
{
	struct prover *p = arg;
	int64_t us;
	(void)pthread_setname_np(pthread_self(), "prover");
	pace_be_idle(true);
	pace_be_last();
	do {
		us = prover_turn(p);
		prover_count(p);
	} while (rest_for(&p->rest, us));
	prover_give(p);
	return NULL;
}

static void prover_free(struct prover *p)
{
	rest_fini(&p->rest);
	cairn_proof_parts_free(p->parts);
	free(p);
}

enum cairn_status prover_start(struct prover **out, struct cairn_cas *cas, const _Atomic uint64_t *rate,
			       struct prover_counts *counts)
{
	*out = NULL;
	struct prover *p = calloc(1, sizeof(*p));
	if (!p)
		return CAIRN_E_NOMEM;
	p->cas = cas;
	p->rate = rate;
	p->counts = counts;
	p->after_owner = -1;
	rest_init(&p->rest);
	p->parts = cairn_proof_parts_new();
	if (!p->parts || pthread_create(&p->thread, NULL, prover_loop, p) != 0) {
		prover_free(p);
		return CAIRN_E_NOMEM;
	}
	*out = p;
	return CAIRN_OK;
}

void prover_end(struct prover *p)
{
	if (p)
		rest_end(&p->rest);
}

void prover_stop(struct prover *p)
{
	if (!p)
		return;
	rest_end(&p->rest);
	pthread_join(p->thread, NULL);
	prover_free(p);
}
