/* The log: one JSON object a line on standard error. Secrets never get here: callers log names and codes, not headers.
 */
#ifndef CAIRN_SERVER_LOG_H
#define CAIRN_SERVER_LOG_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/** Least important level that is written; LOG_INFO at first. Call before threads start. */
void log_set_level(enum log_level level);

/** A field of an event. Text is escaped; not UTF-8 bytes become U+FFFD; values are cut to 1,024 bytes. */
struct log_field {
	const char *name;
	enum { LOG_TEXT, LOG_NUMBER } kind;
	const char *text; /* NULL: the field is left out */
	int64_t number;
};
#define LOG_T(name, value) ((struct log_field){(name), LOG_TEXT, (value), 0})
#define LOG_N(name, value) ((struct log_field){(name), LOG_NUMBER, NULL, (int64_t)(value)})

/** Write {"time","level","event",fields...} as one line, in one write. Any thread. */
void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n);
#define LOG(level, event, ...)                                                                                         \
	log_event(level, event, (const struct log_field[]){__VA_ARGS__},                                               \
		  sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))

#endif
