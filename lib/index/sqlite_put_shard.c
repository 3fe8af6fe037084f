/* A verified shard: which xorbs arrived together, which chunks clients may ask about, which files there are. */
#include "index/sqlite_rows.h"
#include "index/sqlite_write.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

struct put_shard {
	struct cairn_tx *tx;
	struct cairn_index_write *write;
	int64_t id, scope, owner;
	uint64_t n_files; /* so far: names the file at hand */
};

static enum cairn_status put_shard_conflict(struct put_shard *p, const char *rule, const struct cairn_hash *xorb,
					    const char *what)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, xorb);
	return cairn_fail(&p->write->diag, CAIRN_E_CONFLICT, rule, CAIRN_NO_OFFSET, "xorb %s %s", text, what);
}

static struct cairn_tx_xorb *put_shard_slot(struct put_shard *p, const struct cairn_hash *hash)
{
	return &p->tx->xorbs[cairn_get_u32le(hash->b) % CAIRN_TX_XORBS];
}

static bool put_shard_slot_is(const struct put_shard *p, const struct cairn_tx_xorb *slot,
			      const struct cairn_hash *hash)
{
	return slot->of_write == p->tx->n_applied && cairn_hash_equal(&slot->hash, hash);
}

/* A xorb that this shard names is wanted again if it was about to go, and remembered, since a file's terms name the
 * same ones over and over. */
static enum cairn_status put_shard_remember(struct put_shard *p, const struct cairn_hash *hash,
					    const struct cairn_tx_known *known)
{
	*put_shard_slot(p, hash) = (struct cairn_tx_xorb){
		.hash = *hash,
		.id = known->id,
		.n_chunks = known->n_chunks,
		.of_write = p->tx->n_applied,
	};
	return known->retired ? cairn_tx_renew_xorb(p->tx, known->id) : CAIRN_OK;
}

/* The xorb of a term. @param[out] slot  valid until the next call */
static enum cairn_status put_shard_named(struct put_shard *p, const struct cairn_hash *hash,
					 struct cairn_tx_xorb **slot)
{
	*slot = put_shard_slot(p, hash);
	if (put_shard_slot_is(p, *slot, hash))
		return CAIRN_OK;
	struct cairn_tx_known known;
	enum cairn_status status = cairn_tx_find_xorb(p->tx, hash, &known);
	if (status != CAIRN_OK)
		return status;
	if (known.id == 0)
		return put_shard_conflict(p, "xorb.gone", hash,
					  "was removed since the shard was verified; upload it again");
	return put_shard_remember(p, hash, &known);
}

/* @param prefix  first 8 bytes of the chunk's hash */
static enum cairn_status put_shard_dedupe(struct put_shard *p, uint64_t prefix, int64_t xorb, uint32_t place)
{
	sqlite3_stmt *stmt = p->tx->stmt[CAIRN_TX_ADD_DEDUPE];
	sqlite3_bind_int64(stmt, 1, (int64_t)prefix);
	sqlite3_bind_int64(stmt, 2, p->scope);
	sqlite3_bind_int64(stmt, 3, xorb);
	sqlite3_bind_int64(stmt, 4, place);
	sqlite3_bind_int64(stmt, 5, p->id);
	enum cairn_status status = cairn_sql_run(stmt);
	if (status == CAIRN_OK && sqlite3_changes(p->tx->db) > 0) {
		cairn_filter_add(&p->tx->filter, cairn_filter_key(prefix, p->write->shard.scope));
		p->tx->counts.eligible++;
		p->write->added = true;
	}
	return status;
}

static bool put_shard_same_list(const struct cairn_chunk_list *a, const struct cairn_chunk_list *b)
{
	if (a->n != b->n || memcmp(a->hashes, b->hashes, (size_t)a->n * sizeof(*a->hashes)) != 0)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->spans[i].unpacked_bytes != b->spans[i].unpacked_bytes)
			return false;
	}
	return true;
}

