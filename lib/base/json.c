#include "base/json.h"

#include "base/json_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const json_t *json_of(const struct cairn_json *value)
{
	return (const json_t *)value;
}

static const struct cairn_json *json_wrap(const json_t *value)
{
	return (const struct cairn_json *)value;
}

enum cairn_status cairn_json_parse(struct cairn_json **out, const char *text, size_t len)
{
	/* jansson drops a zero byte after a number, where other readers see the end of the text. */
	bool zero = len > 0 && memchr(text, '\0', len);
	errno = 0; /* jansson reports a malformed text also if memory is short */
	*out = zero ? NULL : (struct cairn_json *)json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (*out)
		return CAIRN_OK;
	return errno == ENOMEM ? CAIRN_E_NOMEM : CAIRN_E_FORMAT;
}

/* Is the character at this place of a string that begins at start escaped? An odd number of backslashes escapes it. */
static bool json_is_escaped(const char *text, size_t start, size_t at)
{
	size_t n = 0;
	while (at - n > start && text[at - n - 1] == '\\')
		n++;
	return n % 2 == 1;
}

/* Returns the place of a string's closing quote, or len. @param at  place of its opening quote */
static size_t json_string_end(const char *text, size_t len, size_t at)
{
	size_t start = at + 1;
	for (size_t from = start; from < len; from = at + 1) {
		const char *quote = memchr(text + from, '"', len - from); /* most of a large body is one string */
		if (!quote)
			break;
		at = (size_t)(quote - text);
		if (!json_is_escaped(text, start, at))
			return at;
	}
	return len;
}

/* Counts commas and opening brackets outside of strings. Up to the first error of a malformed text, this code and the
 * parser see the same strings, so the parser makes no more values than these. */
static size_t json_count(const char *text, size_t len)
{
	size_t n = 0;
	for (size_t at = 0; at < len; at++) {
		if (text[at] == '"')
			at = json_string_end(text, len, at);
		else
			n += text[at] == ',' || text[at] == '[' || text[at] == '{';
	}
	return n;
}

enum cairn_status cairn_json_parse_some(struct cairn_json **out, const char *text, size_t len, size_t n_max)
{
	*out = NULL;
	return json_count(text, len) <= n_max ? cairn_json_parse(out, text, len) : CAIRN_E_FORMAT;
}

void cairn_json_free(struct cairn_json *value)
{
	json_decref((json_t *)value);
}

void cairn_json_freep(struct cairn_json **value)
{
	cairn_json_free(*value);
	*value = NULL;
}

bool cairn_json_is_object(const struct cairn_json *value)
{
	return json_is_object(json_of(value));
}

const struct cairn_json *cairn_json_get(const struct cairn_json *object, const char *name)
{
	return json_wrap(json_object_get(json_of(object), name));
}

const char *cairn_json_string(const struct cairn_json *value)
{
	return json_string_value(json_of(value));
}

bool cairn_json_bool(const struct cairn_json *value, bool *out)
{
	if (!json_is_boolean(json_of(value)))
		return false;
	*out = json_is_true(json_of(value));
	return true;
}

bool cairn_json_i64(const struct cairn_json *value, int64_t *out)
{
	if (json_is_integer(json_of(value))) {
		*out = json_integer_value(json_of(value));
		return true;
	}
	const double exact_max = 9007199254740992.0; /* 2^53 */
	if (!json_is_real(json_of(value)) || fabs(json_real_value(json_of(value))) >= exact_max)
		return false;
	*out = (int64_t)json_real_value(json_of(value));
	return true;
}

bool cairn_json_is_null(const struct cairn_json *value)
{
	return json_is_null(json_of(value));
}

const char *cairn_json_text_of(const struct cairn_json *object, const char *name)
{
	return cairn_json_string(cairn_json_get(object, name));
}

bool cairn_json_bool_of(const struct cairn_json *object, const char *name, bool *out)
{
	return cairn_json_bool(cairn_json_get(object, name), out);
}

