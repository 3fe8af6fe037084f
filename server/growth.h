/* How much was stored, day by day: what the operator's page draws. It is kept in the note "growth" of the data folder.
 */
#ifndef CAIRN_SERVER_GROWTH_H
#define CAIRN_SERVER_GROWTH_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { GROWTH_DAYS = 30 };

/** Bytes of stored xorbs when the daemon was first seen on each of the last days (UTC). */
struct growth {
	pthread_mutex_t lock;       /* over the rest */
	int64_t newest_day;         /* since 1970; 0: none is known */
	int64_t bytes[GROWTH_DAYS]; /* the newest first; -1: the daemon did not run */
};

/** As it was kept, or with no day. The lock is the caller's to destroy. */
void growth_open(struct growth *g, const char *data_dir);

/** Whether a day is newer than all. Any thread. */
bool growth_misses(struct growth *g, int64_t day);

/** Take a day's bytes and keep them, unless there is that day or a newer one: a clock that was set back changes
 *  nothing. One thread at a time. @return CAIRN_OK; else it was not kept, as cairn_note_write() */
CAIRN_MUST_USE enum cairn_status growth_take(struct growth *g, const char *data_dir, int64_t day, int64_t bytes);

/** A copy of the bytes. Any thread. @return the newest day; 0: none is known, and nothing was copied */
int64_t growth_told(struct growth *g, int64_t bytes[static GROWTH_DAYS]);

#endif
