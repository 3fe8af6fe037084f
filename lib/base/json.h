/* JSON: reading a small text, and writing one of any length piece by piece. The only part that knows jansson. */
#ifndef CAIRN_BASE_JSON_H
#define CAIRN_BASE_JSON_H

#include "base/buf.h"

/** A parsed value. Immutable; values inside it are borrowed from the one that was parsed. */
struct cairn_json;

/**
 * Parse a text. Names that repeat within an object, \u0000 in strings and zero bytes are refused.
 * @param len  in bytes; the caller bounds it
 * @return CAIRN_OK; CAIRN_E_FORMAT also without memory
 */
CAIRN_MUST_USE enum cairn_status cairn_json_parse(struct cairn_json **out, const char *text, size_t len);

/** Likewise a text of a stranger: each value takes some hundred bytes of memory, two in the text are enough for one.
 *  @param n_max  commas and opening brackets that it may have, those in strings counted
 *  @return as cairn_json_parse(); CAIRN_E_FORMAT there are more */
CAIRN_MUST_USE enum cairn_status cairn_json_parse_some(struct cairn_json **out, const char *text, size_t len,
						       size_t n_max);
void cairn_json_free(struct cairn_json *value);
void cairn_json_freep(struct cairn_json **value);

/** Each accepts NULL and a value of another type, and then answers NULL, false or 0: a chain needs one check. */
bool cairn_json_is_object(const struct cairn_json *value);
const struct cairn_json *cairn_json_get(const struct cairn_json *object, const char *name);
/** The value null; what is absent is none. */
bool cairn_json_is_null(const struct cairn_json *value);
const char *cairn_json_string(const struct cairn_json *value);
bool cairn_json_bool(const struct cairn_json *value, bool *out);
/** A whole number, or one with a fraction below 2^53 in size, which is cut off (dates in tokens may have one). */
bool cairn_json_i64(const struct cairn_json *value, int64_t *out);
/** Likewise a member of an object. */
const char *cairn_json_text_of(const struct cairn_json *object, const char *name);
bool cairn_json_bool_of(const struct cairn_json *object, const char *name, bool *out);
bool cairn_json_i64_of(const struct cairn_json *object, const char *name, int64_t *out);
/** A member's text, copied.
 *  @param otherwise  when it is absent; NULL: it must be there
 *  @param size       of out, with the zero
 *  @return false: there is none, it is no text, or too long for out, which is left alone */
bool cairn_json_copy_of(const struct cairn_json *object, const char *name, const char *otherwise, char *out,
			size_t size);
bool cairn_json_is_array(const struct cairn_json *value);
size_t cairn_json_count(const struct cairn_json *array);
const struct cairn_json *cairn_json_at(const struct cairn_json *array, size_t i);

enum { CAIRN_JSON_DEPTH_MAX = 8 };

/** Writes compact JSON into a buffer, which has the errors. Nesting deeper than CAIRN_JSON_DEPTH_MAX and unbalanced
 *  calls are our own bugs (assert). The buffer may be emptied between calls. */
struct cairn_json_out {
	struct cairn_buf *buf; /* borrowed */
	bool comma;            /* a value stands before the next one */
	unsigned depth;
	char ends[CAIRN_JSON_DEPTH_MAX];
};

struct cairn_json_out cairn_json_out_init(struct cairn_buf *buf);

/** Open an object or array. @param name  in an object, else NULL. Close closes the innermost. */
void cairn_json_open_object(struct cairn_json_out *w, const char *name);
void cairn_json_open_array(struct cairn_json_out *w, const char *name);
void cairn_json_close(struct cairn_json_out *w);

/** Text is escaped; bytes that are not UTF-8 become U+FFFD; NULL becomes null. */
void cairn_json_put_text(struct cairn_json_out *w, const char *name, const char *text);
void cairn_json_put_u64(struct cairn_json_out *w, const char *name, uint64_t number);
void cairn_json_put_bool(struct cairn_json_out *w, const char *name, bool value);

#endif
