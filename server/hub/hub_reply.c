#include "server/hub/hub_reply.h"

#include "server/http/errors.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void hub_reply_error(struct http_request *req, unsigned code, const char *error_code, const char *rule,
		     const char *text)
{
	if (error_code)
		http_reply_header(req, "X-Error-Code", error_code);
	http_reply_error(req, code, rule, text, NULL);
}

void hub_reply_failure(struct http_request *req, const struct hub_call *call)
{
	const char *rule = call->diag.rule ? call->diag.rule : "";
	struct errors_reply reply = errors_of_status(call->status, false);
	const char *text = call->diag.text[0] ? call->diag.text : reply.message;
	bool nobody = call->asker.kind == CAIRN_HUB_NOBODY;
	if (call->status == CAIRN_E_DENIED && strcmp(rule, "key.unknown") == 0)
		/* These words are what the clients look for. */
		hub_reply_error(req, 401, NULL, rule, "Invalid credentials in Authorization header");
	else if (strcmp(rule, "repo.unknown") == 0)
		hub_reply_error(req, nobody ? 401 : 404, "RepoNotFound", rule, text);
	else if (strcmp(rule, "entry.unknown") == 0)
		hub_reply_error(req, 404, "EntryNotFound", rule, text);
	else if (call->status == CAIRN_E_DENIED && nobody)
		hub_reply_error(req, 401, NULL, "key.missing", "Send an API key in the Authorization header");
	else if (reply.code >= 500)
		http_reply_status(req, call->status, &call->diag); /* which is logged, too */
	else
		hub_reply_error(req, reply.code, NULL, *rule ? rule : reply.rule, text);
}

const char *hub_time(char out[static HUB_TIME_BYTES], int64_t unix_ms)
{
	int ms = (int)((unix_ms % 1000 + 1000) % 1000);
	time_t seconds = (time_t)((unix_ms - ms) / 1000);
	struct tm tm;
	char text[24];
	if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		text[0] = '\0';
	(void)snprintf(out, HUB_TIME_BYTES, "%s.%03dZ", text, ms);
	return out;
}
