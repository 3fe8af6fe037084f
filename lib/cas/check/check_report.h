/* The results of a check: the problems that it found, and its counts. */
#ifndef CAIRN_CAS_CHECK_CHECK_REPORT_H
#define CAIRN_CAS_CHECK_CHECK_REPORT_H

#include "hash/hash.h"

/** A problem that a check found. Borrowed during the call. */
struct cairn_check_problem {
	enum cairn_check_kind {
		CAIRN_CHECK_XORB_LIST,    /* the index's chunk list does not yield the xorb's hash */
		CAIRN_CHECK_XORB_UNREAD,  /* the list could not be read: the disk failed or the database is damaged,
					     which SQLite does not distinguish. So nothing is repaired */
		CAIRN_CHECK_XORB_MISSING, /* according to the index it is stored, but there is no object */
		CAIRN_CHECK_XORB_DAMAGED, /* the object does not yield the xorb's hash, or has another layout */
		CAIRN_CHECK_FILE_HASH,    /* the file's terms do not yield its hash */
		CAIRN_CHECK_FILE_LOST,    /* a xorb of the file is missing or damaged */
		CAIRN_CHECK_OBJECT_ALONE, /* an object without a row: an upload never ended, or its index is newer */
		/* in the index as a whole: there is no hash */
		CAIRN_CHECK_INDEX_TREE,      /* a bad page, or a B-tree that differs from its table */
		CAIRN_CHECK_INDEX_REFERENCE, /* the table reference differs from the terms of the files */
		CAIRN_CHECK_INDEX_OFFSETS,   /* terms name other bytes of their xorbs than the chunk lists do */
		CAIRN_CHECK_INDEX_LINK,      /* a row refers to a missing row */
		CAIRN_CHECK_INDEX_COUNT,     /* a count differs from the rows that it counts */
		CAIRN_CHECK_INDEX_CONTENT,   /* a file stored in the index differs from the commit */
		/* in a pack: there is no hash, and it is not in the index */
		CAIRN_CHECK_PACK, /* a pack is not served, or its structure is damaged */
	} kind;
	struct cairn_hash hash; /* hash of the xorb or file, if the kind has one */
	const char *text;       /* for people */
	bool repaired;          /* as cairn_cas_check() describes */
};

struct cairn_check_report {
	uint64_t n_xorbs, n_files, n_objects; /* number checked */
	uint64_t bytes_read;                  /* bytes of objects */
	uint64_t n_problems, n_repaired;
};

struct cairn_check_options {
	bool skip_data; /* check only existence and size of objects, without reading them */
	bool repair;
	/* The next two are called one at a time, but from several threads. */
	void (*problem)(void *ctx, const struct cairn_check_problem *problem); /* may be NULL */
	/** Called about once per object or file. @return false to stop (CAIRN_E_BUSY) */
	bool (*progress)(void *ctx, const struct cairn_check_report *so_far);
	void *ctx;
};

/** Returns the name of a kind: "xorb.list", "xorb.missing", ... */
const char *cairn_check_kind_name(enum cairn_check_kind kind);

/** Does a problem of this kind concern a xorb or a file? */
bool cairn_check_kind_has_hash(enum cairn_check_kind kind);

#endif
