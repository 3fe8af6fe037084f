/* Checks xorbs and objects: does the row describe the object, and do both yield the hash? */
#include "cas/check/check_run.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "cas/object/mend.h"

#include <string.h>

/* Unpacks and hashes a whole object: the n-th copy that may belong to the row.
 * @return CAIRN_OK; CAIRN_E_FORMAT, CAIRN_E_MISMATCH, CAIRN_E_LIMIT: it is damaged or cannot be read, and diag says
 *         where; CAIRN_E_NOT_FOUND; CAIRN_E_IO: it cannot be opened; CAIRN_E_NOMEM; CAIRN_E_BUSY: undecided, the store
 *         does not answer */
static enum cairn_status check_read(struct check_run *run, const struct cairn_index_xorb *row, unsigned n_copy,
				    struct cairn_xorb_verifier *v, struct cairn_xorb_summary *summary,
				    struct cairn_diag *diag)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	enum cairn_status status = cas_open_copy(run->cas, row, n_copy, &object);
	if (status != CAIRN_OK)
		return status;
	status = cas_read_xorb(object, &row->hash, NULL, v, run->block, summary, diag);
	run->report->bytes_read += cairn_store_object_bytes(object);
	return status == CAIRN_E_IO ? CAIRN_E_FORMAT : status;
}

static struct cairn_xorb_verifier *check_verifier(void)
{
	return cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
}

static void check_note_bad(struct check_run *run, const struct check_bad *bad)
{
	if (run->n_bad < CHECK_BAD_MAX)
		run->bad[run->n_bad++] = *bad;
}

static void check_note_all_bad(struct check_run *run, const struct cairn_hash *hash)
{
	struct check_bad bad = {.hash = *hash};
	memset(bad.damaged, 0xff, sizeof(bad.damaged));
	check_note_bad(run, &bad);
}

const struct check_bad *check_find_bad(const struct check_run *run, const struct cairn_hash *xorb)
{
	for (uint32_t i = 0; i < run->n_bad; i++)
		if (cairn_hash_equal(&run->bad[i].hash, xorb))
			return &run->bad[i];
	return NULL;
}

/* Reports an unreadable list. It may be good, so its object is not set aside. */
static enum cairn_status check_unread(struct check_run *run, const struct cairn_hash *hash)
{
	check_note_all_bad(run, hash);
	check_report(run, CAIRN_CHECK_XORB_UNREAD, hash, false,
		     "its chunk list cannot be read: the disk fails, or the database is damaged");
	return CAIRN_OK;
}

/* Registers an object that was verified, with the list made from its bytes. */
static bool check_register(struct check_run *run, const struct cairn_index_xorb *row,
			   const struct cairn_xorb_verifier *v, uint64_t bytes)
{
	struct cairn_index_put_xorb put = {
		.hash = row->hash,
		.list = cairn_xorb_verifier_list(v),
		.stored_bytes = bytes,
		.copy = row->copy,
		.found = cairn_copy_id_is_set(&row->copy),
	};
	if (!put.found && cairn_store_confirm(run->cas->store, &row->hash, 0) != CAIRN_OK)
		return false;
	return cairn_index_put_xorb(run->cas->index, &put) == CAIRN_OK &&
	       (!put.found || cas_must_be_there(run->cas, &row->hash, &put.copy) == CAIRN_OK);
}

/* Moves the object where only people look for it. A copy that no row names stays: nothing reads it. */
static bool check_set_aside(struct check_run *run, const struct cairn_hash *hash)
{
	if (cas_names_copies(run->cas))
		return true;
	enum cairn_status status = cairn_store_set_aside(run->cas->store, hash);
	return status == CAIRN_OK || status == CAIRN_E_NOT_FOUND;
}

/* Repairs a xorb whose row and object disagree: marks it as lost, so that it is not offered and counts as not stored.
 * Registers it anew if the object is sound in itself; otherwise the object stays in place if any chunk can be read.
 * @param[out] cured  no bytes are lost */
