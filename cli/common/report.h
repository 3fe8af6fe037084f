/* Standard output: lines for people, or one JSON value for programs, written as it comes. */
#ifndef CAIRN_CLI_REPORT_H
#define CAIRN_CLI_REPORT_H

#include "base/json.h"
#include "hash/hash.h"

/** Not for two threads at once. */
struct report {
	bool is_json;
	struct cairn_buf buf; /* JSON on its way out */
	struct cairn_json_out json;
};

void report_init(struct report *r, bool is_json);

/** Write out what has gathered; call after each record. */
void report_flush(struct report *r);

/** End: the JSON's newline, and did everything reach standard output? @return code, or CLI_EXIT_IO if it is 0 and not
 */
int report_end(struct report *r, int code);

/** JSON members. */
void report_hash(struct report *r, const char *name, const struct cairn_hash *hash);
void report_status(struct report *r, const char *name, enum cairn_status status, const struct cairn_diag *diag);
/** What the command ends with, where its object has begun: the members "error", "subject" and "exit_code". */
void report_error(struct report *r, const char *subject, enum cairn_status status, const struct cairn_diag *diag,
		  int exit_code);

/**
 * For a program that asked for JSON: a command that failed before it printed any gives one object with the failure that
 * was told last, {"error":{"status","rule","message",...},"subject","exit_code"}. A code of 0 gives nothing.
 */
void report_failure(int code);

enum { REPORT_SIZE_BYTES = 24 };
/** "1.5 MiB", for people. */
const char *report_size(char out[static REPORT_SIZE_BYTES], uint64_t bytes);

#endif
