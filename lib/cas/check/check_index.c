/* Checks the index by itself: its B-trees, and the facts that it stores twice. */
#include "cas/check/check_run.h"
#include "index/examine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_FAULTS_MAX = 512, CHECK_FAULT_BYTES = 512 };

struct check_faults {
	unsigned n;
	bool trees; /* at least one fault is in a B-tree */
	struct check_fault {
		enum cairn_index_fault_kind kind;
		char text[CHECK_FAULT_BYTES];
	} at[CHECK_FAULTS_MAX];
};

static void check_note_fault(void *ctx, const struct cairn_index_fault *fault)
{
	struct check_faults *f = ctx;
	f->trees = f->trees || fault->kind == CAIRN_INDEX_FAULT_TREE;
	if (f->n == CHECK_FAULTS_MAX)
		return;
	struct check_fault *to = &f->at[f->n++];
	to->kind = fault->kind;
	(void)snprintf(to->text, sizeof(to->text), "%s", fault->text);
}

static bool check_has_fault(const struct check_faults *f, const char *text)
{
	for (unsigned i = 0; i < f->n; i++)
		if (strcmp(f->at[i].text, text) == 0)
			return true;
	return false;
}

static void check_report_faults(struct check_run *run, const struct check_faults *found,
				const struct check_faults *left)
{
	static const enum cairn_check_kind KINDS[] = {
		[CAIRN_INDEX_FAULT_TREE] = CAIRN_CHECK_INDEX_TREE,
		[CAIRN_INDEX_FAULT_REFERENCE] = CAIRN_CHECK_INDEX_REFERENCE,
		[CAIRN_INDEX_FAULT_OFFSETS] = CAIRN_CHECK_INDEX_OFFSETS,
		[CAIRN_INDEX_FAULT_LINK] = CAIRN_CHECK_INDEX_LINK,
		[CAIRN_INDEX_FAULT_COUNT] = CAIRN_CHECK_INDEX_COUNT,
		[CAIRN_INDEX_FAULT_CONTENT] = CAIRN_CHECK_INDEX_CONTENT,
	};
	static const struct cairn_hash NONE = {{0}};
	for (unsigned i = 0; i < found->n; i++)
		check_report(run, KINDS[found->at[i].kind], &NONE, !check_has_fault(left, found->at[i].text), "%s",
			     found->at[i].text);
}

static bool check_mender_asks(void *ctx, int64_t file)
{
	return check_file_is_right(ctx, file);
}

static enum cairn_status check_both(struct check_run *run, struct check_faults *found, struct check_faults *left)
{
	const struct cairn_index_mender mender = {.file_is_right = check_mender_asks, .ctx = run};
	struct cairn_index *index = run->cas->index;
	enum cairn_status status = cairn_index_examine(index, check_note_fault, found, NULL);
	bool mended =
		status == CAIRN_OK && run->repair && found->n > 0 && cairn_index_mend(index, &mender, NULL) == CAIRN_OK;
	if (mended)
		status = cairn_index_examine(index, check_note_fault, left, NULL);
	const struct check_faults *now = mended ? left : found;
	if (status == CAIRN_OK)
		check_report_faults(run, found, now);
	run->repair = run->repair && !now->trees;
	return status;
}

enum cairn_status check_index(struct check_run *run)
{
	struct check_faults *found = calloc(1, sizeof(*found)), *left = calloc(1, sizeof(*left));
	enum cairn_status status = found && left ? check_both(run, found, left) : CAIRN_E_NOMEM;
	free(found);
	free(left);
	return status;
}
