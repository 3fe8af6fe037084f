/* Scrubbing: reads all stored bytes, a xorb at a time, to find damage before the bytes are needed. Reading takes no
 * guard and changes nothing. A separate call mends suspect xorbs. */
#ifndef CAIRN_CAS_KEEP_SCRUB_H
#define CAIRN_CAS_KEEP_SCRUB_H

#include "cas/cas.h"
#include "index/daemon/lease.h"

/** The result of reading one xorb. Plain value. */
struct cairn_scrub_result {
	int64_t id; /* number of its row, from which the next call continues */
	struct cairn_hash xorb;
	uint64_t bytes;     /* bytes read of its copies */
	uint32_t n_damaged; /* copies that differ from the upload */
	bool suspect;       /* copies or row seem wrong: call cairn_cas_scrub_mend() */
	bool lost;          /* the xorb was known to be lost, and still has no copy */
	bool unread;        /* a copy, or its chunk list, cannot be read now */
};

struct cairn_scrub_pace {
	/** Called after each block that was read (at most twice the largest chunk). May wait, to spare the disk.
	 * @return false to stop */
	bool (*go_on)(void *ctx, size_t bytes);
	void *ctx;
};

/** Checks the first xorb after number after_id. Does its chunk list yield its hash? Is every copy, in the object folder
 * and in packs, sound? Does the row describe one of the copies? Reports damaged copies to the callback noticed of
 * cairn_cas_options. Reads all copies; holds no lock meanwhile.
 * @param after_id  0: from the first
 * @return CAIRN_OK
 *         CAIRN_E_NOT_FOUND  no xorb comes after it
 *         CAIRN_E_BUSY       stopped; nothing is known
 *         CAIRN_E_IO, CAIRN_E_DAMAGED  the index cannot be read, so no later xorb can be found
 *         CAIRN_E_FULL, CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_cas_scrub_next(struct cairn_cas *cas, int64_t after_id,
						      const struct cairn_scrub_pace *pace,
						      struct cairn_scrub_result *out);

/* Only one of the daemons that share an index scrubs. Its progress is then a note in the index. If one process alone
 * writes the index, the caller stores the progress. */

/** Takes the lease of the scrub. @return CAIRN_OK: this daemon scrubs, until cairn_cas_give_scrub(); CAIRN_E_CONFLICT
 * another daemon does; as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_take_scrub(struct cairn_cas *cas, struct cairn_index_lease *lease);
void cairn_cas_give_scrub(struct cairn_cas *cas, const struct cairn_index_lease *lease);

/** Reads the note of the scrub. @return as cairn_index_note() */
CAIRN_MUST_USE enum cairn_status cairn_cas_scrub_note(struct cairn_cas *cas, struct cairn_index_note *out);

/** Replaces the note of the scrub.
 * @param lease  of the daemon that scrubs; NULL: any daemon gives an order, such as to pause
 * @param[in,out] note  has the version that was read, and after CAIRN_OK the new version
 * @return CAIRN_OK; CAIRN_E_CONFLICT the note was changed meanwhile: read it again; CAIRN_E_BUSY another daemon has
 *         taken over, or the index is silent; as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_keep_scrub_note(struct cairn_cas *cas, const struct cairn_index_lease *lease,
							   struct cairn_index_note *note, struct cairn_diag *diag);

/** The outcome for a suspect xorb. */
enum cairn_scrub_end {
	CAIRN_SCRUB_SOUND,  /* the row describes a sound copy; or the xorb was removed meanwhile */
	CAIRN_SCRUB_LOST,   /* there is no sound copy */
	CAIRN_SCRUB_UNREAD, /* a copy cannot be read now, or the index cannot be written: nothing was decided */
};

/** Mends a suspect xorb (cairn_cas_mend()), and moves damaged copies that come before a sound one aside. Takes the
 * hash's guard while it reads the copies that were not found damaged within the last day.
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_cas_scrub_mend(struct cairn_cas *cas, const struct cairn_hash *xorb,
						      enum cairn_scrub_end *end);

#endif
