/* Checks a store against itself (fsck): compares the index with the objects, and recomputes every hash. */
#ifndef CAIRN_CAS_CHECK_CHECK_H
#define CAIRN_CAS_CHECK_CHECK_H

#include "cas/cas.h"
#include "cas/check/check_report.h"

/** Checks everything, which takes long. Safe during uploads and collections: a suspect xorb is checked again under its
 * guard before it counts as a problem. Objects without a row are not judged while a collection runs. Repairing
 * deletes nothing. It corrects redundant data of the index. It makes a wrong row anew from a sound object. A damaged
 * object counts as not stored and is not offered until it is uploaded again. It stays in its place while some of its
 * chunks can be read, and is set aside when none can. An object without a row is registered if it verifies (and
 * collected later if nobody needs it), else it is set aside. Files are never changed: they are whole again when their
 * xorbs are.
 * @return CAIRN_OK also with problems, which report counts; CAIRN_E_BUSY stopped; as index and store: something could
 *         not be checked */
CAIRN_MUST_USE enum cairn_status cairn_cas_check(struct cairn_cas *cas, const struct cairn_check_options *options,
						 struct cairn_check_report *report);

#endif
