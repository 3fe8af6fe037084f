#include "hub/safetensors.h"

#include "base/bytes.h"
#include "base/utf8.h"

#include <string.h>

enum { TENSORS_LEN_BYTES = 8, TENSORS_NUMBER_DIGITS = 20 };

/* The position in the JSON, and the first fault. */
struct tensors_text {
	const char *at, *end;
	const char *fault; /* static; NULL: none so far */
};

/* A tensor as the head describes it. */
struct tensors_item {
	char name[CAIRN_TENSOR_NAME_MAX + 1], type[CAIRN_TENSOR_TYPE_MAX + 1];
	struct cairn_tensor tensor;
	uint64_t first_byte, end_byte;
	bool has_type, has_shape, has_place;
};

struct tensors_read {
	struct tensors_text text;
	struct cairn_tensors *out;
	uint64_t data_bytes; /* bytes of data after the head */
	void (*visit)(void *ctx, const struct cairn_tensor *tensor);
	void *ctx;
};

/* --- JSON --------------------------------------------------------------------------------------------------------- */

/* @return false, which ends the reading */
static bool tensors_fail(struct tensors_text *t, const char *fault)
{
	if (!t->fault)
		t->fault = fault;
	return false;
}

static void tensors_pass_blanks(struct tensors_text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r'))
		t->at++;
}

/* Steps over the next character if it is c. @return whether it was */
static bool tensors_is(struct tensors_text *t, char c)
{
	tensors_pass_blanks(t);
	bool is = t->at < t->end && *t->at == c;
	t->at += is;
	return is;
}

static bool tensors_expect(struct tensors_text *t, char c, const char *fault)
{
	return tensors_is(t, c) || tensors_fail(t, fault);
}

