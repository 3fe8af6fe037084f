/* Fetches a repository of the mirrored hub in advance, at the operator's request: POST of
 * /v1/mirror/repositories/{type}/{namespace}/{name}. */
#include "hub/revision.h"
#include "mirror/operate.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/hub_repo.h"
#include "server/ask/route_args.h"
#include "server/ask/route_table.h"
#include "server/hub/hub_mirror_list.h"
#include "server/hub/hub_mirror_place.h"
#include "server/hub/hub_routes.h"
#include "server/log/log.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ADD_BODY_BYTES_MAX = 16384,
	ADD_ANSWER_BYTES_MAX = 65536,
	ADD_EVERY_MIN_S = 60,
	ADD_EVERY_MAX_S = 365 * 86400,
};

struct add_request {
	struct route_job job;
	struct route_body body;
	struct cairn_mirror_want want; /* the lookup that this request waits for */
	struct hub_mirror_place place;
	char revision[CAIRN_INDEX_REF_NAME_MAX + 1];
	struct cairn_index_ahead ahead;
	struct cairn_buf buf;
	enum cairn_status status;
	struct cairn_diag diag;
};

/* Frees the state, and overwrites want, which may contain the token of a rule. */
static void add_free(void *state)
{
	struct add_request *a = state;
	explicit_bzero(a->want.token, sizeof(a->want.token));
	route_body_fini(&a->body);
	cairn_buf_fini(&a->buf);
	free(a);
}

static bool add_is_pattern(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	return text[0] != '\0';
}

/* Appends a line to the patterns. @return false: it does not fit */
static bool add_line(struct cairn_index_ahead *ahead, const char *mark, const char *text)
{
	size_t len = strlen(ahead->include);
	int n = snprintf(ahead->include + len, sizeof(ahead->include) - len, "%s%s%s", len > 0 ? "\n" : "", mark, text);
	return n > 0 && (size_t)n < sizeof(ahead->include) - len;
}

/* Takes the patterns of the files to include. The revision is kept in front of them, as a line that begins with "@". */
static bool add_take_include(struct add_request *a, const struct cairn_json *include)
{
	const struct cairn_json *first = include ? cairn_json_at(include, 0) : NULL;
	const char *text = first ? cairn_json_string(first) : NULL;
	bool is_main = strcmp(a->revision, CAIRN_HUB_MAIN) == 0;
	if (include && !cairn_json_is_array(include))
		return false;
	if ((!is_main || (text && text[0] == '@')) && !add_line(&a->ahead, "@", a->revision))
		return false;
	for (size_t i = 0; include && i < cairn_json_count(include); i++) {
		text = cairn_json_string(cairn_json_at(include, i));
		if (!text || !add_is_pattern(text) || !add_line(&a->ahead, "", text))
			return false;
	}
	return true;
}

static bool add_is_revision(const char *text)
{
	bool is_commit = strlen(text) == CAIRN_GIT_OID_CHARS && strspn(text, "0123456789abcdef") == CAIRN_GIT_OID_CHARS;
	return is_commit || cairn_hub_ref_is_good(text);
}

static bool add_take(struct add_request *a, const struct cairn_json *json)
{
	const struct cairn_json *every = cairn_json_get(json, "every_s"), *keep = cairn_json_get(json, "keep");
	a->ahead.every_s = CAIRN_INDEX_AHEAD_ONCE_S;
	if (!cairn_json_is_object(json) ||
	    !cairn_json_copy_of(json, "revision", CAIRN_HUB_MAIN, a->revision, sizeof(a->revision)) ||
	    !add_is_revision(a->revision))
		return false;
	if (every && (!cairn_json_i64(every, &a->ahead.every_s) || a->ahead.every_s < ADD_EVERY_MIN_S ||
		      a->ahead.every_s > ADD_EVERY_MAX_S))
		return false;
	if (keep && !cairn_json_bool_of(json, "keep", &a->ahead.keeps))
		return false;
	return add_take_include(a, cairn_json_get(json, "include"));
}

/* Finds where the upstream redirected the name, for the answer. */
static enum cairn_status add_find_alias(struct add_request *a)
{
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
	if (a->status == CAIRN_E_NOT_FOUND &&
	    cairn_mirror_alias(a->job.app->mirror, a->place.kind, a->want.name, target)) {
		cairn_diag_clear(&a->diag);
		return cairn_fail(&a->diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
				  "the mirrored hub has this repository as %s now: name that", target);
	}
	return a->status;
}

static void add_log(const struct add_request *a, const struct cairn_index_mirrored *m)
{
	char name[HUB_MIRROR_TEXT_BYTES];
	const struct hub_mirror_place place = {m->repo.kind, m->repo.account_name, m->repo.name};
	int64_t every_s = a->ahead.every_s == CAIRN_INDEX_AHEAD_ONCE_S ? 0 : a->ahead.every_s;
	LOG(LOG_INFO, "mirror_add", LOG_T("repo", hub_mirror_text(name, &place)), LOG_T("revision", a->revision),
	    LOG_N("every_s", every_s), LOG_T("keep", a->ahead.keeps ? "yes" : "no"),
	    LOG_T("message", "the operator lets a repository of the mirrored hub be fetched ahead"));
}

