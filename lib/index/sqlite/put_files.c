/* Adds the files of a verified shard together, because a statement costs as much as a row or two. */
#include "index/rows.h"
#include "index/sqlite/put_shard.h"

#include "base/clock.h"
#include "base/sum.h"

#include <stdlib.h>

/* Most bytes of stored terms of files that are added together. */
enum { PUT_FILES_TERMS_MAX = 32 * 1024 };

static enum cairn_status put_files_term(struct put_shard *p, struct put_files_file *f, uint32_t i)
{
	const struct cairn_index_new_term *term = &f->terms[i];
	struct put_shard_xorb *xorb = &p->xorbs[term->xorb];
	if (term->start >= term->end || term->end > xorb->n_chunks)
		return put_shard_conflict(p, "xorb.differs", &p->put->shard->xorbs[term->xorb].hash,
					  "lacks the chunks that a term names");
	cairn_rows_put_new_term(f->rows + (size_t)i * CAIRN_ROWS_TERM_BYTES, term, xorb->id);
	if (xorb->of_file != p->n_files) {
		xorb->of_file = p->n_files;
		f->xorbs[f->n_xorbs++] = xorb->id;
	}
	return CAIRN_OK;
}

static enum cairn_status put_files_terms(struct put_shard *p, struct put_files_file *f)
{
	uint32_t n = f->file->n_terms;
	if (n == 0)
		return CAIRN_OK;
	f->rows = malloc((size_t)n * CAIRN_ROWS_TERM_BYTES);
	f->xorbs = malloc((size_t)n * sizeof(*f->xorbs));
	if (!f->rows || !f->xorbs)
		return CAIRN_E_NOMEM;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < n; i++)
		status = put_files_term(p, f, i);
	return status;
}

static CAIRN_WRITES(TX_ADD_FILE,
		    "INSERT INTO file(hash, size, terms, at) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(hash) DO NOTHING");

/* Adds a few files with a statement each; beginning a statement costs as much as a row or two. */
static enum cairn_status put_files_add_each(struct put_shard *p)
{
	sqlite3_stmt *add = cairn_tx_stmt(p->tx, &TX_ADD_FILE);
	enum cairn_status status = CAIRN_OK;
	sqlite3_bind_int64(add, 4, cairn_clock_unix_s());
	for (uint32_t i = 0; status == CAIRN_OK && i < p->n_waiting; i++) {
		struct put_files_file *f = &p->files[i];
		cairn_sql_bind_hash(add, 1, &f->file->hash);
		sqlite3_bind_int64(add, 2, (int64_t)f->file->size_bytes);
		cairn_sql_bind_blob(add, 3, f->rows, (size_t)f->file->n_terms * CAIRN_ROWS_TERM_BYTES);
		status = cairn_sql_run(add);
		if (status == CAIRN_OK && sqlite3_changes(p->tx->db) > 0)
			f->id = sqlite3_last_insert_rowid(p->tx->db);
	}
	return status;
}

static enum cairn_status put_files_find(struct put_shard *p, const struct cairn_index_new_file *file, int64_t *id)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(p->tx, &CAIRN_TX_FIND_FILE);
	cairn_sql_bind_hash(find, 1, &file->hash);
	bool row;
	enum cairn_status status = cairn_sql_step(find, &row);
	if (status != CAIRN_OK || !row)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	*id = sqlite3_column_int64(find, 0);
	return CAIRN_OK;
}

/* Returns the highest number ever given. */
static CAIRN_WRITES(TX_LAST_FILE, "SELECT seq FROM sqlite_sequence WHERE name = 'file'");

/* Returns the number of the next file. Numbers are assigned here, so that they are known before the rows are added. */
static enum cairn_status put_files_next(struct put_shard *p, int64_t *next)
{
	int64_t last;
	enum cairn_status status = cairn_tx_number(p->tx, &TX_LAST_FILE, NULL, &last);
	*next = cairn_sum(last, 1);
	return status;
}

