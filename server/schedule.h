/* When the daemon does something by itself: each so often, or once a day within a window. */
#ifndef CAIRN_SERVER_SCHEDULE_H
#define CAIRN_SERVER_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Plain value of 8 bytes. Zeroed: never. */
struct schedule {
	uint32_t every_s;  /* 0: by the window */
	uint16_t from_min; /* of the day, UTC: where the window begins */
	uint16_t minutes;  /* its length, at most a day; 0: there is none */
};

enum { SCHEDULE_TEXT_BYTES = 24, SCHEDULE_EVERY_S_MIN = 60, SCHEDULE_EVERY_S_MAX = 1000 * 86400 };

/** "off"; a time of a minute to 1000 days, like "6h"; "01:00-05:00", once a day between these, UTC, also past midnight.
 *  @return false: it is none of these */
bool schedule_parse(struct schedule *out, const char *text);

/** As schedule_parse() takes it. */
const char *schedule_text(char out[static SCHEDULE_TEXT_BYTES], const struct schedule *s);

/**
 * When is it time next? So often after the last one, and up to a tenth later; or at one moment of the window, of the
 * first in which it was not done. Servers with other salts have other moments.
 * @param last_unix_s  when it was done last, or the daemon started; in the future: somebody moved the clock
 * @return 0: never; else the time, which may have passed
 */
int64_t schedule_next(const struct schedule *s, int64_t last_unix_s, int64_t now_unix_s, uint64_t salt);

#endif