/* A described xorb must be known; where xorbs are kept elsewhere, its description makes it known. */
static enum cairn_status put_shard_describe(struct put_shard *p, const struct cairn_index_described *xorb,
					    struct cairn_tx_known *known)
{
	enum cairn_status status = cairn_tx_find_xorb(p->tx, &xorb->hash, known);
	if (status != CAIRN_OK)
		return status;
	if (known->id == 0 && !xorb->list)
		return put_shard_conflict(p, "xorb.gone", &xorb->hash,
					  "was removed since the shard was verified; upload it again");
	if (known->id == 0) {
		p->write->added = true;
		known->n_chunks = xorb->list->n;
		status = cairn_tx_add_xorb(p->tx, &xorb->hash, xorb->list, NULL, &known->id);
	} else if (xorb->list) {
		CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
		status = cairn_tx_list(p->tx, known->id, &list);
		if (status == CAIRN_OK && !put_shard_same_list(&list, xorb->list))
			return put_shard_conflict(p, "xorb.differs", &xorb->hash, "is known with other chunks");
	}
	return status == CAIRN_OK ? put_shard_remember(p, &xorb->hash, known) : status;
}

static enum cairn_status put_shard_xorb(struct put_shard *p, const struct cairn_index_described *xorb)
{
	struct cairn_tx_known known;
	enum cairn_status status = put_shard_describe(p, xorb, &known);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *member = p->tx->stmt[CAIRN_TX_ADD_MEMBER];
	sqlite3_bind_int64(member, 1, p->id);
	sqlite3_bind_int64(member, 2, known.id);
	status = cairn_sql_run(member);
	for (uint32_t i = 0; status == CAIRN_OK && i < xorb->n_eligible; i++) {
		if (xorb->eligible[i].place >= known.n_chunks)
			return put_shard_conflict(p, "xorb.differs", &xorb->hash, "is known with fewer chunks");
		status = put_shard_dedupe(p, cairn_get_u64le(xorb->eligible[i].chunk.b), known.id,
					  xorb->eligible[i].place);
	}
	return status;
}

/* A file's terms as they will be stored, and each xorb they name (some maybe twice). */
struct put_shard_terms {
	uint8_t *rows;
	int64_t *xorbs;
	uint32_t n_xorbs;
	int64_t first_xorb;
	uint32_t first_place;
};

static void put_shard_terms_fini(struct put_shard_terms *t)
{
	free(t->rows);
	free(t->xorbs);
}

static enum cairn_status put_shard_term(struct put_shard *p, struct put_shard_terms *t, uint32_t i)
{
	struct cairn_index_new_term term;
	p->write->shard.source.term(p->write->shard.source.ctx, i, &term);
	struct cairn_tx_xorb *slot;
	enum cairn_status status = put_shard_named(p, &term.xorb, &slot);
	if (status != CAIRN_OK)
		return status;
	if (term.start >= term.end || term.end > slot->n_chunks)
		return put_shard_conflict(p, "xorb.differs", &term.xorb, "has not the chunks that a term names");
	struct cairn_index_term row = {slot->id, term.start, term.end, term.unpacked_bytes};
	cairn_rows_put_term(t->rows + (size_t)i * CAIRN_ROWS_TERM_BYTES, &row);
	if (slot->of_file != p->n_files) {
		slot->of_file = p->n_files;
		t->xorbs[t->n_xorbs++] = slot->id;
	}
	if (i == 0) {
		t->first_xorb = slot->id;
		t->first_place = term.start;
	}
	return CAIRN_OK;
}

static enum cairn_status put_shard_terms(struct put_shard *p, struct put_shard_terms *t, uint32_t n)
{
	if (n == 0)
		return CAIRN_OK;
	t->rows = malloc((size_t)n * CAIRN_ROWS_TERM_BYTES);
	t->xorbs = malloc((size_t)n * sizeof(*t->xorbs));
	if (!t->rows || !t->xorbs)
		return CAIRN_E_NOMEM;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < n; i++)
		status = put_shard_term(p, t, i);
	return status;
}

