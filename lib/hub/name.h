/* Names of accounts and repositories. Pure. */
#ifndef CAIRN_HUB_NAME_H
#define CAIRN_HUB_NAME_H

#include <stdbool.h>

enum { CAIRN_HUB_NAME_MAX = 96 }; /* bytes of the name of an account or a repository */

/** Is the name one that clients accept: 1 to 96 letters, digits, "-", "_" and "."; no "-" or "." at either end; no "--"
 * or ".." inside? */
bool cairn_hub_name_is_good(const char *name);

/** Is the name, in upper or lower case, one that no account can have? A daemon serves these first segments itself, or
 * may do so later. The names that the public hub reserves are among them: clients take none of these for an account. */
bool cairn_hub_name_is_reserved(const char *name);

#endif
