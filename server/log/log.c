#include "server/log/log.h"

#include "base/buf.h"
#include "base/decimal.h"
#include "base/json_text.h"
#include "base/visible.h"
#include "server/log/log_ring.h"
#include "server/log/log_writer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	LOG_VALUE_BYTES_MAX = 1024, /* longest value, before escaping */
	LOG_END_BYTES = 2,          /* "}\n"; a line always keeps room for it */
	LOG_SECOND_BYTES = 19,      /* length of 2026-01-31T12:34:56 */
	LOG_WAIT_MS = 2000,         /* how long the end waits for the reader of standard error */
};

static atomic_int log_level_max = LOG_INFO;

void log_set_level(enum log_level level)
{
	atomic_store(&log_level_max, (int)level);
}

bool log_writes(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&log_level_max, memory_order_relaxed);
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

/* A line under construction. Room for its closing bytes is kept after end. */
struct log_line {
	char *at, *end;
};

static char *log_copy(char *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

static void log_add_number(struct log_line *line, const struct log_field *field)
{
	int64_t number = field->number;
	if ((size_t)(line->end - line->at) < field->head_len + sizeof("-") + CAIRN_DECIMAL_TEXT_MAX)
		return;
	char *at = log_copy(line->at, field->head, field->head_len);
	if (number < 0)
		*at++ = '-';
	line->at = cairn_decimal_text(at, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* Adds a text that needs escapes, or is long. Not inlined, so that other texts don't save registers for it. */
__attribute__((noinline)) static void log_add_odd_text(struct log_line *line, const struct log_field *field)
{
	struct cairn_buf room = cairn_buf_over(line->at, (size_t)(line->end - line->at));
	cairn_buf_add(&room, field->head, field->head_len);
	cairn_json_text(&room, field->text, LOG_VALUE_BYTES_MAX);
	if (room.status == CAIRN_OK) /* else the field is left out, so that the line stays valid JSON */
		line->at += room.len;
}

static void log_add_text(struct log_line *line, const struct log_field *field)
{
	size_t len = strnlen(field->text, LOG_VALUE_BYTES_MAX);
	if ((size_t)(line->end - line->at) < field->head_len + len + sizeof("\"\"") ||
	    !cairn_json_text_is_plain(field->text, len)) {
		log_add_odd_text(line, field);
		return;
	}
	char *at = log_copy(line->at, field->head, field->head_len);
	*at++ = '"';
	at = log_copy(at, field->text, len);
	*at++ = '"';
	line->at = at;
}

/* Adds the time: RFC 3339, UTC, the system's even if a test shifted the clock. Each thread caches its last second. */
static void log_add_time(struct log_line *line)
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
	char *ms = log_copy(line->at, last.text, LOG_SECOND_BYTES);
	line->at = cairn_decimal_text(ms, 1000 + (uint64_t)now.tv_nsec / 1000000);
	*ms = '.'; /* instead of the 1 */
}

static void log_begin(struct log_line *line, enum log_level level, const char *event)
{
#define LOG_LEVEL(name)                                                                                                \
	{                                                                                                              \
		"Z\",\"level\":\"" name "\",\"event\":\"", sizeof("Z\",\"level\":\"" name "\",\"event\":\"") - 1       \
	}
	static const struct {
		const char *text;
		size_t len;
	} LEVELS[] = {LOG_LEVEL("error"), LOG_LEVEL("warning"), LOG_LEVEL("info"), LOG_LEVEL("debug")};
#undef LOG_LEVEL
	line->at = log_copy(line->at, "{\"time\":\"", 9);
	log_add_time(line);
	line->at = log_copy(line->at, LEVELS[level].text, LEVELS[level].len);
	line->at = log_copy(line->at, event, strlen(event));
	*line->at++ = '"';
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n)
{
	if (!log_writes(level))
		return;
	char bytes[LOG_LINE_BYTES_MAX];
	struct log_line line = {.at = bytes, .end = bytes + sizeof(bytes) - LOG_END_BYTES};
	log_begin(&line, level, event);
	for (const struct log_field *field = fields; field < fields + n; field++)
		if (field->kind == LOG_NUMBER)
			log_add_number(&line, field);
		else if (field->text)
			log_add_text(&line, field);
	line.at = log_copy(line.at, "}\n", LOG_END_BYTES);
	log_writer_put(bytes, (size_t)(line.at - bytes), level <= LOG_WARNING);
}
