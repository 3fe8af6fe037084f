#include "server/log.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/json_text.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
	LOG_LINE_BYTES = 16 * 1024,
	LOG_VALUE_BYTES_MAX = 1024, /* of a text, before escaping */
	LOG_END_BYTES = 2,          /* "}\n", for which room is always kept */
};

static atomic_int log_level_max = LOG_INFO;

void log_set_level(enum log_level level)
{
	atomic_store(&log_level_max, (int)level);
}

static void log_add_field(struct cairn_buf *line, const struct log_field *field)
{
	cairn_buf_add(line, ",", 1);
	cairn_json_text(line, field->name, LOG_VALUE_BYTES_MAX);
	cairn_buf_add(line, ":", 1);
	if (field->kind == LOG_TEXT)
		cairn_json_text(line, field->text, LOG_VALUE_BYTES_MAX);
	else
		cairn_buf_printf(line, "%" PRId64, field->number);
}

/* RFC 3339, UTC. The true time, also when a test has moved the clock. */
static void log_begin(struct cairn_buf *line, enum log_level level, const char *event)
{
	static const char *const NAMES[] = {"error", "warning", "info", "debug"};
	struct timespec now;
	struct tm utc;
	char stamp[32];
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	cairn_buf_printf(line, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"event\":", stamp, now.tv_nsec / 1000000,
			 NAMES[level]);
	cairn_json_text(line, event, LOG_VALUE_BYTES_MAX);
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n)
{
	if ((int)level > atomic_load_explicit(&log_level_max, memory_order_relaxed))
		return;
	CLEANUP(cairn_buf_fini) struct cairn_buf line = cairn_buf_init(LOG_LINE_BYTES - LOG_END_BYTES);
	log_begin(&line, level, event);
	for (size_t i = 0; i < n; i++) {
		if (fields[i].kind == LOG_TEXT && !fields[i].text)
			continue;
		size_t before = line.len;
		log_add_field(&line, &fields[i]);
		if (line.status != CAIRN_OK) { /* left out whole, so that the line stays valid JSON */
			line.len = before;
			line.status = CAIRN_OK;
		}
	}
	line.max = LOG_LINE_BYTES;
	cairn_buf_add(&line, "}\n", LOG_END_BYTES);
	enum cairn_status written = cairn_fd_write_all(STDERR_FILENO, line.bytes, line.len);
	(void)written; /* there is nobody to tell */
}
