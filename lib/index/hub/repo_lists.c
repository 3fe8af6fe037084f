/* Lists of repositories. A list reads in its order, and visits repositories that meet its conditions. It reads only
 * repositories that the viewer may see, by database indexes, so neither time nor length of a page reveals others. */
#include "index/backend.h"
#include "index/hub/card.h"
#include "index/records.h"

#include "base/json.h"

#include <string.h>

/* Reads a page: for each repository, in the list's order, its columns, whether it is listed, and if so its card and
 * head. Up to $6 repositories come from each of three sources, each by a database index in the list's order. The first
 * $6 of these are the page:
 * - public repositories of each kind, and private ones if the viewer may see all;
 * - repositories of one account that the viewer may read, or, if the list is of all accounts, private ones of the
 *   viewer and their organisations;
 * - instead of the first source, repositories with a rare word.
 *
 * $1 kind, $2 account, $3 text in the name, $4 whether the viewer may see all, $5 viewer, $6 repositories to read, $7
 * the last repository read before, $8 private (1) or public (2) ones only, $9 whether those with a gate, $10 what to
 * return of each (1: its card, 2: the head of main), $11 words of its card as a JSON array, $12 a rare one of these
 * words or '', $13 the date or name of the last repository.
 *
 * key is the column by which the list is sorted; next is the condition for repositories after the last, and the order.
 * SQLite has no LATERAL and looks up the keys of each source again. The LIMIT around a page keeps the planner from
 * testing twice whether a repository is listed. */
#define SQLITE_PAGE(key, next, direction)                                                                                                 \
	"SELECT " CAIRN_REPO_COLUMNS(                                                                                                     \
		"r.owner") ", c.task, c.library, c.tags, c.data, c.config,"                                                               \
			   " (SELECT k.oid FROM ref f JOIN line l ON l.id = f.line JOIN commit_ k ON k.id = l.head"                       \
			   " WHERE ($10 & 2) <> 0 AND r.is_listed AND f.repo = r.id AND f.kind = 1 AND f.name = 'main'), r.is_listed"     \
			   " FROM (SELECT r.*, a.name AS owner, ($1 = 0 OR r.kind = $1) AND ($2 = 0 OR r.account = $2)"                   \
			   " AND ($3 = '' OR instr(lower(a.name || '/' || r.name), lower($3)) > 0)"                                       \
			   " AND r.name <> '" CAIRN_INDEX_PROPOSALS                                                                       \
			   "' AND (NOT r.private OR $4 <> 0 OR r.account = $5"                                                            \
			   " OR EXISTS(SELECT 1 FROM membership m WHERE m.organisation = r.account AND m.user = $5))"                     \
			   " AND ($8 = 0 OR r.private = ($8 = 1)) AND ($9 = 0 OR (r.gate <> 0) = ($9 = 1)) AND ($11 = '[]'"               \
			   " OR NOT EXISTS(SELECT 1 FROM json_each($11) w"                                                                \
			   " WHERE NOT EXISTS(SELECT 1 FROM tag t WHERE t.repo = r.id AND t.tag = w.value))) AS is_listed"                \
			   " FROM (SELECT id, k FROM ("                                                                                   \
			   "SELECT r.id, " key " AS k FROM (VALUES(0, 1), (0, 2), (0, 3), (0, 4), (0, 5),"                                \
			   " (1, 1), (1, 2), (1, 3), (1, 4), (1, 5)) g CROSS JOIN repo r"                                                 \
			   " WHERE $2 = 0 AND $12 = '' AND $1 IN (0, g.column2) AND ($4 <> 0 OR NOT g.column1)"                           \
			   " AND ($8 = 0 OR g.column1 = ($8 = 1)) AND r.id IN (SELECT id FROM repo"                                       \
			   " WHERE dropped IS NULL AND private = g.column1 AND kind = g.column2 AND " next                                \
			   " LIMIT $6)"                                                                                                   \
			   " UNION ALL "                                                                                                  \
			   "SELECT r.id, " key " AS k FROM (SELECT $2 AS owner, 0 AS hidden WHERE $2 <> 0"                                \
			   " UNION ALL SELECT $2, 1 WHERE $2 <> 0 AND ($4 <> 0 OR $2 = $5"                                                \
			   " OR EXISTS(SELECT 1 FROM membership m WHERE m.organisation = $2 AND m.user = $5))"                            \
			   " UNION ALL SELECT $5, 1 WHERE $2 = 0 AND $4 = 0"                                                              \
			   " UNION ALL SELECT organisation, 1 FROM membership WHERE user = $5 AND $2 = 0 AND $4 = 0) g CROSS JOIN repo r" \
			   " WHERE ($8 = 0 OR g.hidden = ($8 = 1)) AND r.id IN (SELECT id FROM repo"                                      \
			   " WHERE dropped IS NULL AND account = g.owner AND private = g.hidden AND " next                                \
			   " LIMIT $6)"                                                                                                   \
			   " UNION ALL "                                                                                                  \
			   "SELECT * FROM (SELECT r.id, " key " AS k FROM tag t CROSS JOIN repo r"                                        \
			   " WHERE $2 = 0 AND t.tag = $12 AND t.kind = $1 AND t.private <= ($4 <> 0) AND r.id = t.repo"                   \
			   " AND r.dropped IS NULL AND " next " LIMIT $6)"                                                                \
			   ") n ORDER BY k " direction ", id " direction                                                                  \
			   " LIMIT $6) n CROSS JOIN repo r CROSS JOIN account a"                                                          \
			   " WHERE r.id = n.id AND a.id = r.account LIMIT $6) r"                                                          \
			   " LEFT JOIN card c ON c.repo = r.id AND ($10 & 1) <> 0 AND r.is_listed"
