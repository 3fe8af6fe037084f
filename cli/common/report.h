/* Standard output: lines for people, or one JSON value for programs, written piece by piece. */
#ifndef CAIRN_CLI_REPORT_H
#define CAIRN_CLI_REPORT_H

#include "base/json.h"
#include "hash/hash.h"

/** Not for two threads at once. */
struct report {
	bool is_json;
	struct cairn_buf buf; /* The JSON object that a command prints */
	struct cairn_json_out json;
};

void report_init(struct report *r, bool is_json);

/** Writes the buffered output; call after each record. */
void report_flush(struct report *r);

/** Ends the JSON, and checks standard output. @return code; CLI_EXIT_IO if code is 0 and writing failed */
int report_end(struct report *r, int code);

/** Append members to the JSON object. */
void report_hash(struct report *r, const char *name, const struct cairn_hash *hash);
void report_status(struct report *r, const char *name, enum cairn_status status, const struct cairn_diag *diag);
/** Adds the command's failure to its JSON object: the members "error", "subject" and "exit_code". */
void report_error(struct report *r, const char *subject, enum cairn_status status, const struct cairn_diag *diag,
		  int exit_code);

/** Prints the last reported failure as a JSON object if a command failed before it printed any JSON:
 * {"error":{"status","rule","message",...},"subject","exit_code"}. Prints nothing for code 0. */
void report_failure(int code);

enum { REPORT_SIZE_BYTES = 24 };
/** Writes a number of bytes for people: "1.5 MiB". */
const char *report_size(char out[static REPORT_SIZE_BYTES], uint64_t bytes);

#endif
