/* The thread that writes the log, from the ring (log_ring.h) to standard error. It writes every 100 ms, at once if the
 * ring fills or a line is urgent, and all lines at the end. If nobody reads standard error, only this thread blocks. */
#ifndef CAIRN_SERVER_LOG_WRITER_H
#define CAIRN_SERVER_LOG_WRITER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** Starts the thread. Before that, and after log_writer_stop(), log_writer_put() writes by itself. Signals must be
 * blocked and privileges dropped, because the thread inherits both. @param report_dropped  called on the writer's
 * thread when lines can be written again, with the lines lost since the last call @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status log_writer_start(void (*report_dropped)(uint64_t lines));

/** Adds a line of at most LOG_LINE_BYTES_MAX bytes, including its line end. Any thread; never waits for the reader of
 * standard error. @param hurry  write this line and those before it at once */
void log_writer_put(const void *line, size_t len, bool hurry);

/** Waits until all lines put so far are written, for at most timeout_ms. A signal's handler may call it. */
void log_writer_flush(unsigned timeout_ms);

/** Flushes for at most timeout_ms, and ends the thread. A blocked thread is left running. Call when no other thread
 * logs any more. Harmless if there is no thread. */
void log_writer_stop(unsigned timeout_ms);

/** Counts the lines put so far, and the lines dropped because the ring was full or writing failed. */
void log_writer_counts(uint64_t *lines, uint64_t *dropped);

#endif