bool cairn_json_i64_of(const struct cairn_json *object, const char *name, int64_t *out)
{
	return cairn_json_i64(cairn_json_get(object, name), out);
}

bool cairn_json_copy_of(const struct cairn_json *object, const char *name, const char *otherwise, char *out,
			size_t size)
{
	const struct cairn_json *value = cairn_json_get(object, name);
	const char *text = value ? cairn_json_string(value) : otherwise;
	size_t len = text ? strlen(text) : size;
	if (len >= size)
		return false;
	memcpy(out, text, len + 1);
	return true;
}

bool cairn_json_is_array(const struct cairn_json *value)
{
	return json_is_array(json_of(value));
}

size_t cairn_json_count(const struct cairn_json *array)
{
	return json_array_size(json_of(array));
}

const struct cairn_json *cairn_json_at(const struct cairn_json *array, size_t i)
{
	return json_wrap(json_array_get(json_of(array), i));
}

void cairn_json_each(const struct cairn_json *object, bool (*visit)(void *ctx, const struct cairn_json *value),
		     void *ctx)
{
	json_t *of = (json_t *)(uintptr_t)object;
	for (void *at = json_object_iter(of); at; at = json_object_iter_next(of, at))
		if (!visit(ctx, json_wrap(json_object_iter_value(at))))
			return;
}

struct cairn_json_out cairn_json_out_init(struct cairn_buf *buf)
{
	return (struct cairn_json_out){.buf = buf};
}

static void json_begin(struct cairn_json_out *w, const char *name)
{
	if (w->comma)
		cairn_buf_add(w->buf, ",", 1);
	w->comma = true;
	if (name) {
		cairn_json_text(w->buf, name, SIZE_MAX);
		cairn_buf_add(w->buf, ":", 1);
	}
}

static void json_open(struct cairn_json_out *w, const char *name, const char *begin, char end)
{
	assert(w->depth < CAIRN_JSON_DEPTH_MAX);
	json_begin(w, name);
	cairn_buf_add(w->buf, begin, 1);
	w->ends[w->depth++] = end;
	w->comma = false;
}

void cairn_json_open_object(struct cairn_json_out *w, const char *name)
{
	json_open(w, name, "{", '}');
}

void cairn_json_open_array(struct cairn_json_out *w, const char *name)
{
	json_open(w, name, "[", ']');
}

void cairn_json_close(struct cairn_json_out *w)
{
	assert(w->depth > 0);
	cairn_buf_add(w->buf, &w->ends[--w->depth], 1);
	w->comma = true;
}

void cairn_json_put_text(struct cairn_json_out *w, const char *name, const char *text)
{
	json_begin(w, name);
	if (text)
		cairn_json_text(w->buf, text, SIZE_MAX);
	else
		cairn_buf_add(w->buf, "null", 4);
}

void cairn_json_put_u64(struct cairn_json_out *w, const char *name, uint64_t number)
{
	json_begin(w, name);
	cairn_buf_printf(w->buf, "%" PRIu64, number);
}

void cairn_json_put_bool(struct cairn_json_out *w, const char *name, bool value)
{
	json_begin(w, name);
	cairn_buf_printf(w->buf, "%s", value ? "true" : "false");
}

void cairn_json_put_raw(struct cairn_json_out *w, const char *name, const char *json)
{
	json_begin(w, name);
	cairn_buf_add(w->buf, json, strlen(json));
}

void cairn_json_put_value(struct cairn_json_out *w, const char *name, const struct cairn_json *value)
{
	char *text = json_dumps(json_of(value), JSON_COMPACT | JSON_ENCODE_ANY);
	if (text)
		cairn_json_put_raw(w, name, text);
	else if (w->buf->status == CAIRN_OK)
		w->buf->status = CAIRN_E_NOMEM;
	free(text);
}
