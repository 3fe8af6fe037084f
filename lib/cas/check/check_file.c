/* Checks files: do the terms yield the file's hash, and are all xorbs they name present? */
#include "cas/check/check_run.h"
#include "hash/merkle.h"
#include "index/operate.h"

/* The state of a term's xorb. */
enum check_term { CHECK_TERM_GOOD, CHECK_TERM_GONE, CHECK_TERM_NOT_STORED, CHECK_TERM_WRONG };

/* Returns whether a row is missing or too damaged to be used. */
static bool check_is_gone(enum cairn_status status)
{
	return status == CAIRN_E_NOT_FOUND || status == CAIRN_E_DAMAGED;
}

/* Returns the state of a term whose rows could not be read. CHECK_TERM_GOOD: the check cannot continue. A term that
 * merely cannot be read now (CAIRN_E_IO) is not shown to be wrong. */
static enum check_term check_term_of(enum cairn_status status)
{
	if (status == CAIRN_E_IO)
		return CHECK_TERM_NOT_STORED;
	return check_is_gone(status) ? CHECK_TERM_GONE : CHECK_TERM_GOOD;
}

/* Does the term need a chunk that cannot be read? */
static bool check_touches(const struct check_bad *bad, const struct cairn_index_term *term)
{
	for (uint32_t i = term->start; i < term->end; i++)
		if (i >= CAIRN_XORB_CHUNKS_MAX || (bad->damaged[i / 8] >> i % 8 & 1))
			return true;
	return false;
}

static enum cairn_status check_term(struct check_run *run, const struct cairn_index_term *term,
				    struct cairn_merkle *merkle, enum check_term *out)
{
	struct cairn_index_xorb xorb;
	enum cairn_status status = cairn_index_xorb_by_id(run->cas->index, term->xorb_id, &xorb);
	*out = check_term_of(status);
	if (status != CAIRN_OK)
		return *out != CHECK_TERM_GOOD ? CAIRN_OK : status;
	*out = CHECK_TERM_NOT_STORED; /* the rest can be checked only when the bytes and the list are back */
	const struct check_bad *bad = check_find_bad(run, &xorb.hash);
	if (bad ? check_touches(bad, term) : xorb.stored_bytes == 0 && !run->cas->options.xorbs_external)
		return CAIRN_OK;
	const struct cairn_chunk_list *list = cairn_list_cache_find(&run->lists, &xorb.hash, NULL);
	if (!list) {
		CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list read = {0};
		status = cairn_index_chunk_list_by_id(run->cas->index, xorb.id, &read);
		if (status == CAIRN_OK)
			status = cairn_list_cache_put(&run->lists, &xorb.hash, xorb.id, &read, &list);
	}
	*out = check_term_of(status);
	if (status != CAIRN_OK)
		return *out != CHECK_TERM_GOOD ? CAIRN_OK : status;
	*out = CHECK_TERM_WRONG;
	if (term->start >= term->end || term->end > list->n ||
	    cairn_chunk_list_bytes(list, term->start, term->end) != term->unpacked_bytes)
		return CAIRN_OK;
	for (uint32_t i = term->start; i < term->end; i++)
		cairn_merkle_add(merkle, &list->hashes[i], list->spans[i].unpacked_bytes);
	*out = CHECK_TERM_GOOD;
	return CAIRN_OK;
}

/* The state of a file. */
enum check_verdict { CHECK_FILE_GOOD, CHECK_FILE_IS_LOST, CHECK_FILE_IS_WRONG, CHECK_FILE_IS_UNFOUND };

