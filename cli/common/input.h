/* A whole file, mapped read-only, because files may be larger than memory. If it is truncated meanwhile, or the disk
 * fails to read a page, the program reports an unreadable file and exits (74). */
#ifndef CAIRN_CLI_INPUT_H
#define CAIRN_CLI_INPUT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct input {
	const uint8_t *bytes; /* never NULL once the file is open */
	size_t len;
	void *map; /* NULL: not mapped */
};

/** Opens and maps a file. @return CAIRN_OK; CAIRN_E_NOT_FOUND: cannot be opened, or is no regular file; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status input_open(struct input *in, const char *path, struct cairn_diag *diag);

/** Unmaps the file. For CLEANUP(); harmless on a zeroed struct. */
void input_fini(struct input *in);

#endif
