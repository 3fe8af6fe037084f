#include "server/ask/hub_call.h"

#include "cas/service/jobs.h"
#include "cas/service/keys.h"
#include "hub/repo.h"
#include "server/ask/api_key.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/hub_reply.h"
#include "server/ask/route_spill.h"
#include "server/ask/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	CALL_ANSWER_BYTES_MAX = 4 << 20,
	CALL_SCHEME_BYTES = 16,
	CALL_MEMORY_BYTES = 256 * 1024, /* a longer answer is kept on the disk until it is sent */
	CALL_PIECE_BYTES = 64 * 1024,
	CALL_FOREIGN_BYTES_MIN = 20, /* length of the shortest token of the public hub */
};

/* --- browsers ----------------------------------------------------------------------------------------------------- */

const char *hub_call_cookie(bool secure)
{
	return secure ? "__Host-cairn_session=" : "cairn_session=";
}

/* Reads our session cookie. If there are several, another host set one: none counts, and the asker is anonymous. */
static void browser_take_session(struct hub_browser *out, const char *cookies, const char *name)
{
	size_t name_len = strlen(name);
	unsigned n = 0;
	for (const char *at = cookies ? cookies : ""; *at; at += strcspn(at, ";")) {
		at += strspn(at, "; ");
		if (strncmp(at, name, name_len) != 0)
			continue;
		size_t len = strcspn(at + name_len, "; ");
		n++;
		if (len < sizeof(out->session))
			memcpy(out->session, at + name_len, len);
	}
	if (n > 1)
		memset(out->session, 0, sizeof(out->session));
}

static void browser_take_user(const struct http_request *req, struct hub_browser *out, const char *header)
{
	const char *user = http_header(req, header);
	if (user && user[0])
		(void)snprintf(out->user, sizeof(out->user), "%s", user);
	out->is_ambiguous = http_header_is_repeated(req, header);
}

static void browser_read(const struct http_request *req, struct hub_browser *out)
{
	const struct app *app = app_of(req);
	const char *header = app->config.hub_user_header, *cookies = http_cookies(req);
	char base[CALL_SCHEME_BYTES];
	if (!app->auth.keys)
		return;
	if (header && proxies_trust(&app->proxies, http_peer_address(req)))
		browser_take_user(req, out, header);
	if (!cookies)
		return;
	http_base_url(req, base, sizeof(base));
	browser_take_session(out, cookies, hub_call_cookie(strncmp(base, "https://", 8) == 0));
}

/* Writes the name under which struct api_keys remembers a browser: "user:NAME", or the session. A session contains no
 * colon, so the two never collide. Empty: there is neither. */
static void browser_name(const struct hub_browser *browser, char out[static sizeof(struct hub_browser)])
{
	if (browser->user[0])
		(void)snprintf(out, sizeof(*browser), "user:%s", browser->user);
	else
		memcpy(out, browser->session, sizeof(browser->session)); /* without a browser, an empty text */
}

/* Not inlined, so that a request without a browser does not pay for this frame. */
__attribute__((noinline)) static void call_recognise_browser(const struct app *app, const struct http_request *req,
							     struct auth_identity *out)
{
	struct hub_browser browser = {0};
	char name[sizeof(browser)];
	browser_read(req, &browser);
	browser_name(&browser, name);
	if (name[0])
		(void)api_keys_recognise_browser(app->api_keys, name, out);
}

void hub_call_recognise(void *ctx, const struct http_request *req, struct auth_identity *out)
{
	const struct app *app = ctx;
	if (http_cookies(req) || app->config.hub_user_header)
		call_recognise_browser(app, req, out);
}

