#include "base/yaml.h"

#include "base/json_text.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

/* An open list or object. */
struct yaml_level {
	bool is_object, has_value;
	bool at_value; /* in an object: a key was written, and its value follows */
};

struct yaml {
	struct cairn_buf *out;
	unsigned depth;
	struct yaml_level levels[CAIRN_YAML_DEPTH_MAX];
	bool ended; /* the first document is complete */
};

static size_t yaml_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Is the text a number as JSON writes it? */
static bool yaml_is_number(const char *text)
{
	text += *text == '-';
	size_t n = yaml_digits(text);
	if (n == 0 || (n > 1 && *text == '0'))
		return false;
	text += n;
	if (*text == '.') {
		n = yaml_digits(++text);
		if (n == 0)
			return false;
		text += n;
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		n = yaml_digits(text);
		if (n == 0)
			return false;
		text += n;
	}
	return *text == '\0';
}

/* Returns the JSON of a plain scalar. @return NULL: it is a string */
static const char *yaml_plain(const char *text)
{
	static const struct {
		const char *yaml, *json;
	} WORDS[] = {
		{"", "null"},       {"~", "null"},      {"null", "null"},   {"Null", "null"},
		{"NULL", "null"},   {"true", "true"},   {"True", "true"},   {"TRUE", "true"},
		{"false", "false"}, {"False", "false"}, {"FALSE", "false"},
	};
	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
		if (strcmp(text, WORDS[i].yaml) == 0)
			return WORDS[i].json;
	return yaml_is_number(text) ? text : NULL;
}

static enum cairn_status yaml_put_scalar(struct yaml *y, const yaml_event_t *event, bool is_key)
{
	const char *text = (const char *)event->data.scalar.value;
	bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !is_key;
	if (memchr(text, '\0', event->data.scalar.length))
		return CAIRN_E_FORMAT;
	const char *json = is_plain ? yaml_plain(text) : NULL;
	if (json)
		cairn_buf_add(y->out, json, strlen(json));
	else
		cairn_json_text(y->out, text, SIZE_MAX);
	return CAIRN_OK;
}

static struct yaml_level *yaml_level(struct yaml *y)
{
	return y->depth > 0 ? &y->levels[y->depth - 1] : NULL;
}

/* Writes the text before a value or a key. @param[out] is_key  a key comes next */
static void yaml_begin(struct yaml *y, bool *is_key)
{
	struct yaml_level *level = yaml_level(y);
	*is_key = level && level->is_object && !level->at_value;
	if (level && (!level->is_object || *is_key)) {
		if (level->has_value)
			cairn_buf_add(y->out, ",", 1);
		level->has_value = true;
	}
}

/* Writes the text after a value or a key. */
static void yaml_end(struct yaml *y, bool is_key)
{
	struct yaml_level *level = yaml_level(y);
	if (is_key)
		cairn_buf_add(y->out, ":", 1);
	if (level && level->is_object)
		level->at_value = is_key;
}

static enum cairn_status yaml_open(struct yaml *y, bool is_object)
{
	bool is_key;
	yaml_begin(y, &is_key);
	if (is_key || y->depth == CAIRN_YAML_DEPTH_MAX)
		return CAIRN_E_FORMAT;
	cairn_buf_add(y->out, is_object ? "{" : "[", 1);
	y->levels[y->depth++] = (struct yaml_level){.is_object = is_object};
	return CAIRN_OK;
}

static enum cairn_status yaml_close(struct yaml *y)
{
	struct yaml_level *level = yaml_level(y);
	if (!level)
		return CAIRN_E_FORMAT;
	cairn_buf_add(y->out, level->is_object ? "}" : "]", 1);
	y->depth--;
	yaml_end(y, false);
	return CAIRN_OK;
}

static enum cairn_status yaml_scalar(struct yaml *y, const yaml_event_t *event)
{
	bool is_key;
	yaml_begin(y, &is_key);
	enum cairn_status status = yaml_put_scalar(y, event, is_key);
	yaml_end(y, is_key);
	return status;
}

static enum cairn_status yaml_take(struct yaml *y, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return yaml_scalar(y, event);
	case YAML_SEQUENCE_START_EVENT:
		return yaml_open(y, false);
	case YAML_MAPPING_START_EVENT:
		return yaml_open(y, true);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return yaml_close(y);
	case YAML_ALIAS_EVENT: /* a few bytes of aliases could stand for any length */
		return CAIRN_E_FORMAT;
	case YAML_STREAM_END_EVENT:
		cairn_buf_add(y->out, "null", 4);
		y->ended = true;
		return CAIRN_OK;
	case YAML_DOCUMENT_END_EVENT:
		y->ended = true;
		return CAIRN_OK;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_START_EVENT:
		break;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_yaml_to_json(struct cairn_buf *out, const char *text, size_t len)
{
	struct yaml y = {.out = out};
	yaml_parser_t parser;
	enum cairn_status status = CAIRN_OK;
	if (!yaml_parser_initialize(&parser))
		return CAIRN_E_NOMEM;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (status == CAIRN_OK && !y.ended) {
		yaml_event_t event;
		if (!yaml_parser_parse(&parser, &event)) {
			status = parser.error == YAML_MEMORY_ERROR ? CAIRN_E_NOMEM : CAIRN_E_FORMAT;
			break;
		}
		status = yaml_take(&y, &event);
		yaml_event_delete(&event);
		if (status == CAIRN_OK)
			status = out->status;
	}
	yaml_parser_delete(&parser);
	return status;
}
