#include "server/hub/hub_filter.h"

#include "base/percent.h"
#include "server/ask/hub_reply.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A query argument whose values are words of cards, once they get this prefix. */
struct filter_argument {
	const char *name, *prefix;
};

static const struct filter_argument ARGUMENTS[] = {
	{"filter", ""},           {"pipeline_tag", "pipeline_tag:"},
	{"library", "library:"},  {"language", "language:"},
	{"license", "license:"},  {"sdk", "sdk:"},
	{"datasets", "dataset:"}, {"models", "model:"},
};
enum { N_ARGUMENTS = sizeof(ARGUMENTS) / sizeof(ARGUMENTS[0]) };

struct filter_reading {
	struct hub_filter *out;
	const char *prefix;
};

/* Sets a word to search for. A word that is too long becomes "\n", which no card has, so it matches nothing. */
static void filter_set_word(char out[static CAIRN_INDEX_TAG_MAX + 1], const char *prefix, const char *value, size_t len)
{
	int n = snprintf(out, CAIRN_INDEX_TAG_MAX + 1, "%s%.*s", prefix, (int)len, value);
	if (n < 0 || n > CAIRN_INDEX_TAG_MAX)
		(void)snprintf(out, CAIRN_INDEX_TAG_MAX + 1, "\n");
	cairn_hub_metadata_lower(out);
}

/* Takes the values of one argument. Older clients send several values in one argument, separated by commas. */
static bool filter_take(void *ctx, const char *value)
{
	struct filter_reading *r = ctx;
	struct hub_filter *out = r->out;
	while (*value) {
		size_t len = strcspn(value, ",");
		out->too_many = out->too_many || (len > 0 && out->n_words == CAIRN_INDEX_WORDS_ASKED_MAX);
		if (len > 0 && !out->too_many)
			filter_set_word(out->words[out->n_words++], r->prefix, value, len < 4096 ? len : 4096);
		value += len + (value[len] == ',');
	}
	return !out->too_many;
}

/* Reads an argument that is true or false. @return false: it is neither */
static bool filter_read_choice(struct http_request *req, const char *name, enum cairn_index_wanted *out)
{
	const char *value = http_query_arg(req, name);
	*out = CAIRN_INDEX_EITHER;
	if (!value || !*value)
		return true;
	if (strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0)
		*out = CAIRN_INDEX_WITH;
	else if (strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0)
		*out = CAIRN_INDEX_WITHOUT;
	return *out != CAIRN_INDEX_EITHER;
}

/* Refuses filters that only the public hub has. Ignoring them would list repositories that the client did not want. */
static bool filter_refuse_unknown(struct http_request *req)
{
	static const char *const UNKNOWN[] = {"apps",           "inference", "inference_provider",
					      "num_parameters", "linked",    NULL};
	char text[128];
	for (const char *const *name = UNKNOWN; *name; name++) {
		if (!http_query_arg(req, *name))
			continue;
		(void)snprintf(text, sizeof(text), "Lists are not narrowed by %s here: leave it out", *name);
		hub_reply_left_out(req, text);
		return true;
	}
	return false;
}

bool hub_filter_read(struct http_request *req, struct hub_filter *out)
{
	*out = (struct hub_filter){0};
	if (filter_refuse_unknown(req))
		return false;
	for (unsigned i = 0; i < N_ARGUMENTS; i++) {
		struct filter_reading r = {out, ARGUMENTS[i].prefix};
		http_query_each(req, ARGUMENTS[i].name, filter_take, &r);
	}
	if (out->too_many) {
		hub_reply_error(req, 400, NULL, "query.filters", "a list is narrowed by at most 6 tags: ask for fewer");
		return false;
	}
	if (filter_read_choice(req, "gated", &out->gated) && filter_read_choice(req, "private", &out->is_private))
		return true;
	hub_reply_error(req, 400, NULL, "query.choice", "gated and private are true or false");
	return false;
}

void hub_filter_put(struct cairn_buf *out, const struct hub_filter *filter)
{
	for (uint32_t i = 0; i < filter->n_words; i++) {
		cairn_buf_printf(out, "&filter=");
		cairn_percent_add(out, filter->words[i], CAIRN_PERCENT_UNRESERVED);
	}
	if (filter->gated != CAIRN_INDEX_EITHER)
		cairn_buf_printf(out, "&gated=%s", filter->gated == CAIRN_INDEX_WITH ? "true" : "false");
	if (filter->is_private != CAIRN_INDEX_EITHER)
		cairn_buf_printf(out, "&private=%s", filter->is_private == CAIRN_INDEX_WITH ? "true" : "false");
}
