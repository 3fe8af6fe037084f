/* Loaded before the C library (LD_PRELOAD) by tests: makes calls on files of one folder fail, and writes down what they
 * did. tests/clients/faults.py is the other end of both. */
#ifndef TESTS_SUPPORT_FAULTS_H
#define TESTS_SUPPORT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum faults_call {
	FAULTS_OPEN,
	FAULTS_MKDIR,
	FAULTS_WRITE,
	FAULTS_PWRITE,
	FAULTS_READ,
	FAULTS_PREAD,
	FAULTS_SENDFILE,
	FAULTS_FSYNC,
	FAULTS_FDATASYNC,
	FAULTS_LINK,
	FAULTS_RENAME,
	FAULTS_UNLINK,
	FAULTS_TRUNCATE,
	FAULTS_MMAP,
	FAULTS_STAT,
	FAULTS_READDIR,
	FAULTS_FLOCK,
};

/** What is written down: the records of faults_trace.c. */
enum faults_record {
	FAULTS_CREATED = 1, /* file, path ("": it has none) */
	FAULTS_WRITTEN,     /* file, offset, bytes */
	FAULTS_TRUNCATED,   /* file, offset: its new length */
	FAULTS_SYNCED,      /* file, path, bytes: who called, as faults_trace_callers() says */
	FAULTS_DIR_SYNCED,  /* path, bytes: likewise */
	FAULTS_LINKED,      /* file, path */
	FAULTS_RENAMED,     /* path, bytes: the new path */
	FAULTS_UNLINKED,    /* path */
	FAULTS_DIR_MADE,    /* path */
	FAULTS_MARK,        /* the test's own */
	FAULTS_ALL_SYNCED,  /* path of a folder, bytes: who called */
};

enum { FAULTS_PATH_BYTES = 4096, FAULTS_CALLERS = 8, FAULTS_CALLERS_BYTES = FAULTS_CALLERS * 512 };

/** The path of a descriptor, or of a path at one; in the folder of the test? @param[out] out  relative to it */
bool faults_path(char out[static FAULTS_PATH_BYTES], int fd, const char *path);

/** Open for records, if the test wants them. Once. */
void faults_trace_begin(void);

/** Who calls: "FILE OFFSET" a line, the innermost first, as addr2line(1) takes them. Not under the lock.
 *  @return bytes of it; 0 when nobody writes it down */
size_t faults_trace_callers(char out[static FAULTS_CALLERS_BYTES]);

/** Between these two nobody else's call comes, so that the order of records is that of the calls. */
void faults_trace_lock(void);
void faults_trace_unlock(void);

/** Under the lock. file: an open descriptor whose inode is meant; -1: none. */
void faults_trace(enum faults_record kind, int file, off_t offset, const char *path, const void *bytes, size_t len);

#endif
