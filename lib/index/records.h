/* Records that are the same for all engines: functions of index/hub/hub.h, operate.h and quota.h whose SQL is in this
 * folder, not in an engine's. For this folder and the rooms of the engines only. */
#ifndef CAIRN_INDEX_RECORDS_H
#define CAIRN_INDEX_RECORDS_H

#include "base/buf.h"
#include "db/db.h"
#include "index/daemon/device.h"
#include "index/daemon/keys.h"
#include "index/daemon/telemetry.h"
#include "index/hub/access.h"
#include "index/hub/alias.h"
#include "index/hub/card.h"
#include "index/hub/mirror_files.h"
#include "index/hub/mirror_list.h"
#include "index/hub/mirror_offers.h"
#include "index/hub/mirror_place.h"
#include "index/hub/mirror_state.h"
#include "index/hub/parts.h"
#include "index/operate.h"
#include "index/quota.h"
#include "index/transfer.h"

/* Compares names regardless of case. */
#define CAIRN_SQLITE_NAMED(column, name)   column " = " name
#define CAIRN_POSTGRES_NAMED(column, name) "lower(" column ") = lower(" name " COLLATE \"C\")"

/* The name of a namespace of the mirrored hub that was given up: this, and its number. */
#define CAIRN_INDEX_GONE            "gone/"
#define CAIRN_ACCOUNT_GONE(account) "(substr(" account ".name, 1, 5) = '" CAIRN_INDEX_GONE "')"

/* True unless a repository, found by its number or owner, is deleted. With IS NULL, PostgreSQL's planner expects few
 * such rows, and reads a partial index instead. */
#define CAIRN_REPO_KEPT(repo) "coalesce(" repo ".dropped, 0) = 0"
/* The columns of repository r that cairn_records_repo() reads. */
#define CAIRN_REPO_COLUMNS(owner)                                                                                      \
	"r.id, r.kind, r.account, " owner                                                                              \
	", r.name, r.private, r.created, r.updated, r.files, r.bytes, r.gate, r.sdk,"                                  \
	" r.guard, r.pulls_closed"
/* The bytes that repository r counts for its quota, without pull requests that count for other accounts. */
#define CAIRN_REPO_COUNTS(repo)                                                                                        \
	"CASE WHEN " repo ".stored > " repo ".charged THEN " repo ".stored - " repo ".charged ELSE 0 END"
/* The bytes that account a counts for its quota. */
#define CAIRN_ACCOUNT_COUNTS                                                                                           \
	"(SELECT CAST(coalesce(sum(" CAIRN_REPO_COUNTS(                                                                \
		"x") "), 0) AS bigint) FROM repo x WHERE x.account = a.id"                                             \
		     " AND x.dropped IS NULL) + (SELECT CAST(coalesce(sum(p.charged), 0) AS bigint) FROM pull p"       \
		     " WHERE p.account = a.id AND p.charged > 0)"
/* The name of repository r of account a, as operators see it. */
#define CAIRN_REPO_SHOWN                                                                                               \
	"CASE r.kind WHEN 1 THEN 'models/' WHEN 2 THEN 'datasets/' WHEN 3 THEN 'spaces/' WHEN 4 THEN 'buckets/'"       \
	" ELSE 'kernels/' END || a.name || '/' || r.name"
/* The name of scope s, as operators see it, if it is a repository of the hub. */
#define CAIRN_SQLITE_SHOWN                                                                                             \
	"(SELECT " CAIRN_REPO_SHOWN " FROM repo r CROSS JOIN account a ON a.id ="                                      \
	" r.account WHERE s.name GLOB 'hub/*' AND r.id = CAST(substr(s.name, 5) AS INTEGER))"
#define CAIRN_POSTGRES_SHOWN                                                                                           \
	"(SELECT " CAIRN_REPO_SHOWN " FROM repo r JOIN account a ON a.id = r.account"                                  \
	" WHERE r.scope = s.id AND left(s.name, 4) = 'hub/')"

/* The columns of a row x of xorb. PostgreSQL might answer EXISTS() by reading all references once. */
#define CAIRN_XORB_COLUMNS "x.id, x.hash, x.chunks, x.unpacked, x.stored, x.retired, x.at, x.withdrawn, "
#define CAIRN_SQLITE_XORB  CAIRN_XORB_COLUMNS "EXISTS(SELECT 1 FROM reference WHERE reference.xorb = x.id)"
#define CAIRN_POSTGRES_XORB                                                                                            \
	CAIRN_XORB_COLUMNS "(SELECT true FROM reference WHERE reference.xorb = x.id LIMIT 1) IS NOT NULL, x.copy"

