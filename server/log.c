#include "server/log.h"

#include "base/fd.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
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

/* A line in the making. A piece that does not fit whole is left out, so that the line stays valid JSON. */
struct log_line {
	size_t len;
	char text[LOG_LINE_BYTES];
};

static bool log_add(struct log_line *line, const char *text, size_t len)
{
	if (len > sizeof(line->text) - LOG_END_BYTES - line->len)
		return false;
	memcpy(line->text + line->len, text, len);
	line->len += len;
	return true;
}

static bool log_add_text(struct log_line *line, const char *text)
{
	return log_add(line, text, strlen(text));
}

/* Length of the well-formed UTF-8 character at p (at most n bytes); 0: it is none (Unicode 15, table 3-7). */
static size_t log_utf8_len(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 0;
	unsigned char low = 0x80, high = 0xbf; /* of the second byte */
	if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4;
	if (len == 0 || len > n)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (len > 1 && (p[1] < low || p[1] > high))
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static bool log_add_character(struct log_line *line, const unsigned char *p, size_t len)
{
	char escape[8];
	if (len == 0)
		return log_add_text(line, "\xef\xbf\xbd");
	if (p[0] == '"' || p[0] == '\\') {
		const char pair[2] = {'\\', (char)p[0]};
		return log_add(line, pair, sizeof(pair));
	}
	if (p[0] >= ' ' && p[0] != 0x7f)
		return log_add(line, (const char *)p, len);
	(void)snprintf(escape, sizeof(escape), "\\u%04x", p[0]);
	return log_add_text(line, escape);
}

/* A JSON string. */
static bool log_add_string(struct log_line *line, const char *text)
{
	size_t n = strnlen(text, LOG_VALUE_BYTES_MAX + 4), at = 0;
	bool ok = log_add_text(line, "\"");
	while (ok && at < n) {
		const unsigned char *p = (const unsigned char *)text + at;
		size_t len = log_utf8_len(p, n - at);
		at += len ? len : 1;
		if (at > LOG_VALUE_BYTES_MAX)
			break;
		ok = log_add_character(line, p, len);
	}
	return ok && log_add_text(line, "\"");
}

static bool log_add_field(struct log_line *line, const struct log_field *field)
{
	if (!log_add_text(line, ",") || !log_add_string(line, field->name) || !log_add_text(line, ":"))
		return false;
	if (field->kind == LOG_TEXT)
		return log_add_string(line, field->text);
	char digits[24];
	(void)snprintf(digits, sizeof(digits), "%" PRId64, field->number);
	return log_add_text(line, digits);
}

/* RFC 3339, UTC. The true time, also when a test has moved the clock. */
static void log_begin(struct log_line *line, enum log_level level, const char *event)
{
	static const char *const NAMES[] = {"error", "warning", "info", "debug"};
	struct timespec now;
	struct tm utc;
	char stamp[32], head[96];
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	(void)snprintf(head, sizeof(head), "{\"time\":\"%s.%03ldZ\",\"level\":", stamp, now.tv_nsec / 1000000);
	(void)log_add_text(line, head);
	(void)log_add_string(line, NAMES[level]);
	(void)log_add_text(line, ",\"event\":");
	(void)log_add_string(line, event);
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n)
{
	if ((int)level > atomic_load_explicit(&log_level_max, memory_order_relaxed))
		return;
	struct log_line line;
	line.len = 0;
	log_begin(&line, level, event);
	for (size_t i = 0; i < n; i++) {
		size_t before = line.len;
		if (fields[i].kind == LOG_TEXT && !fields[i].text)
			continue;
		if (!log_add_field(&line, &fields[i]))
			line.len = before;
	}
	memcpy(line.text + line.len, "}\n", LOG_END_BYTES);
	line.len += LOG_END_BYTES;
	enum cairn_status written = cairn_fd_write_all(STDERR_FILENO, line.text, line.len);
	(void)written; /* there is nobody to tell */
}
