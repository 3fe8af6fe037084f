/* Finds the files and hosts that connecting needs, before a process gives up its other rights. */
#include "index/postgres/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lets libpq resolve URL, environment and service file into a connection, which libpq then refuses without sending
 * anything: it checks the invalid encryption method last. */
static PGconn *reach_put_together(const struct cairn_pg_place *place)
{
	static const char *const NAMES[] = {"dbname", "sslmode", NULL};
	const char *const values[] = {place->url, "nothing is to be sent", NULL};
	return PQconnectStartParams(NAMES, values, 1);
}

/* Adds the ports of a list such as "5432,5433". */
static void reach_add_ports(struct cairn_index_reach *out, const char *ports)
{
	for (const char *p = ports; *p; p += strcspn(p, ","), p += *p == ',') {
		unsigned long port = strtoul(p, NULL, 10);
		if (port > 0 && port <= UINT16_MAX && out->n_ports < CAIRN_INDEX_REACH_PORTS)
			out->ports[out->n_ports++] = (uint16_t)port;
	}
}

/* Adds each host of "one,/run/two": a path, or no host, means the folder of a socket. */
static void reach_add_hosts(struct cairn_index_reach *out, const char *hosts)
{
	out->by_socket = hosts[0] == '\0';
	for (const char *p = hosts; *p; p += strcspn(p, ","), p += *p == ',')
		out->by_socket = out->by_socket || *p == '/' || *p == ',';
}

static void reach_add_file(struct cairn_index_reach *out, const char *path)
{
	if (path && path[0] == '/' && strlen(path) < sizeof(out->files[0]) && out->n_files < CAIRN_INDEX_REACH_FILES)
		(void)snprintf(out->files[out->n_files++], sizeof(out->files[0]), "%s", path);
}

/* Adds the files that libpq reads in the user's folder .postgresql, and those of services. */
static void reach_add_own_files(struct cairn_index_reach *out)
{
	char path[CAIRN_INDEX_REACH_PATH_BYTES];
	static const char *const NAMES[] = {".postgresql", ".pg_service.conf"};
	const char *home = getenv("HOME");
	for (size_t i = 0; home && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		int n = snprintf(path, sizeof(path), "%s/%s", home, NAMES[i]);
		if (n > 0 && (size_t)n < sizeof(path))
			reach_add_file(out, path);
	}
	reach_add_file(out, getenv("PGSERVICEFILE"));
	reach_add_file(out, "/etc/postgresql-common/pg_service.conf");
}

static void reach_add_option(struct cairn_index_reach *out, const PQconninfoOption *o)
{
	static const char *const FILES[] = {"passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir"};
	const char *value = o->val ? o->val : "";
	if (strcmp(o->keyword, "port") == 0)
		reach_add_ports(out, value[0] ? value : "5432");
	if (strcmp(o->keyword, "host") == 0)
		reach_add_hosts(out, value);
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++)
		if (strcmp(o->keyword, FILES[i]) == 0)
			reach_add_file(out, value);
}

enum cairn_status cairn_postgres_reach(const char *where, struct cairn_index_reach *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_pg_place_fini) struct cairn_pg_place place;
	*out = (struct cairn_index_reach){.n_ports = 0};
	enum cairn_status status = cairn_pg_place(&place, where, diag);
	if (status != CAIRN_OK)
		return status;
	PGconn *conn = reach_put_together(&place);
	PQconninfoOption *options = conn ? PQconninfo(conn) : NULL;
	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		reach_add_option(out, o);
	if (options)
		reach_add_own_files(out);
	PQconninfoFree(options);
	PQfinish(conn);
	return options ? CAIRN_OK : CAIRN_E_NOMEM;
}
