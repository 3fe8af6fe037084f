/* Fixtures for tests of writes that are made in pieces: a write of each kind, with more operations than one transaction
 * takes. For indexes of history_fixture.h. */
#ifndef CAIRN_TESTS_SUPPORT_INDEX_STAGE_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_INDEX_STAGE_FIXTURE_H

#include "support/history_fixture.h"

enum {
	SX_FILES = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1,
	SX_FOLDER = 500
}; /* files of a large write, and of each folder */

/* The operations of sx_put_all(), which tests may change, and their paths. */
extern char sx_paths[SX_FILES][16];
extern struct cairn_index_operation sx_operations[SX_FILES];
/** Makes operations that put a text into each of SX_FILES files. @return sx_operations */
const struct cairn_index_operation *sx_put_all(const char *text);

/** Checks that nothing remains to be removed. */
void sx_is_tidy(void);

/** Opens a pull request of Ann's to main. @return its number */
int64_t sx_new_pull(int64_t repo);
struct cairn_index_commit sx_pull_head(int64_t repo, const char *name);

/* The requests that were sent last. */
extern struct cairn_index_add_commit sx_commit;
extern struct cairn_index_add_repo sx_copy;
extern struct cairn_index_squash sx_squash;
extern struct cairn_index_add_ref sx_opened;

/** Sends a large write. @param done  NULL: waits for it @return as the call of the index */
typedef enum cairn_status sx_send(int64_t repo, void (*done)(struct cairn_index_write *write));
sx_send sx_send_commit; /* to main */
sx_send sx_send_copy;   /* a copy of the repository, with other files and file 7 of the repository */
sx_send sx_send_squash; /* of main */
sx_send sx_send_pull;   /* a commit to pull request 1 */
sx_send sx_send_merge;  /* of pull request 1 */
sx_send sx_send_drop;   /* few operations, which delete the folders of sx_put_all() */
sx_send sx_send_open;   /* a pull request with files */

bool sx_copy_is_there(void);
/** Checks the copy of sx_send_copy(). */
void sx_copy_is_whole(void);

#endif
