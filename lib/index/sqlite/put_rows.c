/* Adds the gathered rows of a shard, for put_shard.c and put_files.c. */
#include "index/sqlite/put_shard.h"

#include "base/sum.h"

enum cairn_status put_shard_conflict(struct put_shard *p, const char *rule, const struct cairn_hash *xorb,
				     const char *what)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, xorb);
	return cairn_fail(&p->put->write.diag, CAIRN_E_CONFLICT, rule, CAIRN_NO_OFFSET, "xorb %s %s", text, what);
}

static CAIRN_WRITES(TX_ADD_DEDUPE, "INSERT OR IGNORE INTO dedupe(prefix, scope, xorb, place, shard)"
				   " VALUES(?1, ?5, ?2, ?3, ?6)");
static CAIRN_WRITES(TX_ADD_DEDUPES, "INSERT OR IGNORE INTO dedupe(prefix, scope, xorb, place, shard)"
				    " SELECT a, ?5, b, c, ?6 FROM new_row");

/* Adds prefixes that exist already to the filter, too; it counts them once. */
static enum cairn_status put_shard_add_dedupe(struct put_shard *p)
{
	const struct cairn_new_rows *rows = &p->tx->dedupe;
	for (unsigned i = 0; i < rows->n; i++)
		cairn_filter_add(&p->tx->filter, cairn_filter_key((uint64_t)rows->row[i].a, p->put->scope));
	const struct cairn_new_rows_stmts stmts = {
		.many = cairn_tx_stmt(p->tx, &TX_ADD_DEDUPES),
		.one = cairn_tx_stmt(p->tx, &TX_ADD_DEDUPE),
	};
	sqlite3_bind_int64(stmts.many, 5, p->scope);
	sqlite3_bind_int64(stmts.one, 5, p->scope);
	sqlite3_bind_int64(stmts.many, 6, p->id);
	sqlite3_bind_int64(stmts.one, 6, p->id);
	uint64_t n_added;
	enum cairn_status status = cairn_new_rows_add(&p->tx->new_rows, stmts, &p->tx->dedupe, &n_added);
	cairn_add(&p->tx->counts.eligible, (int64_t)n_added);
	p->put->added = p->put->added || n_added > 0;
	return status;
}

enum cairn_status put_shard_dedupe(struct put_shard *p, uint64_t prefix, int64_t xorb, uint32_t place)
{
	p->tx->dedupe.row[p->tx->dedupe.n++] = (struct cairn_new_row){.a = (int64_t)prefix, .b = xorb, .c = place};
	return p->tx->dedupe.n == CAIRN_NEW_ROWS_MAX ? put_shard_add_dedupe(p) : CAIRN_OK;
}

static CAIRN_WRITES(TX_ADD_FIRST_OWNER,
		    "INSERT INTO file_owner(file, scope, sha256, at) VALUES(?1, ?5, ?4, unixepoch())");
static CAIRN_WRITES(TX_ADD_FIRST_OWNERS, "INSERT INTO file_owner(file, scope, sha256, at)"
					 " SELECT a, ?5, bytes, unixepoch() FROM new_row");

enum cairn_status put_shard_add_owners(struct put_shard *p)
{
	const struct cairn_new_rows_stmts stmts = {
		.many = cairn_tx_stmt(p->tx, &TX_ADD_FIRST_OWNERS),
		.one = cairn_tx_stmt(p->tx, &TX_ADD_FIRST_OWNER),
	};
	sqlite3_bind_int64(stmts.many, 5, p->owner);
	sqlite3_bind_int64(stmts.one, 5, p->owner);
	uint64_t n_added;
	return cairn_new_rows_add(&p->tx->new_rows, stmts, &p->tx->owners, &n_added);
}

enum cairn_status put_shard_add_all(struct put_shard *p)
{
	enum cairn_status status = put_shard_add_dedupe(p);
	if (status == CAIRN_OK)
		status = cairn_tx_add_references(p->tx);
	return status == CAIRN_OK ? put_shard_add_owners(p) : status;
}
