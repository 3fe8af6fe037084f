/* Measures how fast this machine is now, so that a time limit judges the program and not other load. */
#ifndef CAIRN_TESTS_SUPPORT_PACE_H
#define CAIRN_TESTS_SUPPORT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/** Did it take at most within_ms? A busy machine gets more time: a second of the work may take as much longer as all
 * work does now. An idle machine gets no more time. */
bool pace_in_time(int64_t took_ms, int64_t within_ms);

#endif
