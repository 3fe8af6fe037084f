/* Reads and writes entries for a commit's edits (index/hub/edit.h). Reads are batched to save round trips. */
#include "index/hub/entries.h"
#include "index/postgres/chain.h"
#include "index/postgres/commit.h"
#include "index/postgres/content.h"
#include "index/postgres/engine.h"

#include "base/bytes.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum {
	EDIT_PREFETCH = 4000,          /* operations read in advance at once */
	EDIT_PREFETCH_BYTES = 1 << 20, /* most bytes of their inline files */
	EDIT_ROWS = 10000,             /* rows of one statement */
	EDIT_FOLDERS = 1000,           /* folders scanned by one statement */
};
static const int64_t EDIT_ALL = INT64_MAX; /* all rows of the line, with those of the commit being made */

static const char EDIT_FIND[] =
	CAIRN_PG_CHAIN "SELECT k.n, e.since, e.oid, coalesce(e.content, 0), coalesce(c.size, 0)"
		       " FROM unnest($3::bytea[], $4::bytea[]) WITH ORDINALITY k(folder, name, n)" CAIRN_PG_CHAIN_ENTRY
		       " LEFT JOIN content c ON c.id = e.content WHERE e.oid IS NOT NULL";
/* For thousands of values at once: joins only tables by an index. min(id + 0) prevents a walk over all ids. */
#define EDIT_MADE                                                                                                      \
	" made AS MATERIALIZED (SELECT k.*, CASE WHEN k.known IS NULL AND k.nth = 1 THEN"                              \
	" nextval((SELECT pg_get_serial_sequence('content', 'id')::regclass)) END AS id FROM k),"
/* Makes contents that the repository lacks, and counts inline ones. */
static const char EDIT_INLINE[] =
	"WITH k AS MATERIALIZED (SELECT u.n, u.key, u.body, (SELECT min(c.id + 0) FROM content c WHERE c.repo = $1"
	" AND c.key = u.key AND c.body = u.body) AS known, row_number() OVER (PARTITION BY u.key, u.body) AS nth"
	" FROM unnest($2::bigint[], $3::bytea[]) WITH ORDINALITY u(key, body, n))," EDIT_MADE
	" added AS (INSERT INTO content(id, repo, uses, size, key, body) SELECT id, $1::bigint, 0, octet_length(body),"
	" key, body FROM made WHERE id IS NOT NULL RETURNING size),"
	" s AS (SELECT coalesce(sum(size), 0)::bigint AS bytes FROM added),"
	" u AS (UPDATE repo SET stored = stored + s.bytes FROM s WHERE repo.id = $1 AND s.bytes > 0)"
	" SELECT m.n, coalesce(m.known, max(m.id) OVER (PARTITION BY m.key, m.body)), octet_length(m.body), s.bytes"
	" FROM made m CROSS JOIN s";
/* Makes contents of files that were uploaded to the repository, or for a proposal, under these SHA-256. */
static const char EDIT_FILES[] =
	"WITH k AS MATERIALIZED (SELECT u.n, u.sha256, m.file, f.size, (SELECT min(c.id + 0) FROM content c"
	" WHERE c.file = m.file AND c.repo = $1 AND c.sha256 = u.sha256) AS known,"
	" row_number() OVER (PARTITION BY u.sha256) AS nth FROM unnest($3::bytea[]) WITH ORDINALITY u(sha256, n)"
	" CROSS JOIN LATERAL " CAIRN_PG_CLAIMED " m"
	" CROSS JOIN LATERAL (SELECT size FROM file WHERE id = m.file LIMIT 1) f)," EDIT_MADE
	" added AS (INSERT INTO content(id, repo, uses, size, sha256, file) SELECT id, $1::bigint, 0, size, sha256, file"
	" FROM made WHERE id IS NOT NULL)"
	" SELECT m.n, coalesce(m.known, max(m.id) OVER (PARTITION BY m.sha256)), m.size FROM made m";
