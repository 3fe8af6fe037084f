#include "server/growth.h"

#include "data_dir/note.h"

#include <stdio.h>
#include <string.h>

enum { GROWTH_FIELDS = GROWTH_DAYS + 1 };
static const char GROWTH_NOTE[] = "growth";

struct growth_fields {
	char names[GROWTH_DAYS][8];
	struct cairn_note_field all[GROWTH_FIELDS];
};

static void growth_fields(struct growth_fields *f, struct growth *g)
{
	for (int i = 0; i < GROWTH_DAYS; i++) {
		(void)snprintf(f->names[i], sizeof(f->names[i]), "day_%d", i);
		f->all[i] = (struct cairn_note_field){f->names[i], &g->bytes[i]};
	}
	f->all[GROWTH_DAYS] = (struct cairn_note_field){"newest", &g->newest_day};
}

static void growth_forget(struct growth *g)
{
	g->newest_day = 0;
	for (int i = 0; i < GROWTH_DAYS; i++)
		g->bytes[i] = -1;
}

void growth_open(struct growth *g, const char *data_dir)
{
	struct growth_fields fields;
	pthread_mutex_init(&g->lock, NULL);
	growth_forget(g);
	growth_fields(&fields, g);
	if (cairn_note_read(data_dir, GROWTH_NOTE, fields.all, GROWTH_FIELDS) != CAIRN_OK || g->newest_day < 0)
		growth_forget(g);
}

bool growth_misses(struct growth *g, int64_t day)
{
	pthread_mutex_lock(&g->lock);
	bool misses = day > g->newest_day;
	pthread_mutex_unlock(&g->lock);
	return misses;
}

static void growth_shift(struct growth *g, int64_t day, int64_t bytes)
{
	size_t n = day - g->newest_day < GROWTH_DAYS ? (size_t)(day - g->newest_day) : GROWTH_DAYS;
	memmove(g->bytes + n, g->bytes, (GROWTH_DAYS - n) * sizeof(g->bytes[0]));
	for (size_t i = 1; i < n; i++)
		g->bytes[i] = -1;
	g->bytes[0] = bytes;
	g->newest_day = day;
}

enum cairn_status growth_take(struct growth *g, const char *data_dir, int64_t day, int64_t bytes)
{
	struct growth_fields fields;
	if (!growth_misses(g, day))
		return CAIRN_OK;
	pthread_mutex_lock(&g->lock);
	growth_shift(g, day, bytes);
	pthread_mutex_unlock(&g->lock);
	growth_fields(&fields, g); /* without the lock: no other thread changes g */
	return cairn_note_write(data_dir, GROWTH_NOTE, fields.all, GROWTH_FIELDS);
}

int64_t growth_read(struct growth *g, int64_t bytes[static GROWTH_DAYS])
{
	pthread_mutex_lock(&g->lock);
	int64_t day = g->newest_day;
	for (size_t i = 0; day != 0 && i < GROWTH_DAYS; i++)
		bytes[i] = g->bytes[i];
	pthread_mutex_unlock(&g->lock);
	return day;
}
