/* Registers the files of a shard, several at a time. */
#include "index/postgres/own.h"
#include "index/postgres/put.h"
#include "index/rows.h"

#include "base/clock.h"
#include "base/sum.h"

#include <stdlib.h>

enum {
	FILES_PIECE = 1000,
	FILES_PIECE_TERMS = 40000, /* terms in a piece: about a MiB; a single file may have more */
};

/* Finds known files, adds new ones, and returns the numbers of all. */
static const char FILES_FIND[] = "SELECT k.n, f.id FROM unnest($1::bytea[]) WITH ORDINALITY k(hash, n)"
				 " CROSS JOIN LATERAL (SELECT id FROM file WHERE hash = k.hash LIMIT 1) f";
static const char FILES_ADD[] =
	"INSERT INTO file(hash, size, terms, at) SELECT k.hash, k.size, k.terms, $4"
	" FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) k(hash, size, terms) ON CONFLICT DO NOTHING";
static const char FILES_REFER[] =
	"INSERT INTO reference(xorb, file) SELECT k.xorb, k.file FROM unnest($1::bigint[], $2::bigint[]) k(xorb, file)"
	" ON CONFLICT DO NOTHING";
/* Adds the owner of a new file, which has none yet. */
static const char FILES_OWN_NEW[] = "INSERT INTO file_owner(file, scope, sha256, at) SELECT k.file, $1, k.sha256, $2"
				    " FROM unnest($3::bigint[], $4::bytea[]) k(file, sha256)";
static const char FILES_OWN[] = "INSERT INTO file_owner(file, scope, sha256, at) SELECT k, $1, '', $2"
				" FROM unnest($3::bigint[]) k WHERE (SELECT true FROM file_owner o WHERE o.file = k"
				" AND o.scope = $1 LIMIT 1) IS NULL ON CONFLICT DO NOTHING";
/* Adds claims up to the limit. The first claims stay: shards that count as known must keep theirs. */
static const char FILES_CLAIM[] =
	"INSERT INTO file_owner(file, scope, sha256, at) SELECT k.file, $1, k.sha256, $2"
	" FROM unnest($3::bigint[], $4::bytea[]) k(file, sha256) WHERE (SELECT count(*) FROM file_owner o"
	" WHERE o.file = k.file AND o.scope = $1 AND o.sha256 > '' AND o.proof > 0) < $5 AND (SELECT count(*)"
	" FROM file_owner o WHERE o.file = k.file AND o.scope = $1 AND o.proof = 0) < $6 ON CONFLICT DO NOTHING";
/* Adds the sizes of files that are new to an owner that is a repository of the hub or has a quota. */
static const char FILES_COUNT[] = "WITH s AS (SELECT coalesce(sum(" CAIRN_POSTGRES_FILE_COUNTS(
	"f.size") "), 0)::bigint AS bytes FROM file f WHERE f.id = ANY($2) AND"
		  " (SELECT true FROM file_owner o WHERE o.file = f.id AND o.scope = $1 LIMIT 1) IS NULL), u AS (UPDATE repo SET stored = stored"
		  " + s.bytes FROM s WHERE repo.scope = $1 AND s.bytes > 0), v AS (UPDATE scope SET stored = stored + s.bytes"
		  " FROM s WHERE scope.id = $1 AND scope.quota IS NOT NULL AND s.bytes > 0) SELECT bytes FROM s";
/* Restarts the grace time of files that a repository of the hub has already, because a commit may follow. */
static const char FILES_RENEW[] = "UPDATE file_owner SET at = $2 WHERE scope = $1 AND file = ANY($3)";
/* Finds files whose terms are damaged, or name a xorb without bytes. */
static const char FILES_BROKEN[] =
	"SELECT f.id FROM file f WHERE f.id = ANY($1) AND (octet_length(f.terms) % 24 <> 0 OR (SELECT true"
	" FROM reference r JOIN xorb x ON x.id = r.xorb WHERE r.file = f.id AND x.stored IS NULL LIMIT 1) IS NOT NULL)";
static const char FILES_SET_TERMS[] = "UPDATE file SET terms = $2 WHERE id = $1";
static const char FILES_DROP_REFERENCES[] = "DELETE FROM reference WHERE file = $1";

