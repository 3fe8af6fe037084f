/* Places of chunks of the mirrored hub. */
#include "base/buf.h"
#include "index/backend.h"
#include "index/hub/mirror_place.h"
#include "index/records.h"

#include <inttypes.h>

/* Tests the gate now: the repository may have got one, or become private, after the place was stored. Uses no EXISTS,
 * because PostgreSQL might read all repositories for it. */
#define PLACE_IS_PUBLIC                                                                                                \
	"(SELECT 1 FROM file_owner w CROSS JOIN repo r WHERE w.file = p.file AND r.scope = w.scope AND r.gate = 0"     \
	" AND NOT r.private AND " CAIRN_REPO_KEPT("r") " LIMIT 1) = 1"
CAIRN_SQL(PLACE_FIND, "SELECT f.hash, p.first, p.past, p.at FROM mirror_place p CROSS JOIN file f WHERE f.id = p.file"
		      " AND p.xorb = $1 AND p.repo = $2 AND ($2 <> 0 OR " PLACE_IS_PUBLIC ")"
		      " ORDER BY p.file DESC LIMIT $3");
CAIRN_SQL(PLACE_ANY, "SELECT 1 FROM mirror_place p WHERE p.repo = $1 AND ($1 <> 0 OR " PLACE_IS_PUBLIC ") LIMIT 1");
/* $2: hashes of the xorbs, concatenated; $4: an array of [first, past, at]. */
#define PLACE_ADD(hash, each)                                                                                          \
	"INSERT INTO mirror_place(xorb, repo, file, first, past, at) SELECT " hash                                     \
	", $3, f.id, CAST(w.value->>0 AS bigint), CAST(w.value->>1 AS bigint), CAST(w.value->>2 AS bigint)"            \
	" FROM file f CROSS JOIN " each " WHERE f.hash = $1 ON CONFLICT(xorb, repo, first, file) DO NOTHING"
CAIRN_SQL_OF(PLACE_ADD, PLACE_ADD("substr($2, 32 * w.key + 1, 32)", "json_each($4) w"),
	     PLACE_ADD("substring($2::bytea from 32 * CAST(w.n AS integer) - 31 for 32)",
		       "jsonb_array_elements($4::jsonb) WITH ORDINALITY w(value, n)"));
CAIRN_SQL(PLACE_DROP, "DELETE FROM mirror_place WHERE file = (SELECT id FROM file WHERE hash = $1)");

enum cairn_status cairn_index_find_places(struct cairn_index *ix, const struct cairn_hash *xorb, int64_t repo,
					  struct cairn_index_chunk_place out[static CAIRN_INDEX_PLACES_FOUND],
					  uint32_t *n)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*n = 0;
	enum cairn_status status = cairn_records_find(
		ix, &rows, &PLACE_FIND,
		CAIRN_ARGS(cairn_db_hash(xorb), cairn_db_int(repo), cairn_db_int(CAIRN_INDEX_PLACES_FOUND)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		struct cairn_index_chunk_place *p = &out[(*n)++];
		*p = (struct cairn_index_chunk_place){.xorb = *xorb,
						      .first = (uint32_t)cairn_db_get_int(&rows, 1),
						      .past = (uint32_t)cairn_db_get_int(&rows, 2),
						      .at = (uint64_t)cairn_db_get_int(&rows, 3)};
		cairn_db_get_fixed(&rows, 0, p->file.b, sizeof(p->file.b));
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_any_place(struct cairn_index *ix, int64_t repo)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	return cairn_records_find(ix, &rows, &PLACE_ANY, CAIRN_ARGS(cairn_db_int(repo)));
}

enum cairn_status cairn_records_keep_places(struct cairn_index_tx *tx, struct cairn_index_keep_places *keep)
{
	static const size_t HASHES_BYTES = (size_t)CAIRN_INDEX_PLACES_MAX * CAIRN_HASH_BYTES;
	static const size_t NUMBERS_BYTES = (size_t)CAIRN_INDEX_PLACES_MAX * 64;
	uint32_t n = keep->n < CAIRN_INDEX_PLACES_MAX ? keep->n : CAIRN_INDEX_PLACES_MAX;
	CLEANUP(cairn_buf_fini) struct cairn_buf hashes = cairn_buf_init(HASHES_BYTES);
	CLEANUP(cairn_buf_fini) struct cairn_buf numbers = cairn_buf_init(NUMBERS_BYTES);
	for (uint32_t i = 0; i < n; i++) {
		const struct cairn_index_chunk_place *p = &keep->all[i];
		cairn_buf_add(&hashes, p->xorb.b, sizeof(p->xorb.b));
		cairn_buf_printf(&numbers, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64 "]", i ? "," : "[", p->first, p->past,
				 p->at);
	}
	cairn_buf_add(&numbers, "]", 2);
	if (n == 0 || hashes.status != CAIRN_OK || numbers.status != CAIRN_OK)
		return n == 0 ? CAIRN_OK : CAIRN_E_NOMEM;
	return cairn_db_run(tx->db, &PLACE_ADD,
			    CAIRN_ARGS(cairn_db_hash(&keep->file), cairn_db_bytes(hashes.bytes, hashes.len),
				       cairn_db_int(keep->repo), cairn_db_text((const char *)numbers.bytes)),
			    NULL);
}

enum cairn_status cairn_records_drop_places(struct cairn_index_tx *tx, struct cairn_index_drop_places *drop)
{
	return cairn_db_run(tx->db, &PLACE_DROP, CAIRN_ARGS(cairn_db_hash(&drop->file)), NULL);
}
