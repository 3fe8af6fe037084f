#include "server/log.h"

#include "base/buf.h"
#include "base/decimal.h"
#include "base/json_text.h"
#include "base/visible.h"
#include "server/log_ring.h"
#include "server/log_writer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	LOG_VALUE_BYTES_MAX = 1024, /* of a text, before escaping */
	LOG_END_BYTES = 2,          /* "}\n", for which room is always kept */
	LOG_SECOND_BYTES = 19,      /* 2026-01-31T12:34:56 */
	LOG_WAIT_MS = 2000,         /* for what reads standard error, at the end */
};

static atomic_int log_level_max = LOG_INFO;

void log_set_level(enum log_level level)
{
	atomic_store(&log_level_max, (int)level);
}

static void log_dropped(uint64_t lines)
{
	LOG(LOG_WARNING, "log_dropped", LOG_N("lines", lines));
}

enum cairn_status log_start(void)
{
	return log_writer_start(log_dropped);
}

void log_flush(void)
{
	log_writer_flush(LOG_WAIT_MS);
}

void log_stop(void)
{
	log_writer_stop(LOG_WAIT_MS);
}

void log_refusal(const char *text)
{
	char bytes[LOG_LINE_BYTES_MAX];
	struct cairn_buf line = cairn_buf_over(bytes, sizeof(bytes) - 1);
	cairn_buf_add(&line, "cairnd: ", 8);
	cairn_visible_text(&line, text);
	line.max = line.cap = sizeof(bytes);
	line.status = CAIRN_OK;
	cairn_buf_add(&line, "\n", 1);
	log_writer_put(line.bytes, line.len, true);
}

static void log_add_number(struct cairn_buf *line, int64_t number)
{
	char text[1 + CAIRN_DECIMAL_TEXT_MAX] = "-", *digits = text + (number < 0);
	uint64_t n = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	cairn_buf_add(line, text, (size_t)(cairn_decimal_text(digits, n) - text));
}

static void log_add_field(struct cairn_buf *line, const struct log_field *field)
{
	size_t len = strlen(field->name);
	uint8_t *at = cairn_buf_extend(line, len + 4);
	if (at) {
		memcpy(at, ",\"", 2);
		memcpy(at + 2, field->name, len);
		memcpy(at + 2 + len, "\":", 2);
	}
	if (field->kind == LOG_TEXT)
		cairn_json_text(line, field->text, LOG_VALUE_BYTES_MAX);
	else
		log_add_number(line, field->number);
}

/* RFC 3339, UTC. The true time, also when a test has moved the clock. Each thread keeps the text of its last second. */
static void log_add_time(struct cairn_buf *line)
{
	static _Thread_local struct {
		time_t s;
		char text[LOG_SECOND_BYTES + 1];
	} last;
	struct timespec now;
	struct tm utc;
	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec != last.s || !last.text[0]) {
		gmtime_r(&now.tv_sec, &utc);
		(void)strftime(last.text, sizeof(last.text), "%Y-%m-%dT%H:%M:%S", &utc);
		last.s = now.tv_sec;
	}
	char text[LOG_SECOND_BYTES + CAIRN_DECIMAL_TEXT_MAX];
	memcpy(text, last.text, LOG_SECOND_BYTES);
	(void)cairn_decimal_text(text + LOG_SECOND_BYTES, 1000 + (uint64_t)now.tv_nsec / 1000000);
	text[LOG_SECOND_BYTES] = '.'; /* instead of the 1 */
	cairn_buf_add(line, text, LOG_SECOND_BYTES + 4);
}

static void log_begin(struct cairn_buf *line, enum log_level level, const char *event)
{
	static const char *const LEVELS[] = {
		"Z\",\"level\":\"error\",\"event\":",
		"Z\",\"level\":\"warning\",\"event\":",
		"Z\",\"level\":\"info\",\"event\":",
		"Z\",\"level\":\"debug\",\"event\":",
	};
	cairn_buf_add(line, "{\"time\":\"", 9);
	log_add_time(line);
	cairn_buf_add(line, LEVELS[level], strlen(LEVELS[level]));
	cairn_json_text(line, event, LOG_VALUE_BYTES_MAX);
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n)
{
	if ((int)level > atomic_load_explicit(&log_level_max, memory_order_relaxed))
		return;
	char bytes[LOG_LINE_BYTES_MAX];
	struct cairn_buf line = cairn_buf_over(bytes, sizeof(bytes) - LOG_END_BYTES);
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
	line.max = line.cap = sizeof(bytes);
	cairn_buf_add(&line, "}\n", LOG_END_BYTES);
	log_writer_put(line.bytes, line.len, level <= LOG_WARNING);
}
