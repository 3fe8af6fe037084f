/* Folders for a test's files, gone with the test. Failures end the running Check test. */
#ifndef CAIRN_TESTS_SUPPORT_TEMPDIR_H
#define CAIRN_TESTS_SUPPORT_TEMPDIR_H

#include <stddef.h>
#include <sys/types.h>

/** A new folder below $TMPDIR or /tmp; NULL after release. */
struct tempdir {
	char *path;
};

struct tempdir tempdir_new(void);

/** Remove the folder and all in it. For CLEANUP(). */
void tempdir_fini(struct tempdir *dir);

/** "DIR/name" in a string owned by the caller, free() or CLEANUP(tempdir_textp). */
char *tempdir_path(const struct tempdir *dir, const char *name);
void tempdir_textp(char **text);

/** Files (not folders) below DIR/name; -1: no such folder. */
int tempdir_count(const struct tempdir *dir, const char *name);

/** Write a file of mode 0600; an existing one is replaced. */
void tempdir_write(const struct tempdir *dir, const char *name, const void *bytes, size_t len);

/** Flip a bit of the byte there, in a file whose mode may be for reading alone; it is 0600 then. */
void tempdir_flip_bit(const char *path, off_t at);

#endif