/* The new xorb.withdrawn of a xorb that is needed again. Nobody was offered a retired xorb since its retirement. */
#define CAIRN_STAYS_WITHDRAWN(stays) "CASE WHEN " stays " THEN coalesce(withdrawn, retired) END"

/* Counts rows for a quota (quota.h). A text counts in bytes. */
#define CAIRN_SQL_TEXT_OF(number)        #number
#define CAIRN_SQL_TEXT(number)           CAIRN_SQL_TEXT_OF(number)
#define CAIRN_SQLITE_FILE_COUNTS(size)   "max(" size ", " CAIRN_SQL_TEXT(CAIRN_INDEX_FILE_BYTES_MIN) ")"
#define CAIRN_POSTGRES_FILE_COUNTS(size) "greatest(" size ", " CAIRN_SQL_TEXT(CAIRN_INDEX_FILE_BYTES_MIN) ")"
#define CAIRN_SQLITE_OCTETS(text)        "length(CAST(" text " AS BLOB))"
#define CAIRN_POSTGRES_OCTETS(text)      "octet_length(" text ")"
#define CAIRN_SQL_ROW_COUNTS(octets)     CAIRN_SQL_TEXT(CAIRN_INDEX_ROW_BYTES) " + " octets
/* Rows of commits, entries, refs, pull requests, and files in buckets. */
#define CAIRN_SQL_COMMIT_COUNTS(engine)                                                                                \
	CAIRN_SQL_ROW_COUNTS(CAIRN_##engine##_OCTETS("author") " + " CAIRN_##engine##_OCTETS(                          \
		"title") " + " CAIRN_##engine##_OCTETS("message"))
