/* The thread that writes the log: what waits in the ring (log_ring.h) goes to standard error every 100 ms, at once when
 * much has come together or something is wrong, and as a whole when the process ends. Standard error may be a pipe that
 * nobody reads: then this thread stands still, and nobody else does. */
#ifndef CAIRN_SERVER_LOG_WRITER_H
#define CAIRN_SERVER_LOG_WRITER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** Start it. Until then, and after log_writer_stop(), log_writer_put() writes by itself. Signals must be blocked, and
 * the process be what it will be: its thread inherits both.
 *  @param tell_dropped  called on the writer's thread once lines are written again: so many were lost since the last
 * call
 *  @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status log_writer_start(void (*tell_dropped)(uint64_t lines));

/** Put a line in, of at most LOG_LINE_BYTES_MAX with its end. Any thread; never waits for what reads standard error.
 *  @param hurry  write it, and what is before it, at once */
void log_writer_put(const void *line, size_t len, bool hurry);

/** Wait until what was put before is written, but for timeout_ms at most. Also from a signal's handler. */
void log_writer_flush(unsigned timeout_ms);

/** Write what there is, for timeout_ms at most, and end the thread; one that stands still is left where it is. When no
 *  other thread logs any more. Harmless when there is none. */
void log_writer_stop(unsigned timeout_ms);

/** Lines put so far, and how many of them were dropped: there was no room, or standard error did not take them. */
void log_writer_counts(uint64_t *lines, uint64_t *dropped);

#endif
