/* Fixtures for tests of git-like repositories: an index with an account, and shorthands for its calls. */
#ifndef CAIRN_TESTS_HISTORY_FIXTURE_H
#define CAIRN_TESTS_HISTORY_FIXTURE_H

#include "index/hub/history.h"

enum { HX_TEXT_MAX = 4096 };

extern struct cairn_index *hx_index;
extern int64_t hx_ann; /* number of the account "Ann" */
extern const struct cairn_index_message HX_MESSAGE;

/** Returns the folder of the index. Tests may create other folders in it. */
const char *hx_folder(void);
/** For checked fixtures: makes an index in a new folder. Checks at the end of every test that the index is whole. */
void hx_set_up(void);
void hx_tear_down(void);
/** Ends the fixture after damage, without examining the index. */
void hx_end(void);

int64_t hx_add_account(enum cairn_index_account_kind kind, const char *name);
/** Adds "Far", an organisation of the mirrored hub, to any index. */
int64_t hx_add_mirrored(struct cairn_index *ix);
/** Adds a model, whose .gitattributes has 17 bytes. */
int64_t hx_model(const char *name);
/** Adds a bucket of Ann's. */
int64_t hx_bucket(const char *name);
const char *hx_owner_of(int64_t repo);
/** Uploads file `number` under an owner, who claims its SHA-256. */
void hx_uploaded(uint64_t number, const char *owner);

struct cairn_index_operation hx_put(const char *path, const char *text);
struct cairn_index_operation hx_put_file(const char *path, uint64_t number);
struct cairn_index_operation hx_drop(const char *path);
struct cairn_index_operation hx_drop_folder(const char *path);

struct cairn_index_add_commit hx_request(int64_t repo, const char *branch,
					 const struct cairn_index_operation *operations, uint32_t n);
/** Commits to a branch. @return true: there is a new commit */
bool hx_committed(int64_t repo, const char *branch, const struct cairn_index_operation *operations, uint32_t n);
bool hx_committed_one(int64_t repo, const char *branch, struct cairn_index_operation operation);
void hx_refused(int64_t repo, const char *branch, const struct cairn_index_operation *operations, uint32_t n,
		const char *rule);
void hx_refused_one(int64_t repo, struct cairn_index_operation operation, const char *rule);

struct cairn_index_commit hx_head(int64_t repo, const char *branch);
/** Returns entries as "path " or "path/ ", up to an entry named "stop". */
const char *hx_listed(const struct cairn_index_commit *commit, const char *in, bool recursive, const char *after);
const char *hx_all(int64_t repo, const char *branch);
bool hx_is_there(const struct cairn_index_commit *commit, const char *path, struct cairn_index_entry *out);
void hx_text_is(const struct cairn_index_commit *commit, const char *path, const char *text);
void hx_oid_is(const struct cairn_git_oid *oid, const char *text);

/** Makes a branch or tag at a commit. @return as cairn_index_add_ref() */
enum cairn_status hx_add_ref(int64_t repo, enum cairn_index_ref_kind kind, const char *name, int64_t commit);
/** Deletes a branch or tag. @return as cairn_index_drop_ref() */
enum cairn_status hx_drop_ref(int64_t repo, enum cairn_index_ref_kind kind, const char *name);

/** Returns how many bytes the repositories of an account have. */
uint64_t hx_account_held(int64_t account);
/** Sweeps until nothing is left to sweep. */
void hx_sweep_all(int64_t grace_s);
/** Returns a pull request to main by a stranger, for the caller to open. */
struct cairn_index_add_ref hx_stranger_pull(int64_t repo, int64_t account,
					    const struct cairn_index_operation *operations, uint32_t n);

#endif
