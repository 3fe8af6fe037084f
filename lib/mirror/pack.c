/* Fetches blocks of long files as ranges of xorbs, which are shorter, and unpacks them into the spool. Requests from
 * the upstream's store a plan for each block, so that the ranges are as short as the block, and their addresses new. */
#include "mirror/stream.h"
#include "mirror/unpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PACK_WORDS_BYTES_MAX = 65536, /* most bytes of an error's text */
	PACK_SILENCE_S = 10,          /* silence after which the block is fetched plain, while clients still wait */
};

struct mirror_pack {
	void (*step)(struct mirror_slot *slot); /* on a worker, when a call has an answer */
	struct mirror_cas cas;
	struct mirror_hop hop;
	char path[MIRROR_ADDRESS_BYTES];
	bool is_again; /* token or plan were requested once more */
	struct mirror_packed packed;
	struct mirror_unpack unpack;
};

static struct mirror_slot *pack_slot(struct mirror_call *call)
{
	return (struct mirror_slot *)call;
}

/* Ends the attempt. The stream may be gone then. @param failed  count it: others may fail in the same way */
static void pack_end(struct mirror_slot *slot, bool failed)
{
	struct mirror_stream *s = slot->s;
	mirror_packed_fini(&slot->pack->packed);
	explicit_bzero(&slot->pack->cas, sizeof(slot->pack->cas));
	free(slot->pack);
	slot->pack = NULL;
	pthread_mutex_lock(&s->m->lock);
	s->known.n_packed_failures += failed;
	pthread_mutex_unlock(&s->m->lock);
	slot->brought(slot);
}

static void pack_send(struct mirror_slot *slot, void (*done)(struct mirror_call *call))
{
	slot->call.done = done;
	if (mirror_net_ask(slot->s->m->net, &slot->call, NULL) != CAIRN_OK)
		pack_end(slot, true);
}

static void pack_work(struct cairn_work *work)
{
	struct mirror_slot *slot = (struct mirror_slot *)((char *)work - offsetof(struct mirror_slot, work));
	slot->pack->step(slot);
}

static void pack_came(struct mirror_call *call)
{
	struct mirror_slot *slot = pack_slot(call);
	slot->work = (struct cairn_work){.run = pack_work, .lane = CAIRN_LANE_HEAVY, .turn = slot->s->what.sender};
	if (call->status != CAIRN_OK || cairn_workers_submit(slot->s->m->workers, &slot->work) != CAIRN_OK)
		pack_end(slot, true);
}

/* Returns the rest of the block. @return an empty run: the stream has ended */
static struct mirror_run pack_left(const struct mirror_slot *slot)
{
	const struct mirror_stream *s = slot->s;
	struct mirror_run run = {0};
	pthread_mutex_lock(&s->m->lock);
	if (mirror_stream_goes(s))
		run = s->blocks.asked[slot->number];
	pthread_mutex_unlock(&s->m->lock);
	return run;
}

