/* Checks that the disk has room above the reserve. */
#ifndef CAIRN_CAS_ROOM_H
#define CAIRN_CAS_ROOM_H

#include "cas/cas.h"

/** Free inodes to keep in reserve, or a hundredth of all inodes if that is less. */
enum { CAIRN_CAS_FILES_RESERVE = 1024 };

/** Checks that there is room above the reserve for more bytes, and for files. @return CAIRN_OK; CAIRN_E_FULL, with the
 * numbers in diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_room(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag);

/** Checks for bytes only, as cairn_cas_room() does. For calls that use few files or free space. @return likewise */
CAIRN_MUST_USE enum cairn_status cas_check_space(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag);

#endif