/* A file of the piece. */
struct put_file {
	const struct cairn_index_new_file *file;
	int64_t id;
	bool known; /* known before, or repeated in the piece */
	bool all_stored;
	uint32_t first_xorb, n_xorbs; /* range in the piece's xorbs */
	uint8_t *rows;                /* owned: its terms as stored */
};

struct put_piece {
	struct cairn_pg_put *p;
	struct put_file *files; /* owned */
	uint32_t n;
	bool repeated;  /* the piece has a file twice */
	int64_t *xorbs; /* owned: the xorbs of each file, in the order of the files */
	uint32_t n_xorbs, cap_xorbs;
	struct cairn_pg_array hashes, sizes, terms;
};

static void put_piece_fini(struct put_piece *piece)
{
	for (uint32_t i = 0; i < piece->n; i++)
		free(piece->files[i].rows);
	free(piece->files);
	free(piece->xorbs);
	cairn_pg_array_fini(&piece->hashes);
	cairn_pg_array_fini(&piece->sizes);
	cairn_pg_array_fini(&piece->terms);
}

static void put_piece_empty(struct put_piece *piece)
{
	for (uint32_t i = 0; i < piece->n; i++)
		free(piece->files[i].rows);
	piece->n = piece->n_xorbs = 0;
	piece->repeated = false;
	cairn_pg_array_empty(&piece->hashes);
	cairn_pg_array_empty(&piece->sizes);
	cairn_pg_array_empty(&piece->terms);
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

static enum cairn_status put_piece_term(struct put_piece *piece, struct put_file *f, uint32_t number, uint32_t i,
					const struct cairn_index_new_term *term)
{
	struct cairn_pg_put_xorb_row *xorb = &piece->p->xorbs[term->xorb];
	if (term->start >= term->end || term->end > xorb->row.n_chunks)
		return cairn_pg_put_conflict(piece->p, &piece->p->put->shard->xorbs[term->xorb].hash,
					     "lacks the chunks that a term names");
	cairn_rows_put_new_term(f->rows + (size_t)i * CAIRN_ROWS_TERM_BYTES, term, xorb->row.id);
	if (xorb->of_file != number) {
		xorb->of_file = number;
		piece->xorbs[piece->n_xorbs++] = xorb->row.id;
		f->all_stored = f->all_stored && xorb->row.stored;
	}
	return CAIRN_OK;
}

static bool put_piece_make_room(struct put_piece *piece, uint32_t more)
{
	uint32_t cap = piece->n_xorbs + more;
	if (cap <= piece->cap_xorbs)
		return true;
	int64_t *grown = realloc(piece->xorbs, cap * sizeof(*grown));
	if (!grown)
		return false;
	piece->xorbs = grown;
	piece->cap_xorbs = cap;
	return true;
}

/* @param number  number of the file in the shard, from 1 */
static enum cairn_status put_piece_add(struct put_piece *piece, uint32_t number,
				       const struct cairn_index_new_file *file,
				       const struct cairn_index_new_term *terms)
{
	struct put_file *f = &piece->files[piece->n++];
	*f = (struct put_file){.file = file, .all_stored = true, .first_xorb = piece->n_xorbs};
	size_t len = (size_t)file->n_terms * CAIRN_ROWS_TERM_BYTES;
	f->rows = malloc(len + 1);
	if (!f->rows || !put_piece_make_room(piece, file->n_terms))
		return CAIRN_E_NOMEM;
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < file->n_terms; i++)
		status = put_piece_term(piece, f, number, i, &terms[i]);
	f->n_xorbs = piece->n_xorbs - f->first_xorb;
	cairn_pg_add_bytes(&piece->hashes, file->hash.b, sizeof(file->hash.b));
	cairn_pg_add_int8(&piece->sizes, (int64_t)file->size_bytes);
	cairn_pg_add_bytes(&piece->terms, f->rows, len);
	/* The first chunk of each file is eligible whatever its hash, so that a client finds the start of a known
	 * file. */
	if (status == CAIRN_OK && file->n_terms > 0)
		status = cairn_pg_put_dedupe(piece->p, file->first_chunk, piece->p->xorbs[terms->xorb].row.id,
					     terms->start);
	return status;
}

