/* What a form sends: application/x-www-form-urlencoded. Pure. */
#ifndef CAIRN_SERVER_PAGE_FORM_H
#define CAIRN_SERVER_PAGE_FORM_H

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

/** Read one. A name or a value with a zero byte in it, or past FORM_FIELDS_MAX, makes it none.
 *  @return false: it is none, or there is no memory; nothing is to be released then */
bool form_read(struct form *out, const char *bytes, size_t len);
void form_fini(struct form *form);

/** The first value of this name; "" when there is none. */
const char *form_value(const struct form *form, const char *name);

/** The first value of this name, if it is a number by cairn_decimal_parse(). @return false: it is none from min to max,
 *  or there is no value; out is left alone */
bool form_number(const struct form *form, const char *name, uint64_t min, uint64_t max, uint64_t *out);

/** Refuse what no page of ours sends: no form, or a value that none of its fields offers. @return CAIRN_E_USAGE */
enum cairn_status form_refuse(struct cairn_diag *diag);

#endif