#define POSTGRES_PAGE(key, next, direction)                                                                                           \
	"SELECT " CAIRN_REPO_COLUMNS(                                                                                                 \
		"r.owner") ", c.task, c.library, c.tags, c.data, c.config,"                                                           \
			   " (SELECT k.oid FROM ref f JOIN line l ON l.id = f.line JOIN commit_ k ON k.id = l.head"                   \
			   " WHERE ($10 & 2) <> 0 AND r.is_listed AND f.repo = r.id AND f.kind = 1 AND f.name = 'main'), r.is_listed" \
			   " FROM (SELECT r.*, a.name AS owner, n.k, ($1 = 0 OR r.kind = $1) AND ($2 = 0 OR r.account = $2)"          \
			   " AND ($3 = '' OR strpos(lower(a.name || '/' || r.name), lower($3 COLLATE \"C\")) > 0)"                    \
			   " AND r.name <> '" CAIRN_INDEX_PROPOSALS                                                                   \
			   "' AND (NOT r.private OR $4 <> 0 OR r.account = $5"                                                        \
			   " OR EXISTS(SELECT 1 FROM membership m WHERE m.organisation = r.account AND m.member = $5))"               \
			   " AND ($8 = 0 OR r.private = ($8 = 1)) AND ($9 = 0 OR (r.gate <> 0) = ($9 = 1)) AND ($11::jsonb = '[]'"    \
			   " OR NOT EXISTS(SELECT 1 FROM jsonb_array_elements_text($11::jsonb) w(value)"                              \
			   " WHERE NOT EXISTS(SELECT 1 FROM tag t WHERE t.repo = r.id AND t.tag = w.value))) AS is_listed"            \
			   " FROM (SELECT id, k FROM ("                                                                               \
			   "SELECT n.id, n.k FROM (VALUES(false, 1), (false, 2), (false, 3), (false, 4), (false, 5),"                 \
			   " (true, 1), (true, 2), (true, 3), (true, 4), (true, 5)) g CROSS JOIN LATERAL (SELECT id, " key            \
			   " AS k"                                                                                                    \
			   " FROM repo WHERE dropped IS NULL AND private = g.column1 AND kind = g.column2 AND " next                  \
			   " LIMIT $6) n"                                                                                             \
			   " WHERE $2 = 0 AND $12 = '' AND $1 IN (0, g.column2) AND ($4 <> 0 OR NOT g.column1)"                       \
			   " AND ($8 = 0 OR g.column1 = ($8 = 1))"                                                                    \
			   " UNION ALL "                                                                                              \
			   "SELECT n.id, n.k FROM (SELECT CAST($2 AS bigint) AS owner, false AS hidden WHERE $2 <> 0"                 \
			   " UNION ALL SELECT $2, true WHERE $2 <> 0 AND ($4 <> 0 OR $2 = $5"                                         \
			   " OR EXISTS(SELECT 1 FROM membership m WHERE m.organisation = $2 AND m.member = $5))"                      \
			   " UNION ALL SELECT $5, true WHERE $2 = 0 AND $4 = 0"                                                       \
			   " UNION ALL SELECT organisation, true FROM membership WHERE member = $5 AND $2 = 0 AND $4 = 0) g"          \
			   " CROSS JOIN LATERAL (SELECT id, " key " AS k FROM repo"                                                   \
			   " WHERE dropped IS NULL AND account = g.owner AND private = g.hidden AND " next                            \
			   " LIMIT $6) n"                                                                                             \
			   " WHERE ($8 = 0 OR g.hidden = ($8 = 1))"                                                                   \
			   " UNION ALL "                                                                                              \
			   "SELECT * FROM (SELECT r.id, " key " AS k FROM tag t CROSS JOIN repo r"                                    \
			   " WHERE $2 = 0 AND t.tag = $12 AND t.kind = $1 AND t.private <= ($4 <> 0) AND r.id = t.repo"               \
			   " AND r.dropped IS NULL AND " next " LIMIT $6) n"                                                          \
			   ") n ORDER BY k " direction ", id " direction                                                              \
			   " LIMIT $6) n CROSS JOIN repo r CROSS JOIN account a"                                                      \
			   " WHERE r.id = n.id AND a.id = r.account LIMIT $6) r"                                                      \
			   " LEFT JOIN card c ON c.repo = r.id AND ($10 & 1) <> 0 AND r.is_listed"                                    \
			   " ORDER BY r.k " direction ", r.id " direction