/* --- registering -------------------------------------------------------------------------------------------------- */

/* Compares ids, and puts the new row first if a piece has a file twice. */
static int put_file_by_id(const void *pa, const void *pb)
{
	const struct put_file *a = *(struct put_file *const *)pa, *b = *(struct put_file *const *)pb;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a < b ? -1 : a > b;
}

static enum cairn_status put_piece_mark_repeated(struct put_piece *piece)
{
	struct put_file **sorted = malloc(piece->n * sizeof(struct put_file *));
	if (!sorted)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < piece->n; i++)
		sorted[i] = &piece->files[i];
	qsort(sorted, piece->n, sizeof(struct put_file *), put_file_by_id);
	for (uint32_t i = 1; i < piece->n; i++) {
		bool again = sorted[i]->id == sorted[i - 1]->id;
		sorted[i]->known = sorted[i]->known || again;
		piece->repeated = piece->repeated || again;
	}
	free(sorted);
	return CAIRN_OK;
}

static enum cairn_status put_piece_numbers(struct put_piece *piece, const PGresult *before, const PGresult *all)
{
	for (int i = 0; i < PQntuples(before); i++)
		piece->files[cairn_pg_get_int8(before, i, 0) - 1].known = true;
	for (int i = 0; i < PQntuples(all); i++)
		piece->files[cairn_pg_get_int8(all, i, 0) - 1].id = cairn_pg_get_int8(all, i, 1);
	for (uint32_t i = 0; i < piece->n; i++)
		if (piece->files[i].id == 0)
			return CAIRN_E_DAMAGED;
	return put_piece_mark_repeated(piece);
}

static enum cairn_status put_piece_rows(struct put_piece *piece)
{
	struct cairn_pg *pg = &piece->p->tx->pg;
	unsigned before = cairn_pg_put_queue_find_files(piece->p->tx, &piece->hashes);
	unsigned added = cairn_pg_queue(pg, FILES_ADD,
					CAIRN_ARGS(cairn_pg_byteas(&piece->hashes), cairn_pg_int8s(&piece->sizes),
						   cairn_pg_byteas(&piece->terms), cairn_db_int(cairn_clock_unix_s())));
	unsigned all = cairn_pg_put_queue_find_files(piece->p->tx, &piece->hashes);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (status != CAIRN_OK)
		return status;
	int64_t n = cairn_pg_changed(pg->results[added]);
	cairn_add(&piece->p->tx->counts.files, n);
	piece->p->put->added = piece->p->put->added || n > 0;
	return put_piece_numbers(piece, pg->results[before], pg->results[all]);
}

unsigned cairn_pg_put_queue_find_files(struct cairn_pg_tx *tx, struct cairn_pg_array *hashes)
{
	return cairn_pg_queue(&tx->pg, FILES_FIND, CAIRN_ARGS(cairn_pg_byteas(hashes)));
}

/* Adds the references of files. @param which  NULL: of all new files */
static enum cairn_status put_piece_refer(struct put_piece *piece, const struct put_file *which)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array xorbs = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array files = {0};
	for (uint32_t i = 0; i < piece->n; i++) {
		const struct put_file *f = &piece->files[i];
		if (which ? f != which : f->known)
			continue;
		for (uint32_t x = 0; x < f->n_xorbs; x++) {
			cairn_pg_add_int8(&xorbs, piece->xorbs[f->first_xorb + x]);
			cairn_pg_add_int8(&files, f->id);
		}
	}
	if (xorbs.n == 0 && xorbs.status == CAIRN_OK)
		return CAIRN_OK;
	(void)cairn_pg_queue(&piece->p->tx->pg, FILES_REFER,
			     CAIRN_ARGS(cairn_pg_int8s(&xorbs), cairn_pg_int8s(&files))); /* its answer is not needed */
	return CAIRN_OK;
}

/* Rows to add: owners of new files, owners of known files, or claims on known files. */
enum put_owning { OWN_NEW, OWN_KNOWN, OWN_CLAIM };