#define CAIRN_SQL_ENTRY_COUNTS(engine)                                                                                 \
	CAIRN_SQL_ROW_COUNTS(CAIRN_##engine##_OCTETS("folder") " + " CAIRN_##engine##_OCTETS("name"))
#define CAIRN_SQL_REF_COUNTS(engine) CAIRN_SQL_ROW_COUNTS(CAIRN_##engine##_OCTETS("name"))
#define CAIRN_SQL_PULL_COUNTS(engine)                                                                                  \
	CAIRN_SQL_ROW_COUNTS(CAIRN_##engine##_OCTETS("title") " + " CAIRN_##engine##_OCTETS(                           \
		"message") " + " CAIRN_##engine##_OCTETS("comment"))
#define CAIRN_SQL_OBJECT_COUNTS(engine) CAIRN_SQL_ROW_COUNTS(CAIRN_##engine##_OCTETS("path"))

/* A repository itself, and one of its former names. */
#define CAIRN_SQL_REPO_COUNTS   CAIRN_SQL_TEXT(CAIRN_INDEX_REPO_BYTES)
#define CAIRN_SQL_FORMER_COUNTS CAIRN_SQL_TEXT(CAIRN_INDEX_FORMER_BYTES)

/** Growth by the current write: bytes that a repository and its account, or another owner, hold more. */
struct cairn_index_growth {
	int64_t owner; /* 0: none */
	int64_t repo_bytes, account_bytes;
	int64_t uncounted; /* an owner whose size is not stored; 0: unknown */
};

/** Counts of the index, stored in its row of state so that rows need not be counted. */
struct cairn_index_counts {
	int64_t collection; /* number of removals of files or xorbs, and of retirements: shards accepted before the last
			       are no longer known */
	int64_t files, xorbs, shards, eligible, stored_bytes;
	int64_t keys, withdrawn; /* number of changes of keys, and of offered xorbs; SQLite stores neither */
};

/** The current transaction, as records see it. */
struct cairn_index_tx {
	struct cairn_index *ix;
	struct cairn_db *db;
	struct cairn_index_counts *counts; /* the engine's counts in the transaction */
	struct cairn_index_counts saved;   /* counts at the savepoint of the current write */
	enum cairn_index_frozen frozen;    /* if frozen, writes are refused */
	struct cairn_index_growth growth;  /* zeroed before each write */
	bool keys_changed;                 /* the set of good keys changed: the engine informs all that cache it */
};

/** Borrows a reader, which returns to its pool when the rows end. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_records_take(struct cairn_index *ix, struct cairn_db_rows *rows);
/** Runs a statement on a borrowed reader, which returns when the rows end, and steps to the first row.
 * @return as cairn_db_find(); as every read */
CAIRN_MUST_USE enum cairn_status cairn_records_find(struct cairn_index *ix, struct cairn_db_rows *rows,
						    const struct cairn_sql *sql, const struct cairn_db_args *args);
/** Does what cairn_records_find() does, after announcing to a server how long it may take. */
CAIRN_MUST_USE enum cairn_status cairn_records_scan(struct cairn_index *ix, struct cairn_db_rows *rows,
						    enum cairn_db_advice advice, const struct cairn_sql *sql);
/** Returns the number of rows of a page: the limit, or the maximum if the limit is 0 or larger. */
uint32_t cairn_records_page(uint32_t limit);
/** Ends a page. @param status  CAIRN_E_NOT_FOUND: the rows have ended @param[out] next_id  0: it was the last page */
CAIRN_MUST_USE enum cairn_status cairn_records_paged(enum cairn_status status, uint32_t n, uint32_t page, int64_t last,
						     int64_t *next_id);

/** Appends numbers as a JSON list, a text for a statement. @return CAIRN_OK; CAIRN_E_LIMIT; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_records_numbers(struct cairn_buf *out, const int64_t *numbers, uint32_t n);

/** Reads one number in a write. @param[out] number  0 unless CAIRN_OK  @return as cairn_db_find() */
CAIRN_MUST_USE enum cairn_status cairn_records_number(struct cairn_index_tx *tx, const struct cairn_sql *sql,
						      const struct cairn_db_args *args, int64_t *number);

/** Returns the number of an owner, or assigns one. @return CAIRN_OK; CAIRN_E_NOT_FOUND the owner's repository does not
 * exist; as cairn_db_ask() */
CAIRN_MUST_USE enum cairn_status cairn_records_scope(struct cairn_index_tx *tx, const char *name, int64_t *id);

/** Returns the number of a repository's owner. @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown); as cairn_db_ask() */
CAIRN_MUST_USE enum cairn_status cairn_records_find_repo(struct cairn_index_tx *tx, int64_t repo, int64_t *owner,
							 struct cairn_diag *diag);

/** Adds a repository that counts as deleted until cairn_records_show_repo(); a sweep removes it only an hour later.
 * @param[out] owner  owner of its files @return CAIRN_OK; CAIRN_E_CONFLICT (repo.known); as cairn_db_ask() */
CAIRN_MUST_USE enum cairn_status cairn_records_hide_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add,
							 int64_t *owner);
/** Makes a hidden repository visible, so that it counts for quotas. @return as cairn_records_hide_repo() */
CAIRN_MUST_USE enum cairn_status cairn_records_show_repo(struct cairn_index_tx *tx, struct cairn_index_add_repo *add,
							 int64_t owner);

/** Counts the bytes by which an owner, and its account, grow in this write. The engine updates the owner's row.
 * @param bytes  may be negative */
void cairn_records_grow(struct cairn_index_tx *tx, int64_t owner, int64_t bytes);
/** Checks after a write that its quotas hold. @return CAIRN_OK; CAIRN_E_DENIED (quota.repo, quota.account) */
CAIRN_MUST_USE enum cairn_status cairn_records_check_quota(struct cairn_index_tx *tx, struct cairn_diag *diag);
/** Does the same for one account, even if it did not grow. */
CAIRN_MUST_USE enum cairn_status cairn_records_check_account(struct cairn_index_tx *tx, int64_t account,
							     struct cairn_diag *diag);
/** Counts a new xorb, which no file needs yet, for its uploader. Checks the limit for all xorbs without a file.
 * @return CAIRN_OK; CAIRN_E_DENIED (quota.unregistered, quota.account, quota.repo); as cairn_db_ask() */
CAIRN_MUST_USE enum cairn_status cairn_records_hold_xorb(struct cairn_index_tx *tx, struct cairn_index_put_xorb *put,
							 int64_t xorb);
/** Reads the limit and the stored size; `column` is the first. */
struct cairn_index_room cairn_records_room(const struct cairn_db_rows *rows, int column);

