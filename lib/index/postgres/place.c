#include "index/postgres/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PLACE_SCHEMA[] = "schema=";

/* @return where the parameter begins; NULL: it is not there */
static char *place_find(char *url)
{
	for (char *p = strchr(url, '?'); p; p = strchr(p + 1, '&'))
		if (strncmp(p + 1, PLACE_SCHEMA, sizeof(PLACE_SCHEMA) - 1) == 0)
			return p + 1;
	return NULL;
}

/* Take it out of the URL. */
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

enum cairn_status cairn_pg_place(struct cairn_pg_place *out, const char *where, struct cairn_diag *diag)
{
	*out = (struct cairn_pg_place){.schema = "cairn"};
	if (asprintf(&out->url, "postgres:%s", where) < 0) {
		out->url = NULL;
		return CAIRN_E_NOMEM;
	}
	char *parameter = place_find(out->url);
	return parameter ? place_take(out, parameter, diag) : CAIRN_OK;
}

void cairn_pg_place_fini(struct cairn_pg_place *place)
{
	free(place->url);
	*place = (struct cairn_pg_place){0};
}
