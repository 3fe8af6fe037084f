/* Names of repositories. Pure. */
#ifndef CAIRN_CAS_SERVICE_REPO_H
#define CAIRN_CAS_SERVICE_REPO_H

#include <stdbool.h>
#include <stddef.h>

/** Writes the full name of a repository: "a/b" becomes "models/a/b"; an empty name stays empty.
 * @return false: not a valid name, or does not fit */
bool cairn_repo_full_name(char *out, size_t out_len, const char *repo);

#endif
