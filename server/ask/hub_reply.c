#include "server/ask/hub_reply.h"

#include "server/ask/hub_mirror.h"

#include "server/http/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LINK_BYTES_MAX = 16384 };

const struct http_unknown HUB_NO_ROUTE = {
	NULL, "route.unknown",
	"Cairn has no such part of the hub's API; if a repository was meant, name its owner, too, as in ann/cats"};

void hub_reply_error(struct http_request *req, unsigned code, const char *error_code, const char *rule,
		     const char *text)
{
	if (error_code)
		http_reply_header(req, "X-Error-Code", error_code);
	http_reply_error(req, code, rule, text, NULL);
}

/* Replies that the commit has no such file. Clients cache this answer. */
static void reply_no_entry(struct http_request *req, const struct hub_call *call, const char *text)
{
	if (call->commit[0])
		http_reply_header(req, "X-Repo-Commit", call->commit);
	hub_reply_error(req, 404, "EntryNotFound", "entry.unknown", text);
}

/* Replies that stored bytes are damaged, so clients give up at once. A new commit of the file repairs the damage. */
static void reply_damaged(struct http_request *req, const char *rule, const char *text)
{
	http_reply_header(req, "Cache-Control", "no-store");
	hub_reply_error(req, 410, NULL, rule, text);
}

void hub_reply_failure(struct http_request *req, const struct hub_call *call)
{
	const char *rule = call->diag.rule ? call->diag.rule : "";
	struct errors_reply reply = errors_of_failure(call->status, rule, false);
	const char *text = call->diag.text[0] ? call->diag.text : reply.message;
	bool nobody = call->asker.kind == CAIRN_HUB_NOBODY;
	if (hub_mirror_reply(req, call))
		return;
	if (call->status == CAIRN_E_DENIED && (strcmp(rule, "key.unknown") == 0 || strcmp(rule, "key.expired") == 0))
		/* clients search the message for exactly these words */
		hub_reply_error(req, 401, NULL, rule, "Invalid credentials in Authorization header");
	else if (strcmp(rule, "repo.unknown") == 0)
		hub_reply_error(req, nobody ? 401 : 404, "RepoNotFound", rule, text);
	else if (strcmp(rule, "entry.unknown") == 0)
		reply_no_entry(req, call, text);
	else if (strcmp(rule, "revision.unknown") == 0)
		hub_reply_error(req, 404, "RevisionNotFound", rule, text);
	else if (strcmp(rule, "repo.gated") == 0 || strcmp(rule, "access.pending") == 0 ||
		 strcmp(rule, "access.rejected") == 0)
		hub_reply_error(req, nobody ? 401 : 403, "GatedRepo", rule, text);
	else if (strcmp(rule, "commit.parent") == 0)
		hub_reply_error(req, 412, NULL, rule, text);
	else if (strcmp(rule, "content.damaged") == 0 || reply.code == 410)
		reply_damaged(req, rule, text);
	else if (strcmp(rule, "commit.name") == 0)
		hub_reply_error(req, 422, NULL, rule, text);
	else if (strncmp(rule, "commit.", 7) == 0 && reply.code == 409)
		hub_reply_error(req, 400, NULL, rule, text);
	else if (call->status == CAIRN_E_DENIED && nobody)
		hub_reply_error(req, 401, NULL, "key.missing", "Send an API key in the Authorization header");
	else if (reply.code >= 500)
		http_reply_status(req, call->status, &call->diag); /* this call also logs the failure */
	else
		hub_reply_error(req, reply.code, NULL, *rule ? rule : reply.rule, text);
}

void hub_reply_left_out(struct http_request *req, const char *text)
{
	hub_reply_error(req, 501, "NotImplemented", "hub.left_out", text);
}

bool hub_reply_next(struct http_request *req, const char *url, ...)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf link = cairn_buf_init(LINK_BYTES_MAX);
	va_list ap;
	cairn_buf_add(&link, "<", 1);
	va_start(ap, url);
	cairn_buf_vprintf(&link, url, ap);
	va_end(ap);
	cairn_buf_printf(&link, ">; rel=\"next\"%c", '\0');
	if (link.status != CAIRN_OK) {
		http_reply_status(req, link.status, NULL);
		return false;
	}
	http_reply_header(req, "Link", (const char *)link.bytes);
	return true;
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