/* Most files are new, so that is tried first. @param[out] id  0: there is such a file already */
static enum cairn_status put_shard_new_file(struct put_shard *p, const struct cairn_index_new_file *file,
					    const struct put_shard_terms *t, int64_t *id)
{
	*id = 0;
	sqlite3_stmt *add = p->tx->stmt[CAIRN_TX_ADD_FILE];
	cairn_sql_bind_hash(add, 1, &file->hash);
	if (file->has_sha256)
		cairn_sql_bind_blob(add, 2, file->sha256, sizeof(file->sha256));
	else
		sqlite3_bind_null(add, 2);
	sqlite3_bind_int64(add, 3, (int64_t)file->size_bytes);
	cairn_sql_bind_blob(add, 4, t->rows, (size_t)file->n_terms * CAIRN_ROWS_TERM_BYTES);
	sqlite3_bind_int64(add, 5, cairn_clock_unix_s());
	enum cairn_status status = cairn_sql_run(add);
	if (status != CAIRN_OK || sqlite3_changes(p->tx->db) == 0)
		return status;
	*id = sqlite3_last_insert_rowid(p->tx->db);
	p->tx->counts.files++;
	p->write->added = true;
	return cairn_tx_add_references(p->tx, *id, t->xorbs, t->n_xorbs);
}

static enum cairn_status put_shard_find_file(struct put_shard *p, const struct cairn_index_new_file *file, int64_t *id,
					     bool *has_sha256)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = p->tx->stmt[CAIRN_TX_FIND_FILE];
	cairn_sql_bind_hash(find, 1, &file->hash);
	bool row;
	enum cairn_status status = cairn_sql_step(find, &row);
	if (status != CAIRN_OK || !row)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	*id = sqlite3_column_int64(find, 0);
	*has_sha256 = sqlite3_column_int64(find, 1) != 0;
	return CAIRN_OK;
}

/* The first SHA-256 that came with a file stays: a later uploader cannot take another's away. */
static enum cairn_status put_shard_add_sha256(struct put_shard *p, const struct cairn_index_new_file *file, int64_t id)
{
	sqlite3_stmt *stmt = p->tx->stmt[CAIRN_TX_SET_SHA256];
	sqlite3_bind_int64(stmt, 1, id);
	cairn_sql_bind_blob(stmt, 2, file->sha256, sizeof(file->sha256));
	p->write->added = true;
	return cairn_sql_run(stmt);
}

/* What is new of a file that is known. */
static enum cairn_status put_shard_known_file(struct put_shard *p, const struct cairn_index_new_file *file,
					      const struct put_shard_terms *t, int64_t *id)
{
	bool mended = false, has_sha256;
	enum cairn_status status = put_shard_find_file(p, file, id, &has_sha256);
	if (status == CAIRN_OK && file->n_terms > 0)
		status = cairn_tx_mend_file(p->tx, *id, t->rows, (size_t)file->n_terms * CAIRN_ROWS_TERM_BYTES,
					    t->xorbs, t->n_xorbs, &mended);
	if (mended)
		p->write->added = true;
	if (status == CAIRN_OK && file->has_sha256 && !has_sha256)
		status = put_shard_add_sha256(p, file, *id);
	return status;
}

static enum cairn_status put_shard_own(struct put_shard *p, int64_t file)
{
	sqlite3_stmt *stmt = p->tx->stmt[CAIRN_TX_ADD_FILE_OWNER];
	sqlite3_bind_int64(stmt, 1, file);
	sqlite3_bind_int64(stmt, 2, p->owner);
	enum cairn_status status = cairn_sql_run(stmt);
	if (sqlite3_changes(p->tx->db) > 0)
		p->write->added = true;
	return status;
}