void hub_call_take_browser(struct http_request *req, struct hub_call *call)
{
	if (call->has_key)
		return;
	browser_read(req, &call->browser);
	if (call->browser.is_ambiguous)
		call->status =
			cairn_fail(&call->diag, CAIRN_E_DENIED, "user.refused", CAIRN_NO_OFFSET,
				   "the request has more than one header with the user's name (hub_user_header): let "
				   "the proxy remove what its clients send");
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Finds the session of a browser. If it has ended, the asker is anonymous. */
static void call_find_session(struct hub_call *call)
{
	if (call->status != CAIRN_OK || call->has_key || call->browser.user[0] || !call->browser.session[0])
		return;
	enum cairn_status status =
		sessions_find(call->job.app->sessions, call->browser.session, call->digest, &call->diag);
	call->has_key = status == CAIRN_OK;
	call->status = status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Moves a long answer to the disk, so it takes no memory while the client reads it slowly. It counts for the asker. */
static void call_spill(struct hub_call *call)
{
	struct cairn_spill *s = &call->spilled;
	struct cairn_buf *answer = &call->answer;
	if (call->status != CAIRN_OK || answer->len <= CALL_MEMORY_BYTES)
		return;
	cairn_spill_init(s, call->job.app->cas, &call->sender, answer->max);
	for (size_t at = 0, n; at < answer->len && s->status == CAIRN_OK; at += n) {
		n = answer->len - at < CALL_PIECE_BYTES ? answer->len - at : CALL_PIECE_BYTES;
		cairn_buf_add(&s->buf, answer->bytes + at, n);
		cairn_spill_check(s);
	}
	cairn_spill_finish(s);
	call->status = s->status;
	call->diag = s->diag;
	if (s->status == CAIRN_OK) /* after a failure the browser gets a page about the failure instead */
		cairn_buf_fini(answer);
}

static enum cairn_status call_identify(struct hub_call *call, struct cairn_hub_asker *out)
{
	const struct app *app = call->job.app;
	enum cairn_status status = cairn_hub_identify(&app->hub, call->digest, out, &call->diag);
	if (status == CAIRN_OK)
		api_keys_note(app->api_keys, call->digest, out->key, out->account.id);
	return status;
}

/* Remembers the browser's account, so that its next requests count for that account from their head on. */
static void call_note_browser(struct hub_call *call)
{
	char name[sizeof(call->browser)];
	browser_name(&call->browser, name);
	if (name[0] && call->status == CAIRN_OK && call->asker.key + call->asker.account.id != 0)
		api_keys_note_browser(call->job.app->api_keys, name, call->asker.key, call->asker.account.id);
}

static enum cairn_status call_refuse_key(struct hub_call *call)
{
	cairn_diag_clear(&call->diag);
	return cairn_fail(&call->diag, CAIRN_E_DENIED, "key.unknown", CAIRN_NO_OFFSET,
			  "the Authorization header has no API key of this server; make one with cairn key add");
}

/* A token of the mirrored hub does not count as an API key. It is used only for reads of the mirrored hub. */
static void call_judge_foreign(struct hub_call *call)
{
	if (call->foreign[0] && !call->foreign_fits)
		call->status = call_refuse_key(call);
}

static void call_find_asker(struct hub_call *call)
{
	const struct app *app = call->job.app;
	call_find_session(call);
	call->asker.shut_out = !call->has_key && !app->config.hub_anonymous;
	if (!app->auth.keys)
		cairn_hub_set_operator(&call->asker);
	else if (call->status == CAIRN_OK && call->browser.user[0])
		call->status = cairn_hub_identify_user(&app->hub, call->browser.user, &call->asker, &call->diag);
	else if (call->status == CAIRN_OK && call->foreign[0])
		call->status = call->mirrors ? CAIRN_OK : call_refuse_key(call);
	else if (call->status == CAIRN_OK && call->has_key)
		call->status = call_identify(call, &call->asker);
}

/* Names the remote index as the reason of a CAIRN_E_BUSY, as its reads return a status without a diagnosis. */
static void call_name_wait(struct hub_call *call)
{
	if (call->status == CAIRN_E_BUSY && !call->diag.rule && cairn_cas_asks_index(call->job.app->cas))
		call->status = cairn_fail(&call->diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
					  "PostgreSQL did not answer a question about the repository or the key in "
					  "time; try again in a few seconds");
}

static void call_work(struct route_job *job)
{
	struct hub_call *call = (struct hub_call *)job;
	call_find_asker(call);
	call_note_browser(call);
	call->runs = call->mirrors;
	if (call->status == CAIRN_OK)
		call->run(call);
	call->runs = false;
	call_judge_foreign(call);
	if (call->status == CAIRN_OK)
		call->status = call->answer.status;
	call_name_wait(call);
	call_spill(call);
}

static void call_reply(struct http_request *req, struct route_job *job)
{
	struct hub_call *call = (struct hub_call *)job;
	if (hub_mirror_waits(req, call))
		return;
	hub_mirror_say(req, call);
	if (call->status == CAIRN_OK)
		call->show(req, call);
	else
		hub_reply_failure(req, call);
}

/* Does a text have the form of the public hub's tokens, and not that of our keys? A mistyped key of ours is longer than
 * tokens of that hub. */
static bool call_is_foreign(const char *token)
{
	static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(token);
	return strncmp(token, "hf_", 3) == 0 && strncmp(token, "hf_cairn_", 9) != 0 &&
	       len != CAIRN_KEY_TEXT_BYTES - 1 && len >= CALL_FOREIGN_BYTES_MIN && strspn(token, LETTERS) == len;
}

/* Takes a token of the mirrored hub. A revoked key of ours is never sent to another server, because of its form. */
static bool call_take_foreign(struct hub_call *call, const char *header)
{
	const struct app *app = call->job.app;
	char token[sizeof(call->foreign)] = "";
	bool taken = app->mirror && app->config.hub_anonymous && api_key_copy(header, token, sizeof(token)) &&
		     call_is_foreign(token) && cairn_sha256_of(call->digest, token, strlen(token)) == CAIRN_OK;
	if (taken)
		memcpy(call->foreign, token, sizeof(token));
	explicit_bzero(token, sizeof(token));
	return taken;
}

void *hub_call_new(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		   void (*show)(struct http_request *req, struct hub_call *call))
{
	struct hub_call *call = route_job_new(req, bytes, call_work, call_reply);
	if (!call)
		return NULL;
	const char *header = http_header(req, "Authorization");
	call->job.for_reply = http_method(req) != HTTP_OTHER;
	call->run = run;
	call->show = show;
	http_sender(req, &call->sender);
	call->answer = cairn_buf_init(CALL_ANSWER_BYTES_MAX);
	if (header && app_of(req)->auth.keys) {
		call->has_key = true;
		if (api_key_take(header, call->digest) != CAIRN_OK && !call_take_foreign(call, header))
			call->status = call_refuse_key(call);
	}
	return call;
}

bool hub_call_find_asker(struct hub_call *call)
{
	if (cairn_cas_is_remote(call->job.app->cas))
		return false;
	call_find_asker(call);
	return call->status == CAIRN_OK;
}

bool hub_call_need_somebody(struct hub_call *call)
{
	bool somebody = call->has_key || call->browser.user[0] || call->browser.session[0];
	if (call->status == CAIRN_OK && !somebody && call->job.app->auth.keys)
		call->status = cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
					  "Repository not found");
	return call->status == CAIRN_OK;
}

bool hub_call_admit(struct http_request *req, struct hub_call *call)
{
	if (!hub_call_need_somebody(call) || (!hub_call_find_asker(call) && call->status != CAIRN_OK)) {
		hub_reply_failure(req, call);
		return false;
	}
	/* as for a token that was obtained with this key */
	if (call->asker.kind == CAIRN_HUB_ACCOUNT || call->asker.key)
		auth_sender(&(struct auth_identity){.api_key = call->asker.key, .account = call->asker.account.id},
			    NULL, &call->sender);
	return true;
}

/* The list consists of account names, which are compared without case. */
bool hub_call_makes_private(const struct hub_call *call, const char *account)
{
	static const char SEPARATORS[] = " \t,";
	const char *list = call->job.app->config.hub_private;
	bool is_own = strcmp(account, CAIRN_HUB_ME) == 0, operator= call->asker.kind == CAIRN_HUB_OPERATOR;
	const char *name = !is_own ? account : operator? CAIRN_HUB_OPERATOR_NAME : call->asker.account.name;
	size_t len, name_len = strlen(name);
	for (const char *word = list ? list : ""; *word; word += len + strspn(word + len, SEPARATORS)) {
		len = strcspn(word, SEPARATORS);
		if ((len == 1 && *word == '*') || (len == name_len && strncasecmp(word, name, len) == 0))
			return true;
	}
	return false;
}

void hub_call_show_json(struct http_request *req, struct hub_call *call)
{
	hub_call_show_code(req, call, 200, "application/json");
}

void hub_call_show_code(struct http_request *req, struct hub_call *call, unsigned code, const char *content_type)
{
	http_reply_header(req, "Cache-Control", "no-store");
	if (call->spilled.spool) {
		route_reply_spill(req, &call->spilled, code, content_type);
		return;
	}
	http_reply_buf(req, code, content_type, &call->answer);
}

void hub_call_fini(struct hub_call *call)
{
	cairn_buf_fini(&call->answer);
	cairn_spill_fini(&call->spilled);
	hub_lack_free(call->lack);
	explicit_bzero(call->foreign, sizeof(call->foreign));
}

void hub_call_free(void *state)
{
	struct hub_call *call = state;
	if (!call)
		return;
	hub_call_fini(call);
	free(call);
}
