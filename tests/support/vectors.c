#include "support/vectors.h"

#include "base/bytes.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CAIRN_PRINTF(3, 0) static void vec_path(char *out, size_t size, const char *name, va_list ap)
{
	int n = snprintf(out, size, "%s/", TEST_DATA);
	ck_assert_int_gt(n, 0);
	ck_assert_int_lt(n, (int)size);
	int m = vsnprintf(out + n, size - (size_t)n, name, ap);
	ck_assert_int_ge(m, 0);
	ck_assert_int_lt(n + m, (int)size);
}

static struct vec_bytes vec_alloc(size_t len)
{
	struct vec_bytes b = {.bytes = malloc(len ? len : 1), .len = len};
	ck_assert_ptr_nonnull(b.bytes);
	return b;
}

void vec_bytes_fini(struct vec_bytes *b)
{
	free(b->bytes);
	*b = (struct vec_bytes){0};
}

static struct vec_bytes vec_read_path(const char *path)
{
	FILE *f = fopen(path, "rb");
	ck_assert_msg(f, "cannot open %s", path);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	long len = ftell(f);
	ck_assert_int_ge(len, 0);
	rewind(f);
	struct vec_bytes b = vec_alloc((size_t)len);
	size_t got = fread(b.bytes, 1, b.len, f);
	(void)fclose(f);
	ck_assert_msg(got == b.len, "%s: read %zu of %zu bytes", path, got, b.len);
	return b;
}

struct vec_bytes vec_read(const char *name, ...)
{
	char path[1024];
	va_list ap;
	va_start(ap, name);
	vec_path(path, sizeof(path), name, ap);
	va_end(ap);
	return vec_read_path(path);
}

struct vec_bytes vec_copy(const uint8_t *bytes, size_t len)
{
	struct vec_bytes b = vec_alloc(len);
	if (len > 0)
		memcpy(b.bytes, bytes, len);
	return b;
}

static json_t *vec_json_parse(const void *bytes, size_t len, const char *name)
{
	json_error_t error;
	json_t *value = json_loadb(bytes, len, 0, &error);
	ck_assert_msg(value, "%s: line %d: %s", name, error.line, error.text);
	return value;
}

json_t *vec_json(const char *name, ...)
{
	char path[1024];
	va_list ap;
	va_start(ap, name);
	vec_path(path, sizeof(path), name, ap);
	va_end(ap);
	CLEANUP(vec_bytes_fini) struct vec_bytes text = vec_read_path(path);
	return vec_json_parse(text.bytes, text.len, path);
}

json_t *vec_json_lines(const char *name)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes text = vec_read("%s", name);
	json_t *array = json_array();
	const uint8_t *p = text.bytes, *end = text.bytes + text.len;
	while (p < end) {
		const uint8_t *newline = memchr(p, '\n', (size_t)(end - p));
		const uint8_t *stop = newline ? newline : end;
		if (stop > p)
			json_array_append_new(array, vec_json_parse(p, (size_t)(stop - p), name));
		p = stop + 1;
	}
	return array;
}

void vec_json_freep(json_t **value)
{
	json_decref(*value);
	*value = NULL;
}

const json_t *vec_get(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	ck_assert_msg(value, "no member %s", key);
	return value;
}

const char *vec_string(const json_t *object, const char *key)
{
	const char *text = json_string_value(vec_get(object, key));
	ck_assert_msg(text, "member %s is not a string", key);
	return text;
}

uint64_t vec_u64(const json_t *object, const char *key)
{
	const json_t *value = vec_get(object, key);
	ck_assert_msg(json_is_integer(value), "member %s is not an integer", key);
	return (uint64_t)json_integer_value(value);
}

struct cairn_hash vec_hash_text(const char *text)
{
	struct cairn_hash hash;
	ck_assert_msg(cairn_hash_parse(&hash, text, strlen(text)) == CAIRN_OK, "not a hash: %s", text);
	return hash;
}

struct cairn_hash vec_hash_of(const json_t *text)
{
	ck_assert(json_is_string(text));
	return vec_hash_text(json_string_value(text));
}

struct cairn_hash vec_hash(const json_t *object, const char *key)
{
	return vec_hash_text(vec_string(object, key));
}

const json_t *vec_find(const json_t *array, const char *key, const char *value)
{
	size_t i;
	json_t *element;
	json_array_foreach(array, i, element) if (strcmp(vec_string(element, key), value) == 0) return element;
	ck_abort_msg("no element with %s = %s", key, value);
	return NULL;
}

