/* Names of accounts and repositories. Pure. */
#ifndef CAIRN_HUB_NAME_H
#define CAIRN_HUB_NAME_H

#include <stdbool.h>

enum { CAIRN_HUB_NAME_MAX = 96 }; /* bytes of a name, of an account as of a repository */

/** Is it a name as clients accept it: 1 to 96 letters, digits, "-", "_" and ".", neither "-" nor "." at an end, and
 * neither "--" nor ".." inside? */
bool cairn_hub_name_is_good(const char *name);

/** Is it, in any case, the first segment of what a daemon serves by itself, or may come to, so that no account can have
 * it? What the public hub keeps for itself is among them: clients take it for no account either. */
bool cairn_hub_name_is_reserved(const char *name);

#endif
