/* The results of a check: the problems that it finds, and its counts. */
#ifndef CAIRN_CAS_CHECK_CHECK_REPORT_H
#define CAIRN_CAS_CHECK_CHECK_REPORT_H

#include "hash/hash.h"

/** A problem that a check found. Borrowed during the call. */
struct cairn_check_problem {
	enum cairn_check_kind {
		CAIRN_CHECK_XORB_LIST,    /* the index's chunk list does not give the xorb's hash */
		CAIRN_CHECK_XORB_UNREAD,  /* the list could not be read: the disk failed or the database is damaged,
					   * which SQLite does not tell apart. So nothing is repaired */
		CAIRN_CHECK_XORB_MISSING, /* the index says that it is stored, but there is no object */
		CAIRN_CHECK_XORB_DAMAGED, /* the object does not give the xorb's hash, or not at the places of the index
					   */
		CAIRN_CHECK_FILE_HASH,    /* the file's terms do not give its hash */
		CAIRN_CHECK_FILE_LOST,    /* a xorb of the file is not here, or not whole */
		CAIRN_CHECK_OBJECT_ALONE, /* an object without a row: of an upload that never ended, or of a newer index
					   */
		/* of the index as a whole: there is no hash */
		CAIRN_CHECK_INDEX_TREE,      /* a page, or a tree that is not what its table says */
		CAIRN_CHECK_INDEX_REFERENCE, /* what files need is not what their terms say */
		CAIRN_CHECK_INDEX_OFFSETS,   /* terms name other bytes of their xorbs than the chunk lists */
		CAIRN_CHECK_INDEX_LINK,      /* a row lacks the row that belongs to it */
		CAIRN_CHECK_INDEX_COUNT,     /* a count differs from the rows that it counts */
		CAIRN_CHECK_INDEX_CONTENT,   /* a file kept in the index is not what was committed */
		/* of a pack: there is no hash, and it is not of the index */
		CAIRN_CHECK_PACK, /* a pack is not served, or its structure is damaged */
	} kind;
	struct cairn_hash hash; /* of the xorb or file, if the kind has one */
	const char *text;       /* for people */
	bool repaired;          /* in the way that cairn_cas_check() describes */
};

struct cairn_check_report {
	uint64_t n_xorbs, n_files, n_objects; /* looked at */
	uint64_t bytes_read;                  /* of objects */
	uint64_t n_problems, n_repaired;
};

struct cairn_check_options {
	bool skip_data; /* check only existence and size of objects, do not read them */
	bool repair;
	/* These two are called one at a time, but from several threads. */
	void (*problem)(void *ctx, const struct cairn_check_problem *problem); /* may be NULL */
	/** Called about once an object or file. @return false to stop (CAIRN_E_BUSY) */
	bool (*progress)(void *ctx, const struct cairn_check_report *so_far);
	void *ctx;
};

/** "xorb.list", "xorb.missing", ... */
const char *cairn_check_kind_name(enum cairn_check_kind kind);

/** Does a problem of this kind concern a xorb or a file? */
bool cairn_check_kind_has_hash(enum cairn_check_kind kind);

#endif
