/* Shared by the fuzz targets. A target aborts when a parser breaks a promise; sanitizers find the other faults. */
#ifndef CAIRN_TESTS_FUZZ_FUZZ_H
#define CAIRN_TESTS_FUZZ_FUZZ_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** 1 in the program that replays a corpus (meson.build): it waits for every answer. */
#ifndef FUZZ_REPLAYS
#define FUZZ_REPLAYS 0
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static inline void fuzz_must(bool right)
{
	if (!right)
		abort();
}

/** Returns the bytes up to the first zero as a text, allocated to its exact length, so that a sanitizer notices a read
 * past the end. Owned by the caller: free() or CLEANUP(fuzz_textp). */
static inline char *fuzz_text(const uint8_t *bytes, size_t len)
{
	char *text = strndup((const char *)bytes, len);
	fuzz_must(text != NULL);
	return text;
}

static inline void fuzz_textp(char **text)
{
	free(*text);
}

#endif
