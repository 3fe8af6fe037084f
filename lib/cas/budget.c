#include "cas/budget.h"

#include "base/bytes.h"
#include "cas/internal.h"
#include "cas/room.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BUDGET_LOOK_BYTES = 256 * 1024 }; /* read the free space again after so many bytes */

/* The bytes in use for one sender. Exists while the sender has uses. */
struct cairn_share {
	struct cairn_hash sender;
	struct cairn_share *next;
	unsigned n_uses;
	uint64_t bytes, reserved;
};

void cairn_budget_init(struct cairn_budget *b, uint64_t bytes_max, uint64_t share_bytes_max)
{
	*b = (struct cairn_budget){.bytes_max = bytes_max, .share_bytes_max = share_bytes_max};
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->unused, NULL);
}

void cairn_budget_fini(struct cairn_budget *b)
{
	pthread_mutex_lock(&b->lock);
	while (b->n_uses > 0)
		pthread_cond_wait(&b->unused, &b->lock);
	pthread_mutex_unlock(&b->lock);
	pthread_cond_destroy(&b->unused);
	pthread_mutex_destroy(&b->lock);
}

uint64_t cairn_budget_bytes(struct cairn_budget *b, uint64_t *reserved)
{
	pthread_mutex_lock(&b->lock);
	uint64_t bytes = b->bytes;
	*reserved = b->reserved;
	pthread_mutex_unlock(&b->lock);
	return bytes;
}

/* Called with the lock. */
static struct cairn_share **budget_find(struct cairn_budget *b, const struct cairn_hash *sender)
{
	struct cairn_share **at = &b->shares[cairn_get_u64le(sender->b) % CAIRN_BUDGET_BUCKETS];
	while (*at && !cairn_hash_equal(&(*at)->sender, sender))
		at = &(*at)->next;
	return at;
}

/* Called with the lock. */
static struct cairn_share *budget_take(struct cairn_budget *b, const struct cairn_hash *sender)
{
	struct cairn_share **at = budget_find(b, sender);
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return NULL;
		(*at)->sender = *sender;
	}
	(*at)->n_uses++;
	b->n_uses++;
	return *at;
}

/* Is there room for further bytes? The diag does not reveal how much other senders use. Called with the lock. */
static enum cairn_status budget_check(const struct cairn_budget *b, const struct cairn_share *share, uint64_t bytes,
				      struct cairn_diag *diag)
{
	uint64_t own = share->bytes + share->reserved, all = b->bytes + b->reserved;
	if (bytes > b->share_bytes_max || own > b->share_bytes_max - bytes) {
		(void)cairn_fail(diag, CAIRN_E_BUSY, "spool.share", CAIRN_NO_OFFSET,
				 "you have %" PRIu64 " bytes under way and send %" PRIu64
				 " more; one sender may have %" PRIu64 " (spool_share_percent): send less at once",
				 own, bytes, b->share_bytes_max);
		cairn_diag_numbers(diag, b->share_bytes_max, own + bytes);
		return CAIRN_E_BUSY;
	}
	if (bytes > b->bytes_max || all > b->bytes_max - bytes)
		return cairn_fail(diag, CAIRN_E_BUSY, "spool.full", CAIRN_NO_OFFSET,
				  "too many uploads are under way, of all senders together (spool_bytes_max); try "
				  "again in a moment");
	return CAIRN_OK;
}

/* Reserves bytes; negative: releases them. Called with the lock. */
static void budget_reserve(struct cairn_use *u, int64_t bytes)
{
	u->reserved += (uint64_t)bytes;
	u->share->reserved += (uint64_t)bytes;
	u->cas->budget.reserved += (uint64_t)bytes;
}

enum cairn_status cairn_use_begin(struct cairn_use *u, struct cairn_cas *cas, const struct cairn_hash *sender,
				  uint64_t bytes_expected, bool on_disk, struct cairn_diag *diag)
{
	struct cairn_budget *b = &cas->budget;
	uint64_t bytes = bytes_expected == UINT64_MAX ? 0 : bytes_expected;
	pthread_mutex_lock(&b->lock);
	struct cairn_share *share = budget_take(b, sender);
	*u = (struct cairn_use){.cas = cas, .share = share, .on_disk = on_disk};
	enum cairn_status status = share ? budget_check(b, share, bytes, diag) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		budget_reserve(u, (int64_t)bytes);
	uint64_t reserved = b->reserved;
	pthread_mutex_unlock(&b->lock);
	if (status == CAIRN_OK && on_disk)
		status = cairn_cas_room(cas, reserved, diag);
	if (status != CAIRN_OK)
		cairn_use_end(u);
	return status;
}

enum cairn_status cairn_use_borrow(struct cairn_use *u, struct cairn_use *lender)
{
	struct cairn_budget *b = &lender->cas->budget;
	pthread_mutex_lock(&b->lock);
	struct cairn_share *share = budget_take(b, &lender->share->sender);
	if (share) {
		*u = (struct cairn_use){.cas = lender->cas,
					.share = share,
					.lender = lender,
					.lent = lender->reserved,
					.on_disk = lender->on_disk,
					.reserved = lender->reserved};
		lender->reserved = 0;
	}
	pthread_mutex_unlock(&b->lock);
	return share ? CAIRN_OK : CAIRN_E_NOMEM;
}

uint64_t cairn_budget_share_max(struct cairn_cas *cas)
{
	return cas->budget.share_bytes_max;
}

enum cairn_status cairn_use_add(struct cairn_use *u, uint64_t bytes, struct cairn_diag *diag)
{
	struct cairn_budget *b = &u->cas->budget;
	if (u->on_disk && u->bytes + bytes - u->looked_bytes >= BUDGET_LOOK_BYTES) {
		enum cairn_status full = cairn_cas_room(u->cas, bytes, diag);
		if (full != CAIRN_OK)
			return full;
		u->looked_bytes = u->bytes + bytes;
	}
	pthread_mutex_lock(&b->lock);
	uint64_t announced = bytes < u->reserved ? bytes : u->reserved;
	enum cairn_status status = bytes > announced ? budget_check(b, u->share, bytes - announced, diag) : CAIRN_OK;
	if (status == CAIRN_OK) {
		budget_reserve(u, -(int64_t)announced);
		u->bytes += bytes;
		u->share->bytes += bytes;
		b->bytes += bytes;
	}
	pthread_mutex_unlock(&b->lock);
	return status;
}

enum cairn_status cairn_use_to_disk(struct cairn_use *u, struct cairn_diag *diag)
{
	if (u->on_disk)
		return CAIRN_OK;
	u->on_disk = true;
	u->looked_bytes = u->bytes;
	return cairn_cas_room(u->cas, u->bytes, diag);
}

void cairn_use_end(struct cairn_use *u)
{
	if (!u->share)
		return;
	struct cairn_budget *b = &u->cas->budget;
	pthread_mutex_lock(&b->lock);
	budget_reserve(u, -(int64_t)u->reserved);
	b->bytes -= u->bytes;
	u->share->bytes -= u->bytes;
	if (u->lender)
		budget_reserve(u->lender, (int64_t)u->lent);
	if (--u->share->n_uses == 0) {
		*budget_find(b, &u->share->sender) = u->share->next;
		free(u->share);
	}
	if (--b->n_uses == 0)
		pthread_cond_broadcast(&b->unused);
	pthread_mutex_unlock(&b->lock);
	*u = (struct cairn_use){0};
}
