/* Shared by the operator's commands: sends one request, and prints its JSON answer raw or for a person. */
#ifndef CAIRN_CLI_ADMIN_H
#define CAIRN_CLI_ADMIN_H

#include "base/clock.h"
#include "base/json.h"
#include "cli/common/server_options.h"

struct admin_call {
	const struct server_options *server;
	const char *subject; /* for errors */
	enum client_method method;
	const char *path;
	const char *body; /* NULL: none */
	bool takes_long;
	bool json;                                   /* print the answer unchanged */
	bool (*show)(const struct cairn_json *json); /* prints it for a person; false: a member is missing */
};

/** @return an exit code; everything was printed */
int admin_ask(const struct admin_call *call);

/** Appends "?name=value" or "&name=value", escaped, to a path. Appends nothing if value is NULL. */
void admin_add_arg(struct cairn_buf *path, const char *name, const char *value);

/** Returns the path as text; NULL: its buffer failed. Valid until the buffer changes. */
const char *admin_path(struct cairn_buf *path);

/** Reads a non-negative number. @return false: no such member */
bool admin_number(const struct cairn_json *object, const char *name, uint64_t *out);

/** Prints untrusted text, quoted and harmless to a terminal. */
void admin_print_text(const char *text);

/** Room for "2026-11-03T14:05:06Z". */
enum { ADMIN_TIME_BYTES = CAIRN_TIME_TEXT_BYTES };
const char *admin_time(char out[static ADMIN_TIME_BYTES], int64_t unix_s);

#endif