/* Sets a savepoint, so that a write can be undone alone. SQLite then copies each changed page: slower by a sixth. */
CAIRN_MUST_USE enum cairn_status cairn_records_save(struct cairn_index_tx *tx);
/** Rolls back to the savepoint; call cairn_records_release() next. */
CAIRN_MUST_USE enum cairn_status cairn_records_undo(struct cairn_index_tx *tx);
CAIRN_MUST_USE enum cairn_status cairn_records_release(struct cairn_index_tx *tx);
/** Makes a write without a visible effect. */
CAIRN_MUST_USE enum cairn_status cairn_records_probe(struct cairn_index_tx *tx);

/** The changes of a bucket by one write, for clients that follow it (feed.c). Zeroed: none. */
struct cairn_feed_note {
	bool is_full; /* there were more changes than are kept */
	size_t len;
	char paths[65536];
};
/** @param letter  as in struct cairn_index_feed_batch */
void cairn_records_note_change(struct cairn_feed_note *note, char letter, const char *path);
/** Queues the new batch, and the removal of old ones. */
void cairn_records_queue_feed(struct cairn_index_tx *tx, int64_t repo, int64_t at_unix_ms,
			      const struct cairn_feed_note *note);
CAIRN_MUST_USE enum cairn_status cairn_records_drop_feed(struct cairn_index_tx *tx, int64_t repo);

/* The rows of pull requests (pulls.c), within the transaction. @return as cairn_db_run() */
struct cairn_index_add_ref;
struct cairn_index_add_commit;
struct cairn_commits_new;
/** @param add  its number must be set */
CAIRN_MUST_USE enum cairn_status cairn_records_add_pull(struct cairn_index_tx *tx,
							const struct cairn_index_add_ref *add, int64_t owner);
CAIRN_MUST_USE enum cairn_status cairn_records_end_pull(struct cairn_index_tx *tx,
							const struct cairn_index_add_commit *last, int64_t owner);
CAIRN_MUST_USE enum cairn_status cairn_records_drop_pulls(struct cairn_index_tx *tx, int64_t repo);
/** Checks limits of strangers' pull requests. @param account  who opens one @return also CAIRN_E_DENIED (pr.many) */
CAIRN_MUST_USE enum cairn_status cairn_records_may_open_pull(struct cairn_index_tx *tx, int64_t repo, int64_t account,
							     struct cairn_diag *diag);
/** Counts a pull request that this write opened for the account that opened it, instead of the repository.
 * @param bytes  bytes of its commit, at full size  @return also CAIRN_E_DENIED (quota.account); CAIRN_E_LIMIT
 * (pr.full) */
CAIRN_MUST_USE enum cairn_status cairn_records_charge_opened(struct cairn_index_tx *tx, struct cairn_index_add_ref *add,
							     int64_t bytes);
/** Does the same for a commit to a pull request. */
CAIRN_MUST_USE enum cairn_status cairn_records_charge_commit(struct cairn_index_tx *tx,
							     const struct cairn_index_add_commit *add,
							     const struct cairn_commits_new *commit,
							     struct cairn_diag *diag);
/** Counts a pull request for its repository from now on. @param[out] bytes  growth of the repository */
CAIRN_MUST_USE enum cairn_status cairn_records_take_pull(struct cairn_index_tx *tx, int64_t repo, const char *name,
							 int64_t *bytes);

/* Files of the store in pull requests of strangers (proposed.c). @return as cairn_db_run() */
struct cairn_index_operation;
/** Finds the bucket whose files the operations of a stranger's commit name. @param[out] holder its scope, or
 *  CAIRN_COMMITS_NO_HOLDER: the account has none, or no operation names a file */
CAIRN_MUST_USE enum cairn_status cairn_records_find_holder(struct cairn_index_tx *tx, int64_t account,
							   const struct cairn_index_operation *operations, uint32_t n,
							   int64_t *holder);
/** Records which files a new commit names. */
CAIRN_MUST_USE enum cairn_status cairn_records_propose_files(struct cairn_index_tx *tx,
							     const struct cairn_commits_new *commit, int64_t pull);
/** Gives the repository the files of a pull request, and takes them from the bucket. The repository grows. */
CAIRN_MUST_USE enum cairn_status cairn_records_adopt_proposed(struct cairn_index_tx *tx, int64_t owner, int64_t pull);
/** Does the same before a commit merges the pull request, so that the commit finds the files. */
CAIRN_MUST_USE enum cairn_status cairn_records_adopt_merged(struct cairn_index_tx *tx,
							    const struct cairn_index_add_commit *add);
