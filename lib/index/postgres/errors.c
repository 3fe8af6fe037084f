#include "index/postgres/errors.h"

#include <stddef.h>
#include <string.h>

/* The longest matching prefix counts: https://www.postgresql.org/docs/15/errcodes-appendix.html */
static const struct error {
	const char *begins;
	enum cairn_status status;
	bool goes_by;
} ERRORS[] = {
	{"08", CAIRN_E_BUSY, true},    /* error of the connection */
	{"22", CAIRN_E_FORMAT, false}, /* a text that is not UTF-8, a number out of range */
	{"23", CAIRN_E_CONFLICT, false},
	{"25006", CAIRN_E_BUSY, true}, /* a standby: another server is the primary now */
	{"25P03", CAIRN_E_BUSY, true}, /* the transaction was idle for too long */
	{"40001", CAIRN_E_BUSY, true}, /* serialization failure */
	{"40P01", CAIRN_E_BUSY, true}, /* deadlock */
	{"53300", CAIRN_E_BUSY, true}, /* too many connections */
	{"53100", CAIRN_E_FULL, false},
	{"53200", CAIRN_E_NOMEM, false},
	{"55P03", CAIRN_E_BUSY, true},  /* timeout of a lock */
	{"57014", CAIRN_E_BUSY, false}, /* cancelled: it took too long, and would again */
	{"57P", CAIRN_E_BUSY, true},    /* shutting down, or starting */
	{"XX001", CAIRN_E_DAMAGED, false},
	{"XX002", CAIRN_E_DAMAGED, false},
};

static const struct error *error_find(const char *sqlstate)
{
	static const struct error LOST = {"", CAIRN_E_BUSY, true}, OTHER = {"", CAIRN_E_IO, false};
	if (!sqlstate || sqlstate[0] == '\0')
		return &LOST;
	for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++)
		if (strncmp(sqlstate, ERRORS[i].begins, strlen(ERRORS[i].begins)) == 0)
			return &ERRORS[i];
	return &OTHER;
}

enum cairn_status cairn_pg_status(const char *sqlstate)
{
	return error_find(sqlstate)->status;
}

bool cairn_pg_is_temporary(const char *sqlstate)
{
	return error_find(sqlstate)->goes_by;
}