/* May token and plan be requested once more? */
static bool pack_takes_again(struct mirror_slot *slot)
{
	bool again = !slot->pack->is_again;
	slot->pack->is_again = true;
	return again;
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

static void pack_ask_plan(struct mirror_slot *slot);

/* Does an answer have the requested bytes? The length of the xorb does not matter. */
static bool pack_fits(const struct mirror_call *call)
{
	char wanted[MIRROR_VALUE_BYTES];
	int n = snprintf(wanted, sizeof(wanted), "bytes %" PRIu64 "-%" PRIu64 "/", call->range_first,
			 call->range_end - 1);
	return strncmp(wanted, call->content_range, (size_t)n) == 0;
}

static bool pack_write(void *ctx, uint64_t at, const uint8_t *bytes, size_t len)
{
	struct mirror_slot *slot = ctx;
	return mirror_stream_write(slot, slot->begin_at + at, bytes, len);
}

/* Allocates the codec. @return false: no memory */
static bool pack_has_codec(struct mirror_pack *p, struct cairn_mirror *m)
{
	m->codec = m->codec ? m->codec : cairn_codec_new();
	p->unpack.codec = m->codec;
	return m->codec;
}

static bool pack_took(struct mirror_call *call, const uint8_t *bytes, size_t len)
{
	struct mirror_slot *slot = pack_slot(call);
	struct mirror_stream *s = slot->s;
	struct mirror_unpack *u = &slot->pack->unpack;
	struct mirror_run left = pack_left(slot);
	if (left.end == left.first || !pack_fits(call) || !pack_has_codec(slot->pack, s->m))
		return false;
	atomic_fetch_add(&s->m->n_packed_bytes, len);
	bool good = mirror_unpack_take(u, bytes, len) == CAIRN_OK;
	uint64_t n = slot->begin_at + mirror_unpack_reach(u) - left.first;
	if (n > 0)
		mirror_stream_came(slot, n);
	return good;
}

static void pack_ask_range(struct mirror_slot *slot, uint32_t number);

/* Handles an answer. If the address of the range has expired, the rest of the block gets a new plan. */
static void pack_answered(struct mirror_call *call)
{
	struct mirror_slot *slot = pack_slot(call);
	struct mirror_unpack *u = &slot->pack->unpack;
	uint32_t next = u->range + 1;
	bool is_whole = call->status == CAIRN_OK && call->code == 206 && mirror_unpack_is_whole(u);
	if (is_whole && slot->used && next < u->packed->n_ranges)
		pack_ask_range(slot, next);
	else if (call->status == CAIRN_OK && call->code >= 400 && call->code < 500 && call->code != 429 &&
		 pack_takes_again(slot))
		pack_ask_plan(slot);
	else
		pack_end(slot, slot->used);
}

/* Requests a range. The address is a grant of its own, so no token is sent. */
static void pack_ask_range(struct mirror_slot *slot, uint32_t number)
{
	struct mirror_pack *p = slot->pack;
	const struct mirror_packed_range *range = &p->packed.ranges[number];
	mirror_call_fini(&slot->call);
	slot->call = (struct mirror_call){.path = "",
					  .hop = &p->hop,
					  .body_bytes_max = PACK_WORDS_BYTES_MAX,
					  .silence_s = PACK_SILENCE_S,
					  .range_first = range->at,
					  .range_end = range->end,
					  .take = pack_took,
					  .take_counts = true};
	mirror_unpack_begin(&p->unpack, number);
	if (mirror_hop_judge(&p->hop, &slot->s->m->upstream, NULL, range->url, NULL) == CAIRN_OK)
		pack_send(slot, pack_answered);
	else
		pack_end(slot, true);
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static void pack_read_cas(struct mirror_slot *slot)
{
	struct mirror_pack *p = slot->pack;
	struct mirror_stream *s = slot->s;
	struct mirror_cas cas;
	if (mirror_read_cas(&cas, &slot->call, NULL) != CAIRN_OK) {
		pack_end(slot, true);
		return;
	}
	p->cas = cas;
	pthread_mutex_lock(&s->m->lock);
	s->known.packed_cas = cas;
	pthread_mutex_unlock(&s->m->lock);
	explicit_bzero(&cas, sizeof(cas));
	pack_ask_plan(slot);
}

static void pack_ask_cas(struct mirror_slot *slot)
{
	struct mirror_pack *p = slot->pack;
	mirror_call_fini(&slot->call);
	mirror_known_cas_path(slot->s, p->path);
	slot->call = (struct mirror_call){.path = p->path, .token = slot->s->what.token};
	mirror_ask_cas(&slot->call);
	p->step = pack_read_cas;
	pack_send(slot, pack_came);
}

static void pack_read_plan(struct mirror_slot *slot)
{
	struct mirror_pack *p = slot->pack;
	const struct mirror_call *call = &slot->call;
	bool is_over = call->code == 401 || call->code == 403;
	if (is_over && pack_takes_again(slot)) {
		pack_ask_cas(slot);
		return;
	}
	struct mirror_packed *packed = &p->packed;
	mirror_packed_fini(packed);
	bool is_plan = mirror_read_packed(packed, call, NULL) == CAIRN_OK;
	if (!is_plan || !mirror_packed_pays(packed->packed_bytes, packed->bytes)) {
		pack_end(slot, !is_plan);
		return;
	}
	memset(p->unpack.done, 0, sizeof(p->unpack.done));
	pack_ask_range(slot, 0);
}

static void pack_ask_plan(struct mirror_slot *slot)
{
	struct mirror_pack *p = slot->pack;
	struct mirror_run left = pack_left(slot);
	mirror_call_fini(&slot->call);
	slot->call = (struct mirror_call){.path = "", .hop = &p->hop, .hop_token = p->cas.token};
	slot->begin_at = left.first;
	mirror_ask_packed(&slot->call, left.first, left.end);
	p->step = pack_read_plan;
	if (left.end > left.first && mirror_known_hop(slot->s, &p->cas, "v1", &p->hop, NULL) == CAIRN_OK)
		pack_send(slot, pack_came);
	else
		pack_end(slot, true);
}

bool mirror_pack_block(struct mirror_slot *slot)
{
	struct mirror_stream *s = slot->s;
	struct mirror_pack *p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	pthread_mutex_lock(&s->m->lock);
	p->cas = s->known.packed_cas;
	s->known.has_unpacked = true;
	pthread_mutex_unlock(&s->m->lock);
	p->unpack.packed = &p->packed;
	p->unpack.write = pack_write;
	p->unpack.ctx = slot;
	slot->pack = p;
	pack_ask_plan(slot);
	return true;
}