uint64_t vec_splitmix64(uint64_t *state)
{
	*state += 0x9E3779B97F4A7C15u;
	uint64_t z = *state;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static struct vec_bytes vec_make_rand(uint64_t seed, size_t len)
{
	struct vec_bytes b = vec_alloc(len);
	for (size_t at = 0; at < len; at += 8) {
		uint8_t word[8];
		cairn_put_u64le(word, vec_splitmix64(&seed));
		memcpy(b.bytes + at, word, len - at < 8 ? len - at : 8);
	}
	return b;
}

/* Makes words from a list of 32, each followed by a blank. */
static struct vec_bytes vec_make_text(uint64_t seed, size_t len)
{
	static const char *const WORDS[32] = {
		"alpha",  "bravo",   "charlie", "delta", "echo",    "foxtrot",  "golf",    "hotel",
		"india",  "juliett", "kilo",    "lima",  "mike",    "november", "oscar",   "papa",
		"quebec", "romeo",   "sierra",  "tango", "uniform", "victor",   "whiskey", "xray",
		"yankee", "zulu",    "0",       "1",     "2",       "3",        "\n",      ", ",
	};
	struct vec_bytes b = vec_alloc(len);
	size_t at = 0;
	while (at < len) {
		const char *word = WORDS[vec_splitmix64(&seed) % 32];
		size_t n = strlen(word) < len - at ? strlen(word) : len - at;
		memcpy(b.bytes + at, word, n);
		at += n;
		if (at < len)
			b.bytes[at++] = ' ';
	}
	return b;
}

/* Makes floating-point numbers just above 1, which increase a little every 16,384 numbers. */
static struct vec_bytes vec_make_f32(uint64_t seed, size_t len)
{
	struct vec_bytes b = vec_alloc(len);
	for (size_t at = 0; at < len; at += 4) {
		uint8_t number[4];
		uint32_t low = (uint32_t)(vec_splitmix64(&seed) & 0xffff) + (uint32_t)(at / 4 / 16384 * 256);
		cairn_put_u32le(number, 0x3f800000u + low);
		memcpy(b.bytes + at, number, len - at < 4 ? len - at : 4);
	}
	return b;
}

/* Makes zeros, with a random word at the start of each block: unique chunks that compress to almost nothing. */
static struct vec_bytes vec_make_counter(uint64_t seed, size_t block, size_t len)
{
	struct vec_bytes b = vec_alloc(len);
	memset(b.bytes, 0, len);
	for (size_t at = 0; at + 8 <= len; at += block)
		cairn_put_u64le(b.bytes + at, vec_splitmix64(&seed));
	return b;
}

static struct vec_bytes vec_make_cat(const json_t *parts)
{
	struct vec_bytes b = vec_alloc(0);
	size_t i;
	json_t *spec;
	json_array_foreach(parts, i, spec)
	{
		CLEANUP(vec_bytes_fini) struct vec_bytes part = vec_make(spec);
		b.bytes = realloc(b.bytes, b.len + part.len + 1);
		ck_assert_ptr_nonnull(b.bytes);
		memcpy(b.bytes + b.len, part.bytes, part.len);
		b.len += part.len;
	}
	return b;
}

struct vec_bytes vec_make(const json_t *spec)
{
	const char *kind = vec_string(spec, "kind");
	if (strcmp(kind, "cat") == 0)
		return vec_make_cat(vec_get(spec, "parts"));
	if (strcmp(kind, "slice") == 0) {
		CLEANUP(vec_bytes_fini) struct vec_bytes part = vec_make(vec_get(spec, "part"));
		size_t start = vec_u64(spec, "start"), end = vec_u64(spec, "end");
		ck_assert(start <= end && end <= part.len);
		return vec_copy(part.bytes + start, end - start);
	}
	size_t len = vec_u64(spec, "size");
	if (strcmp(kind, "fill") == 0) {
		struct vec_bytes b = vec_alloc(len);
		memset(b.bytes, (int)vec_u64(spec, "value"), len);
		return b;
	}
	uint64_t seed = vec_u64(spec, "seed");
	if (strcmp(kind, "rand") == 0)
		return vec_make_rand(seed, len);
	if (strcmp(kind, "text") == 0)
		return vec_make_text(seed, len);
	if (strcmp(kind, "f32") == 0)
		return vec_make_f32(seed, len);
	ck_assert_str_eq(kind, "counter");
	return vec_make_counter(seed, vec_u64(spec, "block"), len);
}

size_t vec_pairs(const json_t *pairs, struct cairn_hash **hashes, uint64_t **lengths)
{
	size_t n = json_array_size(pairs);
	*hashes = calloc(n + 1, sizeof(**hashes));
	*lengths = calloc(n + 1, sizeof(**lengths));
	ck_assert(*hashes && *lengths);
	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(pairs, i);
		(*hashes)[i] = vec_hash_of(json_array_get(pair, 0));
		(*lengths)[i] = (uint64_t)json_integer_value(json_array_get(pair, 1));
	}
	return n;
}
