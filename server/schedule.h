/* The schedule of a job of the daemon: at an interval, or once a day within a window. */
#ifndef CAIRN_SERVER_SCHEDULE_H
#define CAIRN_SERVER_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** When a job runs. Plain value of 8 bytes. Zeroed: never. */
struct schedule {
	uint32_t every_s;  /* the interval; 0: use the window */
	uint16_t from_min; /* start of the window, in minutes of the day, UTC */
	uint16_t minutes;  /* length of the window, at most a day; 0: none */
};

enum { SCHEDULE_TEXT_BYTES = 24, SCHEDULE_EVERY_S_MIN = 60, SCHEDULE_EVERY_S_MAX = 1000 * 86400 };

/** Parses "off", an interval of a minute to 1000 days, such as "6h", or a daily window, such as "01:00-05:00", in UTC;
 * it may extend past midnight. @return false: none of these */
bool schedule_parse(struct schedule *out, const char *text);

/** Writes a schedule in the form that schedule_parse() reads. */
const char *schedule_text(char out[static SCHEDULE_TEXT_BYTES], const struct schedule *s);

/** Computes when the job is due next. With an interval: that long after the last time, and up to a tenth later. With a
 * window: at one moment of the first window in which the job has not run. The salt varies the moment between servers.
 * @param last_unix_s  when the job last ran, or the daemon started; if in the future, somebody has moved the clock
 * @return 0: never; else the time, which may have passed */
int64_t schedule_next(const struct schedule *s, int64_t last_unix_s, int64_t now_unix_s, uint64_t salt);

#endif