static void add_run(struct route_job *job)
{
	struct add_request *a = (struct add_request *)job;
	struct app *app = job->app;
	struct cairn_index_mirrored m;
	struct cairn_index_commit head;
	a->status = cairn_mirror_find(&app->hub, a->place.kind, a->place.namespace, a->place.name, &m, &head, &a->diag);
	if (a->status != CAIRN_OK) {
		a->status = add_find_alias(a);
		return;
	}
	if ((m.repo.gate != CAIRN_INDEX_GATE_NONE || m.repo.is_private) &&
	    !cairn_mirror_has_token(app->mirror, a->place.kind, a->want.name)) {
		a->status = cairn_fail(&a->diag, CAIRN_E_CONFLICT, "mirror.denied", CAIRN_NO_OFFSET,
				       "the repository has a gate, and no rule of mirror_rules has a token for it");
		return;
	}
	a->status = cairn_mirror_set_ahead(app->mirror, m.repo.id, &a->ahead, &a->diag);
	if (a->status != CAIRN_OK)
		return;
	add_log(a, &m);
	m.ahead = a->ahead;
	m.fetched = (struct cairn_index_fetched){.at_unix_s = 0};
	struct cairn_json_out w = cairn_json_out_init(&a->buf);
	a->status = hub_mirror_put_repo(&w, NULL, app, &m, &head);
	cairn_buf_add(&a->buf, "\n", 1);
}

static void add_reply(struct http_request *req, struct route_job *job)
{
	struct add_request *a = (struct add_request *)job;
	if (a->status == CAIRN_E_NOT_FOUND) /* http_reply_status() replies 400 to a request with a body */
		http_reply_error(req, 404, "repo.unknown", "no repository of the mirrored hub has this name here",
				 &a->diag);
	else if (a->status != CAIRN_OK)
		http_reply_status(req, a->status, &a->diag);
	else
		route_reply_made(req, CAIRN_OK, &a->buf);
}

static void add_looked(struct cairn_mirror_want *want)
{
	const struct add_request *a =
		(const struct add_request *)((const char *)want - offsetof(struct add_request, want));
	http_resume(a->job.req);
}

static void add_resumed(struct http_request *req);

static void add_look(struct http_request *req, struct add_request *a, const char *revision)
{
	a->want = (struct cairn_mirror_want){.done = add_looked, .kind = a->place.kind};
	(void)snprintf(a->want.name, sizeof(a->want.name), "%s/%s", a->place.namespace, a->place.name);
	(void)snprintf(a->want.revision, sizeof(a->want.revision), "%s", revision);
	if (http_suspend(req, add_resumed))
		cairn_mirror_look_again(a->job.app->mirror, &a->want);
}

/* The repository came with main. Now the wanted revision is looked up. */
static void add_resumed(struct http_request *req)
{
	struct add_request *a = http_state(req);
	const struct cairn_mirror_want *want = &a->want;
	if (want->status == CAIRN_OK && strcmp(want->revision, a->revision) != 0)
		add_look(req, a, a->revision);
	else if (want->status == CAIRN_OK)
		route_job_start(req);
	else
		hub_mirror_reply_look(req, want);
}

/* Checks the request. The upstream must not learn the names of repositories of this server. */
static void add_check(struct route_job *job)
{
	struct add_request *a = (struct add_request *)job;
	char name[CAIRN_INDEX_ALIAS_MAX + 1];
	int n = snprintf(name, sizeof(name), "%s/%s", a->place.namespace, a->place.name);
	if (n < 0 || (size_t)n >= sizeof(name))
		a->status = cairn_fail(&a->diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
				       "no repository has so long a name");
	else if (!cairn_mirror_may_have(job->app->mirror, a->place.namespace))
		a->status = cairn_fail(&a->diag, CAIRN_E_NOT_FOUND, "mirror.local", CAIRN_NO_OFFSET,
				       "the namespace is an account of this server");
	else if (!cairn_mirror_lets_in(job->app->mirror, a->place.kind, name))
		a->status = cairn_fail(&a->diag, CAIRN_E_CONFLICT, "mirror.denied", CAIRN_NO_OFFSET,
				       "mirror_rules leaves this repository out");
}

static void add_reply_checked(struct http_request *req, struct route_job *job)
{
	struct add_request *a = (struct add_request *)job;
	if (a->status != CAIRN_OK) {
		add_reply(req, job);
		return;
	}
	job->run = add_run;
	job->reply = add_reply;
	add_look(req, a, CAIRN_HUB_MAIN);
}

static void add_head(struct http_request *req)
{
	struct add_request *a = route_job_new(req, sizeof(*a), add_check, add_reply_checked);
	if (!a)
		return;
	a->buf = cairn_buf_init(ADD_ANSWER_BYTES_MAX);
	(void)route_body_begin(req, &a->body);
}

static void add_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct add_request *a = http_state(req);
	route_body_add(req, &a->body, bytes, len);
}

static void add_done(struct http_request *req)
{
	struct add_request *a = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&a->body);
	if (!json || !add_take(a, json))
		http_reply_error(req, 400, "mirror.argument",
				 "send revision, every_s (60 to a year), keep and include (a list of patterns, 1,024 "
				 "bytes together), each if it is wanted",
				 NULL);
	else if (!hub_mirror_take_place(req, &a->place))
		return;
	else if (!a->job.app->mirror)
		http_reply_error(req, 409, "mirror.off", "this server mirrors no hub; its setting mirror names one",
				 NULL);
	else
		route_job_start(req);
}

const struct http_route ROUTES_MIRROR_ADD[] = {
	ROUTE_BODY_POST("/v1/mirror/repositories/{type}/{namespace}/{name}", "mirrored", CAIRN_TOKEN_ADMIN,
			ADD_BODY_BYTES_MAX, add_head, add_body, add_done, add_free),
	{0},
};
