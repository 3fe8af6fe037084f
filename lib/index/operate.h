/* What an operator asks of an index: walk over all of it, sum it up, hand out API keys, keep telemetry. */
#ifndef CAIRN_INDEX_OPERATE_H
#define CAIRN_INDEX_OPERATE_H

#include "index/hub.h"

enum {
	CAIRN_INDEX_PAGE_MAX = 512,      /* rows of one call of the walks below */
	CAIRN_INDEX_KEY_SCOPES_MAX = 63, /* bytes of a key's scopes */
	CAIRN_INDEX_TELEMETRY_BYTES_MAX = 65536,
};

/**
 * Visit xorbs, or files, in the order in which they came, a page at a time; each page is one snapshot, held while its
 * rows are visited, so a visitor only takes notes.
 * @param from_id  0, then *next_id of the page before
 * @param limit    rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 * @param visit    what it is handed is borrowed for the time of the call
 * @param[out] next_id  0: that was the last page
 * @return CAIRN_OK; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_each_xorb(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						       void (*visit)(void *ctx, const struct cairn_index_xorb *xorb),
						       void *ctx, int64_t *next_id);
/** Likewise; @param with_terms  each with its terms. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_index_each_file(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						       bool with_terms,
						       void (*visit)(void *ctx, const struct cairn_index_file *file),
						       void *ctx, int64_t *next_id);

/** A file as an owner has it. Borrowed for the time of the call. */
struct cairn_index_owned {
	struct cairn_hash hash;
	uint64_t size_bytes;
	int64_t at_unix_s; /* when the file came first, whosever it was: not every asker's to know */
	const char *owner; /* "" is the operator */
	const char *shown; /* in a list of all owners, of a repository of the hub: "models/ann/cats"; else NULL */
	bool has_sha256;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* the owner's word, plain byte order; of several the one that is believed
					     * most, then the smallest; none that was proved false */
	enum cairn_index_belief belief;     /* of that */
};

/** Where a page of them begins: behind this one. */
struct cairn_index_owned_after {
	const struct cairn_hash *hash; /* NULL: at the beginning */
	const char *owner;             /* counts in a list of all owners only; NULL: behind all owners of the file */
};

/**
 * Visit an owner's files in the order of their hashes, or those of all owners in the order of hashes and then owners.
 * Takes time with the owner's files, whatever the page.
 * @param owner  NULL: all
 * @param limit  rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 * @param[out] more  there are further ones
 * @return CAIRN_OK, also when nobody has heard of the owner; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owned(struct cairn_index *ix, const char *owner,
							const struct cairn_index_owned_after *after, uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_owned *file),
							void *ctx, bool *more);

/** Sums that take a scan each: about 0.1 s for 100,000 xorbs and a million files. */
struct cairn_index_totals {
	uint64_t n_files, file_bytes;                /* sizes as their owners see them */
	uint64_t n_retired, retired_bytes;           /* waiting to be swept */
	uint64_t n_unreferenced, unreferenced_bytes; /* needed by no file; the retired ones among them */
};
/** Add them up. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_totals(struct cairn_index *ix, struct cairn_index_totals *out);

/** An API key as it is kept: only its SHA-256, from which the key cannot be had. */
struct cairn_index_key {
	int64_t id;
	uint8_t digest[CAIRN_SHA256_BYTES];
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];   /* for people; may repeat */
	char repo[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];   /* the repository it is for; empty: any */
	char scopes[CAIRN_INDEX_KEY_SCOPES_MAX + 1]; /* what it allows, as in a token */
	int64_t created_unix_s;
	int64_t revoked_unix_s; /* 0: it was not */
	int64_t expires_unix_s; /* from then on it is refused; 0: never */
	int64_t used_unix_s;    /* when it was last used, to about an hour; 0: not known */
	int64_t account;        /* whose it is; 0: the operator's */
	char account_name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
};

