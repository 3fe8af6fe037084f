/* Xorbs and objects: does one describe the other, and do both give the hash? */
#include "base/clock.h"
#include "cas/check_run.h"

#include <string.h>

/* Unpack and hash a whole object. @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_MISMATCH, CAIRN_E_LIMIT: it is damaged, and
 * diag says where; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_NOMEM */
static enum cairn_status check_read(struct check_run *run, const struct cairn_hash *hash, struct cairn_xorb_verifier *v,
				    struct cairn_xorb_summary *summary, struct cairn_diag *diag)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	enum cairn_status status = cairn_store_get(run->cas->store, hash, &object);
	if (status != CAIRN_OK)
		return status;
	uint64_t bytes = cairn_store_object_bytes(object);
	for (uint64_t at = 0; at < bytes && status == CAIRN_OK;) {
		size_t n = bytes - at < sizeof(run->block) ? (size_t)(bytes - at) : sizeof(run->block), n_data;
		status = cairn_store_object_read(object, at, run->block, n);
		if (status != CAIRN_OK)
			return cairn_fail(diag, CAIRN_E_FORMAT, "object.unreadable", at, "the disk cannot read it");
		status = cairn_xorb_verifier_feed(v, run->block, n, &n_data, diag);
		at += n;
		run->report->bytes_read += n;
	}
	if (status == CAIRN_OK)
		status = cairn_xorb_verifier_end(v, hash, summary, diag);
	if (status == CAIRN_OK && summary->has_footer)
		status = cairn_fail(diag, CAIRN_E_FORMAT, "object.footer", CAIRN_NO_OFFSET,
				    "it has a footer, which is never stored");
	return status;
}

static struct cairn_xorb_verifier *check_verifier(void)
{
	return cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
}

static bool check_same_places(const struct cairn_chunk_list *a, const struct cairn_chunk_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->spans[i].end != b->spans[i].end || a->spans[i].unpacked_bytes != b->spans[i].unpacked_bytes)
			return false;
	return true;
}

/* From now on the xorb is not offered and counts as not stored; its bytes, if any, are kept in the folder "damaged". */
static bool check_lose(struct check_run *run, const struct cairn_hash *hash)
{
	struct cairn_index_write lose = {
		.kind = CAIRN_INDEX_LOSE_XORB,
		.promise = {.hash = *hash, .now_unix_s = cairn_clock_unix_s()},
	};
	if (cairn_index_write(run->cas->index, &lose) != CAIRN_OK)
		return false;
	cairn_answer_cache_clear(run->cas->cache);
	enum cairn_status status = cairn_store_set_aside(run->cas->store, hash);
	return status == CAIRN_OK || status == CAIRN_E_NOT_FOUND;
}

static void check_note_bad(struct check_run *run, const struct cairn_hash *hash)
{
	if (run->n_bad < CHECK_BAD_MAX)
		run->bad[run->n_bad++] = *hash;
}

/* The list may well be good: no reason to set its object aside. */
static enum cairn_status check_unread(struct check_run *run, const struct cairn_hash *hash)
{
	check_note_bad(run, hash);
	check_report(run, CAIRN_CHECK_XORB_UNREAD, hash, false,
		     "its chunk list cannot be read: the disk fails, or the database is damaged");
	return CAIRN_OK;
}

static void check_damaged(struct check_run *run, const struct cairn_hash *hash, enum cairn_check_kind kind,
			  const char *text)
{
	bool repaired = run->options->repair && check_lose(run, hash);
	if (!repaired)
		check_note_bad(run, hash);
	check_report(run, kind, hash, repaired, "%s", text);
}

bool check_is_bad(const struct check_run *run, const struct cairn_hash *xorb)
{
	for (uint32_t i = 0; i < run->n_bad; i++)
		if (cairn_hash_equal(&run->bad[i], xorb))
			return true;
	return false;
}

/* Under the guard. */
static enum cairn_status check_object_of(struct check_run *run, const struct cairn_index_xorb *row,
					 const struct cairn_chunk_list *list)
{
	uint64_t bytes;
	enum cairn_status status = cairn_store_stat(run->cas->store, &row->hash, &bytes);
	if (status == CAIRN_E_NOT_FOUND) {
		check_damaged(run, &row->hash, CAIRN_CHECK_XORB_MISSING, "the object is not there");
		return CAIRN_OK;
	}
	if (status != CAIRN_OK)
		return status;
	if (bytes != row->stored_bytes) {
		check_damaged(run, &row->hash, CAIRN_CHECK_XORB_DAMAGED,
			      "the object has another length than the index says");
		return CAIRN_OK;
	}
	if (run->options->skip_data)
		return CAIRN_OK;
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = check_verifier();
	if (!v)
		return CAIRN_E_NOMEM;
	struct cairn_xorb_summary summary;
	struct cairn_diag diag = {0};
	status = check_read(run, &row->hash, v, &summary, &diag);
	if (status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH || status == CAIRN_E_LIMIT) {
		check_damaged(run, &row->hash, CAIRN_CHECK_XORB_DAMAGED, diag.text);
		return CAIRN_OK;
	}
	if (status == CAIRN_OK && !check_same_places(list, cairn_xorb_verifier_list(v)))
		check_damaged(run, &row->hash, CAIRN_CHECK_XORB_DAMAGED,
			      "the object is a whole xorb, but packed otherwise than the index says");
	return status;
}

