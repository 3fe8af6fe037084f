/* How fast this machine is now, so that a limit of time judges the program and not what else runs beside it. */
#ifndef CAIRN_TESTS_SUPPORT_PACE_H
#define CAIRN_TESTS_SUPPORT_PACE_H

#include <stdbool.h>
#include <stdint.h>

/** Did it take no longer than within_ms, with up to a second of work in that for which a busy machine takes as much
 * longer as it does for all? On a machine at rest there is no more time. */
bool pace_in_time(int64_t took_ms, int64_t within_ms);

#endif
