/* Registers a verified shard: its xorbs, and the chunks that clients may ask about. */
#include "index/sqlite/put_shard.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

static void put_shard_fini(struct put_shard *p)
{
	struct cairn_tx *tx = p->tx;
	put_files_fini(p);
	free(p->xorbs);
	tx->dedupe.n = tx->files.n = tx->references.n = tx->owners.n = 0; /* left by a write that failed */
}

static enum cairn_status put_shard_gone(struct put_shard *p, const struct cairn_hash *xorb)
{
	return put_shard_conflict(p, "xorb.gone", xorb, "was removed since the shard was verified; upload it again");
}

/* Records a xorb that this shard names, and mostly offers it again. */
static enum cairn_status put_shard_note(struct put_shard *p, uint32_t place, const struct cairn_tx_xorb_state *state)
{
	p->xorbs[place] = (struct put_shard_xorb){.id = state->id, .n_chunks = state->n_chunks};
	return state->retired ? cairn_tx_keep_xorb(p->tx, state->id, p->put->stays_withdrawn) : CAIRN_OK;
}

/* Finds the xorb by the number that the shard was verified against; numbers are never reused. */
static enum cairn_status put_shard_find(struct put_shard *p, const struct cairn_index_new_xorb *xorb,
					struct cairn_tx_xorb_state *state)
{
	return xorb->id != 0 ? cairn_tx_find_xorb_by_id(p->tx, xorb->id, state)
			     : cairn_tx_find_xorb(p->tx, &xorb->hash, state);
}

/* Looks up a xorb that only terms name. */
static enum cairn_status put_shard_named(struct put_shard *p, uint32_t place)
{
	const struct cairn_index_new_xorb *xorb = &p->put->shard->xorbs[place];
	struct cairn_tx_xorb_state state;
	enum cairn_status status = put_shard_find(p, xorb, &state);
	if (status != CAIRN_OK)
		return status;
	return state.id == 0 ? put_shard_gone(p, &xorb->hash) : put_shard_note(p, place, &state);
}

/* Fails: the xorb became known while the shard was verified, so the terms lack its byte ranges. */
static enum cairn_status put_shard_same(struct put_shard *p, const struct cairn_index_new_xorb *xorb,
					const struct cairn_tx_xorb_state *state)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	enum cairn_status status = cairn_tx_list(p->tx, state->id, &list);
	if (status == CAIRN_OK && !cairn_chunk_list_same_chunks(&list, xorb->list))
		return put_shard_conflict(p, "xorb.differs", &xorb->hash, "is known with other chunks");
	return status == CAIRN_OK && state->stored ? cairn_tx_set_repacked(p->tx, state->id) : status;
}

/* Finds or adds a described xorb, which must be known. If xorbs are stored elsewhere, the description makes it
 * known. */
static enum cairn_status put_shard_describe(struct put_shard *p, uint32_t place)
{
	const struct cairn_index_new_xorb *xorb = &p->put->shard->xorbs[place];
	struct cairn_tx_xorb_state state;
	enum cairn_status status = put_shard_find(p, xorb, &state);
	if (status != CAIRN_OK)
		return status;
	if (state.id == 0 && !xorb->list)
		return put_shard_gone(p, &xorb->hash);
	if (state.id == 0) {
		p->put->added = true;
		state.n_chunks = xorb->list->n;
		status = cairn_tx_add_xorb(p->tx, &xorb->hash, xorb->list, NULL, false, &state.id);
	} else if (xorb->list) {
		status = put_shard_same(p, xorb, &state);
	}
	return status == CAIRN_OK ? put_shard_note(p, place, &state) : status;
}

static CAIRN_WRITES(TX_ADD_MEMBER, "INSERT OR IGNORE INTO member(shard, xorb) VALUES(?1, ?2)");

static enum cairn_status put_shard_described(struct put_shard *p, uint32_t place)
{
	const struct cairn_index_new_xorb *xorb = &p->put->shard->xorbs[place];
	const struct cairn_index_eligible *eligible = p->put->shard->eligible + xorb->first_eligible;
	enum cairn_status status = put_shard_describe(p, place);
	if (status != CAIRN_OK)
		return status;
	status = cairn_tx_run(p->tx, &TX_ADD_MEMBER, CAIRN_ARGS(cairn_db_int(p->id), cairn_db_int(p->xorbs[place].id)));
	for (uint32_t i = 0; status == CAIRN_OK && i < xorb->n_eligible; i++) {
		if (eligible[i].place >= p->xorbs[place].n_chunks)
			return put_shard_conflict(p, "xorb.differs", &xorb->hash, "is known with fewer chunks");
		status = put_shard_dedupe(p, eligible[i].prefix, p->xorbs[place].id, eligible[i].place);
	}
	return status;
}

