/* Checking a store against itself: the index against the objects, every hash recomputed (fsck). */
#ifndef CAIRN_CAS_CHECK_H
#define CAIRN_CAS_CHECK_H

#include "cas/cas.h"

/** One thing that is not as it should be. Borrowed for the time of the call. */
struct cairn_check_problem {
	enum cairn_check_kind {
		CAIRN_CHECK_XORB_LIST,    /* the index's chunk list does not give the xorb's hash */
		CAIRN_CHECK_XORB_UNREAD,  /* the list could not be read: the disk failed, or the database is damaged,
					   * which SQLite does not tell apart. Nothing is repaired because of it */
		CAIRN_CHECK_XORB_MISSING, /* the index says that it is stored, and there is no object */
		CAIRN_CHECK_XORB_DAMAGED, /* the object does not give the xorb's hash, or not at the places of the index
					   */
		CAIRN_CHECK_FILE_HASH,    /* the file's terms do not give its hash */
		CAIRN_CHECK_FILE_LOST,    /* a xorb of the file is not here, or not whole */
		CAIRN_CHECK_OBJECT_ALONE, /* an object without a row: of an upload that never ended, or of a newer index
					   */
	} kind;
	struct cairn_hash hash; /* of the xorb or file */
	const char *text;       /* for a person */
	bool repaired;          /* what that means is said at cairn_cas_check() */
};

struct cairn_check_report {
	uint64_t n_xorbs, n_files, n_objects; /* looked at */
	uint64_t bytes_read;                  /* of objects */
	uint64_t n_problems, n_repaired;
};

struct cairn_check_options {
	bool skip_data; /* objects are only looked for and measured, not read */
	bool repair;
	void (*problem)(void *ctx, const struct cairn_check_problem *problem); /* NULL: nobody listens */
	/** Called about once an object or file. @return false to stop (CAIRN_E_BUSY) */
	bool (*progress)(void *ctx, const struct cairn_check_report *so_far);
	void *ctx;
};

/** "xorb.list", "xorb.missing", ... */
const char *cairn_check_kind_name(enum cairn_check_kind kind);

/**
 * Check everything; long. Safe while uploads and collections go on: what changes meanwhile is looked at again under the
 * xorb's guard before it counts as a problem; objects without a row are not judged while a collection runs. Repairing
 * throws nothing away: a damaged object is set aside and counts as not stored until it is uploaded again; an object
 * without a row that verifies is registered (and collected later if nobody needs it), one that does not is set aside.
 * Files are never changed: they are whole again when their xorbs are.
 * @return CAIRN_OK also with problems, which report counts; CAIRN_E_BUSY stopped; CAIRN_E_IO; CAIRN_E_DAMAGED;
 *         CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_check(struct cairn_cas *cas, const struct cairn_check_options *options,
						 struct cairn_check_report *report);

#endif
