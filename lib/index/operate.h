/* An operator's view of an index: walks over all of it, sums, API keys, telemetry. */
#ifndef CAIRN_INDEX_OPERATE_H
#define CAIRN_INDEX_OPERATE_H

#include "index/hub.h"

enum {
	CAIRN_INDEX_PAGE_MAX = 512,      /* rows of one call of the walks below */
	CAIRN_INDEX_KEY_SCOPES_MAX = 63, /* bytes of a key's scopes */
	CAIRN_INDEX_TELEMETRY_BYTES_MAX = 16384,
};

/**
 * Visits xorbs, or files, in the order in which they came, a page at a time. Each page is one snapshot, held while its
 * rows are visited, so the visitor only takes notes.
 * @param from_id  0, then *next_id of the page before
 * @param limit    rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 * @param visit    its arguments are borrowed for the time of the call
 * @param[out] next_id  0: that was the last page
 * @return CAIRN_OK; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_each_xorb(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						       void (*visit)(void *ctx, const struct cairn_index_xorb *xorb),
						       void *ctx, int64_t *next_id);
/** Does what cairn_index_each_xorb() does, for files. @param with_terms  pass each with its terms */
CAIRN_MUST_USE enum cairn_status cairn_index_each_file(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						       bool with_terms,
						       void (*visit)(void *ctx, const struct cairn_index_file *file),
						       void *ctx, int64_t *next_id);

/** A file as an owner has it. Borrowed for the time of the call. */
struct cairn_index_owned {
	struct cairn_hash hash;
	uint64_t size_bytes;
	int64_t at_unix_s; /* when the file first came, from any owner: not for every caller to see */
	const char *owner; /* "" is the operator */
	const char *shown; /* of a repository of the hub, in a list of all owners: "models/ann/cats"; else NULL */
	bool has_sha256;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* the owner's claim, plain byte order; of several the most believed, then
					       the smallest; never one proved false */
	enum cairn_index_belief belief;     /* belief in this claim */
};

/** The file after which a page begins. */
struct cairn_index_owned_after {
	const struct cairn_hash *hash; /* NULL: at the beginning */
	const char *owner;             /* used in a list of all owners only; NULL: after all owners of the file */
};

/**
 * Visits an owner's files in the order of their hashes, or those of all owners in the order of hashes and then owners.
 * The time grows with the owner's files, not with the page.
 * @param owner  NULL: all
 * @param limit  rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 * @param[out] more  there are further ones
 * @return CAIRN_OK, also for an unknown owner; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owned(struct cairn_index *ix, const char *owner,
							const struct cairn_index_owned_after *after, uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_owned *file),
							void *ctx, bool *more);

/** Sums, each from a scan: about 0.1 s for 100,000 xorbs and a million files. */
struct cairn_index_totals {
	uint64_t n_files, file_bytes;                /* sizes as their owners see them */
	uint64_t n_retired, retired_bytes;           /* waiting to be swept */
	uint64_t n_unreferenced, unreferenced_bytes; /* needed by no file; the retired ones among them */
};
/** Computes the sums. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_totals(struct cairn_index *ix, struct cairn_index_totals *out);

/** An API key as stored: only its SHA-256, which does not reveal the key. */
struct cairn_index_key {
	int64_t id;
	uint8_t digest[CAIRN_SHA256_BYTES];
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];   /* for people; may repeat */
	char repo[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];   /* the repository it is valid for; empty: any */
	char scopes[CAIRN_INDEX_KEY_SCOPES_MAX + 1]; /* what it allows, as in a token */
	int64_t created_unix_s;
	int64_t revoked_unix_s; /* 0: not revoked */
	int64_t expires_unix_s; /* refused from then on; 0: never */
	int64_t used_unix_s;    /* last use, to about an hour; 0: not known */
	int64_t account;        /* whose it is; 0: the operator's */
	int64_t parent;         /* key that it was made with; 0: none */
	char account_name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
};

