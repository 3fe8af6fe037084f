#include "index/postgres/migrate.h"

#include "index/postgres/engine.h"

#include "index/postgres/connection.h"
#include "index/postgres/write.h"

#include <stdio.h>
#include <string.h>

static const char MIGRATE_LOOK[] =
	"SELECT to_regclass('cluster') IS NOT NULL,"
	" EXISTS(SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1)";
static const char MIGRATE_VERSION[] = "SELECT version FROM cluster WHERE application = 'cairn'";

static enum cairn_status migrate_refuse_foreign(const struct cairn_pg *pg, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "index.foreign", CAIRN_NO_OFFSET,
			  "the schema \"%s\" is not an index of Cairn; name another one: schema=NAME in the URL",
			  pg->place->schema);
}

static enum cairn_status migrate_refuse_newer(int version, struct cairn_diag *diag)
{
	cairn_fail(diag, CAIRN_E_CONFLICT, "index.newer", CAIRN_NO_OFFSET,
		   "the index is of schema version %d, this program knows up to %d; run the newer Cairn", version,
		   cairn_pg_migrate_latest);
	cairn_diag_numbers(diag, (uint64_t)cairn_pg_migrate_latest, (uint64_t)version);
	return CAIRN_E_CONFLICT;
}

enum cairn_status cairn_pg_judge(struct cairn_pg *pg, int *version, struct cairn_diag *diag)
{
	const PGresult *r;
	*version = 0;
	if (cairn_pg_ask(pg, MIGRATE_LOOK, CAIRN_ARGS(cairn_db_text(pg->place->schema)), &r) != CAIRN_OK)
		return cairn_pg_fail(pg, diag, "cannot read the index");
	bool ours = cairn_pg_get_int8(r, 0, 0) != 0, empty = cairn_pg_get_int8(r, 0, 1) == 0;
	if (!ours)
		return empty ? CAIRN_OK : migrate_refuse_foreign(pg, diag);
	enum cairn_status status = cairn_pg_ask(pg, MIGRATE_VERSION, NULL, &r);
	if (status != CAIRN_OK && strncmp(pg->sqlstate, "42", 2) != 0)
		return cairn_pg_fail(pg, diag, "cannot read the index");
	if (status != CAIRN_OK || PQntuples(r) != 1)
		return migrate_refuse_foreign(pg, diag);
	*version = (int)cairn_pg_get_int8(r, 0, 0);
	return *version <= cairn_pg_migrate_latest ? CAIRN_OK : migrate_refuse_newer(*version, diag);
}

/* Runs a script. It has many statements, which only the simple protocol accepts. */
static bool migrate_run(struct cairn_pg *pg, const char *sql)
{
	PGresult *r = PQexec(pg->conn, sql);
	ExecStatusType status = PQresultStatus(r);
	bool well = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
	if (!well)
		(void)snprintf(pg->message, sizeof(pg->message), "%s", PQresultErrorMessage(r));
	PQclear(r);
	return well;
}

/* Runs all scripts in one transaction; concurrent migrations wait for each other. */
static bool migrate_scripts(struct cairn_pg *pg, int from)
{
	char stamp[64], make[CAIRN_PG_SCHEMA_BYTES_MAX * 2 + 64];
	char *schema = PQescapeIdentifier(pg->conn, pg->place->schema, strlen(pg->place->schema));
	(void)snprintf(make, sizeof(make), "CREATE SCHEMA IF NOT EXISTS %s", schema ? schema : "");
	(void)snprintf(stamp, sizeof(stamp), "UPDATE cluster SET version = %d", cairn_pg_migrate_latest);
	PQfreemem(schema);
	bool well = schema && PQexitPipelineMode(pg->conn) == 1 && PQsetnonblocking(pg->conn, 0) == 0 &&
		    migrate_run(pg, "BEGIN") && migrate_run(pg, CAIRN_PG_SCAN) && (from > 0 || migrate_run(pg, make));
	for (int i = from; well && i < cairn_pg_migrate_latest; i++)
		well = migrate_run(pg, cairn_pg_migrate_scripts[i]);
	pg->warned = false;
	return well && migrate_run(pg, stamp) && migrate_run(pg, "COMMIT") && !pg->warned;
}

static enum cairn_status migrate(struct cairn_pg *pg, struct cairn_diag *diag, int *from)
{
	if (cairn_pg_open(pg) != CAIRN_OK)
		return cairn_pg_fail(pg, diag, "cannot open the index");
	enum cairn_status status = cairn_pg_judge(pg, from, diag);
	if (status != CAIRN_OK || *from == cairn_pg_migrate_latest)
		return status;
	status = cairn_pg_lock_writer(pg, false, diag);
	if (status == CAIRN_OK)
		status = cairn_pg_judge(pg, from, diag);
	if (status != CAIRN_OK || *from == cairn_pg_migrate_latest)
		return status;
	return migrate_scripts(pg, *from) ? CAIRN_OK
					  : cairn_pg_fail(pg, diag, "cannot bring the index to this program's version");
}

enum cairn_status cairn_postgres_migrate(const char *where, struct cairn_diag *diag, int *from, int *to)
{
	CLEANUP(cairn_pg_place_fini) struct cairn_pg_place place;
	CLEANUP(cairn_pg_close) struct cairn_pg pg = {.place = &place};
	*from = 0;
	*to = cairn_pg_migrate_latest;
	enum cairn_status status = cairn_pg_place(&place, where, diag);
	return status == CAIRN_OK ? migrate(&pg, diag, from) : status;
}

enum cairn_status cairn_postgres_version(const char *where, int *version, int *latest, struct cairn_diag *diag)
{
	CLEANUP(cairn_pg_place_fini) struct cairn_pg_place place;
	CLEANUP(cairn_pg_close) struct cairn_pg pg = {.place = &place, .reads_only = true};
	*version = 0;
	*latest = cairn_pg_migrate_latest;
	enum cairn_status status = cairn_pg_place(&place, where, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_pg_open(&pg) != CAIRN_OK)
		return cairn_pg_fail(&pg, diag, "cannot open the index");
	return cairn_pg_judge(&pg, version, diag);
}