static enum cairn_status put_shard_file(struct put_shard *p, const struct cairn_index_new_file *file)
{
	p->n_files++;
	CLEANUP(put_shard_terms_fini) struct put_shard_terms terms = {0};
	enum cairn_status status = put_shard_terms(p, &terms, file->n_terms);
	if (status != CAIRN_OK)
		return status;
	int64_t id;
	status = put_shard_new_file(p, file, &terms, &id);
	if (status == CAIRN_OK && id == 0)
		status = put_shard_known_file(p, file, &terms, &id);
	if (status == CAIRN_OK)
		status = put_shard_own(p, id);
	/* The first chunk of each file is eligible whatever its hash: so a client finds the start of a known file. */
	if (status == CAIRN_OK && file->n_terms > 0)
		status = put_shard_dedupe(p, file->first_chunk, terms.first_xorb, terms.first_place);
	return status;
}

static enum cairn_status put_shard_add_row(struct put_shard *p)
{
	sqlite3_stmt *add = p->tx->stmt[CAIRN_TX_ADD_SHARD];
	cairn_sql_bind_hash(add, 1, &p->write->shard.body);
	sqlite3_bind_int64(add, 2, p->scope);
	sqlite3_bind_int64(add, 3, p->owner);
	sqlite3_bind_int64(add, 4, p->tx->counts.collection);
	sqlite3_bind_int64(add, 5, cairn_clock_unix_s());
	enum cairn_status status = cairn_sql_run(add);
	p->id = sqlite3_last_insert_rowid(p->tx->db);
	p->tx->counts.shards++;
	return status;
}

/* Something was removed since this body was accepted, maybe some of its own: all of it is registered once more. */
static enum cairn_status put_shard_renew_row(struct put_shard *p)
{
	sqlite3_stmt *renew = p->tx->stmt[CAIRN_TX_RENEW_SHARD];
	sqlite3_bind_int64(renew, 1, p->id);
	sqlite3_bind_int64(renew, 2, p->tx->counts.collection);
	sqlite3_bind_int64(renew, 3, cairn_clock_unix_s());
	return cairn_sql_run(renew);
}

static enum cairn_status put_shard_row(struct put_shard *p, bool *known)
{
	*known = false;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = p->tx->stmt[CAIRN_TX_FIND_SHARD];
	cairn_sql_bind_hash(find, 1, &p->write->shard.body);
	sqlite3_bind_int64(find, 2, p->scope);
	sqlite3_bind_int64(find, 3, p->owner);
	bool row;
	enum cairn_status status = cairn_sql_step(find, &row);
	if (status != CAIRN_OK)
		return status;
	if (!row)
		return put_shard_add_row(p);
	p->id = sqlite3_column_int64(find, 0);
	*known = sqlite3_column_int64(find, 1) == p->tx->counts.collection;
	(void)sqlite3_reset(find);
	return *known ? CAIRN_OK : put_shard_renew_row(p);
}

static enum cairn_status put_shard_contents(struct put_shard *p)
{
	const struct cairn_index_source *source = &p->write->shard.source;
	bool more = true;
	enum cairn_status status = source->rewind(source->ctx);
	while (status == CAIRN_OK) {
		struct cairn_index_described xorb;
		status = source->next_xorb(source->ctx, &xorb, &more);
		if (status != CAIRN_OK || !more)
			break;
		status = put_shard_xorb(p, &xorb);
	}
	while (status == CAIRN_OK) {
		struct cairn_index_new_file file;
		status = source->next_file(source->ctx, &file, &more);
		if (status != CAIRN_OK || !more)
			break;
		status = put_shard_file(p, &file);
	}
	return status;
}

enum cairn_status cairn_tx_put_shard(struct cairn_tx *tx, struct cairn_index_write *write)
{
	struct put_shard p = {.tx = tx, .write = write};
	bool known;
	enum cairn_status status = cairn_tx_scope(tx, write->shard.scope, &p.scope);
	if (status == CAIRN_OK)
		status = cairn_tx_scope(tx, write->shard.owner, &p.owner);
	if (status == CAIRN_OK)
		status = put_shard_row(&p, &known);
	if (status != CAIRN_OK || known)
		return status;
	return put_shard_contents(&p);
}