/* Makes contents whose bytes are fetched later. A content without a pointer counts as an inline one. */
static const char EDIT_ABSENT[] =
	"WITH k AS MATERIALIZED (SELECT u.n, u.size, u.key, u.sha256, u.path, nextval((SELECT"
	" pg_get_serial_sequence('content', 'id')::regclass)) AS id"
	" FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $6::bytea[])"
	" WITH ORDINALITY u(size, key, sha256, path, n)),"
	" added AS (INSERT INTO content(id, repo, uses, size, key, sha256, since, path) SELECT id, $1::bigint, 0, size,"
	" CASE WHEN sha256 = '' THEN key END, nullif(sha256, ''), CASE WHEN sha256 <> '' THEN $5::bigint END,"
	" CASE WHEN sha256 <> '' THEN path END FROM k RETURNING size, key),"
	" s AS (SELECT coalesce(sum(size), 0)::bigint AS bytes FROM added WHERE key IS NOT NULL),"
	" u AS (UPDATE repo SET stored = stored + s.bytes FROM s WHERE repo.id = $1 AND s.bytes > 0)"
	" SELECT k.n, k.id, k.size, s.bytes FROM k CROSS JOIN s";
static const char EDIT_SET[] =
	"INSERT INTO entry(line, folder, name, since, oid, content) SELECT $1, k.folder, k.name, $2, nullif(k.oid, ''),"
	" nullif(k.content, 0) FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::bigint[])"
	" k(folder, name, oid, content) ON CONFLICT(line, folder, name, since) DO UPDATE SET oid = excluded.oid,"
	" content = excluded.content";
static const char EDIT_REVIVE[] =
	"UPDATE content c SET file = CASE WHEN c.key IS NULL THEN s.file END,"
	" body = CASE WHEN c.key IS NOT NULL THEN s.body END FROM unnest($1::bigint[], $2::bigint[]) k(id, same)"
	" JOIN content s ON s.id = k.same WHERE c.id = k.id AND (c.key = s.key OR c.sha256 IS NOT NULL AND (c.file IS NULL"
	" OR (SELECT true FROM file_owner w WHERE w.file = c.file AND w.sha256 = c.sha256"
	" AND w.scope = (SELECT scope FROM repo WHERE id = c.repo) AND w.proof < 3 LIMIT 1) IS NOT NULL))";
static const char EDIT_SCAN[] = CAIRN_PG_CHAIN
	"SELECT e.folder, e.name, e.since, e.oid, coalesce(e.content, 0), coalesce(c.size, 0) FROM " CAIRN_PG_CHAIN_PAGE
	" LEFT JOIN content c ON c.id = e.content ORDER BY e.folder, e.name";
/* Reads entries of several folders in order, in the first folder only those after a name. unnest() returns the folders
 * in order, and each lateral join keeps the order; the reader checks it. */
static const char EDIT_TREES[] = CAIRN_PG_CHAIN
	"SELECT k.n, x.name, x.oid, x.content IS NULL FROM unnest($3::bytea[]) WITH ORDINALITY k(folder, n)"
	" CROSS JOIN LATERAL (SELECT DISTINCT ON (y.name) y.* FROM chain h CROSS JOIN LATERAL"
	" (SELECT DISTINCT ON (r.name) r.name, r.oid, r.content FROM entry r WHERE r.line = h.line"
	" AND r.folder = k.folder AND r.since <= h.upto AND r.name > CASE WHEN k.n = 1 THEN $4 ELSE '' END"
	" ORDER BY r.name, r.since DESC LIMIT $5) y ORDER BY y.name, h.n LIMIT $5) x LIMIT $5";

/** The content of an operation that puts a file. */
struct cairn_pg_edit_content {
	int64_t id, size_bytes; /* id 0: it does not exist */
};

/** The entry of a path, after the operations already applied. */
struct cairn_pg_edit_path {
	struct cairn_edit_entry entry;
	bool unsent;
	size_t folder_len;
	char path[];
};

/* --- paths -------------------------------------------------------------------------------------------------------- */

static int edit_path_compare(const void *a, const void *b)
{
	return strcmp(((const struct cairn_pg_edit_path *)a)->path, ((const struct cairn_pg_edit_path *)b)->path);
}

