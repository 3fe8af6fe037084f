/* Parses what a form sends: application/x-www-form-urlencoded. Pure. */
#ifndef CAIRN_SERVER_FORM_H
#define CAIRN_SERVER_FORM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORM_FIELDS_MAX = 16 };

/** Fields in the order in which they came. Zeroed is empty. */
struct form {
	char *text; /* owned: names and values, each ended by a zero */
	unsigned n;
	struct {
		const char *name, *value; /* into text */
	} fields[FORM_FIELDS_MAX];
};

/** Parses a form. Zero bytes in names or values, or more than FORM_FIELDS_MAX fields, make it malformed. @return false:
 * malformed, or no memory; nothing is to be released then */
bool form_read(struct form *out, const char *bytes, size_t len);
void form_fini(struct form *form);

/** Returns the first value of this name; "" if absent. */
const char *form_value(const struct form *form, const char *name);

/** Reads the first value of this name as a number, by cairn_decimal_parse(). @return false: absent, or no number from
 * min to max; out is left alone */
bool form_number(const struct form *form, const char *name, uint64_t min, uint64_t max, uint64_t *out);

/** Refuses a form that no page of this server sends: malformed, or with a value that no field offers. @return
 * CAIRN_E_USAGE */
enum cairn_status form_refuse(struct cairn_diag *diag);

#endif
