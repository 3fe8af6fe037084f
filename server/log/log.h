/* The log: one JSON object a line, on standard error. It must contain no secrets: callers log names and codes, not
 * headers. Between log_start() and log_stop() a thread writes the lines in the order of logging (log_writer.h). It
 * writes every 100 ms, at once for a warning or an error, and all lines at the end. Callers do not wait for the reader
 * of the log. Before log_start() and after log_stop(), each caller writes its line itself. */
#ifndef CAIRN_SERVER_LOG_H
#define CAIRN_SERVER_LOG_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/** Sets the least important level that is written; LOG_INFO at first. Call before threads start. */
void log_set_level(enum log_level level);

/** Is a line of this level written? Lets callers skip making a line that is not. Any thread. */
bool log_writes(enum log_level level);

/** Starts the thread that writes. Call in the sandbox, with signals blocked. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status log_start(void);

/** Waits until all logged lines are written, for at most two seconds. A signal's handler may call it. */
void log_flush(void);

/** Flushes as log_flush() does, and ends the thread. Call when no other thread logs any more. */
void log_stop(void);

/** A field of an event. Text is escaped; bytes that are not UTF-8 become U+FFFD; values are cut to 1,024 bytes. */
struct log_field {
	const char *head; /* comma, name in quotes, colon; the name has only letters, digits and _ */
	size_t head_len;
	enum { LOG_TEXT, LOG_NUMBER } kind;
	const char *text; /* NULL: the field is left out */
	int64_t number;
};
#define LOG_HEAD(name)     ",\"" name "\":", sizeof(",\"" name "\":") - 1
#define LOG_T(name, value) ((struct log_field){LOG_HEAD(name), LOG_TEXT, (value), 0})
#define LOG_N(name, value) ((struct log_field){LOG_HEAD(name), LOG_NUMBER, NULL, (int64_t)(value)})

/** Logs why the daemon does not start: "cairnd: TEXT", one line that is not JSON, whatever bytes TEXT has. */
void log_refusal(const char *text);

/** Logs {"time","level","event",fields...} as one line. Any thread. @param event  letters, digits and _ */
void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n);
#define LOG(level, event, ...)                                                                                         \
	log_event(level, event, (const struct log_field[]){__VA_ARGS__},                                               \
		  sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))

#endif