/* Under the guard. */
static enum cairn_status check_guarded_xorb(struct check_run *run, const struct cairn_hash *hash)
{
	struct cairn_index_xorb row;
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	enum cairn_status status = cairn_index_xorb(run->cas->index, hash, &row);
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK; /* swept meanwhile */
	if (status == CAIRN_OK)
		status = cairn_index_chunk_list(run->cas->index, hash, &list);
	/* A sweep takes rows without the guard, also between the two reads; a list that is damaged leaves the other
	 * row. */
	if (status == CAIRN_E_NOT_FOUND && cairn_index_xorb(run->cas->index, hash, &row) == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	struct cairn_hash root = {{0}};
	if (status == CAIRN_OK)
		cairn_chunk_list_root(&list, &root);
	else if (status == CAIRN_E_IO)
		return check_unread(run, hash);
	else if (status != CAIRN_E_NOT_FOUND && status != CAIRN_E_DAMAGED)
		return status;
	if (status != CAIRN_OK || !cairn_hash_equal(&root, hash) || list.n != row.n_chunks ||
	    cairn_chunk_list_bytes(&list, 0, list.n) != row.unpacked_bytes) {
		check_damaged(run, hash, CAIRN_CHECK_XORB_LIST,
			      "the chunk list in the index does not give the xorb's hash");
		return CAIRN_OK;
	}
	return row.stored_bytes > 0 ? check_object_of(run, &row, &list) : CAIRN_OK;
}

enum cairn_status check_xorb(struct check_run *run, const struct cairn_hash *hash)
{
	struct cairn_guard guard;
	cairn_guard_take(&run->cas->guards, &guard, hash);
	enum cairn_status status = check_guarded_xorb(run, hash);
	cairn_guard_release(&run->cas->guards, &guard);
	return status;
}

/* Register an object that verifies; set another aside. */
static bool check_adopt(struct check_run *run, const struct cairn_hash *hash, enum cairn_status verdict,
			const struct cairn_xorb_verifier *v, uint64_t bytes)
{
	if (verdict != CAIRN_OK)
		return cairn_store_set_aside(run->cas->store, hash) == CAIRN_OK;
	struct cairn_index_write put = {
		.kind = CAIRN_INDEX_PUT_XORB,
		.xorb = {.hash = *hash, .list = cairn_xorb_verifier_list(v), .stored_bytes = bytes},
	};
	return cairn_index_write(run->cas->index, &put) == CAIRN_OK;
}

/* Under the guard. */
static enum cairn_status check_guarded_object(struct check_run *run, const struct cairn_hash *hash)
{
	struct cairn_index_xorb row;
	enum cairn_status status = cairn_index_xorb(run->cas->index, hash, &row);
	if (status == CAIRN_OK && row.stored_bytes > 0)
		return CAIRN_OK; /* registered meanwhile */
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	if (atomic_load(&run->cas->collecting))
		return CAIRN_OK; /* its row may have been swept; the object goes once this guard is released */
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = check_verifier();
	if (!v)
		return CAIRN_E_NOMEM;
	struct cairn_xorb_summary summary = {0};
	struct cairn_diag diag = {0};
	enum cairn_status verdict = check_read(run, hash, v, &summary, &diag);
	if (verdict == CAIRN_E_NOT_FOUND)
		return CAIRN_OK; /* removed meanwhile */
	if (verdict == CAIRN_E_IO || verdict == CAIRN_E_NOMEM)
		return verdict;
	bool repaired = run->options->repair && check_adopt(run, hash, verdict, v, summary.chunk_data_bytes);
	check_report(run, CAIRN_CHECK_OBJECT_ALONE, hash, repaired, "the index does not know this object, which is %s",
		     verdict == CAIRN_OK ? "a whole xorb" : "damaged");
	return CAIRN_OK;
}

enum cairn_status check_lone_object(struct check_run *run, const struct cairn_hash *hash)
{
	struct cairn_guard guard;
	cairn_guard_take(&run->cas->guards, &guard, hash);
	enum cairn_status status = check_guarded_object(run, hash);
	cairn_guard_release(&run->cas->guards, &guard);
	return status;
}