static enum put_owning put_file_owning(const struct put_file *f)
{
	if (!f->known)
		return OWN_NEW;
	return f->file->has_sha256 ? OWN_CLAIM : OWN_KNOWN;
}

static enum cairn_status put_piece_own(struct put_piece *piece, enum put_owning how, uint32_t first, uint32_t end)
{
	static const struct {
		const char *sql;
		unsigned n_args;
	} HOW[] = {[OWN_NEW] = {FILES_OWN_NEW, 4}, [OWN_KNOWN] = {FILES_OWN, 3}, [OWN_CLAIM] = {FILES_CLAIM, 6}};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array files = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array words = {0};
	struct cairn_pg *pg = &piece->p->tx->pg;
	int64_t n;
	for (uint32_t i = first; i < end; i++) {
		const struct put_file *f = &piece->files[i];
		if (put_file_owning(f) != how)
			continue;
		cairn_pg_add_int8(&files, f->id);
		cairn_pg_add_bytes(&words, f->file->sha256, f->file->has_sha256 ? sizeof(f->file->sha256) : 0);
	}
	if (files.n == 0 && files.status == CAIRN_OK)
		return CAIRN_OK;
	struct cairn_db_args args = *CAIRN_ARGS(
		cairn_db_int(piece->p->owner), cairn_db_int(cairn_clock_unix_s()), cairn_pg_int8s(&files),
		cairn_pg_byteas(&words), cairn_db_int(CAIRN_INDEX_CLAIMS_MAX), cairn_db_int(CAIRN_INDEX_LIES_MAX));
	args.n = HOW[how].n_args;
	if (how == OWN_NEW) { /* a new file implies that the shard added something */
		(void)cairn_pg_queue(pg, HOW[how].sql, &args);
		return CAIRN_OK;
	}
	enum cairn_status status = cairn_pg_run(pg, HOW[how].sql, &args, &n);
	piece->p->put->added = piece->p->put->added || n > 0;
	if (status != CAIRN_OK || how != OWN_CLAIM)
		return status;
	cairn_pg_queue_drop_no_claim(piece->p->tx, piece->p->owner, &files);
	return cairn_pg_exchange(pg);
}

/* Adds claims on a repeated file one at a time, because their number is limited. */
static enum cairn_status put_piece_claim(struct put_piece *piece)
{
	enum cairn_status status = CAIRN_OK;
	if (!piece->repeated)
		return put_piece_own(piece, OWN_CLAIM, 0, piece->n);
	for (uint32_t i = 0; status == CAIRN_OK && i < piece->n; i++)
		status = put_piece_own(piece, OWN_CLAIM, i, i + 1);
	return status;
}

/* Repairs a known file that comes again, if its terms are damaged or name a lost xorb: if all xorbs of the new terms
 * are stored, the file gets the new terms. */
static enum cairn_status put_piece_mend_one(struct put_piece *piece, const struct put_file *f)
{
	struct cairn_pg *pg = &piece->p->tx->pg;
	(void)cairn_pg_queue(pg, FILES_DROP_REFERENCES, CAIRN_ARGS(cairn_db_int(f->id)));
	enum cairn_status status =
		cairn_pg_run(pg, FILES_SET_TERMS,
			     CAIRN_ARGS(cairn_db_int(f->id),
					cairn_db_bytes(f->rows, (size_t)f->file->n_terms * CAIRN_ROWS_TERM_BYTES)),
			     NULL);
	piece->p->put->added = true;
	return status == CAIRN_OK ? put_piece_refer(piece, f) : status;
}

