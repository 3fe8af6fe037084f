/* Names of accounts and repositories. Pure. */
#ifndef CAIRN_HUB_NAME_H
#define CAIRN_HUB_NAME_H

#include <stdbool.h>

enum { CAIRN_HUB_NAME_MAX = 96 }; /* bytes of the name of an account or a repository */

/** Do clients accept the name? They accept 1 to 96 letters, digits, "-", "_" and "."; no "-" or "." at either end; no
 * "--" or ".." inside. */
bool cairn_hub_name_is_good(const char *name);

/** Can no account have this name, in upper or lower case? A daemon serves such first segments itself, or may do so
 * later, or the public hub reserves the name, and clients refuse it for an account. */
bool cairn_hub_name_is_reserved(const char *name);

#endif