static int tensors_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads four digits after "\u". @return -1: not such digits */
static int32_t tensors_unit(struct tensors_text *t)
{
	int32_t unit = 0;
	if (t->end - t->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = tensors_digit(*t->at++);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

/* A string that is stored up to its room, and read to its end. */
struct tensors_string {
	char *out;
	size_t room, len; /* room excludes the terminating zero */
	bool cut;
};

static void tensors_put(struct tensors_string *s, const char *bytes, size_t n)
{
	s->cut = s->cut || s->len + n > s->room;
	if (s->cut)
		return;
	memcpy(s->out + s->len, bytes, n);
	s->len += n;
}

/* Reads an escape, which is rare in names. Does not decode characters that are not ASCII. */
static bool tensors_escape(struct tensors_text *t, struct tensors_string *s)
{
	static const char NAMES[] = "\"\\/bfnrt", BYTES[] = "\"\\/\b\f\n\r\t";
	char c = t->at < t->end ? *t->at++ : '\0';
	const char *name = c ? strchr(NAMES, c) : NULL;
	if (name) {
		tensors_put(s, &BYTES[name - NAMES], 1);
		return true;
	}
	int32_t unit = c == 'u' ? tensors_unit(t) : -1;
	if (unit <= 0)
		return tensors_fail(t, "a string has an invalid escape");
	char ascii = (char)unit;
	if (unit < 0x80)
		tensors_put(s, &ascii, 1);
	else
		tensors_put(s, "\xef\xbf\xbd", 3); /* U+FFFD */
	return true;
}

/* @param out  room + 1 bytes @param[out] cut  the string is longer */
static bool tensors_string(struct tensors_text *t, char *out, size_t room, bool *cut)
{
	struct tensors_string s = {.out = out, .room = room};
	if (!tensors_expect(t, '"', "a string was expected"))
		return false;
	while (t->at < t->end && *t->at != '"') {
		size_t n = cairn_utf8_sequence((const uint8_t *)t->at, (size_t)(t->end - t->at));
		if (n == 0 || (uint8_t)*t->at < 0x20)
			return tensors_fail(t, "a string has a control character, or is not valid UTF-8");
		if (*t->at == '\\') {
			t->at++;
			if (!tensors_escape(t, &s))
				return false;
			continue;
		}
		tensors_put(&s, t->at, n);
		t->at += n;
	}
	out[s.len] = '\0';
	*cut = s.cut;
	return tensors_expect(t, '"', "a string does not end");
}

static bool tensors_number(struct tensors_text *t, uint64_t *out)
{
	const char *begun;
	*out = 0;
	tensors_pass_blanks(t);
	for (begun = t->at; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
		uint64_t digit = (uint64_t)(*t->at - '0');
		if (*out > (UINT64_MAX - digit) / 10 || t->at - begun == TENSORS_NUMBER_DIGITS)
			return tensors_fail(t, "a number is too large");
		*out = *out * 10 + digit;
	}
	return t->at > begun || tensors_fail(t, "a whole number was expected");
}

/* Reads numbers in brackets. @return their number; max + 1: there are more, or the text is malformed */
static unsigned tensors_numbers(struct tensors_text *t, uint64_t *out, unsigned max)
{
	unsigned n = 0;
	if (!tensors_expect(t, '[', "a list was expected"))
		return max + 1;
	if (tensors_is(t, ']'))
		return 0;
	do {
		if (n == max) {
			(void)tensors_fail(t, "a list has too many numbers");
			return max + 1;
		}
		if (!tensors_number(t, &out[n++]))
			return max + 1;
	} while (tensors_is(t, ','));
	return tensors_expect(t, ']', "a list does not end") ? n : max + 1;
}

/* --- a tensor ----------------------------------------------------------------------------------------------------- */

/* Returns the bits of a value; 0: the type is unknown here. */
static unsigned tensors_bits(const char *type)
{
	static const struct {
		const char *type;
		unsigned bits;
	} TYPES[] = {{"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
		     {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},
		     {"I32", 32},    {"U32", 32}, {"F32", 32}, {"I64", 64},    {"U64", 64},
		     {"F64", 64},    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}};
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++)
		if (strcmp(TYPES[i].type, type) == 0)
			return TYPES[i].bits;
	return 0;
}

static bool tensors_member(struct tensors_text *t, struct tensors_item *item)
{
	char name[16];
	bool cut = false;
	if (!tensors_string(t, name, sizeof(name) - 1, &cut) || !tensors_expect(t, ':', "a name has no value"))
		return false;
	if (strcmp(name, "dtype") == 0 && !item->has_type) {
		item->has_type = true;
		return tensors_string(t, item->type, CAIRN_TENSOR_TYPE_MAX, &cut) &&
		       (!cut || tensors_fail(t, "a type has a long name"));
	}
	if (strcmp(name, "shape") == 0 && !item->has_shape) {
		item->has_shape = true;
		item->tensor.n_dims = tensors_numbers(t, item->tensor.shape, CAIRN_TENSOR_DIMS_MAX);
		return item->tensor.n_dims <= CAIRN_TENSOR_DIMS_MAX;
	}
	if (strcmp(name, "data_offsets") == 0 && !item->has_place) {
		uint64_t place[2];
		item->has_place = true;
		if (tensors_numbers(t, place, 2) != 2)
			return tensors_fail(t, "data_offsets are not two numbers");
		item->first_byte = place[0];
		item->end_byte = place[1];
		return true;
	}
	return tensors_fail(t, "a tensor has another member, or one twice");
}

static bool tensors_count(struct tensors_text *t, struct cairn_tensor *tensor)
{
	tensor->n_values = 1;
	for (unsigned i = 0; i < tensor->n_dims; i++)
		if (__builtin_mul_overflow(tensor->n_values, tensor->shape[i], &tensor->n_values))
			return tensors_fail(t, "a tensor has too many values");
	return true;
}

static bool tensors_check(struct tensors_read *r, const struct tensors_item *item)
{
	unsigned bits = tensors_bits(item->type);
	uint64_t has = item->end_byte - item->first_byte, wants;
	if (!item->has_type || !item->has_shape || !item->has_place)
		return tensors_fail(&r->text, "a tensor lacks its type, shape or data_offsets");
	if (item->first_byte > item->end_byte || item->end_byte > r->data_bytes)
		return tensors_fail(&r->text, "a tensor's place is not in the file");
	if (bits == 0)
		return true;
	if (__builtin_mul_overflow(item->tensor.n_values, (uint64_t)bits, &wants) || has != wants / 8 + (wants % 8 > 0))
		return tensors_fail(&r->text, "a tensor's place is not as long as its type and shape say");
	return true;
}

static bool tensors_add(struct tensors_read *r, const struct tensors_item *item)
{
	struct cairn_tensors *out = r->out;
	unsigned i = 0;
	while (i < out->n_types && strcmp(out->types[i].name, item->type) != 0)
		i++;
	if (i == CAIRN_TENSOR_TYPES_MAX)
		return tensors_fail(&r->text, "there are too many types");
	if (i == out->n_types)
		memcpy(out->types[out->n_types++].name, item->type, sizeof(item->type));
	if (__builtin_add_overflow(out->n_values, item->tensor.n_values, &out->n_values))
		return tensors_fail(&r->text, "there are too many values");
	out->types[i].n_values += item->tensor.n_values;
	out->n_tensors++;
	if (r->visit)
		r->visit(r->ctx, &item->tensor);
	return true;
}

static bool tensors_tensor(struct tensors_read *r, struct tensors_item *item)
{
	struct tensors_text *t = &r->text;
	item->tensor.name = item->name;
	item->tensor.type = item->type;
	if (!tensors_expect(t, '{', "a tensor was expected"))
		return false;
	do {
		if (!tensors_member(t, item))
			return false;
	} while (tensors_is(t, ','));
	return tensors_expect(t, '}', "a tensor does not end") && tensors_count(t, &item->tensor) &&
	       tensors_check(r, item) && tensors_add(r, item);
}

/* Skips an object whose values are texts. */
static bool tensors_metadata(struct tensors_text *t)
{
	char text[2];
	bool cut;
	if (!tensors_expect(t, '{', "metadata was expected"))
		return false;
	if (tensors_is(t, '}'))
		return true;
	do {
		if (!tensors_string(t, text, 1, &cut) || !tensors_expect(t, ':', "a name has no value") ||
		    !tensors_string(t, text, 1, &cut))
			return false;
	} while (tensors_is(t, ','));
	return tensors_expect(t, '}', "metadata does not end");
}

/* --- the head ----------------------------------------------------------------------------------------------------- */

static bool tensors_all(struct tensors_read *r)
{
	struct tensors_text *t = &r->text;
	if (!tensors_expect(t, '{', "it does not begin with a brace"))
		return false;
	if (tensors_is(t, '}'))
		return true;
	do {
		struct tensors_item item = {0};
		bool cut = false;
		if (!tensors_string(t, item.name, CAIRN_TENSOR_NAME_MAX, &cut) ||
		    !tensors_expect(t, ':', "a name has no value"))
			return false;
		if (!cut && strcmp(item.name, "__metadata__") == 0 ? !tensors_metadata(t) : !tensors_tensor(r, &item))
			return false;
	} while (tensors_is(t, ','));
	return tensors_expect(t, '}', "it does not end");
}

static enum cairn_status tensors_refuse(struct cairn_tensors *out, uint64_t at, const char *fault)
{
	out->fault = fault;
	out->fault_at = at;
	return CAIRN_E_FORMAT;
}

enum cairn_status cairn_tensors_read(struct cairn_tensors *out, const uint8_t *bytes, size_t len, uint64_t file_bytes,
				     void (*visit)(void *ctx, const struct cairn_tensor *tensor), void *ctx)
{
	*out = (struct cairn_tensors){0};
	uint64_t head_bytes = len >= TENSORS_LEN_BYTES ? cairn_get_u64le(bytes) : 0;
	if (len < TENSORS_LEN_BYTES || head_bytes > file_bytes - TENSORS_LEN_BYTES || file_bytes < len)
		return tensors_refuse(out, 0, "the first 8 bytes are not the length of a head within the file");
	if (head_bytes > CAIRN_TENSORS_HEAD_MAX)
		return CAIRN_E_LIMIT;
	if (head_bytes > len - TENSORS_LEN_BYTES)
		return tensors_refuse(out, 0, "the head is not all there");
	const char *text = (const char *)bytes + TENSORS_LEN_BYTES;
	struct tensors_read r = {.text = {.at = text, .end = text + head_bytes},
				 .out = out,
				 .data_bytes = file_bytes - TENSORS_LEN_BYTES - head_bytes,
				 .visit = visit,
				 .ctx = ctx};
	bool good = tensors_all(&r);
	tensors_pass_blanks(&r.text);
	if (good && r.text.at < r.text.end)
		good = tensors_fail(&r.text, "there is more behind its end");
	if (good)
		return CAIRN_OK;
	return tensors_refuse(out, TENSORS_LEN_BYTES + (uint64_t)(r.text.at - text), r.text.fault);
}
