/* Writes the outcomes of proofs of SHA-256. */
#include "index/proof.h"

#include "index/postgres/engine.h"
#include "index/postgres/own.h"

#include <string.h>

static const char PROOF_ADD[] =
	"INSERT INTO proof(file, sha256) SELECT DISTINCT k.file, k.sha256 FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])"
	" k(file, hash, sha256) JOIN file f ON f.id = k.file AND f.hash = k.hash ON CONFLICT DO NOTHING";
static const char PROOF_RECORD[] =
	"UPDATE file_owner w SET due = NULL, proof = CASE WHEN k.said = k.proof THEN 3 ELSE 0 END"
	" FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bytea[]) k(file, hash, scope, said, proof)"
	" JOIN file f ON f.id = k.file AND f.hash = k.hash WHERE w.file = k.file AND w.scope = k.scope AND w.sha256 = k.said";
/* Removes the bytes from pull requests that name a file by a false SHA-256. */
static const char PROOF_DROP_FALSE[] =
	"UPDATE content c SET file = NULL FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bytea[])"
	" k(file, hash, scope, said, proof) JOIN file f ON f.id = k.file AND f.hash = k.hash"
	" JOIN proposed p ON p.file = k.file AND p.holder = k.scope JOIN repo r ON r.scope = p.scope"
	" WHERE k.said <> k.proof AND c.file = k.file AND c.sha256 = k.said AND c.repo = r.id";
static const char PROOF_PUT_OFF[] =
	"UPDATE file_owner w SET due = $5 FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[])"
	" k(file, hash, scope, said) JOIN file f ON f.id = k.file AND f.hash = k.hash WHERE w.file = k.file AND w.scope = k.scope AND w.sha256 = k.said";
static const char PROOF_FIND_OWNED[] =
	"SELECT w.file, w.scope FROM file f JOIN file_owner w ON w.file = f.id"
	" WHERE f.hash = $1 AND w.scope = (SELECT id FROM scope WHERE name = $2) LIMIT 1";
static const char PROOF_ADD_PROVED[] = "INSERT INTO file_owner(file, scope, sha256, at, proof, due)"
				       " VALUES($1, $2, $3, extract(epoch FROM now())::bigint, 3, NULL)"
				       " ON CONFLICT (file, scope, sha256) DO UPDATE SET proof = 3, due = NULL";
static const char PROOF_DROP_NO_CLAIM[] = "DELETE FROM file_owner WHERE file = $1 AND scope = $2 AND sha256 = ''";
/* Gives the file to entries; an entry keeps the size in its pointer. */
static const char PROOF_FOLLOW[] =
	"UPDATE content c SET file = k.file FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) k(file, scope, sha256)"
	" JOIN file f ON f.id = k.file JOIN repo p ON p.scope = k.scope CROSS JOIN LATERAL"
	" (SELECT b.file FROM (SELECT w.file, w.proof FROM file_owner w WHERE w.scope + 0 = k.scope AND w.sha256 = k.sha256"
	" ORDER BY w.file DESC LIMIT " CAIRN_INDEX_SAME_MAX ") b WHERE b.proof < 3) w"
	" WHERE c.file = w.file AND c.repo = p.id AND c.sha256 = k.sha256 AND c.size = f.size"
	" AND EXISTS(SELECT 1 FROM file_owner g WHERE g.file = k.file AND g.scope = k.scope AND g.sha256 = k.sha256"
	" AND g.proof = 3)";

/* Outcomes of one kind: of claims whose file could be read, or could not. */
struct proof_some {
	struct cairn_pg_array files, hashes, owners, said, proofs;
};

static void proof_some_fini(struct proof_some *some)
{
	cairn_pg_array_fini(&some->files);
	cairn_pg_array_fini(&some->hashes);
	cairn_pg_array_fini(&some->owners);
	cairn_pg_array_fini(&some->said);
	cairn_pg_array_fini(&some->proofs);
}

static void proof_some_add(struct proof_some *some, const struct cairn_index_outcome *o)
{
	cairn_pg_add_int8(&some->files, o->file_id);
	cairn_pg_add_bytes(&some->hashes, o->file.b, sizeof(o->file.b));
	cairn_pg_add_int8(&some->owners, o->owner_id);
	cairn_pg_add_bytes(&some->said, o->said, sizeof(o->said));
	cairn_pg_add_bytes(&some->proofs, o->proof, sizeof(o->proof));
}

