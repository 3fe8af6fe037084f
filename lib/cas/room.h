/* Checks that the disk has room above the reserve. */
#ifndef CAIRN_CAS_ROOM_H
#define CAIRN_CAS_ROOM_H

#include "cas/cas.h"

/** Free inodes to reserve, or a hundredth of all inodes if that is less. */
enum { CAIRN_CAS_FILES_RESERVE = 1024 };

/** Is there room above the reserve for more bytes and files? @return CAIRN_OK; CAIRN_E_FULL, with numbers in diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_room(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag);

/** Returns the bytes free above the reserve. UINT64_MAX: the store has no such limit. */
uint64_t cairn_cas_free_bytes(struct cairn_cas *cas);

/** Checks the room for bytes alone, for calls that make few files, or free space. @return as cairn_cas_room() */
CAIRN_MUST_USE enum cairn_status cas_check_space(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag);

#endif
