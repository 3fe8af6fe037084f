/* Shared by the operator's commands: sends requests, and prints or parses their JSON answers. */
#ifndef CAIRN_CLI_ADMIN_H
#define CAIRN_CLI_ADMIN_H

#include "base/clock.h"
#include "base/json.h"
#include "cli/common/server_options.h"

struct admin_call {
	const struct server_options *server;
	const char *subject; /* names the request in errors */
	enum client_method method;
	const char *path;
	const char *body; /* body of the request; NULL: none */
	bool takes_long;
	bool json;                                   /* print the answer unchanged */
	bool (*show)(const struct cairn_json *json); /* prints the answer for a person; false: a member is missing */
};

/** Sends a request and prints the answer. @return an exit code; everything was printed */
int admin_ask(const struct admin_call *call);

/** Sends a request and parses its answer, for a command that sends several. @param body  of a POST; NULL: none
 * @return as client_request(); CAIRN_E_BUSY also: the answer is not JSON (server.answer) */
CAIRN_MUST_USE enum cairn_status admin_fetch(struct client *client, enum client_method method, const char *path,
					     const char *body, struct cairn_json **out, struct cairn_diag *diag);

/** Reports an answer that lacks something. @return CAIRN_E_BUSY (server.answer) */
CAIRN_MUST_USE enum cairn_status admin_odd_answer(struct cairn_diag *diag);

/** Appends "?name=value" or "&name=value", escaped, to a path. Appends nothing if value is NULL. */
void admin_add_arg(struct cairn_buf *path, const char *name, const char *value);

/** Returns the path as text; NULL: its buffer failed. Valid until the buffer changes. */
const char *admin_path(struct cairn_buf *path);

/** Reads a member that is a non-negative number. @return false: there is none */
bool admin_number(const struct cairn_json *object, const char *name, uint64_t *out);

/** Prints untrusted text, quoted and harmless to a terminal. */
void admin_print_text(const char *text);

/** Room for "2026-11-03T14:05:06Z". */
enum { ADMIN_TIME_BYTES = CAIRN_TIME_TEXT_BYTES };
const char *admin_time(char out[static ADMIN_TIME_BYTES], int64_t unix_s);

#endif
