#include "hub/delimited.h"

#include <string.h>

static const char DELIMITED_MARK[] = "\xef\xbb\xbf"; /* the byte order mark in UTF-8 */

static bool delimited_is_end(char c)
{
	return c == '\n' || c == '\r';
}

/* Finds the separator that the first row has most often outside of quotes. */
static char delimited_guess(const struct cairn_delimited *d)
{
	static const char SEPARATORS[] = {',', ';', '\t'};
	size_t counts[sizeof(SEPARATORS)] = {0}, most = 0;
	bool quoted = false;
	for (const char *at = d->at; at < d->end && (quoted || !delimited_is_end(*at)); at++) {
		quoted = quoted != (*at == '"');
		for (size_t i = 0; i < sizeof(SEPARATORS) && !quoted; i++)
			counts[i] += *at == SEPARATORS[i];
	}
	for (size_t i = 1; i < sizeof(SEPARATORS); i++)
		most = counts[i] > counts[most] ? i : most;
	return SEPARATORS[most];
}

void cairn_delimited_begin(struct cairn_delimited *d, const char *bytes, size_t len, char separator, bool is_cut)
{
	size_t mark = sizeof(DELIMITED_MARK) - 1;
	bool has_mark = len >= mark && memcmp(bytes, DELIMITED_MARK, mark) == 0;
	*d = (struct cairn_delimited){.at = bytes, .end = bytes + len, .is_cut = is_cut};
	d->at += has_mark ? mark : 0;
	d->separator = separator ? separator : delimited_guess(d);
}

struct delimited_out {
	char *bytes;
	size_t room, len;
};

static void delimited_put(struct delimited_out *out, char c)
{
	if (out->len < out->room)
		out->bytes[out->len] = c;
	out->len++;
}

/* Reads the rest of a quoted field, after the opening quote. */
static void delimited_read_quoted(struct cairn_delimited *d, struct delimited_out *out)
{
	while (d->at < d->end) {
		char c = *d->at++;
		if (c == '"' && (d->at == d->end || *d->at != '"'))
			return;
		d->at += c == '"';
		delimited_put(out, c);
	}
}

enum cairn_delimited_end cairn_delimited_next(struct cairn_delimited *d, char *out, size_t room, size_t *len)
{
	struct delimited_out text = {out, room, 0};
	*len = 0;
	if (d->at == d->end && !d->in_row)
		return CAIRN_DELIMITED_NONE;
	d->in_row = false;
	if (d->at < d->end && *d->at == '"') {
		d->at++;
		delimited_read_quoted(d, &text);
	}
	while (d->at < d->end && *d->at != d->separator && !delimited_is_end(*d->at))
		delimited_put(&text, *d->at++);
	*len = text.len;
	if (d->at == d->end)
		return d->is_cut ? CAIRN_DELIMITED_CUT : CAIRN_DELIMITED_ROW;
	char c = *d->at++;
	d->in_row = c == d->separator;
	if (d->in_row)
		return CAIRN_DELIMITED_FIELD;
	if (c == '\r' && d->at < d->end && *d->at == '\n')
		d->at++;
	return CAIRN_DELIMITED_ROW;
}
