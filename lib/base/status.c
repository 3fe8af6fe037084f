#include "base/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cairn_status_name(enum cairn_status status)
{
	switch (status) {
	case CAIRN_OK:
		return "ok";
	case CAIRN_E_NOMEM:
		return "out of memory";
	case CAIRN_E_IO:
		return "input/output error";
	case CAIRN_E_FORMAT:
		return "malformed";
	case CAIRN_E_LIMIT:
		return "over a limit";
	case CAIRN_E_MISMATCH:
		return "mismatch";
	case CAIRN_E_NOT_FOUND:
		return "not found";
	case CAIRN_E_CONFLICT:
		return "conflict";
	case CAIRN_E_USAGE:
		return "usage";
	case CAIRN_E_FULL:
		return "no space left";
	case CAIRN_E_BUSY:
		return "busy";
	case CAIRN_E_DENIED:
		return "denied";
	case CAIRN_E_DAMAGED:
		return "damaged";
	}
	return "unknown";
}

enum cairn_status cairn_fail(struct cairn_diag *diag, enum cairn_status status, const char *rule, uint64_t offset,
			     const char *fmt, ...)
{
	if (!diag || diag->rule)
		return status;
	diag->rule = rule;
	diag->has_offset = offset != CAIRN_NO_OFFSET;
	diag->offset = diag->has_offset ? offset : 0;
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
	va_end(ap);
	return status;
}

bool cairn_diag_has(const struct cairn_diag *diag, const char *rule)
{
	return diag && diag->rule && strcmp(diag->rule, rule) == 0;
}

void cairn_diag_values(struct cairn_diag *diag, const char *expected, const char *actual)
{
	if (!diag)
		return;
	(void)snprintf(diag->expected, sizeof(diag->expected), "%s", expected);
	(void)snprintf(diag->actual, sizeof(diag->actual), "%s", actual);
}

void cairn_diag_numbers(struct cairn_diag *diag, uint64_t expected, uint64_t actual)
{
	if (!diag)
		return;
	(void)snprintf(diag->expected, sizeof(diag->expected), "%" PRIu64, expected);
	(void)snprintf(diag->actual, sizeof(diag->actual), "%" PRIu64, actual);
}
