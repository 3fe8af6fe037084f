#include "server/page/markdown.h"

#include "base/utf8.h"
#include "server/ask/html.h"

#include <md4c.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	MARKDOWN_ADDRESS_BYTES = 4096,
	MARKDOWN_ENTITY_BYTES = 16,
	MARKDOWN_OPEN_MAX = 256,
	/* Limits for steps in which md4c takes quadratic time; our own documents need a hundredth of these. */
	MARKDOWN_TARGETS_BYTES_MAX = 512 * 1024, /* the address of a reference is copied for each use */
	MARKDOWN_STEPS_MAX = 4 * 1024 * 1024,    /* every line goes through all open quotes and lists */
	MARKDOWN_STOP = -1,                      /* a callback's result; 1 would end only one element */
};

struct markdown {
	struct cairn_buf *b;
	const struct markdown_base *base;
	unsigned depth;           /* nesting of blocks */
	unsigned links, pictures; /* nested links and pictures that are open */
	bool has_link, has_image; /* the outermost link (picture) was written as a link (picture) */
	size_t began;             /* where the text of the outermost one begins */
	size_t targets_bytes;     /* bytes of addresses and titles so far */
	unsigned n_open;          /* open spans; each must end before its parent */
	MD_SPANTYPE open[MARKDOWN_OPEN_MAX];
};

