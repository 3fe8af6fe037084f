/* A bar on standard error while a long command works; nothing when that is not a terminal. */
#ifndef CAIRN_CLI_PROGRESS_H
#define CAIRN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	bool shown;           /* standard error is a terminal, and it is wanted */
	uint64_t total_bytes; /* 0: not known, so there is no bar and no time left */
	const char *verb;     /* what the second number is: "sent"; NULL: there is none */
	const char *name;     /* borrowed; what is worked on. NULL: not told */
	int64_t last_ms;      /* when it was last drawn */
	struct {
		int64_t at_ms;
		uint64_t bytes;
	} marks[2]; /* the rate is since the older one, some seconds ago */
};

/** @param verb  what is said of the second number; a literal */
void progress_init(struct progress *p, bool wanted, uint64_t total_bytes, const char *verb);

/** Draw, at most ten times a second: how much of what, the rate of the last seconds, the time left, and the name. */
void progress_draw(struct progress *p, uint64_t done_bytes, uint64_t moved_bytes);

/** Take the bar away, so that what is printed next stands on a clean line. */
void progress_clear(struct progress *p);

/** The line that progress_draw() shows, for at most columns columns. Marks as they stand.
 *  @return its length; out ends with a zero */
size_t progress_line(const struct progress *p, int64_t now_ms, uint64_t done_bytes, uint64_t moved_bytes,
		     size_t columns, char *out, size_t out_bytes);

#endif
