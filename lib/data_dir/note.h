/* Notes: small files of a data folder (DIR/notes/NAME) with a few numbers that outlast the process: how far a scrub is,
 * how the last backup went. Each is replaced whole. Nothing depends on one: where it is missing, work begins anew. */
#ifndef CAIRN_DATA_DIR_NOTE_H
#define CAIRN_DATA_DIR_NOTE_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/** A number and its name: lower-case letters, digits and '_'. */
struct cairn_note_field {
	const char *name;
	int64_t *value; /* borrowed */
};

enum {
	CAIRN_NOTE_FIELDS_MAX = 32,
	CAIRN_NOTE_FIELD_NAME_MAX = 31,
	CAIRN_NOTE_BYTES_MAX = CAIRN_NOTE_FIELDS_MAX * (CAIRN_NOTE_FIELD_NAME_MAX + 24),
};

/** Append the text of a note, for one that is kept elsewhere. @param out  takes CAIRN_NOTE_BYTES_MAX bytes */
void cairn_note_text(struct cairn_buf *out, const struct cairn_note_field *fields, size_t n);

/** Read a text as cairn_note_read() does. @param text  is changed @return CAIRN_OK; CAIRN_E_NOT_FOUND it is none */
CAIRN_MUST_USE enum cairn_status cairn_note_parse(char *text, const struct cairn_note_field *fields, size_t n);

/**
 * Read the fields that a note has; others keep what they have, and names that nobody asks for are passed over.
 * @param name  of the note: a file name. @param n  at most CAIRN_NOTE_FIELDS_MAX
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is none, or one that was damaged; CAIRN_E_IO
 */
CAIRN_MUST_USE enum cairn_status cairn_note_read(const char *data_dir, const char *name,
						 const struct cairn_note_field *fields, size_t n);

/** Replace a note, durably. It may be read by other users, as far as its folder lets them. One writer at a time.
 *  @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO, with errno; CAIRN_E_NOMEM; CAIRN_E_LIMIT the names are too long */
CAIRN_MUST_USE enum cairn_status cairn_note_write(const char *data_dir, const char *name,
						  const struct cairn_note_field *fields, size_t n);

#endif
