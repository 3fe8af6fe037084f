/* Reads small JSON texts, and writes JSON of any length piece by piece. The only file that includes jansson. */
#ifndef CAIRN_BASE_JSON_H
#define CAIRN_BASE_JSON_H

#include "base/buf.h"

/** A parsed value. Immutable; values inside it are borrowed from it. */
struct cairn_json;

/** Parses a text. Refuses names that repeat within an object, \u0000 in strings, and zero bytes.
 * @param len  in bytes; the caller limits it
 * @return CAIRN_OK, CAIRN_E_FORMAT, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_json_parse(struct cairn_json **out, const char *text, size_t len);

/** Parses an untrusted text. Each value takes some hundred bytes of memory, but only two bytes of text.
 * @param n_max  most commas and opening brackets outside of strings
 * @return as cairn_json_parse(); CAIRN_E_FORMAT also if there are more */
CAIRN_MUST_USE enum cairn_status cairn_json_parse_some(struct cairn_json **out, const char *text, size_t len,
						       size_t n_max);
void cairn_json_free(struct cairn_json *value);
void cairn_json_freep(struct cairn_json **value);

/** Each returns NULL, false or 0 for NULL and for a value of another type: a chain of calls needs one check. */
bool cairn_json_is_object(const struct cairn_json *value);
const struct cairn_json *cairn_json_get(const struct cairn_json *object, const char *name);
/** Is a value null? An absent one is not. */
bool cairn_json_is_null(const struct cairn_json *value);
const char *cairn_json_string(const struct cairn_json *value);
bool cairn_json_bool(const struct cairn_json *value, bool *out);
/** Reads a whole number. Cuts off a fraction below 2^53 (dates in tokens may have one). */
bool cairn_json_i64(const struct cairn_json *value, int64_t *out);
/** Each does the same for a member of an object. */
const char *cairn_json_text_of(const struct cairn_json *object, const char *name);
bool cairn_json_bool_of(const struct cairn_json *object, const char *name, bool *out);
bool cairn_json_i64_of(const struct cairn_json *object, const char *name, int64_t *out);
/** Copies a member's text.
 * @param otherwise  default if the member is absent; NULL: it is required
 * @param size       size of out, with the zero
 * @return false: absent, not a text, or too long for out, which is unchanged */
bool cairn_json_copy_of(const struct cairn_json *object, const char *name, const char *otherwise, char *out,
			size_t size);
bool cairn_json_is_array(const struct cairn_json *value);
size_t cairn_json_count(const struct cairn_json *array);
const struct cairn_json *cairn_json_at(const struct cairn_json *array, size_t i);
/** Visits the values of an object in order. @param visit  returns false to stop */
void cairn_json_each(const struct cairn_json *object, bool (*visit)(void *ctx, const struct cairn_json *value),
		     void *ctx);

enum { CAIRN_JSON_DEPTH_MAX = 8 };

/** Writes compact JSON into a buffer, which keeps an error. Nesting over CAIRN_JSON_DEPTH_MAX and unbalanced calls are
 * bugs of the caller (assert). The buffer may be emptied between calls. */
struct cairn_json_out {
	struct cairn_buf *buf; /* borrowed */
	bool comma;            /* the next value needs a comma */
	unsigned depth;
	char ends[CAIRN_JSON_DEPTH_MAX];
};

struct cairn_json_out cairn_json_out_init(struct cairn_buf *buf);

/** Opens an object or array. @param name  in an object, else NULL. Close closes the innermost. */
void cairn_json_open_object(struct cairn_json_out *w, const char *name);
void cairn_json_open_array(struct cairn_json_out *w, const char *name);
void cairn_json_close(struct cairn_json_out *w);

/** Appends a text, escaped. Bytes that are not UTF-8 become U+FFFD; NULL becomes null. */
void cairn_json_put_text(struct cairn_json_out *w, const char *name, const char *text);
void cairn_json_put_u64(struct cairn_json_out *w, const char *name, uint64_t number);
void cairn_json_put_bool(struct cairn_json_out *w, const char *name, bool value);
/** Writes a text that is JSON already. */
void cairn_json_put_raw(struct cairn_json_out *w, const char *name, const char *json);
/** Writes a value that was parsed. */
void cairn_json_put_value(struct cairn_json_out *w, const char *name, const struct cairn_json *value);

#endif
