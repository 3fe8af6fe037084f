/* What a form with files sends: multipart/form-data (RFC 7578). Pure. */
#ifndef CAIRN_SERVER_PAGE_FORM_FILES_H
#define CAIRN_SERVER_PAGE_FORM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FORM_PARTS_MAX = 40,
	FORM_NAME_MAX = 64,   /* bytes of a field's name */
	FORM_FILE_MAX = 1024, /* bytes of a file's name */
};

/** A field, or a file. */
struct form_part {
	char name[FORM_NAME_MAX + 1];
	bool is_file;
	char file[FORM_FILE_MAX + 1]; /* its name, as the browser says; "": none was chosen */
	const uint8_t *bytes;         /* into what was sent */
	size_t len;
};

struct form_files {
	unsigned n;
	struct form_part parts[FORM_PARTS_MAX];
};

/** Read it. @param type  value of the header Content-Type; NULL: there is none
 *  @return false: it is none, is cut off, has too many parts, or a name that is empty, too long, said twice, has a zero
 *  byte or no end */
bool form_files_read(struct form_files *out, const char *type, const uint8_t *bytes, size_t len);

/** Copy the first field of this name. @param[out] out  size bytes; "" when there is none
 *  @return false: it does not fit, or has a zero byte */
bool form_files_value(const struct form_files *files, const char *name, char *out, size_t size);

#endif
