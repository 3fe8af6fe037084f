/* Requests from an upstream hub the plan of a file: the list of chunks of xorbs that make up the file. It takes two
 * calls: GET /api/{type}/{id}/xet-read-token/{commit} at the hub, then GET /v2/reconstructions/{file} at the address in
 * the first answer. GET /v1/reconstructions/{file} there returns for a stretch of the file the addresses of its xorbs,
 * one for each range. */
#ifndef CAIRN_MIRROR_HUB_ASK_PLAN_H
#define CAIRN_MIRROR_HUB_ASK_PLAN_H

#include "hash/hash.h"
#include "mirror/net/net.h"

enum {
	MIRROR_CAS_BYTES_MAX = 64 << 10, /* body of the first answer */
	MIRROR_CAS_MS = 5000,
	MIRROR_CAS_TOKEN_BYTES = 4096,       /* bytes of a token, with the zero */
	MIRROR_PLAN_BYTES_MAX = 4 << 20,     /* body of the second answer */
	MIRROR_PLAN_VALUES_MAX = 200 * 1000, /* values in its JSON */
	MIRROR_PLAN_MS = 10000,
	MIRROR_PLAN_WINDOW = 1 << 30,       /* bytes of the file that one call covers */
	MIRROR_PLAN_TERMS_MAX = 100 * 1000, /* terms of a file; 48 bytes of memory each */
	MIRROR_PLAN_STEPS_MAX = 1 << 20,    /* steps over the ranges of an answer, to find those of its terms */
	/* Limits of the plan of a stretch. */
	MIRROR_PACKED_ANSWER_MAX = 256 << 10,
	MIRROR_PACKED_VALUES_MAX = 16 * 1000,
	MIRROR_PACKED_TERMS_MAX = 256,
	MIRROR_PACKED_RANGES_MAX = 32,
};

/** The service that has the upstream's plans, and the token for it. Plain value. */
struct mirror_cas {
	char token[MIRROR_CAS_TOKEN_BYTES];
	char url[MIRROR_URL_BYTES]; /* "https://host" or "https://host:port", no slash at the end; not yet judged */
};

/** Chunks [first, past) of a xorb; bytes is their length unpacked. */
struct mirror_plan_term {
	struct cairn_hash xorb;
	uint32_t first, past;
	uint32_t bytes;
	uint32_t packed; /* bytes of the xorb that contain them, estimated by their share in a range; 0: unknown */
};

/** The terms of a file from its beginning on. With only file_bytes set, it has none. */
struct mirror_plan {
	uint64_t file_bytes;
	uint64_t bytes; /* sum of the terms, at most file_bytes */
	uint32_t n, cap;
	struct mirror_plan_term *terms; /* owned */
};
void mirror_plan_fini(struct mirror_plan *plan);

/** Adds a term. @return CAIRN_OK; CAIRN_E_LIMIT the plan has too many; CAIRN_E_FORMAT the term is impossible, or goes
 * past the end of the file (mirror.plan); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_plan_add(struct mirror_plan *plan, const struct mirror_plan_term *term,
						 struct cairn_diag *diag);
/** Sets the limits of the first call; the caller sets path, token and done. */
void mirror_ask_cas(struct mirror_call *call);
/** Reads the answer of the first call. @return CAIRN_OK; as mirror_read_repo() */
CAIRN_MUST_USE enum cairn_status mirror_read_cas(struct mirror_cas *out, const struct mirror_call *call,
						 struct cairn_diag *diag);

/** Sets the limits and the range of the second call, which requests the bytes after those of the plan. The caller sets
 * hop, hop_token and done. */
void mirror_ask_plan(struct mirror_call *call, const struct mirror_plan *plan);
/** Adds the terms of the second answer to a plan.
 * @return CAIRN_OK; CAIRN_E_LIMIT the plan has too many terms (mirror.plan); CAIRN_E_FORMAT also if the terms are
 *         shorter than the requested bytes, or longer than the file (mirror.plan); CAIRN_E_NOMEM; as
 *         mirror_read_repo() */
CAIRN_MUST_USE enum cairn_status mirror_read_plan(struct mirror_plan *plan, const struct mirror_call *call,
						  struct cairn_diag *diag);

/** Chunks [first, past) of a xorb, in its bytes [at, end). */
struct mirror_packed_range {
	struct cairn_hash xorb;
	uint32_t first, past;
	uint64_t at, end;
	char *url; /* owned; not judged */
};

/** Chunks [first, past) of a range, which unpack to bytes from an offset on. */
struct mirror_packed_term {
	uint32_t range;
	uint32_t first, past;
	uint32_t bytes;
	uint64_t at;
};

/** How a stretch of a file is made of ranges of xorbs. Zeroed: no bytes. */
struct mirror_packed {
	uint64_t skip;  /* bytes of the first term that are before the stretch */
	uint64_t bytes; /* bytes of the stretch; the terms have all of them, and maybe more after them */
	uint64_t packed_bytes;
	uint32_t n_terms, n_ranges;
	struct mirror_packed_term terms[MIRROR_PACKED_TERMS_MAX];
	struct mirror_packed_range ranges[MIRROR_PACKED_RANGES_MAX]; /* each is used by a term */
};
/** Frees the members, and zeroes it. Harmless if zeroed. */
void mirror_packed_fini(struct mirror_packed *packed);

/** Sets the limits and the range of the call for a stretch. The caller sets hop, hop_token and done. */
void mirror_ask_packed(struct mirror_call *call, uint64_t first, uint64_t end);
/** Reads the answer to that call. @param out  zeroed; mirror_packed_fini() also after a failure
 * @return CAIRN_OK; CAIRN_E_LIMIT too many ranges (mirror.plan); CAIRN_E_FORMAT also if the terms do not cover the
 *         stretch, reach far beyond it, are too many, or have no ranges (mirror.plan); CAIRN_E_NOMEM; as
 *         mirror_read_repo() */
CAIRN_MUST_USE enum cairn_status mirror_read_packed(struct mirror_packed *out, const struct mirror_call *call,
						    struct cairn_diag *diag);

#endif
