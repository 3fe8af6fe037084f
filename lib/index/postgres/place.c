#include "index/postgres/place.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PLACE_SCHEMA[] = "schema=";

/* @return start of the parameter; NULL: missing */
static char *place_find(char *url)
{
	for (char *p = strchr(url, '?'); p; p = strchr(p + 1, '&'))
		if (strncmp(p + 1, PLACE_SCHEMA, sizeof(PLACE_SCHEMA) - 1) == 0)
			return p + 1;
	return NULL;
}

/* Removes the parameter from the URL. */
static enum cairn_status place_take(struct cairn_pg_place *place, char *parameter, struct cairn_diag *diag)
{
	const char *name = parameter + sizeof(PLACE_SCHEMA) - 1;
	size_t len = strcspn(name, "&");
	if (len == 0 || len > CAIRN_PG_SCHEMA_BYTES_MAX || memchr(name, '%', len))
		return cairn_fail(diag, CAIRN_E_USAGE, "index.url", CAIRN_NO_OFFSET,
				  "the schema of an index has a name of 1 to %d bytes, none of them \"%%\" or \"&\"",
				  CAIRN_PG_SCHEMA_BYTES_MAX);
	memcpy(place->schema, name, len);
	place->schema[len] = '\0';
	const char *rest = name + len;
	if (*rest == '&')
		memmove(parameter, rest + 1, strlen(rest + 1) + 1);
	else
		parameter[-1] = '\0';
	return CAIRN_OK;
}

/* Refuses a password in the URL, which is visible in ps, in the log, and in the data folder. */
static enum cairn_status place_refuse_password(struct cairn_diag *diag)
{
	return cairn_fail(
		diag, CAIRN_E_USAGE, "index.password", CAIRN_NO_OFFSET,
		"the URL of an index must hold no password: give it in the file that PGPASSFILE names (mode 600, "
		"a line HOST:PORT:DATABASE:USER:PASSWORD), or in a service file of PostgreSQL");
}

/* Checked first: other code might repeat the URL in a message. */
static bool place_shows_password(const char *url)
{
	const char *authority = strstr(url, "//");
	size_t len = authority ? strcspn(authority + 2, "/?#") : 0;
	const char *at = len > 0 ? memchr(authority + 2, '@', len) : NULL;
	return (at && memchr(authority + 2, ':', (size_t)(at - authority - 2))) || strstr(url, "password=");
}

/* Finds a password in any form that libpq understands. */
static enum cairn_status place_parse(const char *url, struct cairn_diag *diag)
{
	static const char *const SECRETS[] = {"password", "sslpassword"};
	char *error = NULL;
	bool secret = false;
	PQconninfoOption *options = PQconninfoParse(url, &error);
	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		for (size_t i = 0; i < sizeof(SECRETS) / sizeof(SECRETS[0]); i++)
			secret = secret || (strcmp(o->keyword, SECRETS[i]) == 0 && o->val);
	enum cairn_status status = CAIRN_OK;
	if (!options)
		status = cairn_fail(diag, CAIRN_E_USAGE, "index.url", CAIRN_NO_OFFSET,
				    "PostgreSQL does not understand the URL of the index: %.*s",
				    error ? (int)strcspn(error, "\n") : 0, error ? error : "");
	else if (secret)
		status = place_refuse_password(diag);
	PQconninfoFree(options);
	PQfreemem(error);
	return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_pg_place(struct cairn_pg_place *out, const char *where, struct cairn_diag *diag)
{
	*out = (struct cairn_pg_place){.schema = "cairn"};
	if (asprintf(&out->url, "postgres:%s", where) < 0) {
		out->url = NULL;
		return CAIRN_E_NOMEM;
	}
	if (place_shows_password(out->url))
		return place_refuse_password(diag);
	char *parameter = place_find(out->url);
	enum cairn_status status = parameter ? place_take(out, parameter, diag) : CAIRN_OK;
	return status == CAIRN_OK ? place_parse(out->url, diag) : status;
}

void cairn_pg_place_fini(struct cairn_pg_place *place)
{
	free(place->url);
	*place = (struct cairn_pg_place){0};
}
