#include "server/page/show.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "server/ask/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *show_size(char out[static SHOW_BYTES], uint64_t bytes)
{
	static const char *const UNITS[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	unsigned unit = 0;
	double n = (double)bytes;
	/* 999.5 and more would be shown as 1,000: use the next unit */
	for (; n >= 999.5 && unit < 6; unit++)
		n /= 1000;
	(void)snprintf(out, SHOW_BYTES, unit > 0 && n < 99.95 ? "%.1f %s" : "%.0f %s", n, UNITS[unit]);
	return out;
}

const char *show_count(char out[static SHOW_BYTES], uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;
	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

static struct tm show_utc(int64_t unix_s)
{
	time_t seconds = (time_t)unix_s;
	struct tm tm = {0};
	(void)gmtime_r(&seconds, &tm);
	return tm;
}

const char *show_time(char out[static SHOW_BYTES], int64_t unix_s)
{
	struct tm tm = show_utc(unix_s);
	if (strftime(out, SHOW_BYTES, "%Y-%m-%d %H:%M UTC", &tm) == 0)
		out[0] = '\0';
	return out;
}

void show_age(struct cairn_buf *b, int64_t then_unix_s, int64_t now_unix_s)
{
	static const struct {
		int64_t below_s, unit_s;
		const char *word;
	} AGES[] = {{3600, 60, "min"}, {INT64_C(2) * 86400, 3600, "h"}, {INT64_C(31) * 86400, 86400, "d"}};
	int64_t age_s = now_unix_s - then_unix_s;
	struct tm tm = show_utc(then_unix_s);
	char iso[CAIRN_TIME_TEXT_BYTES], full[SHOW_BYTES], text[SHOW_BYTES] = "";
	(void)strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	for (size_t i = sizeof(AGES) / sizeof(AGES[0]); i-- > 0 && age_s < AGES[i].below_s;)
		(void)snprintf(text, sizeof(text), "%" PRId64 " %s ago", age_s / AGES[i].unit_s, AGES[i].word);
	if (age_s < 60)
		(void)snprintf(text, sizeof(text), "just now");
	html(b, "<time datetime=\"%s\" title=\"%s\">%s</time>", cairn_time_text(iso, then_unix_s),
	     show_time(full, then_unix_s), text);
}

bool show_is_text(const uint8_t *bytes, size_t len, bool is_cut)
{
	for (size_t i = 0; i < len;) {
		size_t n = cairn_utf8_sequence(bytes + i, len - i);
		if (n == 0)
			return is_cut && len - i < 4;
		if (bytes[i] < 0x20 && !strchr("\t\n\r\f\x1b", bytes[i]))
			return false;
		i += n;
	}
	return true;
}
