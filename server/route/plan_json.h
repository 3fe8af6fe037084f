/* Reconstruction plans as JSON, in both forms of the protocol. */
#ifndef CAIRN_SERVER_PLAN_JSON_H
#define CAIRN_SERVER_PLAN_JSON_H

#include "cas/serve/plan.h"
#include "cas/spill.h"

/** The parts of fetch URLs. Borrowed. */
struct plan_urls {
	struct cairn_cas *cas;
	uint64_t store_life_s; /* validity of URLs that lead to the store; 0: they lead here */
	const char *base;      /* "https://host[/path]", without a final slash */
	int64_t expires_unix_s;
	unsigned ranges_max; /* most byte ranges in one URL of the second form, 1 .. CAIRN_FETCH_RANGES_MAX */
};

/** Writes {"offset_into_first_range","terms","fetch_info"}, with one URL for each range. */
void plan_write_v1(struct cairn_spill *out, const struct cairn_plan *plan, const struct plan_urls *urls);

/** Writes {"offset_into_first_range","terms","xorbs"}, with one URL for several ranges of a xorb. */
void plan_write_v2(struct cairn_spill *out, const struct cairn_plan *plan, const struct plan_urls *urls);

/** Writes {"files":{hash:[terms]},"fetch_info":{...}} of n files. @param is_range  the plans are for ranges of files.
 * Then "offsets_into_first_range":{hash:n}, an extension of ours, gives how far into its first term each begins */
void plan_write_batch(struct cairn_spill *out, const struct cairn_hash *files, const struct cairn_plan *plans, size_t n,
		      bool is_range, const struct plan_urls *urls);

#endif
