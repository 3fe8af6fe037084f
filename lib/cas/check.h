/* Checking a store against itself: the index against the objects, every hash recomputed (fsck). */
#ifndef CAIRN_CAS_CHECK_H
#define CAIRN_CAS_CHECK_H

#include "cas/cas.h"
#include "cas/check_report.h"

/**
 * Check everything; long. Safe while uploads and collections go on: what changes meanwhile is looked at again under the
 * xorb's guard before it counts as a problem; objects without a row are not judged while a collection runs. Repairing
 * throws nothing away. What the index says twice is put right. A row that is wrong is made anew from an object that is
 * whole. A damaged object counts as not stored and is not offered until it is uploaded again; it stays in its place as
 * long as some of its chunks can be read, and is set aside when none can. An object without a row that verifies is
 * registered (and collected later if nobody needs it), one that does not is set aside.
 * Files are never changed: they are whole again when their xorbs are.
 * @return CAIRN_OK also with problems, which report counts; CAIRN_E_BUSY stopped; as index and store: what could
 *         not be looked at
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_check(struct cairn_cas *cas, const struct cairn_check_options *options,
						 struct cairn_check_report *report);

#endif
