#include "server/ask/form.h"

#include "base/decimal.h"

#include <stdlib.h>
#include <string.h>

static int form_digit(char c)
{
	static const char DIGITS[] = "00112233445566778899aAbBcCdDeEfF";
	const char *at = c ? strchr(DIGITS, c) : NULL;
	return at ? (int)(at - DIGITS) / 2 : -1;
}

/* Decodes in place. @return false: an escape is cut off, or encodes a zero byte */
static bool form_decode(char *text)
{
	char *out = text;
	for (const char *p = text; *p; p++) {
		char c = *p == '+' ? ' ' : *p;
		if (*p == '%') {
			int high = form_digit(p[1]), low = high < 0 ? -1 : form_digit(p[2]);
			if (low < 0 || high + low == 0)
				return false;
			c = (char)(high * 16 + low);
			p += 2;
		}
		*out++ = c;
	}
	*out = '\0';
	return true;
}

static bool form_add(struct form *form, char *pair)
{
	char *value = strchr(pair, '=');
	if (!*pair)
		return true;
	if (value)
		*value++ = '\0';
	if (form->n == FORM_FIELDS_MAX || !form_decode(pair) || (value && !form_decode(value)))
		return false;
	form->fields[form->n].name = pair;
	form->fields[form->n++].value = value ? value : "";
	return true;
}

bool form_read(struct form *out, const char *bytes, size_t len)
{
	*out = (struct form){.text = calloc(1, len + 1)};
	bool good = out->text && (len == 0 || !memchr(bytes, '\0', len));
	if (good && len > 0)
		memcpy(out->text, bytes, len);
	char *rest = NULL;
	for (char *pair = good ? strtok_r(out->text, "&", &rest) : NULL; pair && good;
	     pair = strtok_r(NULL, "&", &rest))
		good = form_add(out, pair);
	if (!good)
		form_fini(out);
	return good;
}

void form_fini(struct form *form)
{
	free(form->text);
	*form = (struct form){0};
}

const char *form_value(const struct form *form, const char *name)
{
	for (unsigned i = 0; i < form->n; i++)
		if (strcmp(form->fields[i].name, name) == 0)
			return form->fields[i].value;
	return "";
}

bool form_number(const struct form *form, const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
	return cairn_decimal_parse(form_value(form, name), min, max, out);
}

enum cairn_status form_refuse(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "form.body", CAIRN_NO_OFFSET, "send the form as a browser does");
}
