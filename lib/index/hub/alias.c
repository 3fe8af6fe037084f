/* Aliases of repositories of the mirrored hub. */
#include "index/hub/alias.h"
#include "index/backend.h"
#include "index/records.h"

#include <stdio.h>
#include <string.h>

CAIRN_SQL_OF(ALIAS_FIND, "SELECT target FROM mirror_alias WHERE kind = $1 AND name = $2",
	     "SELECT target FROM mirror_alias WHERE kind = $1 AND lower(name) = lower($2 COLLATE \"C\")");
CAIRN_SQL_OF(ALIAS_ADD,
	     "INSERT INTO mirror_alias(kind, name, target) VALUES($1, $2, $3)"
	     " ON CONFLICT(kind, name) DO UPDATE SET target = excluded.target",
	     "INSERT INTO mirror_alias(kind, name, target) VALUES($1, $2, $3)"
	     " ON CONFLICT(kind, lower(name)) DO UPDATE SET target = excluded.target");
/* Names of repositories consist of ASCII characters below "~". */
CAIRN_SQL_OF(ALIAS_DROP_NAMES, "DELETE FROM mirror_alias WHERE kind = $1 AND name BETWEEN $2 AND $3",
	     "DELETE FROM mirror_alias WHERE kind = $1"
	     " AND lower(name) BETWEEN lower($2 COLLATE \"C\") AND lower($3 COLLATE \"C\")");
CAIRN_SQL_OF(ALIAS_DROP_TARGETS, "DELETE FROM mirror_alias WHERE kind = $1 AND target COLLATE NOCASE BETWEEN $2 AND $3",
	     "DELETE FROM mirror_alias WHERE kind = $1"
	     " AND lower(target) BETWEEN lower($2 COLLATE \"C\") AND lower($3 COLLATE \"C\")");

enum cairn_status cairn_index_alias(struct cairn_index *ix, enum cairn_index_repo_kind kind, const char *name,
				    char target[static CAIRN_INDEX_ALIAS_MAX + 1])
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	target[0] = '\0';
	enum cairn_status status = cairn_records_find(ix, &rows, &ALIAS_FIND,
						      CAIRN_ARGS(cairn_db_int((int64_t)kind), cairn_db_text(name)));
	if (status != CAIRN_OK)
		return status;
	cairn_db_get_text(&rows, 0, target, CAIRN_INDEX_ALIAS_MAX + 1);
	return cairn_db_whole(&rows);
}

static bool alias_fits(const char *name)
{
	size_t len = strlen(name);
	return len > 0 && len <= CAIRN_INDEX_ALIAS_MAX;
}

enum cairn_status cairn_records_add_alias(struct cairn_index_tx *tx, struct cairn_index_add_alias *add)
{
	if (!alias_fits(add->name) || !alias_fits(add->target))
		return cairn_fail(&add->write.diag, CAIRN_E_CONFLICT, "alias.name", CAIRN_NO_OFFSET,
				  "the name of a repository has 1 to %d bytes", CAIRN_INDEX_ALIAS_MAX);
	return cairn_db_run(
		tx->db, &ALIAS_ADD,
		CAIRN_ARGS(cairn_db_int((int64_t)add->kind), cairn_db_text(add->name), cairn_db_text(add->target)),
		NULL);
}

enum cairn_status cairn_records_drop_aliases(struct cairn_index_tx *tx, struct cairn_index_drop_aliases *drop)
{
	char first[CAIRN_INDEX_ALIAS_MAX + 2], last[CAIRN_INDEX_ALIAS_MAX + 2];
	int64_t n_names = 0, n_targets = 0;
	(void)snprintf(first, sizeof(first), "%s/%s", drop->account, drop->name ? drop->name : "");
	(void)snprintf(last, sizeof(last), "%s/%s", drop->account, drop->name ? drop->name : "~");
	const struct cairn_db_args *args =
		CAIRN_ARGS(cairn_db_int((int64_t)drop->kind), cairn_db_text(first), cairn_db_text(last));
	enum cairn_status status = cairn_db_run(tx->db, &ALIAS_DROP_NAMES, args, &n_names);
	if (status == CAIRN_OK)
		status = cairn_db_run(tx->db, &ALIAS_DROP_TARGETS, args, &n_targets);
	drop->n_dropped = n_names + n_targets;
	return status;
}
