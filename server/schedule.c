#include "server/schedule.h"

#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DAY_S = 86400, DAY_MINUTES = 24 * 60 };

static const struct {
	char letter;
	uint32_t s;
} UNITS[] = {{'d', DAY_S}, {'h', 3600}, {'m', 60}, {'s', 1}};

/* Parses "HH:MM". @return its end; NULL: malformed */
static const char *schedule_parse_minute(const char *text, uint16_t *minute)
{
	for (size_t i = 0; i < 5; i++)
		if (i == 2 ? text[i] != ':' : text[i] < '0' || text[i] > '9')
			return NULL;
	unsigned hour = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
	unsigned rest = (unsigned)(text[3] - '0') * 10 + (unsigned)(text[4] - '0');
	*minute = (uint16_t)(hour * 60 + rest);
	return hour < 24 && rest < 60 ? text + 5 : NULL;
}

static bool schedule_parse_window(struct schedule *out, const char *text)
{
	uint16_t from, to;
	const char *end = schedule_parse_minute(text, &from);
	if (end && *end == '-')
		end = schedule_parse_minute(end + 1, &to);
	else
		end = NULL;
	if (!end || *end || from == to)
		return false;
	*out = (struct schedule){.from_min = from, .minutes = (uint16_t)((to + DAY_MINUTES - from) % DAY_MINUTES)};
	return true;
}

static bool schedule_parse_every(struct schedule *out, const char *text)
{
	uint64_t n;
	if (!cairn_decimal_read(&text, &n))
		return false;
	uint64_t factor = *text ? 0 : 1;
	for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++)
		if (*text == UNITS[i].letter && !text[1])
			factor = UNITS[i].s;
	if (factor == 0 || n > SCHEDULE_EVERY_S_MAX / factor || n * factor < SCHEDULE_EVERY_S_MIN)
		return false;
	*out = (struct schedule){.every_s = (uint32_t)(n * factor)};
	return true;
}

bool schedule_parse(struct schedule *out, const char *text)
{
	if (strcmp(text, "off") == 0) {
		*out = (struct schedule){0};
		return true;
	}
	return schedule_parse_window(out, text) || schedule_parse_every(out, text);
}

const char *schedule_text(char out[static SCHEDULE_TEXT_BYTES], const struct schedule *s)
{
	unsigned to = ((unsigned)s->from_min + s->minutes) % DAY_MINUTES;
	size_t unit = 0;
	while (s->every_s % UNITS[unit].s != 0)
		unit++;
	if (s->every_s > 0)
		(void)snprintf(out, SCHEDULE_TEXT_BYTES, "%" PRIu32 "%c", s->every_s / UNITS[unit].s,
			       UNITS[unit].letter);
	else if (s->minutes > 0)
		(void)snprintf(out, SCHEDULE_TEXT_BYTES, "%02u:%02u-%02u:%02u", s->from_min / 60U, s->from_min % 60U,
			       to / 60, to % 60);
	else
		(void)snprintf(out, SCHEDULE_TEXT_BYTES, "off");
	return out;
}

/* Returns a pseudorandom number below n. It depends on salt and place alone. */
static int64_t schedule_jitter(uint64_t salt, int64_t place, int64_t n)
{
	uint64_t mixed = (salt ^ (uint64_t)place) * UINT64_C(0x9e3779b97f4a7c15);
	mixed = (mixed ^ (mixed >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return (int64_t)((mixed >> 32) % (uint64_t)n);
}

/* Computes the next moment within a window, which may begin yesterday and extend past midnight. */
static int64_t schedule_next_window(const struct schedule *s, int64_t last_unix_s, int64_t now_unix_s, uint64_t salt)
{
	int64_t len_s = s->minutes * INT64_C(60), day = now_unix_s / DAY_S - 1;
	for (;; day++) {
		int64_t begin = day * DAY_S + s->from_min * INT64_C(60);
		if (last_unix_s < begin && now_unix_s < begin + len_s)
			return begin + schedule_jitter(salt, day, len_s);
	}
}

int64_t schedule_next(const struct schedule *s, int64_t last_unix_s, int64_t now_unix_s, uint64_t salt)
{
	if (last_unix_s > now_unix_s)
		last_unix_s = now_unix_s;
	if (s->every_s > 0)
		return last_unix_s + s->every_s + schedule_jitter(salt, last_unix_s, s->every_s / 10 + 1);
	return s->minutes > 0 ? schedule_next_window(s, last_unix_s, now_unix_s, salt) : 0;
}
