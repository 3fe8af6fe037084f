/* The state of one run of cairn_cas_check(), and its parts. */
#ifndef CAIRN_CAS_CHECK_CHECK_RUN_H
#define CAIRN_CAS_CHECK_CHECK_RUN_H

#include "cas/check/check_report.h"
#include "cas/internal.h"
#include "cas/list_cache.h"
#include "cas/object/stored.h"

enum {
	CHECK_PAGE = 256,
	/* most bad xorbs whose files are reported; further ones only if the xorb counts as lost */
	CHECK_BAD_MAX = 4096,
};

/* A row of the list of all files. */
struct check_file_row {
	int64_t id;
	struct cairn_hash hash;
};

/* A damaged xorb whose files are reported. */
struct check_bad {
	struct cairn_hash hash;
	uint8_t damaged[CAIRN_XORB_CHUNKS_MAX / 8]; /* a bit for each chunk that cannot be read */
};

struct check_run {
	struct cairn_cas *cas;
	const struct cairn_check_options *options;
	struct cairn_check_report *report;
	bool repair;     /* repairing was requested, and is safe so far */
	uint32_t n_page; /* rows of the current page, in the next two members */
	struct cairn_index_xorb xorbs[CHECK_PAGE];
	struct check_file_row files[CHECK_PAGE];
	struct cairn_list_cache lists;
	uint32_t n_bad;
	struct check_bad bad[CHECK_BAD_MAX];
	uint8_t block[CAS_BLOCK_BYTES]; /* of the object that is being read */
};

/** Reports a problem. */
void check_report(struct check_run *run, enum cairn_check_kind kind, const struct cairn_hash *hash, bool repaired,
		  const char *fmt, ...) CAIRN_PRINTF(5, 6);

/** Reports progress; called after each object or file. @return CAIRN_OK; CAIRN_E_BUSY: stop */
CAIRN_MUST_USE enum cairn_status check_step(struct check_run *run);

/** Checks the index by itself. Clears run->repair if a B-tree is damaged, because writing to it may damage more. */
CAIRN_MUST_USE enum cairn_status check_index(struct check_run *run);

/** Checks a xorb of the index: its list, and its object if it has one. @return as check_step() */
CAIRN_MUST_USE enum cairn_status check_xorb(struct check_run *run, const struct cairn_index_xorb *row);

/** Checks all xorbs of the current page, several at a time. @return as check_xorb() and check_step() */
CAIRN_MUST_USE enum cairn_status check_page_in_lanes(struct check_run *run);

/** Checks an object without a row in the index. @return as check_step() */
CAIRN_MUST_USE enum cairn_status check_lone_object(struct check_run *run, const struct cairn_hash *hash);

/** Returns the damage found in this xorb; NULL: none. */
const struct check_bad *check_find_bad(const struct check_run *run, const struct cairn_hash *xorb);

/** Finds the sound chunks of an object, which unpack as the list states. @param list  yields the xorb's hash
 * @param[out] bad  set  @return number of sound chunks; 0 also if there is no object */
uint32_t check_survey(struct check_run *run, const struct cairn_index_xorb *row, const struct cairn_chunk_list *list,
		      struct check_bad *bad);

/** Do the terms of the file with this number yield its hash? */
bool check_file_is_right(struct check_run *run, int64_t file);

/** Checks a file: its terms, and its hash. @return as check_step() */
CAIRN_MUST_USE enum cairn_status check_file(struct check_run *run, const struct check_file_row *row);

#endif
