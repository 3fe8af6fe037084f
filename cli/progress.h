/* A bar on standard error while a long command works; nothing when that is not a terminal. */
#ifndef CAIRN_CLI_PROGRESS_H
#define CAIRN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown; /* standard error is a terminal, and it is wanted */
	uint64_t total_bytes;
	int64_t last_ms; /* when it was last drawn */
};

void progress_init(struct progress *p, bool wanted, uint64_t total_bytes);

/** Draw, at most ten times a second. */
void progress_draw(struct progress *p, uint64_t read_bytes, uint64_t sent_bytes);

/** Take the bar away, so that what is printed next stands on a clean line. */
void progress_clear(struct progress *p);

#endif
