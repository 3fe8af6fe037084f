/* Allocations that fail as if memory were full. The real ones are glibc's own, under names that it keeps for this. */
#include "support/faults.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_EXPORTED __attribute__((visibility("default")))

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): glibc's names */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* Only allocations by these fail, because libjwt 1.10 crashes when jansson has no memory for it. */
static const char *const MEMORY_CALLERS[] = {"/cairnd", "/cairn", "/libsqlite3.so.0", "/libmicrohttpd.so.12", NULL};

static bool memory_is_short(const void *caller)
{
	Dl_info info;
	if (!faults_memory_is_armed() || dladdr(caller, &info) == 0)
		return false;
	const char *name = strrchr(info.dli_fname, '/');
	for (const char *const *one = MEMORY_CALLERS; name && *one; one++)
		if (strcmp(name, *one) == 0)
			return faults_no_memory();
	return false;
}

FAULTS_EXPORTED void *malloc(size_t size)
{
	return memory_is_short(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

FAULTS_EXPORTED void *calloc(size_t n, size_t size)
{
	return memory_is_short(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

FAULTS_EXPORTED void *realloc(void *at, size_t size)
{
	return memory_is_short(__builtin_return_address(0)) ? NULL : __libc_realloc(at, size);
}
