/* The wall clock, which tests can move. */
#ifndef CAIRN_BASE_CLOCK_H
#define CAIRN_BASE_CLOCK_H

#include "base/status.h"

#include <stdint.h>

/** Returns seconds since 1970, shifted by the test clock if one is set. Any thread. */
int64_t cairn_clock_unix_s(void);

/** Returns the wall clock in milliseconds since 1970. */
int64_t cairn_clock_unix_ms(void);

/** Returns milliseconds of a monotonic clock, which no test moves; for waits and time limits. Any thread. */
int64_t cairn_clock_mono_ms(void);

enum {
	CAIRN_TIME_TEXT_BYTES = 32,      /* for any year that the C library can format */
	CAIRN_TIME_BASIC_BYTES = 16 + 1, /* for a year of four digits */
};

/** Writes a time as "2026-02-01T12:30:00Z", or in the basic form "20260201T123000Z". @return out; "": does not fit */
const char *cairn_time_text(char out[static CAIRN_TIME_TEXT_BYTES], int64_t unix_s);
const char *cairn_time_basic(char out[static CAIRN_TIME_BASIC_BYTES], int64_t unix_s);

/** Lets a file shift the wall clock: its first 8 bytes are a little-endian i64, the seconds to add, read anew at each
 * call, so that a test moves the clock of a running daemon by writing to it. For tests only; call once, before any
 * thread starts.
 * @return CAIRN_OK
 *         CAIRN_E_IO  the file cannot be opened or has fewer than 8 bytes */
CAIRN_MUST_USE enum cairn_status cairn_clock_use_file(const char *path);

#endif