static bool check_repair(struct check_run *run, const struct cairn_index_xorb *row, uint32_t n_sound, bool *cured)
{
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = check_verifier();
	struct cairn_xorb_summary summary = {0};
	enum cairn_status verdict = v ? check_read(run, row, 0, v, &summary, NULL) : CAIRN_E_NOMEM;
	if ((verdict != CAIRN_OK && !cas_is_damage(verdict) && verdict != CAIRN_E_NOT_FOUND) ||
	    cas_lose(run->cas, &row->hash, &row->copy) != CAIRN_OK)
		return false;
	*cured = verdict == CAIRN_OK;
	if (*cured)
		return check_register(run, row, v, summary.chunk_data_bytes);
	return n_sound > 0 || check_set_aside(run, &row->hash);
}

/* Does another copy match the list? @param[out] n_before  the number of copies before it */
static bool check_find_sound(struct check_run *run, const struct cairn_index_xorb *row,
			     const struct cairn_chunk_list *list, unsigned *n_before)
{
	for (*n_before = 1; !run->options->skip_data; ++*n_before) {
		CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = check_verifier();
		struct cairn_xorb_summary summary;
		enum cairn_status status = v ? check_read(run, row, *n_before, v, &summary, NULL) : CAIRN_E_NOT_FOUND;
		if (status == CAIRN_OK && cairn_chunk_list_same_places(list, cairn_xorb_verifier_list(v)))
			return true;
		if (status != CAIRN_OK && !cas_is_damage(status) && status != CAIRN_E_IO)
			return false;
	}
	return false;
}

/* Reports damaged copies before a sound one: no bytes are lost. */
static void check_damaged_copies(struct check_run *run, const struct cairn_hash *hash, unsigned n,
				 enum cairn_check_kind kind, const char *text)
{
	bool repaired = run->repair;
	for (unsigned i = 0; i < n && repaired; i++)
		repaired = check_set_aside(run, hash);
	check_report(run, kind, hash, repaired, "%s; another copy of it is sound", text);
}

/* Reports a damaged object, unless another copy is sound. @param list  a chunk list that yields the hash; NULL: none */
static void check_damaged(struct check_run *run, const struct cairn_index_xorb *row,
			  const struct cairn_chunk_list *list, enum cairn_check_kind kind, const char *text)
{
	const struct cairn_hash *hash = &row->hash;
	struct check_bad bad = {.hash = *hash};
	unsigned n_before;
	if (list && check_find_sound(run, row, list, &n_before)) {
		check_damaged_copies(run, hash, n_before, kind, text);
		return;
	}
	memset(bad.damaged, 0xff, sizeof(bad.damaged));
	uint32_t n_sound = list ? check_survey(run, row, list, &bad) : 0;
	bool cured = false, repaired = run->repair && check_repair(run, row, n_sound, &cured);
	if (!cured)
		check_note_bad(run, &bad);
	if (n_sound > 0)
		check_report(run, kind, hash, repaired, "%s; %u of its %u chunks can be read", text, n_sound, list->n);
	else
		check_report(run, kind, hash, repaired, "%s", text);
}

/* Reads the chunks of a lost xorb: some may still be readable. */
static void check_lost(struct check_run *run, const struct cairn_index_xorb *row, const struct cairn_chunk_list *list)
{
	struct check_bad bad;
	if (check_survey(run, row, list, &bad) > 0)
		check_note_bad(run, &bad);
}

/* Returns the length of the object that belongs to the row. */
static enum cairn_status check_measure(struct check_run *run, const struct cairn_index_xorb *row, uint64_t *bytes)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	if (!cairn_copy_id_is_set(&row->copy))
		return cairn_store_stat(run->cas->store, &row->hash, bytes);
	enum cairn_status status = cas_open_copy(run->cas, row, 0, &object);
	if (status == CAIRN_OK)
		*bytes = cairn_store_object_bytes(object);
	return status;
}