/* Returns a callback's result. */
static int markdown_ended(const struct markdown *m)
{
	return m->b->status == CAIRN_OK ? 0 : MARKDOWN_STOP;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Decodes an entity like "&#8212;" or "&amp;" to UTF-8. @return the number of bytes; 0: unknown, show it literally */
static size_t markdown_entity(uint8_t out[static 4], const char *text, size_t len)
{
	static const struct {
		const char *name;
		uint32_t character;
	} NAMED[] = {{"&amp;", '&'},       {"&lt;", '<'},       {"&gt;", '>'},       {"&quot;", '"'},
		     {"&apos;", '\''},     {"&nbsp;", 0xa0},    {"&copy;", 0xa9},    {"&reg;", 0xae},
		     {"&middot;", 0xb7},   {"&times;", 0xd7},   {"&ndash;", 0x2013}, {"&mdash;", 0x2014},
		     {"&hellip;", 0x2026}, {"&trade;", 0x2122}, {"&larr;", 0x2190},  {"&rarr;", 0x2192},
		     {"&le;", 0x2264},     {"&ge;", 0x2265}};
	char name[MARKDOWN_ENTITY_BYTES];
	if (len >= sizeof(name))
		return 0;
	memcpy(name, text, len);
	name[len] = '\0';
	if (len > 3 && name[1] == '#') {
		bool hex = name[2] == 'x' || name[2] == 'X';
		unsigned long character = strtoul(name + (hex ? 3 : 2), NULL, hex ? 16 : 10);
		bool good = character > 0 && character < 0x110000 && (character < 0xd800 || character > 0xdfff);
		return cairn_utf8_encode(out, good ? (uint32_t)character : 0xfffd);
	}
	for (size_t i = 0; i < sizeof(NAMED) / sizeof(NAMED[0]); i++)
		if (strcmp(NAMED[i].name, name) == 0)
			return cairn_utf8_encode(out, NAMED[i].character);
	return 0;
}

static void markdown_put_entity(struct cairn_buf *b, const char *text, size_t len)
{
	uint8_t utf8[4];
	size_t n = markdown_entity(utf8, text, len);
	html_bytes(b, n > 0 ? (const char *)utf8 : text, n > 0 ? n : len);
}

static int markdown_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *ctx)
{
	struct markdown *m = ctx;
	if (type == MD_TEXT_BR)
		html(m->b, m->pictures > 0 ? " " : "<br>\n");
	else if (type == MD_TEXT_SOFTBR)
		html(m->b, "\n");
	else if (type == MD_TEXT_ENTITY)
		markdown_put_entity(m->b, text, size);
	else
		html_bytes(m->b, text, size);
	return markdown_ended(m);
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

/* Decodes an attribute and its entities. @return false: too long, or it has characters that no address may have */
static bool markdown_plain(char out[static MARKDOWN_ADDRESS_BYTES], const MD_ATTRIBUTE *attribute)
{
	size_t at = 0;
	for (unsigned i = 0; attribute->size > 0 && attribute->substr_offsets[i] < attribute->size; i++) {
		const char *text = attribute->text + attribute->substr_offsets[i];
		size_t len = attribute->substr_offsets[i + 1] - attribute->substr_offsets[i], n = 0;
		uint8_t utf8[4];
		if (attribute->substr_types[i] == MD_TEXT_ENTITY)
			n = markdown_entity(utf8, text, len);
		if (n > 0) {
			text = (const char *)utf8;
			len = n;
		}
		if (len >= MARKDOWN_ADDRESS_BYTES - at)
			return false;
		memcpy(out + at, text, len);
		at += len;
	}
	out[at] = '\0';
	/* browsers ignore some characters, so a scheme may hide between them */
	for (size_t i = 0; i < at; i++)
		if ((unsigned char)out[i] <= 0x20 || out[i] == 0x7f || out[i] == '\\')
			return false;
	return at > 0;
}

enum markdown_place { MARKDOWN_NOWHERE, MARKDOWN_FAR, MARKDOWN_SERVER, MARKDOWN_REPOSITORY };

static enum markdown_place markdown_place_of(const char *address)
{
	static const char *const SCHEMES[] = {"http:", "https:", "mailto:", NULL};
	size_t len = strcspn(address, ":/?#");
	if (address[len] == ':') {
		for (const char *const *scheme = SCHEMES; *scheme; scheme++)
			if (strncasecmp(address, *scheme, strlen(*scheme)) == 0)
				return MARKDOWN_FAR;
		return MARKDOWN_NOWHERE;
	}
	if (address[0] == '/')
		return address[1] == '/' ? MARKDOWN_NOWHERE : MARKDOWN_SERVER;
	return address[0] == '#' ? MARKDOWN_NOWHERE : MARKDOWN_REPOSITORY;
}

static void markdown_open_link(struct markdown *m, const MD_ATTRIBUTE *to)
{
	char address[MARKDOWN_ADDRESS_BYTES];
	enum markdown_place place = markdown_plain(address, to) ? markdown_place_of(address) : MARKDOWN_NOWHERE;
	size_t len = place == MARKDOWN_REPOSITORY ? strlen(address) : 0;
	if (len > 1 && address[len - 1] == '/') /* on this server, folders' names do not end with a slash */
		address[len - 1] = '\0';
	m->has_link = place != MARKDOWN_NOWHERE;
	if (m->has_link)
		html(m->b,
		     place == MARKDOWN_FAR ? "<a rel=\"nofollow noreferrer\" href=\"%s%s\">" : "<a href=\"%s%s\">",
		     place == MARKDOWN_REPOSITORY ? m->base->files : "", address);
	m->began = m->b->len;
}

/* Closes a link. A link without a text gets one. */
static void markdown_close_link(struct markdown *m)
{
	if (m->has_link)
		html(m->b, m->b->len == m->began ? "link</a>" : "</a>");
	m->has_link = false;
}

/* Opens a picture. A picture on another server would reveal the reader to that server, so show its text as a link. */
static void markdown_open_picture(struct markdown *m, const MD_ATTRIBUTE *from)
{
	char address[MARKDOWN_ADDRESS_BYTES];
	enum markdown_place place = markdown_plain(address, from) ? markdown_place_of(address) : MARKDOWN_NOWHERE;
	m->has_image = place == MARKDOWN_SERVER || place == MARKDOWN_REPOSITORY;
	if (m->has_image)
		html(m->b, "<img src=\"%s%s\" alt=\"", place == MARKDOWN_REPOSITORY ? m->base->pictures : "", address);
	else if (m->links == 0)
		markdown_open_link(m, from);
	if (m->links == 0 || m->has_image)
		m->began = m->b->len;
}

static void markdown_close_picture(struct markdown *m)
{
	if (m->has_image)
		html(m->b, "\">");
	else if (m->b->len == m->began)
		html(m->b, "picture");
	if (m->links == 0)
		markdown_close_link(m);
	m->has_image = false;
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

/* Returns the HTML tag of a span. @return NULL: none */
static const char *markdown_span_tag(MD_SPANTYPE type)
{
	static const char *const TAGS[] = {[MD_SPAN_EM] = "em",
					   [MD_SPAN_STRONG] = "strong",
					   [MD_SPAN_CODE] = "code",
					   [MD_SPAN_DEL] = "del",
					   [MD_SPAN_U] = NULL};
	return TAGS[type];
}

/* Counts the bytes of an address or title. @return true: they are within the limit */
static bool markdown_count_targets(struct markdown *m, const MD_ATTRIBUTE *address, const MD_ATTRIBUTE *title)
{
	m->targets_bytes += (size_t)address->size + title->size;
	return m->targets_bytes <= MARKDOWN_TARGETS_BYTES_MAX;
}

static bool markdown_may_open(struct markdown *m, MD_SPANTYPE type, const void *detail)
{
	const MD_SPAN_A_DETAIL *link = detail;
	const MD_SPAN_IMG_DETAIL *picture = detail;
	if (m->n_open == MARKDOWN_OPEN_MAX)
		return false;
	if (type == MD_SPAN_A)
		return markdown_count_targets(m, &link->href, &link->title);
	return type != MD_SPAN_IMG || markdown_count_targets(m, &picture->src, &picture->title);
}

static int markdown_enter_span(MD_SPANTYPE type, void *detail, void *ctx)
{
	struct markdown *m = ctx;
	const char *tag = markdown_span_tag(type);
	if (!markdown_may_open(m, type, detail))
		return MARKDOWN_STOP;
	m->open[m->n_open++] = type;
	if (type == MD_SPAN_IMG) {
		if (m->pictures++ == 0)
			markdown_open_picture(m, &((const MD_SPAN_IMG_DETAIL *)detail)->src);
	} else if (m->pictures > 0) {
		return markdown_ended(m); /* attributes contain only text */
	} else if (type == MD_SPAN_A) {
		if (m->links++ == 0)
			markdown_open_link(m, &((const MD_SPAN_A_DETAIL *)detail)->href);
	} else if (tag) {
		html(m->b, "<%s>", tag);
	}
	return markdown_ended(m);
}

static int markdown_leave_span(MD_SPANTYPE type, void *detail, void *ctx)
{
	struct markdown *m = ctx;
	const char *tag = markdown_span_tag(type);
	(void)detail;
	if (m->n_open == 0 || m->open[--m->n_open] != type)
		return MARKDOWN_STOP;
	if (type == MD_SPAN_IMG) {
		if (--m->pictures == 0)
			markdown_close_picture(m);
	} else if (m->pictures > 0) {
		return markdown_ended(m);
	} else if (type == MD_SPAN_A) {
		if (--m->links == 0)
			markdown_close_link(m);
	} else if (tag) {
		html(m->b, "</%s>", tag);
	}
	return markdown_ended(m);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static void markdown_open_cell(struct markdown *m, const char *tag, const MD_BLOCK_TD_DETAIL *cell)
{
	const char *class = cell->align == MD_ALIGN_RIGHT ? " class=\"num\"" : "";
	html(m->b, "<%s", tag);
	cairn_buf_printf(m->b, "%s>", class);
}

static void markdown_open_item(struct markdown *m, const MD_BLOCK_LI_DETAIL *item)
{
	html(m->b, item->is_task ? "<li class=\"task\">" : "<li>");
	if (item->is_task)
		html(m->b, item->task_mark == ' ' ? "☐ " : "☑ ");
}

static void markdown_open_list(struct markdown *m, const MD_BLOCK_OL_DETAIL *list)
{
	if (list->start == 1)
		html(m->b, "<ol>\n");
	else
		html(m->b, "<ol start=\"%u\">\n", list->start);
}

/* Returns the level of a heading: one below that in the text, because the page has a title. */
static unsigned markdown_level(const MD_BLOCK_H_DETAIL *heading)
{
	return heading->level < 6 ? heading->level + 1 : 6;
}

static void markdown_open_block(struct markdown *m, MD_BLOCKTYPE type, const void *detail)
{
	static const char *const TAGS[] = {
		[MD_BLOCK_QUOTE] = "<blockquote>\n",
		[MD_BLOCK_UL] = "<ul>\n",
		[MD_BLOCK_HR] = "<hr>\n",
		[MD_BLOCK_CODE] = "<pre tabindex=\"0\"><code>",
		[MD_BLOCK_P] = "<p>",
		[MD_BLOCK_TABLE] = "<div class=\"scroll\" tabindex=\"0\"><table>\n",
		[MD_BLOCK_THEAD] = "<thead>",
		[MD_BLOCK_TBODY] = "<tbody>",
		[MD_BLOCK_TR] = "<tr>",
		[MD_BLOCK_TD] = NULL,
	};
	if (type == MD_BLOCK_OL)
		markdown_open_list(m, detail);
	else if (type == MD_BLOCK_LI)
		markdown_open_item(m, detail);
	else if (type == MD_BLOCK_H)
		html(m->b, "<h%u>", markdown_level(detail));
	else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
		markdown_open_cell(m, type == MD_BLOCK_TH ? "th" : "td", detail);
	else if (TAGS[type])
		cairn_buf_printf(m->b, "%s", TAGS[type]);
}

static void markdown_close_block(struct markdown *m, MD_BLOCKTYPE type, const void *detail)
{
	static const char *const TAGS[] = {
		[MD_BLOCK_QUOTE] = "</blockquote>\n",
		[MD_BLOCK_UL] = "</ul>\n",
		[MD_BLOCK_OL] = "</ol>\n",
		[MD_BLOCK_LI] = "</li>\n",
		[MD_BLOCK_CODE] = "</code></pre>\n",
		[MD_BLOCK_P] = "</p>\n",
		[MD_BLOCK_TABLE] = "</table></div>\n",
		[MD_BLOCK_THEAD] = "</thead>\n",
		[MD_BLOCK_TBODY] = "</tbody>\n",
		[MD_BLOCK_TR] = "</tr>\n",
		[MD_BLOCK_TH] = "</th>",
		[MD_BLOCK_TD] = "</td>",
	};
	if (type == MD_BLOCK_H)
		html(m->b, "</h%u>\n", markdown_level(detail));
	else if (TAGS[type])
		cairn_buf_printf(m->b, "%s", TAGS[type]);
}

/* Does the block add depth? Lists and quotes do. An item has the depth of its list. */
static bool markdown_nests(MD_BLOCKTYPE type)
{
	return type == MD_BLOCK_QUOTE || type == MD_BLOCK_UL || type == MD_BLOCK_OL;
}

static bool markdown_is_shown(const struct markdown *m, MD_BLOCKTYPE type)
{
	return m->depth <= MARKDOWN_DEPTH_MAX || !(markdown_nests(type) || type == MD_BLOCK_LI);
}

static int markdown_enter_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
	struct markdown *m = ctx;
	m->depth += markdown_nests(type);
	if (markdown_is_shown(m, type))
		markdown_open_block(m, type, detail);
	return markdown_ended(m);
}

static int markdown_leave_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
	struct markdown *m = ctx;
	if (m->n_open > 0) /* md4c 0.4.8 lets spans overlap if one ends within another's address: "_[](_)" */
		return MARKDOWN_STOP;
	if (markdown_is_shown(m, type))
		markdown_close_block(m, type, detail);
	m->depth -= markdown_nests(type);
	return markdown_ended(m);
}

/* Finds a block between lines of "---" at the start. @return its length with both lines; *front gets the lines between;
 * 0: absent */
static size_t markdown_front(const char *text, size_t len, const char **front, size_t *front_len)
{
	const char *end = text + len, *at = text;
	for (unsigned n = 0; at < end; n++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
		size_t line = (size_t)(stop - at) - (stop > at && stop[-1] == '\r');
		bool fence = line == 3 && memcmp(at, "---", 3) == 0;
		if (n == 0 && !fence)
			return 0;
		if (n > 0 && fence) {
			*front_len = (size_t)(at - *front);
			return (size_t)((newline ? newline + 1 : end) - text);
		}
		at = newline ? newline + 1 : end;
		if (n == 0)
			*front = at;
	}
	return 0;
}

static void markdown_put_front(struct cairn_buf *b, const char *front, size_t len)
{
	if (len == 0)
		return;
	html(b, "<details class=\"front\"><summary>Metadata</summary><pre tabindex=\"0\">");
	html_bytes(b, front, len);
	html(b, "</pre></details>\n");
}

/* Estimates md4c's steps: the largest number of marks of quotes and lists at the start of a line, times the lines. */
static size_t markdown_steps(const char *text, size_t len)
{
	size_t most = 0, lines = 1, marks = 0;
	bool begins = true;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (c == '\n') {
			lines++;
			marks = 0;
			begins = true;
		} else if (begins && !(c == ' ' || c == '\t' || (c >= '0' && c <= '9'))) {
			begins = c == '>' || c == '*' || c == '+' || c == '-' || c == '.' || c == ')';
			marks += begins;
			most = marks > most ? marks : most;
		}
	}
	return most * lines;
}