/** The key with this digest, also a revoked one. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_key(struct cairn_index *ix,
						 const uint8_t digest[static CAIRN_SHA256_BYTES],
						 struct cairn_index_key *out);
/** Is there a key of this number that is neither revoked nor expired, and whose account is not disabled? Asked on the
 * threads of connections, so a remote engine answers from memory, which must be no older than a second.
 *  @param[out] good  false on failure
 *  @return CAIRN_OK; CAIRN_E_BUSY what is in memory is too old, or, where others write, the key may be newer; as every
 *          read */
CAIRN_MUST_USE enum cairn_status cairn_index_key_is_good(struct cairn_index *ix, int64_t id, bool *good);
/** Visit all keys, a page at a time. @return as cairn_index_each_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_key(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						      void (*visit)(void *ctx, const struct cairn_index_key *key),
						      void *ctx, int64_t *next_id);

/** Keep a key. CAIRN_E_CONFLICT: there is one with this digest (key.known), or its account has as many as it may
 * (key.many). The account must be there. */
struct cairn_index_add_key {
	struct cairn_index_write write;
	uint8_t digest[CAIRN_SHA256_BYTES]; /* SHA-256 of the key */
	const char *name, *repo, *scopes;   /* borrowed; struct cairn_index_key */
	int64_t account;                    /* 0: the operator's */
	int64_t expires_unix_s;             /* 0: never */
	uint32_t good_max; /* its account has fewer that are neither revoked nor expired; 0: any number */
	uint32_t kept_max; /* and fewer of any kind; likewise */
	int64_t id;        /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_key(struct cairn_index *ix, struct cairn_index_add_key *add);

/** A key is no longer good. CAIRN_E_NOT_FOUND: none has this number (key.unknown). */
struct cairn_index_revoke_key {
	struct cairn_index_write write;
	int64_t id;
	bool revoked; /* result; false: it was before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_revoke_key(struct cairn_index *ix, struct cairn_index_revoke_key *revoke);

/** A key was used. One that is gone is no failure. */
struct cairn_index_use_key {
	struct cairn_index_write write;
	int64_t id, used_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_use_key(struct cairn_index *ix, struct cairn_index_use_key *use);

/** What a client reported. Borrowed. */
struct cairn_index_telemetry {
	int64_t id;
	int64_t at_unix_s;
	const char *sender;
	const uint8_t *body;
	size_t body_len;
};
/** Visit what clients reported, the newest first. @param before_id  0: from the newest; else *next_id of the page
 * before. All else, and what is answered, as cairn_index_each_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_telemetry(struct cairn_index *ix, int64_t before_id, uint32_t limit,
							    void (*visit)(void *ctx,
									  const struct cairn_index_telemetry *row),
							    void *ctx, int64_t *next_id);

/** Keep what a client reported, and of all reports the newest rows. CAIRN_E_LIMIT: it is too long (telemetry.bytes). */
struct cairn_index_add_telemetry {
	struct cairn_index_write write;
	const char *sender; /* borrowed */
	const void *body;   /* borrowed, at most CAIRN_INDEX_TELEMETRY_BYTES_MAX */
	size_t body_len;
	uint32_t keep_max; /* rows kept, this one counted; at least 1 */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_telemetry(struct cairn_index *ix,
							   struct cairn_index_add_telemetry *add);

/** Remove a piece of what is from before a time. */
struct cairn_index_trim {
	struct cairn_index_write write;
	enum cairn_index_trimmed {
		/* that were revoked, or expired, before it; the last one that was made stays: daemons tell by it which
		   keys they have not heard of yet */
		CAIRN_INDEX_TRIM_KEYS,
		CAIRN_INDEX_TRIM_TELEMETRY, /* the oldest reports */
	} what;
	int64_t before_unix_s;
	uint32_t n_dropped; /* result; 0: there are no more */
};
CAIRN_MUST_USE enum cairn_status cairn_index_trim(struct cairn_index *ix, struct cairn_index_trim *trim);

#endif