static enum cairn_status check_terms(struct check_run *run, const struct cairn_index_file *file,
				     enum check_verdict *verdict)
{
	struct cairn_merkle merkle;
	bool lost = false, wrong = false;
	uint64_t bytes = 0;
	cairn_merkle_init(&merkle);
	for (uint32_t i = 0; i < file->n_terms && !wrong; i++) {
		enum check_term term;
		enum cairn_status status = check_term(run, &file->terms[i], &merkle, &term);
		if (status != CAIRN_OK)
			return status;
		lost = lost || term == CHECK_TERM_NOT_STORED || term == CHECK_TERM_GONE;
		wrong = term == CHECK_TERM_WRONG || term == CHECK_TERM_GONE;
		bytes += file->terms[i].unpacked_bytes;
	}
	struct cairn_hash root, hash;
	cairn_merkle_root(&merkle, &root);
	cairn_hash_file(&hash, &root);
	*verdict = CHECK_FILE_GOOD;
	if (lost)
		*verdict = CHECK_FILE_IS_LOST;
	else if (wrong || bytes != file->size_bytes || !cairn_hash_equal(&hash, &file->hash))
		*verdict = CHECK_FILE_IS_WRONG;
	return CAIRN_OK;
}

static void check_note_row(void *ctx, const struct cairn_index_file *file)
{
	*(struct check_file_row *)ctx = (struct check_file_row){file->id, file->hash};
}

/* Decides why a file is not found by its hash: was it deleted meanwhile, or is the B-tree of hashes damaged? */
static enum cairn_status check_unfound(struct check_run *run, const struct check_file_row *row,
				       enum check_verdict *verdict)
{
	struct check_file_row now = {0};
	int64_t next_id;
	enum cairn_status status =
		cairn_index_each_file(run->cas->index, row->id - 1, 1, false, check_note_row, &now, &next_id);
	bool there = status == CAIRN_OK && now.id == row->id && cairn_hash_equal(&now.hash, &row->hash);
	*verdict = there ? CHECK_FILE_IS_UNFOUND : CHECK_FILE_GOOD;
	return status;
}

static enum cairn_status check_row_of_file(struct check_run *run, const struct check_file_row *row,
					   enum check_verdict *verdict)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
	enum cairn_status status = cairn_index_file(run->cas->index, &row->hash, NULL, true, &file);
	*verdict = CHECK_FILE_IS_WRONG;
	if (status == CAIRN_OK)
		return check_terms(run, &file, verdict);
	if (status == CAIRN_E_NOT_FOUND)
		return check_unfound(run, row, verdict);
	if (status == CAIRN_E_IO)
		*verdict = CHECK_FILE_IS_LOST;
	return check_is_gone(status) || status == CAIRN_E_IO ? CAIRN_OK : status;
}

/* A file with its terms, which are borrowed: it is checked while the page is held. */
struct check_judged {
	struct check_run *run;
	int64_t id;
	bool right;
};

static void check_judge(void *ctx, const struct cairn_index_file *file)
{
	struct check_judged *j = ctx;
	enum check_verdict verdict;
	j->right = file->id == j->id && check_terms(j->run, file, &verdict) == CAIRN_OK && verdict == CHECK_FILE_GOOD;
}

bool check_file_is_right(struct check_run *run, int64_t file)
{
	struct check_judged j = {.run = run, .id = file};
	int64_t next_id;
	return cairn_index_each_file(run->cas->index, file - 1, 1, true, check_judge, &j, &next_id) == CAIRN_OK &&
	       j.right;
}

enum cairn_status check_file(struct check_run *run, const struct check_file_row *row)
{
	/* The file may be deleted and collected while it is checked: only a problem seen twice is real. */
	enum { LOOKS = 2 };
	const struct cairn_hash *hash = &row->hash;
	enum check_verdict verdict = CHECK_FILE_IS_WRONG;
	for (int i = 0; i < LOOKS && verdict != CHECK_FILE_GOOD; i++) {
		enum cairn_status status = check_row_of_file(run, row, &verdict);
		if (status != CAIRN_OK)
			return status;
	}
	if (verdict == CHECK_FILE_IS_LOST)
		check_report(run, CAIRN_CHECK_FILE_LOST, hash, false,
			     "chunks of this file are missing or damaged; it can be read again when they are uploaded "
			     "again");
	else if (verdict == CHECK_FILE_IS_WRONG)
		check_report(run, CAIRN_CHECK_FILE_HASH, hash, false,
			     "the terms in the index do not give the file's hash");
	else if (verdict == CHECK_FILE_IS_UNFOUND)
		check_report(run, CAIRN_CHECK_FILE_HASH, hash, false,
			     "it is in the index, but not found by its hash: a tree of the database is damaged");
	return CAIRN_OK;
}