/* For creation, PostgreSQL must not use the primary key, which would read all repositories. */
CAIRN_SQL_OF(LIST_UPDATED_DOWN,
	     SQLITE_PAGE("updated", "(updated, id) < ($13, $7) ORDER BY updated DESC, id DESC", "DESC"),
	     POSTGRES_PAGE("updated", "(updated, id) < ($13, $7) ORDER BY updated DESC, id DESC", "DESC"));
CAIRN_SQL_OF(LIST_UPDATED_UP, SQLITE_PAGE("updated", "(updated, id) > ($13, $7) ORDER BY updated, id", "ASC"),
	     POSTGRES_PAGE("updated", "(updated, id) > ($13, $7) ORDER BY updated, id", "ASC"));
CAIRN_SQL_OF(LIST_CREATED_DOWN, SQLITE_PAGE("id", "id < $7 ORDER BY id DESC", "DESC"),
	     POSTGRES_PAGE("id + 0", "id + 0 < $7 ORDER BY id + 0 DESC", "DESC"));
CAIRN_SQL_OF(LIST_CREATED_UP, SQLITE_PAGE("id", "id > $7 ORDER BY id", "ASC"),
	     POSTGRES_PAGE("id + 0", "id + 0 > $7 ORDER BY id + 0", "ASC"));
CAIRN_SQL_OF(LIST_NAMED_DOWN, SQLITE_PAGE("name", "(name, id) < ($13, $7) ORDER BY name DESC, id DESC", "DESC"),
	     POSTGRES_PAGE("lower(name)",
			   "(lower(name), id) < (lower($13 COLLATE \"C\"), $7) ORDER BY lower(name) DESC, id DESC",
			   "DESC"));
CAIRN_SQL_OF(LIST_NAMED_UP, SQLITE_PAGE("name", "(name, id) > ($13, $7) ORDER BY name, id", "ASC"),
	     POSTGRES_PAGE("lower(name)", "(lower(name), id) > (lower($13 COLLATE \"C\"), $7) ORDER BY lower(name), id",
			   "ASC"));