/** Removes all proposed files of a repository. */
CAIRN_MUST_USE enum cairn_status cairn_records_drop_proposed(struct cairn_index_tx *tx, int64_t owner);
/** Removes a pull request that was closed before a time. @param[out] more  false: there was none */
CAIRN_MUST_USE enum cairn_status cairn_records_sweep_ended(struct cairn_index_tx *tx, int64_t before_unix_s,
							   bool *more);
/** Removes the proposed files of a removed pull request. @param[out] more  false: none is left */
CAIRN_MUST_USE enum cairn_status cairn_records_sweep_proposed(struct cairn_index_tx *tx,
							      struct cairn_index_sweep_place *at, bool *more);

/** Queues the removal of the parts of a content from a byte on (parts.c). */
void cairn_records_queue_drop_parts(struct cairn_index_tx *tx, int64_t repo, int64_t content, uint64_t from);
/** Fails: the mirrored repository lacks the content, or its file. @return CAIRN_E_NOT_FOUND (content.unknown) */
CAIRN_MUST_USE enum cairn_status cairn_records_content_unknown(struct cairn_diag *diag);

/** Queues a record that a content of a mirrored repository was read on a day (mirror_files.c). @param gets_file  this
 * write gives the content its file */
void cairn_records_queue_use(struct cairn_index_tx *tx, int64_t content, int64_t day, bool gets_file);

/** Queues the removal of all requests for access to a repository (access.c). */
void cairn_records_queue_drop_access(struct cairn_index_tx *tx, int64_t repo);

/** Reads a repository; its columns (CAIRN_REPO_COLUMNS) come first. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_records_repo(struct cairn_db_rows *row, struct cairn_index_repo *out);
/** Reads a card from the columns task, library, tags, data, config, from `column` on. Borrows the row's texts. */
void cairn_records_card(struct cairn_db_rows *row, int column, struct cairn_index_card *out);

/* Writes, each within the transaction. @return as its status */
#define CAIRN_RECORD_WRITES(X)                                                                                         \
	X(share_file, false)                                                                                           \
	X(renew_xorb, false)                                                                                           \
	X(lose_xorb, true)                                                                                             \
	X(set_repo, true)                                                                                              \
	X(guard_repo, false)                                                                                           \
	X(move_repo, false)                                                                                            \
	X(drop_repo, true)                                                                                             \
	X(add_key, false)                                                                                              \
	X(revoke_key, true)                                                                                            \
	X(use_key, false)                                                                                              \
	X(add_device, false)                                                                                           \
	X(answer_device, false)                                                                                        \
	X(take_device, false)                                                                                          \
	X(ask_access, false)                                                                                           \
	X(grant_access, false)                                                                                         \
	X(set_access, true)                                                                                            \
	X(add_telemetry, false)                                                                                        \
	X(trim, true)                                                                                                  \
	X(add_account, false)                                                                                          \
	X(disable_account, true)                                                                                       \
	X(set_member, true)                                                                                            \
	X(set_quota, true)                                                                                             \
	X(set_card, false)                                                                                             \
	X(add_alias, false)                                                                                            \
	X(drop_aliases, true)                                                                                          \
	X(drop_namespace, true)                                                                                        \
	X(add_part, false)                                                                                             \
	X(drop_parts, true)                                                                                            \
	X(drop_places, true)                                                                                           \
	X(use_content, false)                                                                                          \
	X(forget_use, true)                                                                                            \
	X(set_mirror_state, true)                                                                                      \
	X(set_ahead, false)                                                                                            \
	X(note_ahead, false)                                                                                           \
	X(withdraw_xorbs, true)                                                                                        \
	X(offer_xorbs, false)                                                                                          \
	X(retire_xorbs, true)
#define RECORD(name, frees_room)                                                                                       \
	CAIRN_MUST_USE enum cairn_status cairn_records_##name(struct cairn_index_tx *tx,                               \
							      struct cairn_index_##name *request);
CAIRN_RECORD_WRITES(RECORD)
RECORD(add_repo, false)
RECORD(fill_content, false)
RECORD(keep_places, false)
#undef RECORD

#endif
