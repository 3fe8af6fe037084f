/* Notes: small files (DIR/notes/NAME) that keep a few numbers across restarts, such as the progress of a scrub. A write
 * replaces the whole note. If a note is missing, its work starts again. */
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

/** Appends the text of a note that is stored elsewhere. @param out  gets at most CAIRN_NOTE_BYTES_MAX bytes */
void cairn_note_text(struct cairn_buf *out, const struct cairn_note_field *fields, size_t n);

/** Reads a text as cairn_note_read() does. @param text  is modified @return CAIRN_OK; CAIRN_E_NOT_FOUND no note */
CAIRN_MUST_USE enum cairn_status cairn_note_parse(char *text, const struct cairn_note_field *fields, size_t n);

/** Reads the fields that a note has; other fields keep their values, and unknown names are ignored.
 * @param name  file name of the note @param n  at most CAIRN_NOTE_FIELDS_MAX
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND missing or damaged; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_note_read(const char *data_dir, const char *name,
						 const struct cairn_note_field *fields, size_t n);

/** Replaces a note, durably. Other users may read it if its folder allows that. Only one process may write a note at a
 * time. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO, with errno; CAIRN_E_NOMEM; CAIRN_E_LIMIT the names are too long */
CAIRN_MUST_USE enum cairn_status cairn_note_write(const char *data_dir, const char *name,
						  const struct cairn_note_field *fields, size_t n);

#endif