/* The arguments $1 to $4 for outcomes. */
#define PROOF_SOME(some)                                                                                               \
	cairn_pg_int8s(&(some).files), cairn_pg_byteas(&(some).hashes), cairn_pg_int8s(&(some).owners),                \
		cairn_pg_byteas(&(some).said)

void cairn_pg_queue_follow_proof(struct cairn_pg_tx *tx, struct cairn_pg_array *files, struct cairn_pg_array *owners,
				 struct cairn_pg_array *sha256s)
{
	(void)cairn_pg_queue(&tx->pg, PROOF_FOLLOW,
			     CAIRN_ARGS(cairn_pg_int8s(files), cairn_pg_int8s(owners), cairn_pg_byteas(sha256s)));
}

enum cairn_status cairn_pg_record_outcomes(struct cairn_pg_tx *tx, struct cairn_index_record_outcomes *record)
{
	CLEANUP(proof_some_fini) struct proof_some read = {0};
	CLEANUP(proof_some_fini) struct proof_some unread = {0};
	for (uint32_t i = 0; i < record->n; i++)
		proof_some_add(record->outcomes[i].is_unread ? &unread : &read, &record->outcomes[i]);
	enum cairn_status status = CAIRN_OK;
	if (read.files.n > 0 || read.files.status != CAIRN_OK) {
		const struct cairn_db_args *set = CAIRN_ARGS(PROOF_SOME(read), cairn_pg_byteas(&read.proofs));
		(void)cairn_pg_queue(&tx->pg, PROOF_ADD,
				     CAIRN_ARGS(cairn_pg_int8s(&read.files), cairn_pg_byteas(&read.hashes),
						cairn_pg_byteas(&read.proofs)));
		(void)cairn_pg_queue(&tx->pg, PROOF_RECORD, set);
		(void)cairn_pg_queue(&tx->pg, PROOF_DROP_FALSE, set);
		cairn_pg_queue_follow_proof(tx, &read.files, &read.owners, &read.said);
		status = cairn_pg_exchange(&tx->pg);
	}
	if (status != CAIRN_OK || (unread.files.n == 0 && unread.files.status == CAIRN_OK))
		return status;
	return cairn_pg_run(&tx->pg, PROOF_PUT_OFF, CAIRN_ARGS(PROOF_SOME(unread), cairn_db_int(record->again_unix_s)),
			    NULL);
}

enum cairn_status cairn_pg_prove_file(struct cairn_pg_tx *tx, struct cairn_index_prove_file *prove)
{
	CLEANUP(proof_some_fini) struct proof_some some = {0};
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(
		&tx->pg, PROOF_FIND_OWNED, CAIRN_ARGS(cairn_db_hash(&prove->hash), cairn_db_text(prove->owner)), &r);
	if (status == CAIRN_OK && PQntuples(r) == 0)
		return cairn_fail(&prove->write.diag, CAIRN_E_NOT_FOUND, "file.unknown", CAIRN_NO_OFFSET,
				  "the file was taken from its owner");
	if (status != CAIRN_OK)
		return status;
	struct cairn_index_outcome o = {
		.file_id = cairn_pg_get_int8(r, 0, 0), .owner_id = cairn_pg_get_int8(r, 0, 1), .file = prove->hash};
	memcpy(o.proof, prove->sha256, sizeof(o.proof));
	memcpy(o.said, prove->sha256, sizeof(o.said));
	proof_some_add(&some, &o);
	(void)cairn_pg_queue(
		&tx->pg, PROOF_ADD,
		CAIRN_ARGS(cairn_pg_int8s(&some.files), cairn_pg_byteas(&some.hashes), cairn_pg_byteas(&some.proofs)));
	(void)cairn_pg_queue(&tx->pg, PROOF_ADD_PROVED,
			     CAIRN_ARGS(cairn_db_int(o.file_id), cairn_db_int(o.owner_id),
					cairn_db_bytes(prove->sha256, sizeof(prove->sha256))));
	(void)cairn_pg_queue(&tx->pg, PROOF_DROP_NO_CLAIM,
			     CAIRN_ARGS(cairn_db_int(o.file_id), cairn_db_int(o.owner_id)));
	cairn_pg_queue_follow_proof(tx, &some.files, &some.owners, &some.said);
	return cairn_pg_exchange(&tx->pg);
}
