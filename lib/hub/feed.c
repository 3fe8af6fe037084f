#include "hub/feed.h"

#include <string.h>
#include <time.h>

struct feed_reading {
	void (*visit)(void *ctx, const struct cairn_index_feed_batch *batch);
	void *ctx;
	struct cairn_hub_feed_end *end;
	uint32_t n;
};

static void feed_take(void *ctx, const struct cairn_index_feed_batch *batch)
{
	struct feed_reading *reading = ctx;
	reading->n++;
	if (batch->len == 0)
		reading->end->is_reset = true;
	if (reading->end->is_reset)
		return;
	reading->end->cursor = batch->at_unix_ms;
	reading->visit(reading->ctx, batch);
}

/* Are all changes of the bucket since that time kept? Called after the batches were read, because old ones may have
 * been dropped meanwhile. A cursor after the newest is of another index, such as before a restore. */
static bool feed_has_all(const struct cairn_index_feed_state *state, const struct cairn_hub_feed_from *from)
{
	if (from->has_cursor && from->at_unix_ms > state->last_unix_ms)
		return false;
	return state->is_whole || state->first_unix_ms <= from->at_unix_ms ||
	       state->updated_unix_ms <= from->at_unix_ms;
}

enum cairn_status cairn_hub_read_feed(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				      const struct cairn_hub_feed_from *from,
				      void (*visit)(void *ctx, const struct cairn_index_feed_batch *batch), void *ctx,
				      struct cairn_hub_feed_end *end)
{
	struct cairn_index *ix = hub->index;
	struct cairn_index_feed_state state = {0};
	struct feed_reading reading = {.visit = visit, .ctx = ctx, .end = end};
	bool replays = from->has_cursor || from->has_since;
	enum cairn_status status = CAIRN_OK;
	*end = (struct cairn_hub_feed_end){.cursor = from->has_cursor ? from->at_unix_ms : 0};
	if (replays)
		status = cairn_index_each_feed_batch(ix, repo->id, from->at_unix_ms + (from->has_cursor ? 1 : 0),
						     CAIRN_HUB_FEED_BATCHES_MAX, feed_take, &reading);
	if (status == CAIRN_OK)
		status = cairn_index_feed_state(ix, repo->id, &state);
	if (status != CAIRN_OK)
		return status;
	end->is_reset = end->is_reset || (replays && !feed_has_all(&state, from));
	end->is_ready = !end->is_reset && reading.n < CAIRN_HUB_FEED_BATCHES_MAX;
	if (!replays)
		end->cursor = state.last_unix_ms;
	return CAIRN_OK;
}

bool cairn_hub_feed_time(const char *text, int64_t *unix_ms)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	unsigned ms = 0, unit = 100;
	if (!end)
		return false;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			ms += (unsigned)(*end - '0') * unit;
	if (strcmp(end, "Z") != 0 && strcmp(end, "+00:00") != 0)
		return false;
	*unix_ms = (int64_t)timegm(&tm) * 1000 + ms;
	return true;
}
