/* A bar on standard error while a long command works; nothing when that is not a terminal. */
#ifndef CAIRN_CLI_PROGRESS_H
#define CAIRN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown; /* standard error is a terminal, and it is wanted */
	uint64_t total_bytes;
	const char *verb; /* what the second number is: "sent" */
	int64_t last_ms;  /* when it was last drawn */
};

/** @param verb  what is said of the second number; a literal */
void progress_init(struct progress *p, bool wanted, uint64_t total_bytes, const char *verb);

/** Draw, at most ten times a second. */
void progress_draw(struct progress *p, uint64_t done_bytes, uint64_t moved_bytes);

/** Take the bar away, so that what is printed next stands on a clean line. */
void progress_clear(struct progress *p);

#endif
