/* Checks a store (fsck): compares the index with the objects, and recomputes every hash. */
#ifndef CAIRN_CAS_CHECK_CHECK_H
#define CAIRN_CAS_CHECK_CHECK_H

#include "cas/cas.h"
#include "cas/check/check_report.h"

/** Checks everything, which takes long. Safe during uploads and collections: a suspect xorb is checked again under its
 * guard before it counts as a problem. Skips objects without a row while a collection runs. Repairing deletes nothing.
 * It corrects redundant data of the index, and makes a wrong row anew from a sound object. A damaged object counts as
 * not stored and is not offered until it is uploaded again; it is set aside if none of its chunks can be read. An
 * object without a row is registered if it verifies (and collected later if no file needs it), else it is set aside.
 * Files are never changed: they are whole again when their xorbs are.
 * @return CAIRN_OK also with problems, which report counts; CAIRN_E_BUSY stopped; as index and store: a part could not
 *         be checked */
CAIRN_MUST_USE enum cairn_status cairn_cas_check(struct cairn_cas *cas, const struct cairn_check_options *options,
						 struct cairn_check_report *report);

#endif
