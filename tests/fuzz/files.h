/* Files for fuzz targets, which run without Check. Every call ends the program when it fails. */
#ifndef CAIRN_TESTS_FUZZ_FILES_H
#define CAIRN_TESTS_FUZZ_FILES_H

#include "base/buf.h"

/** A new folder below $TMPDIR or /tmp; its name is static: one a program. */
const char *files_folder(void);

/** Remove the folder and all in it. */
void files_remove(void);

/** Write a file of mode 0600 into the folder. */
void files_write(const char *name, const void *bytes, size_t len);

/** Append a whole file of tests/data. */
void files_add_data(struct cairn_buf *out, const char *name);

#endif
