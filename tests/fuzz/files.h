/* Files for fuzz targets, which run without Check. Every call ends the program if it fails. */
#ifndef CAIRN_TESTS_FUZZ_FILES_H
#define CAIRN_TESTS_FUZZ_FILES_H

#include "base/buf.h"

/** Makes one folder for the program, below $TMPDIR or /tmp. @return its name, static */
const char *files_folder(void);

/** Removes the folder and all files in it. */
void files_remove(void);

/** Writes a file of mode 0600 into the folder. */
void files_write(const char *name, const void *bytes, size_t len);

/** Appends a whole file of tests/data. */
void files_add_data(struct cairn_buf *out, const char *name);

#endif