/** Returns the key with this digest, also a revoked one. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_key(struct cairn_index *ix,
						 const uint8_t digest[static CAIRN_SHA256_BYTES],
						 struct cairn_index_key *out);
/** Is there a key with this number that is neither revoked nor expired, and whose account is not disabled? It is called
 * on the threads of connections, so a remote engine answers from a cache, at most a second old.
 *  @param[out] good  false on failure
 *  @return CAIRN_OK; CAIRN_E_BUSY the cache is too old, or, where others write, the key may be newer; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_key_is_good(struct cairn_index *ix, int64_t id, bool *good);
/** Visits all keys, a page at a time. @return as cairn_index_each_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_key(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						      void (*visit)(void *ctx, const struct cairn_index_key *key),
						      void *ctx, int64_t *next_id);

/** Stores a key. CAIRN_E_CONFLICT: there is one with this digest (key.known), or its account has too many (key.many).
 * The account must exist. */
struct cairn_index_add_key {
	struct cairn_index_write write;
	uint8_t digest[CAIRN_SHA256_BYTES]; /* SHA-256 of the key */
	const char *name, *repo, *scopes;   /* borrowed; struct cairn_index_key */
	int64_t account;                    /* 0: the operator's */
	int64_t expires_unix_s;             /* 0: never */
	int64_t parent;                     /* key that makes it, and must not be revoked; 0: none */
	uint32_t good_max;                  /* refuse unless its account has fewer good keys; 0: any number */
	uint32_t kept_max;                  /* and fewer keys of any kind; likewise */
	int64_t id;                         /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_key(struct cairn_index *ix, struct cairn_index_add_key *add);

/** Revokes a key, and with it the keys that were made with it. CAIRN_E_NOT_FOUND: no key has this number
 * (key.unknown). */
struct cairn_index_revoke_key {
	struct cairn_index_write write;
	int64_t id;
	bool revoked; /* result; false: it was revoked before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_revoke_key(struct cairn_index *ix, struct cairn_index_revoke_key *revoke);

/** Records the use of a key. A missing key is no failure. */
struct cairn_index_use_key {
	struct cairn_index_write write;
	int64_t id, used_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_use_key(struct cairn_index *ix, struct cairn_index_use_key *use);

/** A report of a client. Borrowed. */
struct cairn_index_telemetry {
	int64_t id;
	int64_t at_unix_s;
	const char *sender;
	const uint8_t *body;
	size_t body_len;
};
/** Visits the reports of clients, the newest first. @param before_id  0: from the newest; else *next_id of the page
 * before. Otherwise as cairn_index_each_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_telemetry(struct cairn_index *ix, int64_t before_id, uint32_t limit,
							    void (*visit)(void *ctx,
									  const struct cairn_index_telemetry *row),
							    void *ctx, int64_t *next_id);

/** Stores a client's report, and deletes the oldest reports beyond keep_max, at the latest when some more have come,
 * and the sender's oldest beyond share_max. CAIRN_E_LIMIT: the report is too long (telemetry.bytes). */
struct cairn_index_add_telemetry {
	struct cairn_index_write write;
	const char *sender; /* borrowed */
	const void *body;   /* borrowed, at most CAIRN_INDEX_TELEMETRY_BYTES_MAX */
	size_t body_len;
	uint32_t keep_max;  /* rows kept, this one included; at least 1 */
	uint32_t share_max; /* rows kept of this sender, this one included; 0: as many as of all */
	uint64_t who;       /* the sender, where share_max is not 0 */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_telemetry(struct cairn_index *ix,
							   struct cairn_index_add_telemetry *add);

/** Removes a piece of the rows from before a time. */
struct cairn_index_trim {
	struct cairn_index_write write;
	enum cairn_index_trimmed {
		/* keys revoked or expired before it; the newest key stays, since it tells daemons which keys they do
		 * not know yet */
		CAIRN_INDEX_TRIM_KEYS,
		CAIRN_INDEX_TRIM_TELEMETRY, /* the oldest reports */
	} what;
	int64_t before_unix_s;
	uint32_t n_dropped; /* result; 0: there are no more */
};
CAIRN_MUST_USE enum cairn_status cairn_index_trim(struct cairn_index *ix, struct cairn_index_trim *trim);

#endif
