/* Shows a progress bar on standard error if that is a terminal. */
#ifndef CAIRN_CLI_PROGRESS_H
#define CAIRN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	bool shown;           /* standard error is a terminal, and a bar is wanted */
	uint64_t total_bytes; /* 0: unknown, so no bar and no time left */
	const char *verb;     /* label of the second number, such as "sent"; NULL: no second number */
	const char *name;     /* borrowed: name of the current item; NULL: not shown */
	int64_t last_ms;      /* when it was last drawn */
	struct {
		int64_t at_ms;
		uint64_t bytes;
	} marks[2]; /* the rate is measured from the older mark, some seconds ago */
};

/** Sets the line that the program prints when SIGINT ends it, even without a bar. Call before progress_init().
 * @param line  with its line break; a literal */
void progress_say_if_interrupted(const char *line);
/** Initialises the bar. @param verb  label of the second number; a literal */
void progress_init(struct progress *p, bool wanted, uint64_t total_bytes, const char *verb);

/** Draws the bar, at most ten times a second: bytes done and in all, the recent rate, the time left, and the name. */
void progress_draw(struct progress *p, uint64_t done_bytes, uint64_t moved_bytes);

/** Clears the bar, so that the next output stands on a clean line. */
void progress_clear(struct progress *p);

/** Formats the line of progress_draw() in at most columns columns; changes no marks.
 * @return its length; out ends with a zero */
size_t progress_line(const struct progress *p, int64_t now_ms, uint64_t done_bytes, uint64_t moved_bytes,
		     size_t columns, char *out, size_t out_bytes);

#endif
