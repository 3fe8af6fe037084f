/* Room for what comes: what the disk has above the reserve. */
#ifndef CAIRN_CAS_ROOM_H
#define CAIRN_CAS_ROOM_H

#include "cas/cas.h"

/** Of the files that there can be (inodes), this many are left, or a hundredth of all where that is less. */
enum { CAIRN_CAS_FILES_RESERVE = 1024 };

/** Is there room for so many bytes more above the reserve, and for files? @return CAIRN_OK; CAIRN_E_FULL, with the
 * numbers in diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_room(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag);

/** As cairn_cas_room(), for what takes few files or makes room for others. @return likewise */
CAIRN_MUST_USE enum cairn_status cas_check_space(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag);

#endif