/* Converts the text. @return true: all of it is in out */
static bool markdown_parse(struct markdown *m, const char *text, size_t len)
{
	static const MD_PARSER PARSER = {
		/* No bare links: md4c 0.4.8 lets them overlap with spans around them, as in "*www.a.b*". */
		.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_NOHTML,
		.enter_block = markdown_enter_block,
		.leave_block = markdown_leave_block,
		.enter_span = markdown_enter_span,
		.leave_span = markdown_leave_span,
		.text = markdown_text,
	};
	if (markdown_steps(text, len) > MARKDOWN_STEPS_MAX)
		return false;
	/* After a text that ends with "[a](b", md4c reads a byte too many, but not past a line end, so one is added. */
	CLEANUP(cairn_buf_fini) struct cairn_buf lines = cairn_buf_init(len + 1);
	cairn_buf_add(&lines, text, len);
	cairn_buf_add(&lines, "\n", 1);
	return lines.status == CAIRN_OK && md_parse((const char *)lines.bytes, (MD_SIZE)lines.len, &PARSER, m) == 0 &&
	       m->b->status == CAIRN_OK;
}

void markdown_put(struct cairn_buf *b, const char *text, size_t len, const struct markdown_base *base)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(MARKDOWN_BYTES_MAX);
	struct markdown m = {.b = &out, .base = base};
	const char *front = text;
	size_t front_len = 0, skipped = markdown_front(text, len, &front, &front_len);
	markdown_put_front(b, front, front_len);
	if (markdown_parse(&m, text + skipped, len - skipped)) {
		cairn_buf_add(b, out.bytes, out.len);
		return;
	}
	html(b, "<pre tabindex=\"0\">");
	html_bytes(b, text + skipped, len - skipped);
	html(b, "</pre>\n");
}
