/* Parses what a form sends: application/x-www-form-urlencoded. Pure. */
#ifndef CAIRN_SERVER_FORM_H
#define CAIRN_SERVER_FORM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORM_FIELDS_MAX = 16 };

/** The fields in the order in which the form has them. Zeroed: no fields. */
struct form {
	char *text; /* owned: names and values, each ended by a zero */
	unsigned n;
	struct {
		const char *name, *value; /* point into text */
	} fields[FORM_FIELDS_MAX];
};

/** Parses a form. A form is malformed if a name or a value has a zero byte, or if it has more than FORM_FIELDS_MAX
 * fields. @return false: malformed, or no memory; then there is nothing to release */
bool form_read(struct form *out, const char *bytes, size_t len);
void form_fini(struct form *form);

/** Returns the first value of this name; "" if absent. */
const char *form_value(const struct form *form, const char *name);

/** Reads the first value of this name as a number, by cairn_decimal_parse(). @return false: absent, or no number from
 * min to max; out is left alone */
bool form_number(const struct form *form, const char *name, uint64_t min, uint64_t max, uint64_t *out);

/** Refuses a form that no page here sends: malformed, or with a value that no field offers. @return CAIRN_E_USAGE */
enum cairn_status form_refuse(struct cairn_diag *diag);

#endif
