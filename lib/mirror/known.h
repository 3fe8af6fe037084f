/* Finds out from the upstream's plan of a long file which of its bytes are in other files of the store. Part of struct
 * mirror_stream. */
#ifndef CAIRN_MIRROR_KNOWN_H
#define CAIRN_MIRROR_KNOWN_H

#include "mirror/blocks.h"
#include "mirror/parts.h"
#include "mirror/plan.h"

struct mirror_stream;

enum {
	MIRROR_KNOWN_USED_MAX = 16,      /* most files recorded as sources of copied bytes */
	MIRROR_FIRST_BYTES = 256 << 10,  /* bytes of the first block, if the plan may make others unnecessary */
	MIRROR_COPY_BYTES_MAX = 8 << 20, /* bytes of a block copied from the store; then other work has its turn */
	MIRROR_PACKED_BLOCK_MIN = 8 << 20,
	MIRROR_PACKED_FAILURES_MAX = 3, /* failed blocks of a file, after which all are fetched plain */
};

struct mirror_known {
	struct cairn_work work; /* first; reads an answer about the plan */
	void (*step)(struct mirror_stream *s);
	void (*go_on)(struct cairn_mirror *m); /* called when more of the plan was read; must not wait */
	/* Used by the call and the work alone, until the state is MIRROR_KNOWN_OVER. */
	struct mirror_call call;
	char path[MIRROR_ADDRESS_BYTES];
	struct mirror_hop hop;
	struct mirror_cas cas;
	struct mirror_plan plan;
	struct cairn_hash file; /* the file's Xet hash at the upstream */

	/* The mirror's lock guards the members below. */
	enum mirror_known_state {
		MIRROR_KNOWN_NOT_ASKED,
		MIRROR_KNOWN_ASKING,
		MIRROR_KNOWN_OVER,
	} state;
	bool is_awaited;                 /* some bytes may be in the store, so blocks wait for the plan */
	uint64_t planned;                /* the plan was read up to this byte */
	struct mirror_known_runs runs;   /* bytes in other files of the store */
	struct mirror_known_runs packed; /* bytes that are shorter as ranges of xorbs */
	struct mirror_cas packed_cas;    /* the source of these ranges */
	unsigned n_packed_failures;
	bool has_unpacked; /* ranges of xorbs were unpacked into the file */
	unsigned n_used;
	struct cairn_hash used[MIRROR_KNOWN_USED_MAX]; /* files from which bytes were copied */
};

/** Decides whether the mirror requests the plan of a long file, and whether blocks wait for the plan. Call it on a
 * worker, before the file's stream fetches. */
void mirror_known_begin(struct mirror_stream *s);
/** Reads from an answer about the file whether the file has a plan, and then requests the plan. On net's thread;
 * without the lock. @param go_on  called, without the lock, when more of the plan was read */
void mirror_known_hear(struct mirror_stream *s, const struct mirror_call *call, void (*go_on)(struct cairn_mirror *m));
/** Shortens a block so that either all or none of its bytes are in another file. Called with the lock. @return false:
 * unknown until the next answer about the plan */
bool mirror_known_cut(const struct mirror_stream *s, struct mirror_run *block);
/** May a block that was cut be fetched as ranges of xorbs? Shortens it so that either all or none of it may. Called
 * with the lock. */
bool mirror_known_is_packed(const struct mirror_stream *s, struct mirror_run *block);
/** Writes the upstream's path for a token for its store. */
void mirror_known_cas_path(const struct mirror_stream *s, char path[static MIRROR_ADDRESS_BYTES]);
/** Judges the address of the file's plan at the store. @param form  "v1" and the like @return as mirror_hop_judge() */
CAIRN_MUST_USE enum cairn_status mirror_known_hop(const struct mirror_stream *s, const struct mirror_cas *cas,
						  const char *form, struct mirror_hop *out, struct cairn_diag *diag);
/** Records in the index where chunks lie in a proved file. On a worker. Reports no failure: later files are then
 * fetched whole. */
void mirror_known_keep(struct mirror_stream *s);
/** Distrusts the sources of a file whose bytes turned out false. Does nothing if no bytes can have been copied or
 * unpacked into the file, by this fetch or an earlier one. Otherwise drops all places of the files that they were
 * copied from, and the next fetch does not request the plan. On a worker.
 * @return false: no bytes were copied or unpacked */
bool mirror_known_was_false(struct mirror_stream *s);

#endif
