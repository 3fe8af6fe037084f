#include "hub/card.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { CARD_ITEMS_MAX = 100 }; /* list items that are examined */

/* License names that the public hub accepts, each between spaces. */
static const char LICENSES[] =
	"apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m "
	"bigscience-bloom-rail-1.0 bigcode-openrail-m afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause "
	"bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 "
	"cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 "
	"cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 "
	"cdla-sharing-1.0 cdla-permissive-1.0 cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 "
	"etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0 lgpl lgpl-2.1 lgpl-3.0 isc "
	"h-research intel-research lppl-1.3c ms-pl apple-ascl apple-amlr mpl-2.0 odc-by odbl "
	"openmdw-1.0 openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl lgpl-lr "
	"deepfloyd-if-license fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 "
	"llama3.3 llama4 gemma grok2-community unknown other";

struct line {
	const char *at;
	size_t len;
};

static bool card_line(const char **at, struct line *out)
{
	if (!**at)
		return false;
	size_t len = strcspn(*at, "\n");
	*out = (struct line){*at, len > 0 && (*at)[len - 1] == '\r' ? len - 1 : len};
	*at += len + ((*at)[len] == '\n');
	return true;
}

static void card_trim(struct line *l)
{
	while (l->len > 0 && strchr(" \t", l->at[0])) {
		l->at++;
		l->len--;
	}
	while (l->len > 0 && strchr(" \t", l->at[l->len - 1]))
		l->len--;
}

static bool card_is(const struct line *l, const char *text)
{
	return l->len == strlen(text) && memcmp(l->at, text, l->len) == 0;
}

/* Finds "key: value" at the start of a line. @param[out] value  the rest of the line, without a comment */
static bool card_has_key(const struct line *l, const char *key, struct line *value)
{
	size_t len = strlen(key);
	if (l->len <= len || memcmp(l->at, key, len) != 0 || l->at[len] != ':')
		return false;
	*value = (struct line){l->at + len + 1, l->len - len - 1};
	for (size_t i = 0; i < value->len; i++)
		if (value->at[i] == '#' && (i == 0 || value->at[i - 1] == ' '))
			value->len = i;
	card_trim(value);
	return true;
}

/* Is it a license name, with or without quotes? */
static bool card_is_license(struct line l)
{
	card_trim(&l);
	if (l.len > 1 && strchr("'\"", l.at[0]) && l.at[l.len - 1] == l.at[0])
		l = (struct line){l.at + 1, l.len - 2};
	for (const char *at = LICENSES; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		if (len == l.len && memcmp(at, l.at, len) == 0)
			return true;
		at += len;
	}
	return false;
}

/* Is the text a list such as "[mit, apache-2.0]"? */
static bool card_are_licenses(struct line l)
{
	const char *end = l.at + l.len - 1;
	unsigned n = 0;
	for (const char *at = l.at + 1; at < end && n < CARD_ITEMS_MAX; n++) {
		const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
		if (!card_is_license((struct line){at, (size_t)(stop - at)}))
			return false;
		at = stop + 1;
	}
	return true;
}

/* Reads "- x", an item of a list below a key. @return false: not an item, so the list has ended */
static bool card_item(struct line l, struct line *item)
{
	card_trim(&l);
	if (l.len == 0 || l.at[0] != '-')
		return false;
	*item = (struct line){l.at + 1, l.len - 1};
	return true;
}

static bool card_license_is_good(const struct line *value, const char *rest)
{
	struct line next, item;
	if (value->len > 1 && value->at[0] == '[' && value->at[value->len - 1] == ']')
		return card_are_licenses(*value);
	if (value->len > 0)
		return card_is_license(*value);
	for (unsigned n = 0; n < CARD_ITEMS_MAX && card_line(&rest, &next) && card_item(next, &item); n++)
		if (!card_is_license(item))
			return false;
	return true;
}

/* Is there a list, on the line or below it? No value at all also counts as a list. */
static bool card_is_list(const struct line *value, const char *rest)
{
	struct line next, item;
	if (value->len > 0)
		return value->at[0] == '[';
	return !card_line(&rest, &next) || next.len == 0 || !strchr(" \t", next.at[0]) || card_item(next, &item);
}

void cairn_hub_card_judge(struct cairn_hub_card *out, const char *text)
{
	static const char NONE[] = "empty or missing yaml metadata in repo card";
	struct line l, value;
	bool any = false;
	*out = (struct cairn_hub_card){0};
	text += strspn(text, " \t\r\n"); /* like the public hub, read metadata after blank lines, too */
	if (!card_line(&text, &l) || !card_is(&l, "---")) {
		out->warning = NONE;
		return;
	}
	while (card_line(&text, &l) && !card_is(&l, "---")) {
		any = any || (l.len > 0 && l.at[0] != '#');
		if (card_has_key(&l, "license", &value) && !card_license_is_good(&value, text))
			out->error =
				"\"license\" must be one of the names that a hub knows, such as apache-2.0, mit or "
				"other";
		if (card_has_key(&l, "model-index", &value) && !card_is_list(&value, text))
			out->error = "\"model-index\" must be an array";
	}
	if (!any)
		out->warning = NONE;
}
