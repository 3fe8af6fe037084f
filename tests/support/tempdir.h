/* Folders for a test's files, removed with the test. Failures end the running Check test. */
#ifndef CAIRN_TESTS_SUPPORT_TEMPDIR_H
#define CAIRN_TESTS_SUPPORT_TEMPDIR_H

#include <stddef.h>
#include <sys/types.h>

/** A new folder below $TMPDIR or /tmp; NULL after release. */
struct tempdir {
	char *path;
};

struct tempdir tempdir_new(void);

/** Removes the folder and everything in it. For CLEANUP(). */
void tempdir_fini(struct tempdir *dir);

/** Returns "DIR/name", owned by the caller: free() or CLEANUP(tempdir_textp). */
char *tempdir_path(const struct tempdir *dir, const char *name);
void tempdir_textp(char **text);

/** Counts files (not folders) below DIR/name. @return -1: no such folder */
int tempdir_count(const struct tempdir *dir, const char *name);

/** Writes a file of mode 0600, replacing an existing one. */
void tempdir_write(const struct tempdir *dir, const char *name, const void *bytes, size_t len);

/** Flips a bit of the byte at `at`. The file may be read-only, and has mode 0600 afterwards. */
void tempdir_flip_bit(const char *path, off_t at);

#endif