static CAIRN_WRITES(TX_ADD_SHARD, "INSERT INTO shard(hash, scope, owner, collection, at) VALUES(?1, ?2, ?3, ?4, ?5)");

static enum cairn_status put_shard_add_row(struct put_shard *p)
{
	enum cairn_status status =
		cairn_tx_run(p->tx, &TX_ADD_SHARD,
			     CAIRN_ARGS(cairn_db_hash(&p->put->body), cairn_db_int(p->scope), cairn_db_int(p->owner),
					cairn_db_int(p->tx->counts.collection), cairn_db_int(cairn_clock_unix_s())));
	p->id = sqlite3_last_insert_rowid(p->tx->db);
	cairn_add(&p->tx->counts.shards, 1);
	return status;
}

static CAIRN_WRITES(TX_RENEW_SHARD, "UPDATE shard SET collection = ?2, at = ?3 WHERE id = ?1");

/* Registers a known shard again: rows were removed since, maybe its own, or it came an hour ago to a repository of the
 * hub, which keeps unnamed files only for some time. */
static enum cairn_status put_shard_renew_row(struct put_shard *p)
{
	return cairn_tx_run(p->tx, &TX_RENEW_SHARD,
			    CAIRN_ARGS(cairn_db_int(p->id), cairn_db_int(p->tx->counts.collection),
				       cairn_db_int(cairn_clock_unix_s())));
}

static CAIRN_WRITES(TX_FIND_SHARD, "SELECT id, collection, at > unixepoch() - 3600 FROM shard"
				   " WHERE hash = ?1 AND scope = ?2 AND owner = ?3");

static enum cairn_status put_shard_row(struct put_shard *p, bool *still_counts)
{
	*still_counts = false;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = cairn_tx_stmt(p->tx, &TX_FIND_SHARD);
	cairn_sql_bind_hash(find, 1, &p->put->body);
	sqlite3_bind_int64(find, 2, p->scope);
	sqlite3_bind_int64(find, 3, p->owner);
	bool row;
	enum cairn_status status = cairn_sql_step(find, &row);
	if (status != CAIRN_OK)
		return status;
	if (!row)
		return put_shard_add_row(p);
	p->id = sqlite3_column_int64(find, 0);
	*still_counts = sqlite3_column_int64(find, 1) == p->tx->counts.collection &&
			(sqlite3_column_int64(find, 2) != 0 || !cairn_index_is_repo_owner(p->put->owner));
	(void)sqlite3_reset(find);
	return *still_counts ? CAIRN_OK : put_shard_renew_row(p);
}

static CAIRN_WRITES(TX_DROP_UNREGISTERED, "DELETE FROM unregistered WHERE xorb = ?1"
					  " AND EXISTS(SELECT 1 FROM reference WHERE reference.xorb = ?1)");

/* Stops counting the xorbs for their uploaders, because files need them now. */
static enum cairn_status put_shard_registered(struct put_shard *p)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < p->put->shard->n_xorbs; i++) {
		status = cairn_tx_run(p->tx, &TX_DROP_UNREGISTERED, CAIRN_ARGS(cairn_db_int(p->xorbs[i].id)));
	}
	return status;
}

static enum cairn_status put_shard_contents(struct put_shard *p)
{
	const struct cairn_index_new_shard *shard = p->put->shard;
	enum cairn_status status = CAIRN_OK;
	p->xorbs = calloc((size_t)shard->n_xorbs + 1, sizeof(*p->xorbs));
	if (!p->xorbs)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; status == CAIRN_OK && i < shard->n_xorbs; i++)
		status = i < shard->n_described ? put_shard_described(p, i) : put_shard_named(p, i);
	if (status == CAIRN_OK)
		status = put_files(p);
	if (status == CAIRN_OK)
		status = put_shard_add_all(p);
	if (status == CAIRN_OK)
		status = put_shard_registered(p);
	return status == CAIRN_OK ? cairn_tx_count_stored(p->tx, p->owner, p->new_bytes) : status;
}

enum cairn_status cairn_tx_put_shard(struct cairn_tx *tx, struct cairn_index_put_shard *put)
{
	CLEANUP(put_shard_fini) struct put_shard p = {.tx = tx, .put = put};
	bool still_counts;
	put->added = false;
	enum cairn_status status = cairn_records_scope(&tx->records, put->scope, &p.scope);
	if (status == CAIRN_OK)
		status = cairn_records_scope(&tx->records, put->owner, &p.owner);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&put->write.diag, CAIRN_E_DENIED, "repo.gone", CAIRN_NO_OFFSET,
				  "the repository of this token was deleted");
	if (status == CAIRN_OK)
		status = put_shard_row(&p, &still_counts);
	if (status != CAIRN_OK || still_counts)
		return status;
	return put_shard_contents(&p);
}
