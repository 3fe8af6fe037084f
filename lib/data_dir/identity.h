/* DIR/identity: the name by which backups recognize a store. The first backup creates it; restore restores it. */
#ifndef CAIRN_DATA_DIR_IDENTITY_H
#define CAIRN_DATA_DIR_IDENTITY_H

#include "base/status.h"

enum { CAIRN_IDENTITY_BYTES = 32 + 1 }; /* hexadecimal digits, and a zero */

/** Name of the file in the folder. The file has the identity and a newline. */
#define CAIRN_IDENTITY_FILE "identity"

bool cairn_identity_is(const char *text);

/** Reads the identity of a data folder, or creates one durably. Several processes may call this at once.
 * @return CAIRN_OK; CAIRN_E_FORMAT the file has no identity in it; CAIRN_E_USAGE the path is too long; CAIRN_E_FULL;
 *         CAIRN_E_IO; CAIRN_E_NOMEM; all with the rule data_dir.identity */
CAIRN_MUST_USE enum cairn_status cairn_identity_get(char out[static CAIRN_IDENTITY_BYTES], const char *data_dir,
						    struct cairn_diag *diag);

#endif
