#include "archive/fold/json_canonical.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A member of an object; its name is in the buffer of names. */
struct canonical_member {
	const uint8_t *names; /* set when the buffer no longer moves */
	size_t name_at, name_len;
	size_t value_at;
};

static void canonical_unicode(struct cairn_buf *out, uint32_t c)
{
	if (c >= 0x10000) {
		c -= 0x10000;
		cairn_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
		return;
	}
	cairn_buf_printf(out, "\\u%04x", c);
}

void cairn_json_canonical_string(struct cairn_buf *out, const void *text, size_t len, bool ascii)
{
	static const char SPECIAL[] = "\"\\\n\r\t\b\f", LETTER[] = "\"\\nrtbf";
	const uint8_t *p = text;
	cairn_buf_add(out, "\"", 1);
	for (size_t at = 0; at < len;) {
		size_t run = at;
		while (run < len && p[run] >= 0x20 && p[run] < 0x7f && p[run] != '"' && p[run] != '\\')
			run++;
		cairn_buf_add(out, p + at, run - at);
		at = run;
		if (at == len)
			break;
		const char *special = p[at] ? strchr(SPECIAL, p[at]) : NULL;
		size_t n = cairn_utf8_sequence(p + at, len - at);
		if (special)
			cairn_buf_add(out, (char[]){'\\', LETTER[special - SPECIAL]}, 2);
		else if (p[at] < 0x20 || ascii)
			canonical_unicode(out, n ? cairn_utf8_character(p + at, n) : 0xfffd);
		else
			cairn_buf_add(out, p + at, n ? n : 1);
		at += n ? n : 1;
	}
	cairn_buf_add(out, "\"", 1);
}

static int canonical_compare(const void *a, const void *b)
{
	const struct canonical_member *x = a, *y = b;
	size_t n = x->name_len < y->name_len ? x->name_len : y->name_len;
	int order = n > 0 ? memcmp(x->names + x->name_at, y->names + y->name_at, n) : 0;
	return order ? order : (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

/* Records the places of the members of the next value, an object. */
static bool canonical_members(struct cairn_json_pull *p, struct cairn_buf *names, struct cairn_buf *members)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf name = cairn_buf_init(p->len);
	bool first = true;
	if (!cairn_json_pull_open(p, '{'))
		return false;
	while (cairn_json_pull_member(p, &first, &name)) {
		struct canonical_member m = {.name_at = names->len, .name_len = name.len};
		cairn_buf_add(names, name.bytes, name.len);
		if (!cairn_json_pull_skip(p, &m.value_at))
			return false;
		cairn_buf_add(members, &m, sizeof(m));
	}
	return !p->bad;
}

static enum cairn_status canonical_value(struct cairn_buf *out, struct cairn_json_pull *p, const char *leave_out);

static enum cairn_status canonical_object(struct cairn_buf *out, struct cairn_json_pull *p, const char *leave_out)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf names = cairn_buf_init(p->len);
	CLEANUP(cairn_buf_fini) struct cairn_buf members = cairn_buf_init(SIZE_MAX); /* bounded by the text */
	if (!canonical_members(p, &names, &members))
		return CAIRN_E_FORMAT;
	if (names.status != CAIRN_OK || members.status != CAIRN_OK)
		return CAIRN_E_NOMEM;
	struct canonical_member *m = (struct canonical_member *)(void *)members.bytes;
	size_t n = members.len / sizeof(*m);
	for (size_t i = 0; i < n; i++)
		m[i].names = names.bytes;
	if (n > 1)
		qsort(m, n, sizeof(*m), canonical_compare);
	cairn_buf_add(out, "{", 1);
	const char *comma = "";
	for (size_t i = 0; i < n; i++) {
		struct cairn_json_pull value = *p;
		value.at = m[i].value_at;
		if (i > 0 && canonical_compare(&m[i - 1], &m[i]) == 0) {
			p->at = m[i].value_at;
			(void)cairn_json_pull_fail(p, "the name of this value repeats");
			return CAIRN_E_FORMAT;
		}
		if (leave_out && m[i].name_len == strlen(leave_out) &&
		    memcmp(names.bytes + m[i].name_at, leave_out, m[i].name_len) == 0)
			continue;
		cairn_buf_printf(out, "%s", comma);
		comma = ",";
		cairn_json_canonical_string(out, names.bytes + m[i].name_at, m[i].name_len, true);
		cairn_buf_add(out, ":", 1);
		value.depth++; /* the member is within the object */
		enum cairn_status status = canonical_value(out, &value, NULL);
		if (status != CAIRN_OK) {
			p->at = value.at;
			(void)cairn_json_pull_fail(p, value.bad);
			return status;
		}
	}
	cairn_buf_add(out, "}", 1);
	return out->status;
}

static enum cairn_status canonical_array(struct cairn_buf *out, struct cairn_json_pull *p)
{
	bool first = true;
	if (!cairn_json_pull_open(p, '['))
		return CAIRN_E_FORMAT;
	cairn_buf_add(out, "[", 1);
	for (size_t i = 0; cairn_json_pull_element(p, &first); i++) {
		if (i > 0)
			cairn_buf_add(out, ",", 1);
		enum cairn_status status = canonical_value(out, p, NULL);
		if (status != CAIRN_OK)
			return status;
	}
	cairn_buf_add(out, "]", 1);
	return p->bad ? CAIRN_E_FORMAT : out->status;
}

static enum cairn_status canonical_value(struct cairn_buf *out, struct cairn_json_pull *p, const char *leave_out)
{
	char type = cairn_json_pull_peek(p);
	if (type == '{')
		return canonical_object(out, p, leave_out);
	if (type == '[')
		return canonical_array(out, p);
	if (type == '"') {
		CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(p->len);
		if (!cairn_json_pull_string(p, &text))
			return text.status == CAIRN_OK ? CAIRN_E_FORMAT : text.status;
		cairn_json_canonical_string(out, text.bytes, text.len, true);
		return out->status;
	}
	size_t from;
	if (!cairn_json_pull_skip(p, &from))
		return CAIRN_E_FORMAT;
	cairn_buf_add(out, p->text + from, p->at - from);
	return out->status;
}

enum cairn_status cairn_json_canonical(struct cairn_buf *out, struct cairn_json_pull *p, const char *leave_out)
{
	return canonical_value(out, p, leave_out);
}
