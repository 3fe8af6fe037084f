/* Reconstruction plans as JSON, in both forms of the protocol. */
#ifndef CAIRN_SERVER_PLAN_JSON_H
#define CAIRN_SERVER_PLAN_JSON_H

#include "cas/serve/plan.h"
#include "cas/spill.h"

/** The parts of fetch URLs. Borrowed. */
struct plan_urls {
	struct cairn_cas *cas;
	uint64_t store_life_s; /* URLs lead to the store and last so long; 0: to this server */
	const char *base;      /* "https://host[/path]", without a slash at the end */
	int64_t expires_unix_s;
	unsigned ranges_max; /* byte ranges in one URL of the second form, 1 .. CAIRN_FETCH_RANGES_MAX */
};

/** {"offset_into_first_range","terms","fetch_info"}: a URL for each range. */
void plan_write_v1(struct cairn_spill *out, const struct cairn_plan *plan, const struct plan_urls *urls);

/** {"offset_into_first_range","terms","xorbs"}: one URL for several ranges of a xorb. */
void plan_write_v2(struct cairn_spill *out, const struct cairn_plan *plan, const struct plan_urls *urls);

/** {"files":{hash:[terms]},"fetch_info":{...}} of n files. @param is_range  they are ranges of files.
 * "offsets_into_first_range":{hash:n}, an extension of ours, then says how far into its first term each begins */
void plan_write_batch(struct cairn_spill *out, const struct cairn_hash *files, const struct cairn_plan *plans, size_t n,
		      bool is_range, const struct plan_urls *urls);

#endif