/* Finds known files: their rows do not have the assigned number. */
static enum cairn_status put_files_sort_out(struct put_shard *p)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < p->n_waiting; i++) {
		struct put_files_file *f = &p->files[i];
		int64_t id = 0;
		status = put_files_find(p, f->file, &id);
		if (id != f->id)
			f->id = 0;
	}
	return status;
}

/* OR FAIL: a failure undoes the whole write anyway, so SQLite need not copy pages to undo the statement. */
static CAIRN_WRITES(TX_ADD_FILES, "INSERT OR FAIL INTO file(id, hash, size, terms, at)"
				  " SELECT a, bytes, b, more, ?5 FROM new_row WHERE true ON CONFLICT(hash) DO NOTHING");

static enum cairn_status put_files_add_together(struct put_shard *p)
{
	struct cairn_new_rows *rows = &p->tx->files;
	const struct cairn_new_rows_stmts stmts = {.many = cairn_tx_stmt(p->tx, &TX_ADD_FILES)};
	int64_t next;
	uint64_t n_added = 0;
	enum cairn_status status = put_files_next(p, &next);
	sqlite3_bind_int64(stmts.many, 5, cairn_clock_unix_s());
	for (uint32_t i = 0; i < p->n_waiting; i++) {
		struct put_files_file *f = &p->files[i];
		f->id = cairn_sum(next, i);
		rows->row[rows->n++] = (struct cairn_new_row){
			.a = f->id,
			.b = (int64_t)f->file->size_bytes,
			.bytes = f->file->hash.b,
			.len = sizeof(f->file->hash.b),
			.more = f->rows,
			.more_len = (size_t)f->file->n_terms * CAIRN_ROWS_TERM_BYTES,
		};
	}
	if (status == CAIRN_OK)
		status = cairn_new_rows_add(&p->tx->new_rows, stmts, rows, &n_added);
	return status == CAIRN_OK && n_added < p->n_waiting ? put_files_sort_out(p) : status;
}

static enum cairn_status put_files_new(struct put_shard *p, const struct put_files_file *f)
{
	enum cairn_status status = CAIRN_OK;
	cairn_add(&p->tx->counts.files, 1);
	p->put->added = true;
	if (p->first_file == 0)
		p->first_file = f->id;
	for (uint32_t i = 0; status == CAIRN_OK && i < f->n_xorbs; i++)
		status = cairn_tx_refer(p->tx, f->id, f->xorbs[i]);
	return status;
}

/* Adds owners and claims to a known file. */
static enum cairn_status put_files_existing(struct put_shard *p, const struct put_files_file *f, int64_t *id)
{
	bool mended = false;
	enum cairn_status status = put_files_find(p, f->file, id);
	if (status == CAIRN_OK && p->first_file != 0 && *id >= p->first_file)
		status = put_shard_add_all(p); /* this shard has the file twice */
	if (status == CAIRN_OK && f->file->n_terms > 0)
		status = cairn_tx_mend_file(p->tx, *id, f->rows, (size_t)f->file->n_terms * CAIRN_ROWS_TERM_BYTES,
					    f->xorbs, f->n_xorbs, &mended);
	if (mended)
		p->put->added = true;
	return status;
}

/* Adds the owner of a new file, which has none yet, so no lookup is needed. */
static enum cairn_status put_files_own_new(struct put_shard *p, int64_t id, const struct cairn_index_new_file *file)
{
	p->new_bytes += (int64_t)cairn_index_file_counts(file->size_bytes);
	p->tx->owners.row[p->tx->owners.n++] = (struct cairn_new_row){
		.a = id,
		.bytes = file->sha256,
		.len = file->has_sha256 ? sizeof(file->sha256) : 0,
	};
	return p->tx->owners.n == CAIRN_NEW_ROWS_MAX ? put_shard_add_owners(p) : CAIRN_OK;
}

