#include "cas/service/telemetry.h"

#include "cas/internal.h"
#include "cas/room.h"
#include "index/daemon/telemetry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)CAIRN_TELEMETRY_PAGE_MAX == (int)CAIRN_INDEX_PAGE_MAX, "rows of a page");

enum { TELEMETRY_SHARES = 8 };

struct telemetry_row {
	struct cairn_index_add_telemetry add;
	struct cairn_use use;
	char sender[128];
	uint8_t body[];
};

static void telemetry_row_free(struct telemetry_row *row)
{
	cairn_use_end(&row->use);
	free(row);
}

static void telemetry_written(struct cairn_index_write *write)
{
	telemetry_row_free((struct telemetry_row *)write);
}

void cairn_cas_keep_telemetry(struct cairn_cas *cas, const char *sender, uint64_t who, const uint8_t *body, size_t len,
			      uint32_t rows_max, struct cairn_use *use)
{
	if (rows_max == 0 || len > CAIRN_INDEX_TELEMETRY_BYTES_MAX || cairn_cas_room(cas, len, NULL) != CAIRN_OK)
		return;
	struct telemetry_row *row = calloc(1, sizeof(*row) + len);
	if (!row)
		return;
	(void)snprintf(row->sender, sizeof(row->sender), "%s", sender);
	memcpy(row->body, body, len);
	row->add = (struct cairn_index_add_telemetry){
		.write.done = telemetry_written,
		.sender = row->sender,
		.body = row->body,
		.body_len = len,
		.keep_max = rows_max,
		.share_max = who ? (rows_max + TELEMETRY_SHARES - 1) / TELEMETRY_SHARES : 0,
		.who = who,
	};
	row->use = *use;
	*use = (struct cairn_use){0};
	if (cairn_index_add_telemetry(cas->index, &row->add) != CAIRN_OK)
		telemetry_row_free(row);
}

struct telemetry_walk {
	void (*visit)(void *ctx, const struct cairn_telemetry *row);
	void *ctx;
};

static void telemetry_visit(void *ctx, const struct cairn_index_telemetry *row)
{
	const struct telemetry_walk *walk = ctx;
	const struct cairn_telemetry shown = {.id = row->id,
					      .at_unix_s = row->at_unix_s,
					      .sender = row->sender,
					      .body = row->body,
					      .body_len = row->body_len};
	walk->visit(walk->ctx, &shown);
}

enum cairn_status cairn_cas_each_telemetry(struct cairn_cas *cas, int64_t before_id, uint32_t limit,
					   void (*visit)(void *ctx, const struct cairn_telemetry *row), void *ctx,
					   int64_t *next_id)
{
	struct telemetry_walk walk = {visit, ctx};
	return cairn_index_each_telemetry(cas->index, before_id, limit, telemetry_visit, &walk, next_id);
}