static enum cairn_status put_piece_mend(struct put_piece *piece)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array known = {0};
	CLEANUP(cairn_pg_clearp) PGresult *broken = NULL;
	const PGresult *r;
	for (uint32_t i = 0; i < piece->n; i++)
		if (piece->files[i].known && piece->files[i].file->n_terms > 0 && piece->files[i].all_stored)
			cairn_pg_add_int8(&known, piece->files[i].id);
	if (known.n == 0 && known.status == CAIRN_OK)
		return CAIRN_OK;
	enum cairn_status status =
		cairn_pg_ask(&piece->p->tx->pg, FILES_BROKEN, CAIRN_ARGS(cairn_pg_int8s(&known)), &r);
	if (status != CAIRN_OK)
		return status;
	broken = cairn_pg_keep(&piece->p->tx->pg, r);
	for (int row = 0; status == CAIRN_OK && row < PQntuples(broken); row++) {
		int64_t id = cairn_pg_get_int8(broken, row, 0);
		uint32_t i = 0;
		while (i < piece->n && (piece->files[i].id != id || !piece->files[i].known ||
					!piece->files[i].all_stored || piece->files[i].file->n_terms == 0))
			i++;
		if (i < piece->n)
			status = put_piece_mend_one(piece, &piece->files[i]);
	}
	return status;
}

static enum cairn_status put_piece_renew(struct put_piece *piece)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array known = {0};
	if (!cairn_index_is_repo_owner(piece->p->put->owner))
		return CAIRN_OK;
	for (uint32_t i = 0; i < piece->n; i++)
		if (piece->files[i].known)
			cairn_pg_add_int8(&known, piece->files[i].id);
	if (known.n == 0 && known.status == CAIRN_OK)
		return CAIRN_OK;
	(void)cairn_pg_queue(
		&piece->p->tx->pg, FILES_RENEW,
		CAIRN_ARGS(cairn_db_int(piece->p->owner), cairn_db_int(cairn_clock_unix_s()), cairn_pg_int8s(&known)));
	return CAIRN_OK;
}

/* Counts the files. Call it before the owner gets them. */
static enum cairn_status put_piece_count(struct put_piece *piece)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array files = {0};
	struct cairn_pg_tx *tx = piece->p->tx;
	const PGresult *r;
	if (piece->p->owner == 0)
		return CAIRN_OK;
	for (uint32_t i = 0; i < piece->n; i++)
		cairn_pg_add_int8(&files, piece->files[i].id);
	enum cairn_status status = cairn_pg_ask(&tx->pg, FILES_COUNT,
						CAIRN_ARGS(cairn_db_int(piece->p->owner), cairn_pg_int8s(&files)), &r);
	if (status == CAIRN_OK)
		cairn_records_grow(&tx->records, piece->p->owner, cairn_pg_get_int8(r, 0, 0));
	return status;
}

static enum cairn_status put_piece_send(struct put_piece *piece)
{
	enum cairn_status status = piece->n > 0 ? put_piece_rows(piece) : CAIRN_OK;
	if (status == CAIRN_OK)
		status = put_piece_refer(piece, NULL);
	if (status == CAIRN_OK)
		status = put_piece_count(piece);
	if (status == CAIRN_OK)
		status = put_piece_own(piece, OWN_NEW, 0, piece->n);
	if (status == CAIRN_OK)
		status = put_piece_mend(piece);
	if (status == CAIRN_OK)
		status = put_piece_own(piece, OWN_KNOWN, 0, piece->n);
	if (status == CAIRN_OK)
		status = put_piece_claim(piece);
	if (status == CAIRN_OK)
		status = put_piece_renew(piece);
	put_piece_empty(piece);
	return status;
}

enum cairn_status cairn_pg_put_files(struct cairn_pg_put *p)
{
	CLEANUP(put_piece_fini) struct put_piece piece = {.p = p};
	const struct cairn_index_new_shard *shard = p->put->shard;
	const struct cairn_index_new_term *terms = shard->terms;
	uint32_t n_terms = 0;
	piece.files = calloc(FILES_PIECE, sizeof(*piece.files));
	enum cairn_status status = piece.files ? CAIRN_OK : CAIRN_E_NOMEM;
	for (uint32_t i = 0; status == CAIRN_OK && i < shard->n_files; terms += shard->files[i++].n_terms) {
		status = put_piece_add(&piece, i + 1, &shard->files[i], terms);
		n_terms += shard->files[i].n_terms;
		if (status == CAIRN_OK && (piece.n == FILES_PIECE || n_terms >= FILES_PIECE_TERMS)) {
			status = put_piece_send(&piece);
			n_terms = 0;
		}
	}
	return status == CAIRN_OK ? put_piece_send(&piece) : status;
}
