/* Captures what a call writes to standard output and standard error. */
#ifndef CAIRN_TESTS_SUPPORT_OUTPUT_H
#define CAIRN_TESTS_SUPPORT_OUTPUT_H

enum { OUTPUT_BYTES = 64 * 1024 };

/** Both streams as text, at most OUTPUT_BYTES - 1 bytes each; a test that writes more fails. */
struct output {
	char out[OUTPUT_BYTES];
	char err[OUTPUT_BYTES];
	int kept[2], files[2]; /* descriptors, between begin and end */
};

/** Redirects descriptors 1 and 2 of this process until output_end(). */
void output_begin(struct output *o);
void output_end(struct output *o);

#endif
