/* Parses what a form with files sends: multipart/form-data (RFC 7578). Pure. */
#ifndef CAIRN_SERVER_PAGE_FORM_FILES_H
#define CAIRN_SERVER_PAGE_FORM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FORM_PARTS_MAX = 40,
	FORM_NAME_MAX = 64,   /* longest name of a field */
	FORM_FILE_MAX = 1024, /* longest name of a file */
};

/** A part of the form: a field, or a file. */
struct form_part {
	char name[FORM_NAME_MAX + 1];
	bool is_file;
	char file[FORM_FILE_MAX + 1]; /* the file's name, as sent by the browser; "": no file was chosen */
	const uint8_t *bytes;         /* point into the body */
	size_t len;
};

struct form_files {
	unsigned n;
	struct form_part parts[FORM_PARTS_MAX];
};

/** Parses a multipart form. @param type  value of the header Content-Type; NULL: absent @return false: not such a form,
 * cut off, too many parts, or a bad name: empty, too long, given twice, with a zero byte or without an end quote */
bool form_files_read(struct form_files *out, const char *type, const uint8_t *bytes, size_t len);

/** Copies the first field of this name. @param[out] out  size bytes; "" if absent
 *  @return false: it does not fit, or has a zero byte */
bool form_files_value(const struct form_files *files, const char *name, char *out, size_t size);

#endif
