/* Compares the upstream's plan of a file with files in the store: finds which bytes of the file are in them, and, when
 * the file is in the store, where chunks of the upstream's xorbs lie in it. Pure. */
#ifndef CAIRN_MIRROR_PLAN_H
#define CAIRN_MIRROR_PLAN_H

#include "index/hub/mirror_place.h"
#include "mirror/hub/ask_plan.h"

enum {
	MIRROR_PLAN_TERM_RUNS = 32, /* most runs found for one term; further chunks count as missing */
	MIRROR_PLAN_RUN_BYTES_MIN = 256 << 10,
	MIRROR_PLAN_LOOKS_MAX = 4096, /* calls of places() and measure() for one answer of the upstream */
};

/** Bytes [first, end) of the planned file equal those of another file from `at` on. */
struct mirror_known_run {
	uint64_t first, end;
	uint64_t at; /* offset in the other file */
	struct cairn_hash file;
};

/** Reads places from the index. Each call of places() or measure() costs one look-up. */
struct mirror_plan_sight {
	void *ctx;
	uint32_t looks; /* remaining look-ups; 0: all further chunks count as missing */
	/** Finds the places of a xorb, which are borrowed until the next call. @return their number */
	uint32_t (*places)(void *ctx, const struct cairn_hash *xorb, const struct cairn_index_chunk_place **out);
	/** Measures the bytes of a place before its chunk number `at`, and those of its chunks [at, past). @return
	 * false: the place's file cannot be read */
	bool (*measure)(void *ctx, const struct cairn_index_chunk_place *place, uint32_t at, uint32_t past,
			uint64_t *before, uint64_t *bytes);
};

/** Finds the bytes of a term that are in the store: chunks from its beginning on, and chunks up to its end. It cannot
 * place chunks between these, because the plan does not have their offsets. If places contradict the term's length,
 * nothing of the term counts.
 * @param offset  offset of the term in the file  @return number of runs, which are in order */
uint32_t mirror_plan_look_up(const struct mirror_plan_term *term, uint64_t offset, struct mirror_plan_sight *sight,
			     struct mirror_known_run out[static MIRROR_PLAN_TERM_RUNS]);

/** Runs in order, with gaps between them. Zeroed is empty. */
struct mirror_known_runs {
	struct mirror_known_run *all; /* owned */
	uint32_t n, cap;
};
void mirror_known_runs_fini(struct mirror_known_runs *runs);
/** Adds a run after all others. Merges it with the last one if it continues that in both files.
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_known_runs_add(struct mirror_known_runs *runs,
						       const struct mirror_known_run *run);
/** Removes runs shorter than MIRROR_PLAN_RUN_BYTES_MIN: one request across such a run costs less than two around it. */
void mirror_known_runs_thin(struct mirror_known_runs *runs);
/** Finds the run that contains a byte, or else the first after the byte. @return NULL: none */
const struct mirror_known_run *mirror_known_runs_find(const struct mirror_known_runs *runs, uint64_t at);
/** Finds the run that contains all bytes from first to end. @return NULL: none */
const struct mirror_known_run *mirror_known_runs_cover(const struct mirror_known_runs *runs, uint64_t first,
						       uint64_t end);
/** Removes the run that contains a byte, if there is one. */
void mirror_known_runs_drop(struct mirror_known_runs *runs, uint64_t at);

/** Is it better to fetch ranges of xorbs than the bytes that they unpack to? Not if that saves a twentieth or less,
 * because unpacking takes time, and the ranges of neighbours overlap. */
static inline bool mirror_packed_pays(uint64_t packed_bytes, uint64_t bytes)
{
	return packed_bytes > 0 && packed_bytes < bytes - bytes / 20;
}
/** Adds the runs of a file that are better fetched as ranges of xorbs. Estimates each term of the plan from a term on.
 * @param from      number of the first term to estimate
 * @param offset    offset of that term in the file
 * @param[out] out  gets the runs; `at` of a run equals its `first`
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_plan_packed(const struct mirror_plan *plan, uint32_t from, uint64_t offset,
						    struct mirror_known_runs *out);

/** Makes the places of a file in the store from its plan. Terms with consecutive chunks of a xorb become one place.
 * @param next  returns the length of the next chunk of the file; 0: there is none
 * @param[out] out  room for max, beyond which places are dropped; member file is not set @return their number; 0 also
 *                  if terms and chunks of the file differ, because the plan is false then */
uint32_t mirror_plan_places(const struct mirror_plan *plan, uint32_t (*next)(void *ctx), void *ctx,
			    struct cairn_index_chunk_place *out, uint32_t max);

#endif
