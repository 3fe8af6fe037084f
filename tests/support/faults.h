/* Tests load this library before the C library (LD_PRELOAD). It makes calls on files of one folder fail, and records
 * calls. tests/clients/faults.py controls both. */
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
	FAULTS_MALLOC, /* has no file */
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
	FAULTS_MARK,        /* written by the test */
	FAULTS_ALL_SYNCED,  /* path of a folder, bytes: the callers */
};

enum { FAULTS_PATH_BYTES = 4096, FAULTS_CALLERS = 8, FAULTS_CALLERS_BYTES = FAULTS_CALLERS * 512 };

/** Finds the path of a descriptor, or of a path relative to one. @param[out] out  relative to the test's folder @return
 * true: it is in that folder */
bool faults_path(char out[static FAULTS_PATH_BYTES], int fd, const char *path);

/** Were some allocations chosen to fail? */
bool faults_memory_is_armed(void);
/** Counts an allocation. Call only if allocations are armed. @return true: it must fail, and errno is set */
bool faults_no_memory(void);

/** Opens the file of records, if the test wants records. Called once. */
void faults_trace_begin(void);

/** Writes the call stack to out: a line "FILE OFFSET" for each caller, the innermost first, as addr2line(1) reads it.
 * Not with the lock held. @return its length; 0: nothing is recorded */
size_t faults_trace_callers(char out[static FAULTS_CALLERS_BYTES]);

/** Begin and end a time in which no other thread makes a call, so that records have the order of the calls. */
void faults_trace_lock(void);
void faults_trace_unlock(void);

/** Adds a record. Call with the lock held. @param file  an open descriptor of the recorded inode; -1: none */
void faults_trace(enum faults_record kind, int file, off_t offset, const char *path, const void *bytes, size_t len);

#endif