/* The statements, by order and direction. */
static const struct cairn_sql *const LISTS[][2] = {
	[CAIRN_INDEX_BY_UPDATE] = {&LIST_UPDATED_DOWN, &LIST_UPDATED_UP},
	[CAIRN_INDEX_BY_CREATION] = {&LIST_CREATED_DOWN, &LIST_CREATED_UP},
	[CAIRN_INDEX_BY_NAME] = {&LIST_NAMED_DOWN, &LIST_NAMED_UP},
};

/* Finds the word that fewest repositories have, if fewer than $4. $1 words, $2 kind, $3 whether the viewer may see
 * all. */
CAIRN_SQL_OF(LIST_RARE_WORD,
	     "SELECT value FROM (SELECT w.value, (SELECT count(*) FROM (SELECT 1 FROM tag t WHERE t.tag = w.value"
	     " AND t.kind = $2 AND t.private <= ($3 <> 0) LIMIT $4)) AS n FROM json_each($1) w)"
	     " WHERE n < $4 ORDER BY n LIMIT 1",
	     "SELECT value FROM (SELECT w.value, (SELECT count(*) FROM (SELECT 1 FROM tag t WHERE t.tag = w.value"
	     " AND t.kind = $2 AND t.private <= ($3 <> 0) LIMIT $4) t) AS n"
	     " FROM jsonb_array_elements_text($1::jsonb) w(value)) w WHERE n < $4 ORDER BY n LIMIT 1");

enum { LIST_COLUMN_CARD = 14, LIST_COLUMN_HEAD = 19, LIST_COLUMN_LISTED = 20 };

/* The words of a list, as its statements need them. */
struct list_words {
	char all[CAIRN_INDEX_WORDS_ASKED_MAX * (6 * CAIRN_INDEX_TAG_MAX + 3) + 3]; /* a JSON array */
	char rare[CAIRN_INDEX_TAG_MAX + 1]; /* "": none; then the list is read in its order */
};

/* The start of a page: the last repository read before, or a place before all. */
struct list_after {
	int64_t id, unix_ms;
	char name[CAIRN_INDEX_REPO_NAME_MAX + 1];
};

static struct list_after list_after_last(const struct cairn_index_repo_list *list)
{
	struct list_after after = {.id = list->after_id, .unix_ms = list->after_unix_ms};
	if (list->after_id != 0) {
		memcpy(after.name, list->after_name, sizeof(after.name));
	} else if (!list->ascending) {
		after.id = after.unix_ms = INT64_MAX;
		memcpy(after.name, "\x7f", 2); /* greater than all names */
	}
	return after;
}

/* Reads the words of a list, and finds out whether one is rare. A list of one account, or of all kinds, is read in its
 * order and needs no rare word. */