/* Reports a damaged object, unless its row names another copy now: the guard excludes no other daemon. */
static enum cairn_status check_wrong(struct check_run *run, const struct cairn_index_xorb *row,
				     const struct cairn_chunk_list *list, enum cairn_check_kind kind, const char *text)
{
	struct cairn_index_xorb now = *row;
	enum cairn_status status =
		cairn_copy_id_is_set(&row->copy) ? cairn_index_xorb(run->cas->index, &row->hash, &now) : CAIRN_OK;
	if (status == CAIRN_OK && cairn_copy_id_equal(&now.copy, &row->copy))
		check_damaged(run, row, list, kind, text);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Called under the guard. */
static enum cairn_status check_object_of(struct check_run *run, const struct cairn_index_xorb *row,
					 const struct cairn_chunk_list *list)
{
	static const char MISSING[] = "the object is not there";
	uint64_t bytes;
	enum cairn_status status = check_measure(run, row, &bytes);
	if (status == CAIRN_E_NOT_FOUND)
		return check_wrong(run, row, list, CAIRN_CHECK_XORB_MISSING, MISSING);
	if (status != CAIRN_OK)
		return status;
	if (bytes != row->stored_bytes)
		return check_wrong(run, row, list, CAIRN_CHECK_XORB_DAMAGED,
				   "the object has another length than the index says");
	if (run->options->skip_data)
		return CAIRN_OK;
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = check_verifier();
	if (!v)
		return CAIRN_E_NOMEM;
	struct cairn_xorb_summary summary;
	struct cairn_diag diag = {0};
	status = check_read(run, row, 0, v, &summary, &diag);
	if (status == CAIRN_E_NOT_FOUND && cairn_copy_id_is_set(&row->copy))
		return check_wrong(run, row, list, CAIRN_CHECK_XORB_MISSING, MISSING);
	if (cas_is_damage(status))
		return check_wrong(run, row, list, CAIRN_CHECK_XORB_DAMAGED, diag.text);
	if (status == CAIRN_OK && !cairn_chunk_list_same_places(list, cairn_xorb_verifier_list(v)))
		return check_wrong(run, row, list, CAIRN_CHECK_XORB_DAMAGED,
				   "the object is a whole xorb, but laid out otherwise than the index says");
	return status;
}

/* Decides why a xorb in the list of rows is not found by its hash: was it swept, or is the B-tree of hashes damaged? */
static enum cairn_status check_unfound(struct check_run *run, const struct cairn_index_xorb *walked)
{
	struct cairn_index_xorb row;
	enum cairn_status status = cairn_index_xorb_by_id(run->cas->index, walked->id, &row);
	if (status == CAIRN_OK && cairn_hash_equal(&row.hash, &walked->hash)) {
		check_note_all_bad(run, &walked->hash);
		check_report(run, CAIRN_CHECK_XORB_UNREAD, &walked->hash, false,
			     "it is in the index, but not found by its hash: a tree of the database is damaged");
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Called under the guard. */
static enum cairn_status check_guarded_xorb(struct check_run *run, const struct cairn_index_xorb *walked)
{
	const struct cairn_hash *hash = &walked->hash;
	struct cairn_index_xorb row;
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	enum cairn_status status = cairn_index_xorb(run->cas->index, hash, &row);
	if (status == CAIRN_E_NOT_FOUND)
		return check_unfound(run, walked);
	if (status == CAIRN_OK)
		status = cairn_index_chunk_list(run->cas->index, hash, &list);
	/* A sweep removes rows without the guard, so it may fall between the two reads. If only the list is damaged,
	 * the row still exists. */
	if (status == CAIRN_E_NOT_FOUND && cairn_index_xorb(run->cas->index, hash, &row) == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	cairn_crash_point(CAIRN_CRASH_CHECK_ROW);
	struct cairn_hash root = {{0}};
	if (status == CAIRN_OK)
		cairn_chunk_list_root(&list, &root);
	else if (status == CAIRN_E_IO)
		return check_unread(run, hash);
	else if (status != CAIRN_E_NOT_FOUND && status != CAIRN_E_DAMAGED)
		return status;
	if (status != CAIRN_OK || !cairn_hash_equal(&root, hash) || list.n != row.n_chunks ||
	    cairn_chunk_list_bytes(&list, 0, list.n) != row.unpacked_bytes)
		return check_wrong(run, &row, NULL, CAIRN_CHECK_XORB_LIST,
				   "the chunk list in the index does not give the xorb's hash");
	if (row.stored_bytes > 0)
		return check_object_of(run, &row, &list);
	if (!run->cas->options.xorbs_external)
		check_lost(run, &row, &list);
	return CAIRN_OK;
}

enum cairn_status check_xorb(struct check_run *run, const struct cairn_index_xorb *row)
{
	struct cairn_guard guard;
	cairn_guard_take(&run->cas->guards, &guard, &row->hash);
	enum cairn_status status = check_guarded_xorb(run, row);
	cairn_guard_release(&run->cas->guards, &guard);
	return status;
}

static void check_count_unnamed(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy)
{
	(void)hash, (void)copy;
	++*(uint32_t *)ctx;
}

/* If rows name copies, tests whether the last copy belongs to no row, and to no upload still in progress.
 * @param[out] found  gets the copy's name, in place of a row @param[out] alone  the answer */
static enum cairn_status check_last_copy(struct check_run *run, const struct cairn_hash *hash, bool lost,
					 struct cairn_index_xorb *found, bool *alone)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	uint32_t n_unnamed = 0;
	*alone = false;
	enum cairn_status status = cairn_store_get(run->cas->store, hash, &object);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	const struct cairn_index_copy copy = {*hash, cairn_store_object_copy(object)};
	found->copy = copy.copy;
	if (lost) {
		*alone = true;
		return CAIRN_OK;
	}
	if (cairn_copy_id_unix_ms(&copy.copy) > (cairn_clock_unix_s() - CAIRN_INDEX_COPY_LIFE_S) * 1000)
		return CAIRN_OK;
	status = cairn_index_each_unnamed(run->cas->index, &copy, 1, check_count_unnamed, &n_unnamed);
	*alone = n_unnamed > 0;
	return status;
}

/* Called under the guard. */
static enum cairn_status check_guarded_object(struct check_run *run, const struct cairn_hash *hash)
{
	struct cairn_index_xorb row, found = {.hash = *hash};
	enum cairn_status status = cairn_index_xorb(run->cas->index, hash, &row);
	bool lost = status == CAIRN_OK, alone = true;
	if (status == CAIRN_OK && row.stored_bytes > 0)
		return CAIRN_OK; /* registered meanwhile */
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	if (atomic_load(&run->cas->collecting))
		return CAIRN_OK; /* its row may have been swept; the collection removes the object after this guard */
	status = cas_names_copies(run->cas) ? check_last_copy(run, hash, lost, &found, &alone) : CAIRN_OK;
	if (status != CAIRN_OK || !alone)
		return status;
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = check_verifier();
	if (!v)
		return CAIRN_E_NOMEM;
	struct cairn_xorb_summary summary = {0};
	struct cairn_diag diag = {0};
	enum cairn_status verdict = check_read(run, &found, 0, v, &summary, &diag);
	if (verdict == CAIRN_E_NOT_FOUND)
		return CAIRN_OK; /* removed meanwhile */
	if (verdict != CAIRN_OK && !cas_is_damage(verdict))
		return verdict;
	if (verdict != CAIRN_OK && (check_find_bad(run, hash) || run->n_bad == CHECK_BAD_MAX))
		return CAIRN_OK; /* the xorb is known as lost; its object stays for the chunks that can be read */
	if (verdict != CAIRN_OK && lost && cairn_copy_id_is_set(&found.copy))
		return CAIRN_OK; /* the xorb is lost and no row names this copy, so nothing reads it */
	bool repaired = run->repair && (verdict == CAIRN_OK ? check_register(run, &found, v, summary.chunk_data_bytes)
							    : check_set_aside(run, hash));
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
