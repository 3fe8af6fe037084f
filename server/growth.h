/* Stored bytes per day, for the chart on the operator's page. Kept in the note "growth" of the data folder. */
#ifndef CAIRN_SERVER_GROWTH_H
#define CAIRN_SERVER_GROWTH_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { GROWTH_DAYS = 30 };

/** How many bytes of xorbs were stored when the daemon was first seen on each of the last days (UTC). */
struct growth {
	pthread_mutex_t lock;       /* guards the other members */
	int64_t newest_day;         /* days since 1970; 0: no day is known */
	int64_t bytes[GROWTH_DAYS]; /* of each day, the newest first; -1: the daemon did not run */
};

/** Loads the days of the note, or starts without any. The caller destroys g->lock in the end. */
void growth_open(struct growth *g, const char *data_dir);

/** Is a day newer than all days in g? Any thread. */
bool growth_misses(struct growth *g, int64_t day);

/** Keeps the bytes of a day, unless that day or a newer one is known: a clock set back changes nothing. Not for two
 * threads at once. @return CAIRN_OK; else as cairn_note_write(): not kept */
CAIRN_MUST_USE enum cairn_status growth_take(struct growth *g, const char *data_dir, int64_t day, int64_t bytes);

/** Copies the bytes. Any thread. @return the newest day; 0: no day is known, and nothing was copied */
int64_t growth_read(struct growth *g, int64_t bytes[static GROWTH_DAYS]);

#endif