static enum cairn_status list_read_words(struct cairn_index *ix, const struct cairn_index_repo_list *list,
					 struct list_words *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	struct cairn_buf buf = cairn_buf_over(out->all, sizeof(out->all));
	struct cairn_json_out w = cairn_json_out_init(&buf);
	out->rare[0] = '\0';
	cairn_json_open_array(&w, NULL);
	for (uint32_t i = 0; i < list->n_words; i++)
		cairn_json_put_text(&w, NULL, list->words[i]);
	cairn_json_close(&w);
	cairn_buf_add(&buf, "", 1);
	if (buf.status != CAIRN_OK || list->n_words == 0 || list->account != 0 || list->kind == 0)
		return buf.status;
	enum cairn_status status =
		cairn_records_find(ix, &rows, &LIST_RARE_WORD,
				   CAIRN_ARGS(cairn_db_text(out->all), cairn_db_int((int64_t)list->kind),
					      cairn_db_int(list->all), cairn_db_int(CAIRN_INDEX_REPOS_LOOKED_MAX + 1)));
	if (status == CAIRN_OK)
		cairn_db_get_text(&rows, 0, out->rare, sizeof(out->rare));
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* @param look   how many repositories to read
 * @param after  not in `list`, which visitors change while SQLite still reads the values */
static enum cairn_status list_ask_page(struct cairn_index *ix, struct cairn_db_rows *rows,
				       const struct cairn_index_repo_list *list, const struct list_words *words,
				       uint32_t look, const struct list_after *after)
{
	const struct cairn_db_arg arg[] = {
		cairn_db_int((int64_t)list->kind),
		cairn_db_int(list->account),
		cairn_db_text(list->search ? list->search : ""),
		cairn_db_int(list->all),
		cairn_db_int(list->reader),
		cairn_db_int(look),
		cairn_db_int(after->id),
		cairn_db_int((int64_t)list->is_private),
		cairn_db_int((int64_t)list->gated),
		cairn_db_int((list->cards ? 1 : 0) | (list->heads ? 2 : 0)),
		cairn_db_text(words->all),
		cairn_db_text(words->rare),
		list->sort == CAIRN_INDEX_BY_NAME ? cairn_db_text(after->name) : cairn_db_int(after->unix_ms),
	};
	const struct cairn_db_args args = {arg, list->sort == CAIRN_INDEX_BY_CREATION ? 12 : 13};
	enum cairn_status status = cairn_records_take(ix, rows);
	return status == CAIRN_OK ? cairn_db_find(rows->db, rows, LISTS[list->sort][list->ascending ? 1 : 0], &args)
				  : status;
}

/* A row of a page, with its card and its head if requested. */
struct list_row {
	struct cairn_index_repo repo;
	struct cairn_index_card card;
	struct cairn_git_oid head;
};

static enum cairn_status list_read_row(struct cairn_db_rows *row, const struct cairn_index_repo_list *list,
				       struct list_row *out)
{
	enum cairn_status status = cairn_records_repo(row, &out->repo);
	if (list->cards) {
		cairn_records_card(row, LIST_COLUMN_CARD, &out->card);
		out->repo.card = &out->card;
	}
	if (list->heads && !cairn_db_is_null(row, LIST_COLUMN_HEAD)) {
		cairn_db_get_fixed(row, LIST_COLUMN_HEAD, &out->head, sizeof(out->head));
		out->repo.head = &out->head;
	}
	return status == CAIRN_OK ? cairn_db_whole(row) : status;
}

/* Reads further repositories, and visits those that are listed, up to the limit.
 * @param look          how many to read
 * @param[in,out] n     number visited
 * @param[out] at_end   no repository is left to read
 * @return CAIRN_OK; as every read */
static enum cairn_status list_read_further(struct cairn_index *ix, struct cairn_index_repo_list *list,
					   const struct list_words *words, uint32_t look, cairn_index_visit_repo *visit,
					   void *ctx, uint32_t *n, bool *at_end)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	const struct list_after after = list_after_last(list);
	struct list_row row = {0};
	const struct cairn_index_repo *repo = &row.repo;
	uint32_t looked = 0;
	enum cairn_status status = list_ask_page(ix, &rows, list, words, look, &after);
	for (; status == CAIRN_OK && *n < list->limit; status = cairn_db_next(&rows), looked++) {
		if (list_read_row(&rows, list, &row) != CAIRN_OK)
			continue;
		list->after_id = repo->id;
		list->after_unix_ms = repo->updated_unix_ms;
		memcpy(list->after_name, repo->name, sizeof(list->after_name));
		if (cairn_db_get_int(&rows, LIST_COLUMN_LISTED) == 0)
			continue;
		visit(ctx, repo);
		++*n;
	}
	*at_end = status == CAIRN_E_NOT_FOUND && looked < look;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_list_repos(struct cairn_index *ix, struct cairn_index_repo_list *list,
					 cairn_index_visit_repo *visit, void *ctx, bool *more)
{
	uint32_t n = 0, left = CAIRN_INDEX_REPOS_LOOKED_MAX;
	struct list_words words;
	enum cairn_status status = list_read_words(ix, list, &words);
	bool at_end = false;
	if (list->limit > CAIRN_INDEX_REPOS_MAX)
		list->limit = CAIRN_INDEX_REPOS_MAX;
	uint32_t look = list->limit; /* first read as few as if all were listed */
	while (status == CAIRN_OK && !at_end && n < list->limit && left > 0) {
		left -= look;
		status = list_read_further(ix, list, &words, look, visit, ctx, &n, &at_end);
		look = left < CAIRN_INDEX_REPOS_MAX ? left : CAIRN_INDEX_REPOS_MAX;
	}
	*more = status == CAIRN_OK && !at_end;
	return status;
}
