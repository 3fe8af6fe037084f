/* A README: whatever it contains, the HTML has only our elements and attributes. Links use three schemes or stay on
 * the server, and every opened element is closed. */
#include "fuzz/fuzz.h"
#include "server/page/markdown.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { OPEN_MAX = 4096 };

static const char *const TAGS[] = {"p",     "h2",         "h3",      "h4",      "h5",     "h6",    "ul",    "ol",
				   "li",    "a",          "img",     "em",      "strong", "br",    "hr",    "td",
				   "th",    "blockquote", "code",    "del",     "pre",    "table", "thead", "tr",
				   "tbody", "div",        "summary", "details", NULL};

static bool markdown_is_tag(const char *name, size_t len)
{
	for (const char *const *tag = TAGS; *tag; tag++)
		if (strlen(*tag) == len && memcmp(*tag, name, len) == 0)
			return true;
	return false;
}

static bool markdown_is_empty(const char *name, size_t len)
{
	return (len == 2 && (memcmp(name, "br", 2) == 0 || memcmp(name, "hr", 2) == 0)) ||
	       (len == 3 && memcmp(name, "img", 3) == 0);
}

/* Checks how an address begins. */
static void markdown_check_address(const char *value)
{
	static const char *const STARTS[] = {"http:", "https:", "mailto:", NULL};
	bool good = value[0] == '/' && value[1] != '/' && value[1] != '\\';
	for (const char *const *start = STARTS; *start; start++)
		good = good || strncasecmp(value, *start, strlen(*start)) == 0;
	fuzz_must(good);
}

/* Checks a tag's attributes up to its end: name="value", without quotes inside. */
static const char *markdown_check_attributes(const char *at)
{
	static const char *const NAMES[] = {"class", "tabindex", "href", "src", "alt", "rel", "start", NULL};
	while (*at == ' ') {
		const char *name = ++at;
		bool known = false;
		at += strcspn(at, "=> ");
		for (const char *const *n = NAMES; *n; n++)
			known = known || (strlen(*n) == (size_t)(at - name) && memcmp(*n, name, strlen(*n)) == 0);
		fuzz_must(known && at[0] == '=' && at[1] == '"');
		at += 2;
		if (memcmp(name, "href", 4) == 0 || memcmp(name, "src", 3) == 0)
			markdown_check_address(at);
		const char *end = strchr(at, '"');
		fuzz_must(end != NULL && !memchr(at, '<', (size_t)(end - at)));
		at = end + 1;
	}
	fuzz_must(*at == '>');
	return at + 1;
}

static void markdown_check(const char *html)
{
	static const char *open[OPEN_MAX];
	static size_t lens[OPEN_MAX];
	size_t depth = 0;
	for (const char *at = html; (at = strchr(at, '<'));) {
		bool closes = at[1] == '/';
		const char *name = at + 1 + closes;
		size_t len = strcspn(name, " >");
		fuzz_must(markdown_is_tag(name, len));
		if (closes) {
			fuzz_must(depth > 0 && lens[--depth] == len && memcmp(open[depth], name, len) == 0);
			fuzz_must(name[len] == '>');
			at = name + len;
			continue;
		}
		at = markdown_check_attributes(name + len);
		if (!markdown_is_empty(name, len)) {
			fuzz_must(depth < OPEN_MAX);
			open[depth] = name;
			lens[depth++] = len;
		}
	}
	fuzz_must(depth == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const struct markdown_base BASE = {"/ann/m/blob/main/", "/ann/m/resolve/main/"};
	struct cairn_buf b = cairn_buf_init((size_t)8 << 20);
	markdown_put(&b, (const char *)bytes, len, &BASE);
	cairn_buf_add(&b, "", 1);
	fuzz_must(b.status == CAIRN_OK && strlen((const char *)b.bytes) + 1 == b.len);
	markdown_check((const char *)b.bytes);
	cairn_buf_fini(&b);
	return 0;
}