/* Finds or adds a path, without an entry. @return NULL: no memory */
static struct cairn_pg_edit_path *edit_note(struct cairn_pg_edit *edit, const char *folder, const char *name,
					    bool *added)
{
	size_t folder_len = strlen(folder), name_len = strlen(name);
	*added = false;
	struct cairn_pg_edit_path *made = calloc(1, sizeof(*made) + folder_len + name_len + 2);
	if (!made)
		return NULL;
	made->folder_len = folder_len;
	memcpy(made->path, folder, folder_len);
	made->path[folder_len] = '/';
	memcpy(made->path + folder_len + (folder_len > 0), name, name_len + 1);
	struct cairn_pg_edit_path **at = tsearch(made, &edit->paths, edit_path_compare);
	struct cairn_pg_edit_path *found = at ? *at : NULL;
	*added = found == made;
	if (!*added)
		free(made);
	return found;
}

static const char *edit_name(const struct cairn_pg_edit_path *path)
{
	return path->path + path->folder_len + (path->folder_len > 0);
}

static void edit_add_path(const struct cairn_pg_edit_path *path, struct cairn_pg_array *folders,
			  struct cairn_pg_array *names)
{
	cairn_pg_add_bytes(folders, path->path, path->folder_len);
	cairn_pg_add_bytes(names, edit_name(path), strlen(edit_name(path)));
}

/* Reads since, oid, content and size from a column on. */
static bool edit_entry(const PGresult *r, int row, int column, struct cairn_edit_entry *out)
{
	*out = (struct cairn_edit_entry){
		.found = true,
		.since = cairn_pg_get_int8(r, row, column),
		.content = cairn_pg_get_int8(r, row, column + 2),
		.size_bytes = cairn_pg_get_int8(r, row, column + 3),
	};
	return cairn_pg_get_oid(r, row, column + 1, &out->oid);
}

/* --- reading in advance ------------------------------------------------------------------------------------------- */

/* A batch of reads. */
struct edit_prefetch {
	struct cairn_pg_edit *edit;
	struct cairn_pg_array folders, names, keys, bodies, sha256s;
	struct cairn_pg_array absent_sizes, absent_keys, absent_sha256s, absent_paths;
	struct cairn_pg_edit_path **paths; /* owned: the paths that folders and names list */
	size_t n_paths, paths_cap;
	uint32_t inline_ops[EDIT_PREFETCH], file_ops[EDIT_PREFETCH],
		absent_ops[EDIT_PREFETCH]; /* for bodies, sha256s and absent_…: indexes in contents */
	size_t n_bytes;
	unsigned asked_paths, asked_inline, asked_files, asked_absent;
};

static void edit_look_free(struct edit_prefetch **look)
{
	struct edit_prefetch *l = *look;
	if (!l)
		return;
	cairn_pg_array_fini(&l->folders);
	cairn_pg_array_fini(&l->names);
	cairn_pg_array_fini(&l->keys);
	cairn_pg_array_fini(&l->bodies);
	cairn_pg_array_fini(&l->sha256s);
	cairn_pg_array_fini(&l->absent_sizes);
	cairn_pg_array_fini(&l->absent_keys);
	cairn_pg_array_fini(&l->absent_sha256s);
	cairn_pg_array_fini(&l->absent_paths);
	free(l->paths);
	free(l);
}

static void edit_look_empty(struct edit_prefetch *l)
{
	cairn_pg_array_empty(&l->folders);
	cairn_pg_array_empty(&l->names);
	cairn_pg_array_empty(&l->keys);
	cairn_pg_array_empty(&l->bodies);
	cairn_pg_array_empty(&l->sha256s);
	cairn_pg_array_empty(&l->absent_sizes);
	cairn_pg_array_empty(&l->absent_keys);
	cairn_pg_array_empty(&l->absent_sha256s);
	cairn_pg_array_empty(&l->absent_paths);
	l->n_paths = l->n_bytes = 0;
}

/* @param[out] known  the path and all folders above it were queried already */
static enum cairn_status edit_prefetch_path(struct edit_prefetch *l, const char *folder, const char *name, bool *known)
{
	bool added;
	struct cairn_pg_edit_path *path = edit_note(l->edit, folder, name, &added);
	*known = !added;
	if (!path || !added)
		return path ? CAIRN_OK : CAIRN_E_NOMEM;
	if (l->n_paths == l->paths_cap) {
		size_t cap = l->paths_cap ? l->paths_cap * 2 : 256;
		struct cairn_pg_edit_path **paths = realloc(l->paths, cap * sizeof(struct cairn_pg_edit_path *));
		if (!paths)
			return CAIRN_E_NOMEM;
		l->paths = paths;
		l->paths_cap = cap;
	}
	l->paths[l->n_paths++] = path;
	edit_add_path(path, &l->folders, &l->names);
	return CAIRN_OK;
}

