/* Tests load this before the C library (LD_PRELOAD). It makes calls on files of one folder fail, and records calls.
 * Its counterpart for both is tests/clients/faults.py. */
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
	FAULTS_MALLOC, /* on no file */
};

/** The records of faults_trace.c. */
enum faults_record {
	FAULTS_CREATED = 1, /* file, path ("": the file has none) */
	FAULTS_WRITTEN,     /* file, offset, bytes */
	FAULTS_TRUNCATED,   /* file, offset: its new length */
	FAULTS_SYNCED,      /* file, path, bytes: the callers, as from faults_trace_callers() */
	FAULTS_DIR_SYNCED,  /* path, bytes: the callers */
	FAULTS_LINKED,      /* file, path */
	FAULTS_RENAMED,     /* path, bytes: the new path */
	FAULTS_UNLINKED,    /* path */
	FAULTS_DIR_MADE,    /* path */
	FAULTS_MARK,        /* made by the test */
	FAULTS_ALL_SYNCED,  /* path of a folder, bytes: the callers */
};

enum { FAULTS_PATH_BYTES = 4096, FAULTS_CALLERS = 8, FAULTS_CALLERS_BYTES = FAULTS_CALLERS * 512 };

/** Finds the path of a descriptor, or of a path relative to one. @return whether it is in the test's folder
 *  @param[out] out  relative to that folder */
bool faults_path(char out[static FAULTS_PATH_BYTES], int fd, const char *path);

/** Shall some allocations fail? */
bool faults_memory_is_armed(void);
/** Counts an allocation. @return whether it must fail; errno is set then. Only if they are armed */
bool faults_no_memory(void);

/** Opens the file of records, if the test wants them. Called once. */
void faults_trace_begin(void);

/** Returns the call stack in out: a line "FILE OFFSET" for each caller, the innermost first, as addr2line(1) takes
 *  it. Not under the lock. @return its bytes; 0: nothing is recorded */
size_t faults_trace_callers(char out[static FAULTS_CALLERS_BYTES]);

/** Between these two no other thread makes a call, so records have the order of the calls. */
void faults_trace_lock(void);
void faults_trace_unlock(void);

/** Adds a record, under the lock. file: an open descriptor whose inode is meant; -1: none. */
void faults_trace(enum faults_record kind, int file, off_t offset, const char *path, const void *bytes, size_t len);

#endif