/* Adds an owner, or a claim that counts for that owner alone. */
static enum cairn_status put_files_own(struct put_shard *p, int64_t id, const struct cairn_index_new_file *file)
{
	bool added;
	enum cairn_status status = file->has_sha256 ? cairn_tx_claim(p->tx, id, p->owner, file->sha256, &added)
						    : cairn_tx_own(p->tx, id, p->owner, &added);
	p->put->added = p->put->added || added;
	return status;
}

static CAIRN_WRITES(TX_RENEW_FILE_OWNER, "UPDATE file_owner SET at = unixepoch() WHERE file = ?1 AND scope = ?2");

/* Restarts the grace time of a file that a repository of the hub has already, because a commit may follow. */
static enum cairn_status put_files_renew(struct put_shard *p, int64_t id)
{
	return cairn_tx_run(p->tx, &TX_RENEW_FILE_OWNER, CAIRN_ARGS(cairn_db_int(id), cairn_db_int(p->owner)));
}

static enum cairn_status put_files_register(struct put_shard *p, const struct put_files_file *f)
{
	int64_t id = f->id;
	bool known = id == 0;
	enum cairn_status status = known ? put_files_existing(p, f, &id) : put_files_new(p, f);
	if (status == CAIRN_OK)
		status = known ? put_files_own(p, id, f->file) : put_files_own_new(p, id, f->file);
	if (status == CAIRN_OK && known && cairn_index_is_repo_owner(p->put->owner))
		status = put_files_renew(p, id);
	/* The first chunk of each file is eligible whatever its hash, so that a client finds the start of a known
	 * file. */
	if (status == CAIRN_OK && f->file->n_terms > 0)
		status = put_shard_dedupe(p, f->file->first_chunk, p->xorbs[f->terms->xorb].id, f->terms->start);
	return status;
}

static void put_files_drop(struct put_shard *p)
{
	for (uint32_t i = 0; i < p->n_waiting; i++) {
		free(p->files[i].rows);
		free(p->files[i].xorbs);
	}
	p->n_waiting = 0;
	p->n_waiting_terms = 0;
}

static enum cairn_status put_files_add(struct put_shard *p)
{
	enum cairn_status status =
		p->n_waiting <= CAIRN_NEW_ROWS_FEW ? put_files_add_each(p) : put_files_add_together(p);
	for (uint32_t i = 0; status == CAIRN_OK && i < p->n_waiting; i++)
		status = put_files_register(p, &p->files[i]);
	put_files_drop(p);
	return status;
}

void put_files_fini(struct put_shard *p)
{
	put_files_drop(p);
	free(p->files);
}

enum cairn_status put_files(struct put_shard *p)
{
	const struct cairn_index_new_shard *shard = p->put->shard;
	const struct cairn_index_new_term *terms = shard->terms;
	enum cairn_status status = CAIRN_OK;
	p->files = calloc((shard->n_files < CAIRN_NEW_ROWS_MAX ? shard->n_files : CAIRN_NEW_ROWS_MAX) + (size_t)1,
			  sizeof(*p->files));
	if (!p->files)
		return CAIRN_E_NOMEM;
	p->n_waiting = 0;
	for (uint32_t i = 0; status == CAIRN_OK && i < shard->n_files; terms += shard->files[i++].n_terms) {
		struct put_files_file *f = &p->files[p->n_waiting++];
		*f = (struct put_files_file){.file = &shard->files[i], .terms = terms};
		p->n_files++;
		p->n_waiting_terms += f->file->n_terms;
		status = put_files_terms(p, f);
		if (status == CAIRN_OK &&
		    (p->n_waiting == CAIRN_NEW_ROWS_MAX || p->n_waiting_terms >= PUT_FILES_TERMS_MAX))
			status = put_files_add(p);
	}
	return status == CAIRN_OK ? put_files_add(p) : status;
}