/* Queries a path and the folders above it. */
static enum cairn_status edit_prefetch_paths(struct edit_prefetch *l, const char *path)
{
	char at[CAIRN_INDEX_PATH_MAX + 1], folder[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status = CAIRN_OK;
	bool known = strlen(path) > CAIRN_INDEX_PATH_MAX; /* a path that is too long is refused later */
	(void)memccpy(at, path, '\0', sizeof(at));
	while (!known && status == CAIRN_OK && at[0]) {
		const char *name = cairn_entries_split(at, folder);
		status = edit_prefetch_path(l, folder, name, &known);
		(void)memccpy(at, folder, '\0', sizeof(at));
	}
	return status;
}

/* @param i  index of the operation and its content */
static enum cairn_status edit_prefetch_operation(struct edit_prefetch *l, uint32_t i)
{
	const struct cairn_index_operation *o = &l->edit->looked[i];
	if (o->kind == CAIRN_INDEX_PUT_INLINE) {
		l->inline_ops[l->bodies.n] = i;
		cairn_pg_add_int8(&l->keys, (int64_t)cairn_get_u64le(o->oid.b));
		cairn_pg_add_bytes(&l->bodies, o->bytes, o->len);
		l->n_bytes += o->len;
	} else if (o->kind == CAIRN_INDEX_PUT_FILE) {
		l->file_ops[l->sha256s.n] = i;
		cairn_pg_add_bytes(&l->sha256s, o->sha256, sizeof(o->sha256));
	} else if (o->kind == CAIRN_INDEX_PUT_ABSENT) {
		l->absent_ops[l->absent_sizes.n] = i;
		cairn_pg_add_int8(&l->absent_sizes, (int64_t)o->size_bytes);
		cairn_pg_add_int8(&l->absent_keys, (int64_t)cairn_get_u64le(o->oid.b));
		cairn_pg_add_bytes(&l->absent_sha256s, o->sha256, o->has_pointer ? sizeof(o->sha256) : 0);
		cairn_pg_add_bytes(&l->absent_paths, o->path, strlen(o->path));
	}
	return edit_prefetch_paths(l, o->path);
}

static void edit_queue_prefetch(struct edit_prefetch *l)
{
	struct cairn_pg_edit *edit = l->edit;
	l->asked_paths = cairn_pg_queue(&edit->tx->pg, EDIT_FIND,
					CAIRN_ARGS(cairn_db_int(edit->line), cairn_db_int(EDIT_ALL),
						   cairn_pg_byteas(&l->folders), cairn_pg_byteas(&l->names)));
	l->asked_inline = cairn_pg_queue(
		&edit->tx->pg, EDIT_INLINE,
		CAIRN_ARGS(cairn_db_int(edit->repo), cairn_pg_int8s(&l->keys), cairn_pg_byteas(&l->bodies)));
	l->asked_files = cairn_pg_queue(&edit->tx->pg, EDIT_FILES,
					CAIRN_ARGS(cairn_db_int(edit->repo),
						   cairn_db_int(edit->holder != 0 ? edit->holder : edit->owner),
						   cairn_pg_byteas(&l->sha256s)));
	if (l->absent_sizes.n == 0)
		return; /* the usual case: only a mirror makes contents without bytes */
	l->asked_absent =
		cairn_pg_queue(&edit->tx->pg, EDIT_ABSENT,
			       CAIRN_ARGS(cairn_db_int(edit->repo), cairn_pg_int8s(&l->absent_sizes),
					  cairn_pg_int8s(&l->absent_keys), cairn_pg_byteas(&l->absent_sha256s),
					  cairn_db_int(edit->edit.commit), cairn_pg_byteas(&l->absent_paths)));
}

/* Stores the contents of operations, by their numbers in the batch. */
static void edit_took_contents(struct cairn_pg_edit *edit, const PGresult *r, const uint32_t *operations)
{
	for (int i = 0; i < PQntuples(r); i++) {
		struct cairn_pg_edit_content *content = &edit->contents[operations[cairn_pg_get_int8(r, i, 0) - 1]];
		content->id = cairn_pg_get_int8(r, i, 1);
		content->size_bytes = cairn_pg_get_int8(r, i, 2);
		/* Remove the content unless an entry uses it. */
		cairn_pg_add_int8(&edit->used, content->id);
		cairn_pg_add_int8(&edit->times, 0);
	}
}

static enum cairn_status edit_look_now(struct edit_prefetch *l)
{
	struct cairn_pg_edit *edit = l->edit;
	edit_queue_prefetch(l);
	enum cairn_status status = cairn_pg_exchange(&edit->tx->pg);
	if (status != CAIRN_OK)
		return status;
	const PGresult *r = edit->tx->pg.results[l->asked_paths];
	for (int i = 0; i < PQntuples(r); i++)
		if (!edit_entry(r, i, 1, &l->paths[cairn_pg_get_int8(r, i, 0) - 1]->entry))
			return CAIRN_E_DAMAGED;
	r = edit->tx->pg.results[l->asked_inline];
	if (PQntuples(r) > 0)
		cairn_records_grow(&edit->tx->records, edit->owner, cairn_pg_get_int8(r, 0, 3));
	edit_took_contents(edit, r, l->inline_ops);
	edit_took_contents(edit, edit->tx->pg.results[l->asked_files], l->file_ops);
	if (l->absent_sizes.n > 0) {
		r = edit->tx->pg.results[l->asked_absent];
		cairn_records_grow(&edit->tx->records, edit->owner, cairn_pg_get_int8(r, 0, 3));
		edit_took_contents(edit, r, l->absent_ops);
	}
	edit_look_empty(l);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_edit_prefetch(struct cairn_pg_edit *edit, const struct cairn_index_operation *operations,
					 uint32_t n)
{
	CLEANUP(edit_look_free) struct edit_prefetch *l = calloc(1, sizeof(*l));
	free(edit->contents);
	edit->looked = operations;
	edit->contents = calloc((size_t)n + 1, sizeof(*edit->contents));
	if (!l || !edit->contents)
		return CAIRN_E_NOMEM;
	l->edit = edit;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0, before = 0; i < n && status == CAIRN_OK; i++) {
		status = edit_prefetch_operation(l, i);
		if (status == CAIRN_OK && (i + 1 - before == EDIT_PREFETCH || l->n_bytes >= EDIT_PREFETCH_BYTES)) {
			status = edit_look_now(l);
			before = i + 1;
		}
	}
	return status == CAIRN_OK ? edit_look_now(l) : status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct edit_rows {
	struct cairn_pg_array folders, names, oids, contents;
};

static void edit_rows_fini(struct edit_rows *rows)
{
	cairn_pg_array_fini(&rows->folders);
	cairn_pg_array_fini(&rows->names);
	cairn_pg_array_fini(&rows->oids);
	cairn_pg_array_fini(&rows->contents);
}

static void edit_queue_piece(struct cairn_pg_edit *edit, size_t first, size_t end)
{
	CLEANUP(edit_rows_fini) struct edit_rows rows = {0};
	for (size_t i = first; i < end; i++) {
		struct cairn_pg_edit_path *path = edit->sent[i];
		edit_add_path(path, &rows.folders, &rows.names);
		cairn_pg_add_bytes(&rows.oids, path->entry.oid.b, path->entry.found ? sizeof(path->entry.oid.b) : 0);
		cairn_pg_add_int8(&rows.contents, path->entry.found ? path->entry.content : 0);
		path->unsent = false;
	}
	(void)cairn_pg_queue(&edit->tx->pg, EDIT_SET,
			     CAIRN_ARGS(cairn_db_int(edit->line), cairn_db_int(edit->edit.commit),
					cairn_pg_byteas(&rows.folders), cairn_pg_byteas(&rows.names),
					cairn_pg_byteas(&rows.oids), cairn_pg_int8s(&rows.contents)));
}

/* Queues the rows in pieces, and sends all pieces but the last. */
static enum cairn_status edit_queue_rows(struct cairn_pg_edit *edit)
{
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < edit->n_sent && status == CAIRN_OK; i += EDIT_ROWS) {
		bool last = edit->n_sent - i <= EDIT_ROWS;
		edit_queue_piece(edit, i, last ? edit->n_sent : i + EDIT_ROWS);
		status = last ? CAIRN_OK : cairn_pg_exchange(&edit->tx->pg);
	}
	edit->n_sent = 0;
	return status;
}

enum cairn_status cairn_pg_edit_queue(struct cairn_pg_edit *edit, bool changed, unsigned *used)
{
	enum cairn_status status = changed ? edit_queue_rows(edit) : CAIRN_OK;
	if (edit->revived.n > 0) {
		(void)cairn_pg_queue(&edit->tx->pg, EDIT_REVIVE,
				     CAIRN_ARGS(cairn_pg_int8s(&edit->revived), cairn_pg_int8s(&edit->sames)));
	}
	*used = cairn_pg_queue_use(edit->tx, &edit->used, &edit->times);
	return status;
}

enum cairn_status cairn_pg_edit_flush(struct cairn_pg_edit *edit)
{
	unsigned used;
	enum cairn_status status = cairn_pg_edit_queue(edit, true, &used);
	if (status == CAIRN_OK)
		status = cairn_pg_exchange(&edit->tx->pg);
	if (status == CAIRN_OK)
		cairn_pg_used(edit->tx, used, edit->owner);
	cairn_pg_array_empty(&edit->used);
	cairn_pg_array_empty(&edit->times);
	cairn_pg_array_empty(&edit->revived);
	cairn_pg_array_empty(&edit->sames);
	return status;
}

static void edit_path_free(void *path)
{
	free(path);
}

void cairn_pg_edit_fini(struct cairn_pg_edit *edit)
{
	cairn_edit_fini(&edit->edit);
	free(edit->contents);
	tdestroy(edit->paths, edit_path_free);
	free(edit->sent);
	cairn_pg_array_fini(&edit->used);
	cairn_pg_array_fini(&edit->times);
	cairn_pg_array_fini(&edit->revived);
	cairn_pg_array_fini(&edit->sames);
	cairn_pg_clearp(&edit->page);
}

/* --- functions of the edit ---------------------------------------------------------------------------------------- */

/* Finds an entry. Nearly all paths were read in advance. */
static enum cairn_status edit_find(void *ctx, const char *folder, const char *name, struct cairn_edit_entry *out)
{
	struct cairn_pg_edit *edit = ctx;
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array folders = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array names = {0};
	const PGresult *r;
	bool added;
	struct cairn_pg_edit_path *path = edit_note(edit, folder, name, &added);
	*out = (struct cairn_edit_entry){0};
	if (!path)
		return CAIRN_E_NOMEM;
	if (!added) {
		*out = path->entry;
		return CAIRN_OK;
	}
	edit_add_path(path, &folders, &names);
	enum cairn_status status = cairn_pg_ask(&edit->tx->pg, EDIT_FIND,
						CAIRN_ARGS(cairn_db_int(edit->line), cairn_db_int(EDIT_ALL),
							   cairn_pg_byteas(&folders), cairn_pg_byteas(&names)),
						&r);
	if (status == CAIRN_OK && PQntuples(r) > 0 && !edit_entry(r, 0, 1, &path->entry))
		return CAIRN_E_DAMAGED;
	*out = path->entry;
	return status;
}

static int64_t edit_page_rows(const struct cairn_pg_edit *edit)
{
	return edit->page_rows != 0 ? edit->page_rows : EDIT_ROWS;
}

static enum cairn_status edit_will_send(struct cairn_pg_edit *edit, struct cairn_pg_edit_path *path)
{
	if (path->unsent)
		return CAIRN_OK;
	if (edit->n_sent == edit->sent_cap) {
		size_t cap = edit->sent_cap ? edit->sent_cap * 2 : 256;
		struct cairn_pg_edit_path **sent = realloc(edit->sent, cap * sizeof(struct cairn_pg_edit_path *));
		if (!sent)
			return CAIRN_E_NOMEM;
		edit->sent = sent;
		edit->sent_cap = cap;
	}
	edit->sent[edit->n_sent++] = path;
	path->unsent = true;
	return CAIRN_OK;
}

static enum cairn_status edit_write(void *ctx, const char *folder, const char *name,
				    const struct cairn_edit_entry *before, const struct cairn_edit_entry *after)
{
	struct cairn_pg_edit *edit = ctx;
	bool added;
	/* The write replaces a row of an earlier operation, whose content loses an entry. */
	int64_t over = before->since == edit->edit.commit ? before->content : 0;
	struct cairn_pg_edit_path *path = edit_note(edit, folder, name, &added);
	if (!path)
		return CAIRN_E_NOMEM;
	path->entry = *after;
	path->entry.since = edit->edit.commit;
	if (after->content != 0) {
		cairn_pg_add_int8(&edit->used, after->content);
		cairn_pg_add_int8(&edit->times, 1);
	}
	if (over != 0) {
		cairn_pg_add_int8(&edit->used, over);
		cairn_pg_add_int8(&edit->times, -1);
	}
	return edit_will_send(edit, path);
}

static enum cairn_status edit_content(void *ctx, const struct cairn_index_operation *operation,
				      struct cairn_edit_content *out)
{
	struct cairn_pg_edit *edit = ctx;
	const struct cairn_pg_edit_content *content = &edit->contents[operation - edit->looked];
	out->id = content->id;
	out->size_bytes = content->size_bytes;
	return content->id != 0 ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

static enum cairn_status edit_revive(void *ctx, int64_t content, int64_t same)
{
	struct cairn_pg_edit *edit = ctx;
	cairn_pg_add_int8(&edit->revived, content);
	cairn_pg_add_int8(&edit->sames, same);
	return CAIRN_OK;
}

/* --- scans -------------------------------------------------------------------------------------------------------- */

/* @param folder, name  buffers for the row's path */
static enum cairn_status edit_scan_row(struct cairn_pg_edit *edit, const PGresult *r, int row,
				       struct cairn_entries_range *at, cairn_edit_visit *visit, void *visit_ctx)
{
	bool added;
	if (!cairn_pg_get_text(r, row, 0, at->folder, sizeof(at->folder)) ||
	    !cairn_pg_get_text(r, row, 1, at->name, sizeof(at->name)))
		return CAIRN_E_DAMAGED;
	struct cairn_pg_edit_path *path = edit_note(edit, at->folder, at->name, &added);
	if (!path)
		return CAIRN_E_NOMEM;
	if (PQgetisnull(r, row, 3))
		return CAIRN_OK;
	if (added && !edit_entry(r, row, 2, &path->entry))
		return CAIRN_E_DAMAGED;
	return visit(visit_ctx, at->folder, at->name, path->entry.content == 0, &path->entry.oid);
}

/* Queues the pending rows, then visits the line's entries in a range of paths, page by page. */
static enum cairn_status edit_scan_range(struct cairn_pg_edit *edit, const char *folder, const char *name,
					 const char *last_folder, cairn_edit_visit *visit, void *visit_ctx,
					 uint64_t *n_rows)
{
	struct cairn_entries_range at = {0};
	/* Read no more rows than a piece may visit. */
	const int64_t page_rows = edit->edit.piece_rows != 0 ? edit->edit.piece_rows : edit_page_rows(edit);
	(void)memccpy(at.folder, folder, '\0', sizeof(at.folder));
	(void)memccpy(at.name, name, '\0', sizeof(at.name));
	enum cairn_status status = edit_queue_rows(edit);
	for (bool more = true; more && status == CAIRN_OK;) {
		const PGresult *r;
		status = cairn_pg_ask(&edit->tx->pg, EDIT_SCAN,
				      CAIRN_ARGS(cairn_db_int(edit->line), cairn_db_int(EDIT_ALL),
						 cairn_db_path(at.folder), cairn_db_path(at.name),
						 cairn_db_path(last_folder), cairn_db_int(page_rows)),
				      &r);
		int n = status == CAIRN_OK ? PQntuples(r) : 0, row = 0;
		while (row < n && status == CAIRN_OK)
			status = edit_scan_row(edit, r, row++, &at, visit, visit_ctx);
		*n_rows += (uint64_t)row; /* the visitor may end the scan within a page */
		more = n == page_rows;
	}
	return status;
}

static enum cairn_status edit_will_scan(void *ctx, char *const *folders, size_t n)
{
	struct cairn_pg_edit *edit = ctx;
	edit->folders = folders;
	edit->n_folders = n;
	edit->n_begun = edit->first = edit->end = 0;
	cairn_pg_clearp(&edit->page);
	return edit_queue_rows(edit);
}

/* Reads entries of the folders from `first` on, in the first folder only those after a name. */
static enum cairn_status edit_trees(struct cairn_pg_edit *edit, size_t first, const void *name, size_t name_len)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array folders = {0};
	const PGresult *r;
	edit->first = first;
	edit->end = edit->n_folders - first < EDIT_FOLDERS ? edit->n_folders : first + EDIT_FOLDERS;
	edit->row = 0;
	for (size_t i = first; i < edit->end; i++)
		cairn_pg_add_bytes(&folders, edit->folders[i], strlen(edit->folders[i]));
	enum cairn_status status =
		cairn_pg_ask(&edit->tx->pg, EDIT_TREES,
			     CAIRN_ARGS(cairn_db_int(edit->line), cairn_db_int(EDIT_ALL), cairn_pg_byteas(&folders),
					cairn_db_bytes(name, name_len), cairn_db_int(edit_page_rows(edit))),
			     &r);
	cairn_pg_clearp(&edit->page);
	if (status == CAIRN_OK)
		edit->page = cairn_pg_keep(&edit->tx->pg, r);
	return status;
}

/* Returns the folder of the page's next row. @return n_folders: no more rows */
static size_t edit_row_folder(const struct cairn_pg_edit *edit, int row)
{
	return edit->page && row < PQntuples(edit->page)
		       ? edit->first + (size_t)cairn_pg_get_int8(edit->page, row, 0) - 1
		       : edit->n_folders;
}

/* Reads until the next row of the page belongs to the folder, or the folder has no more. */
static enum cairn_status edit_tree_fill(struct cairn_pg_edit *edit, size_t folder)
{
	int n = edit->page ? PQntuples(edit->page) : 0;
	if (edit->row < n)
		return CAIRN_OK;
	if (folder >= edit->end)
		return edit_trees(edit, folder, "", 0);
	if (n < edit_page_rows(edit))
		return CAIRN_OK;
	char name[CAIRN_INDEX_PATH_MAX + 1];
	if (!cairn_pg_get_text(edit->page, n - 1, 1, name, sizeof(name)))
		return CAIRN_E_DAMAGED;
	return edit_trees(edit, edit_row_folder(edit, n - 1), name, strlen(name));
}

/* Scans the next one of the announced folders. */
static enum cairn_status edit_scan_tree(struct cairn_pg_edit *edit, const char *folder, cairn_edit_visit *visit,
					void *visit_ctx, uint64_t *n_rows)
{
	char name[CAIRN_INDEX_PATH_MAX + 1];
	struct cairn_git_oid oid;
	size_t at = edit->n_begun++;
	for (;;) {
		enum cairn_status status = edit_tree_fill(edit, at);
		if (status != CAIRN_OK)
			return status;
		size_t of = edit_row_folder(edit, edit->row);
		if (of > at)
			return CAIRN_OK;
		int row = edit->row++;
		++*n_rows;
		bool gone = PQgetisnull(edit->page, row, 2);
		if (of < at || !cairn_pg_get_text(edit->page, row, 1, name, sizeof(name)) ||
		    (!gone && !cairn_pg_get_oid(edit->page, row, 2, &oid)))
			return CAIRN_E_DAMAGED;
		if (!gone)
			status = visit(visit_ctx, folder, name, cairn_pg_get_int8(edit->page, row, 3) != 0, &oid);
		if (status != CAIRN_OK)
			return status;
	}
}

static enum cairn_status edit_scan(void *ctx, const char *folder, const char *name, const char *last_folder,
				   cairn_edit_visit *visit, void *visit_ctx, uint64_t *n_rows)
{
	struct cairn_pg_edit *edit = ctx;
	bool named = edit->n_begun < edit->n_folders;
	return named ? edit_scan_tree(edit, folder, visit, visit_ctx, n_rows)
		     : edit_scan_range(edit, folder, name, last_folder, visit, visit_ctx, n_rows);
}

const struct cairn_edit_engine CAIRN_PG_EDIT = {
	.find = edit_find,
	.write = edit_write,
	.scan = edit_scan,
	.will_scan = edit_will_scan,
	.content = edit_content,
	.revive = edit_revive,
};
