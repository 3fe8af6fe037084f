/* The names of owners that are repositories of the hub. */
#ifndef CAIRN_INDEX_OWNER_H
#define CAIRN_INDEX_OWNER_H

#include <stdbool.h>
#include <stdint.h>

enum { CAIRN_INDEX_OWNER_BYTES = 32 }; /* room for "hub/NUMBER" */

/** Returns the owner under which a repository's files are registered: "hub/NUMBER". Only repositories have such names.
 * If the repository does not exist, uploads under its owner are refused (repo.gone). */
void cairn_index_repo_owner(char out[static CAIRN_INDEX_OWNER_BYTES], int64_t repo);
/** Does the name have this form? The repository may not exist. */
bool cairn_index_is_repo_owner(const char *owner);
/** Returns the repository's number. @return 0: the name has another form */
int64_t cairn_index_owner_repo(const char *owner);

/** Returns this owner's name once its repository was deleted while files are registered under it. No token has it. */
void cairn_index_gone_owner(char out[static CAIRN_INDEX_OWNER_BYTES], int64_t repo);
bool cairn_index_owner_is_gone(const char *owner);

#endif
