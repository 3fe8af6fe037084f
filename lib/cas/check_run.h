/* Inside of cairn_cas_check(): what a run carries, and its parts. */
#ifndef CAIRN_CAS_CHECK_RUN_H
#define CAIRN_CAS_CHECK_RUN_H

#include "cas/check.h"
#include "cas/internal.h"
#include "cas/list_cache.h"

enum {
	CHECK_PAGE = 256,
	CHECK_BAD_MAX = 4096, /* xorbs found bad and not repaired, whose files are told; of more they are not */
};

struct check_run {
	struct cairn_cas *cas;
	const struct cairn_check_options *options;
	struct cairn_check_report *report;
	uint32_t n_page; /* rows of the page at hand, noted below */
	struct cairn_index_xorb xorbs[CHECK_PAGE];
	struct cairn_hash files[CHECK_PAGE];
	struct cairn_list_cache lists;
	uint32_t n_bad;
	struct cairn_hash bad[CHECK_BAD_MAX];
	uint8_t block[256 * 1024]; /* of the object that is being read */
};

/** Tell a problem. */
void check_report(struct check_run *run, enum cairn_check_kind kind, const struct cairn_hash *hash, bool repaired,
		  const char *fmt, ...) CAIRN_PRINTF(5, 6);

/** After each object or file. @return CAIRN_OK; CAIRN_E_BUSY: stop */
CAIRN_MUST_USE enum cairn_status check_step(struct check_run *run);

/** A xorb of the index: its list, and its object if it has one. */
CAIRN_MUST_USE enum cairn_status check_xorb(struct check_run *run, const struct cairn_hash *hash);

/** An object that the index does not know. */
CAIRN_MUST_USE enum cairn_status check_lone_object(struct check_run *run, const struct cairn_hash *hash);

/** Was this xorb found bad, and is it still in its place? */
bool check_is_bad(const struct check_run *run, const struct cairn_hash *xorb);

/** A file: its terms, and its hash. */
CAIRN_MUST_USE enum cairn_status check_file(struct check_run *run, const struct cairn_hash *hash);

#endif
