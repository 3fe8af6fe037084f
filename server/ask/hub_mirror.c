#include "server/ask/hub_mirror.h"

#include "mirror/mirror.h"
#include "server/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MIRROR_WAITS_MAX = 5,   /* of a call: an alias, main, another revision, an admission, a file */
	MIRROR_ALIASES_MAX = 4, /* that lead to each other */
};

struct hub_lack {
	struct cairn_mirror_want want;
	struct hub_call *call;
	bool wanted, is_file, is_admission; /* the want is to be asked for */
	unsigned n_waits;
	bool has_outcome; /* of the want */
	bool refreshed;   /* the revision was asked for, whatever came of that */
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
};

void hub_lack_free(struct hub_lack *lack)
{
	if (lack)
		explicit_bzero(lack->want.token, sizeof(lack->want.token));
	free(lack);
}

/* @return NULL: nothing more is asked for on behalf of this call */
static struct hub_lack *mirror_lack(struct hub_call *call)
{
	if (!call->lack)
		call->lack = calloc(1, sizeof(*call->lack));
	if (!call->lack || call->lack->n_waits == MIRROR_WAITS_MAX)
		return NULL;
	call->lack->call = call;
	return call->lack;
}

static void mirror_done(struct cairn_mirror_want *want)
{
	struct hub_lack *lack = (struct hub_lack *)want;
	lack->has_outcome = true;
	atomic_fetch_sub(&lack->call->job.app->mirror_counts.n_waiting, 1);
	route_job_hand_over(&lack->call->job);
}

/* Returns a number of the account, or of the address of somebody without one. */
static uint64_t mirror_sender(const struct http_request *req, const struct hub_call *call)
{
	return call->asker.account.id != 0 ? (uint64_t)call->asker.account.id : http_turn(req);
}

bool hub_mirror_waits(struct http_request *req, struct hub_call *call)
{
	struct hub_lack *lack = call->lack;
	struct app *app = call->job.app;
	if (!lack || !lack->wanted)
		return false;
	lack->wanted = false;
	lack->n_waits++;
	lack->want.done = mirror_done;
	lack->want.sender = mirror_sender(req, call);
	call->status = CAIRN_OK;
	cairn_diag_clear(&call->diag);
	if (!route_job_wait(req))
		return true;
	atomic_fetch_add(&app->mirror_counts.n_waiting, 1);
	if (lack->is_admission)
		cairn_mirror_want_admission(app->mirror, &lack->want);
	else if (lack->is_file)
		cairn_mirror_want_file(app->mirror, &lack->want);
	else
		cairn_mirror_want_revision(app->mirror, &lack->want);
	return true;
}

/* The call fails as the mirror did. */
static void mirror_fail(struct hub_call *call, const struct cairn_mirror_want *want)
{
	call->status = want->status;
	call->diag = want->diag;
}

static void mirror_name(const struct hub_repo *r, char out[static CAIRN_INDEX_ALIAS_MAX + 1])
{
	(void)snprintf(out, CAIRN_INDEX_ALIAS_MAX + 1, "%s/%s", r->namespace, r->name);
}

/* Notes a revision that is to be looked for. The placeholder is replied where the call cannot wait. */
static bool mirror_want_revision(struct hub_repo *r, const char *name, const char *revision)
{
	struct hub_call *call = &r->call;
	struct hub_lack *lack = mirror_lack(call);
	if (!lack || strlen(revision) >= sizeof(lack->want.revision))
		return false;
	bool is_same = !lack->is_file && !lack->is_admission && strcmp(lack->want.name, name) == 0 &&
		       strcmp(lack->want.revision, revision) == 0;
	if (lack->has_outcome && is_same)
		return false; /* was looked for just now */
	lack->wanted = true;
	lack->is_file = lack->is_admission = lack->has_outcome = false;
	lack->want.token[0] = '\0';
	lack->want.kind = r->kind;
	(void)snprintf(lack->want.name, sizeof(lack->want.name), "%s", name);
	(void)snprintf(lack->want.revision, sizeof(lack->want.revision), "%s", revision);
	cairn_diag_clear(&call->diag);
	call->status = cairn_mirror_later(&call->diag);
	return true;
}

/* Puts the present name of a repository in the place of an alias. */
static bool mirror_follow_alias(struct hub_repo *r, const char *name)
{
	struct hub_lack *lack = mirror_lack(&r->call);
	if (!lack || !cairn_mirror_alias(r->call.job.app->mirror, r->kind, name, lack->target))
		return false;
	char *slash = strchr(lack->target, '/');
	if (!slash)
		return false;
	*slash = '\0';
	r->namespace = lack->target;
	r->name = slash + 1;
	return true;
}

static bool mirror_may_ask(const struct hub_repo *r, enum cairn_hub_access need)
{
	const struct hub_call *call = &r->call;
	return call->job.app->mirror && call->runs && need <= CAIRN_HUB_READ && !call->asker.shut_out &&
	       cairn_mirror_type(r->kind) && r->name;
}

bool hub_mirror_takes(struct hub_repo *r, enum cairn_hub_access need)
{
	struct hub_call *call = &r->call;
	if (!call->foreign[0])
		return true;
	call->foreign_fits = need <= CAIRN_HUB_READ && cairn_mirror_type(r->kind) && r->namespace &&
			     cairn_mirror_may_have(call->job.app->mirror, r->namespace);
	if (!call->foreign_fits)
		call->status = cairn_fail(&call->diag, CAIRN_E_DENIED, "key.unknown", CAIRN_NO_OFFSET,
					  "a token of the mirrored hub opens nothing else here");
	return call->foreign_fits;
}

static bool mirror_at_gate(const struct hub_repo *r)
{
	const struct hub_call *call = &r->call;
	return call->status == CAIRN_E_DENIED && cairn_diag_has(&call->diag, "repo.gated") && r->repo.is_mirrored &&
	       call->foreign[0];
}

static bool mirror_let_in(struct hub_repo *r)
{
	cairn_diag_clear(&r->call.diag);
	r->call.status = CAIRN_OK;
	r->access = CAIRN_HUB_READ;
	r->call.asker.admitted = r->repo.id; /* the right is asked again while a long file is sent */
	return true;
}

/* Notes that the mirrored hub is to be asked about the asker's token. */
static bool mirror_want_admission(struct hub_repo *r, struct hub_lack *lack)
{
	struct hub_call *call = &r->call;
	lack->wanted = lack->is_admission = true;
	lack->is_file = lack->has_outcome = false;
	lack->want.kind = r->kind;
	lack->want.repo = r->repo.id;
	(void)snprintf(lack->want.name, sizeof(lack->want.name), "%s/%s", r->repo.account_name, r->repo.name);
	memcpy(lack->want.token, call->foreign, sizeof(lack->want.token));
	memcpy(lack->want.who, call->digest, sizeof(lack->want.who));
	cairn_diag_clear(&call->diag);
	call->status = cairn_mirror_later(&call->diag);
	return false;
}

/* The log names a token by the first digits of its SHA-256. */
static void mirror_log_admission(const struct hub_repo *r, const struct cairn_mirror_want *want)
{
	enum { DIGEST_BYTES = 4 };
	char digest[2 * DIGEST_BYTES + 1];
	cairn_hex_text(digest, want->who, DIGEST_BYTES);
	const char *answer = want->status == CAIRN_OK            ? "admitted"
			     : want->status == CAIRN_E_NOT_FOUND ? "refused"
								 : "none";
	LOG(LOG_INFO, "mirror_admit", LOG_T("repo", want->name), LOG_N("repo_number", r->repo.id),
	    LOG_T("token", digest), LOG_T("answer", answer),
	    LOG_T("message", "the mirrored hub was asked whether it lets a token in"));
}

/* The upstream alone knows whom it lets in. Only its own word refuses: when it cannot be asked, whom it let in before
 * stays let in for a while. */
static bool mirror_pass_gate(struct hub_repo *r)
{
	struct hub_call *call = &r->call;
	struct cairn_mirror *mirror = call->job.app->mirror;
	struct hub_lack *lack = mirror_lack(call);
	bool is_told = lack && lack->is_admission && lack->has_outcome && lack->want.repo == r->repo.id;
	if (is_told)
		mirror_log_admission(r, &lack->want);
	if ((is_told && lack->want.status == CAIRN_OK) || cairn_mirror_admits(mirror, r->repo.id, call->digest, false))
		return mirror_let_in(r);
	if (is_told && lack->want.status != CAIRN_OK && lack->want.status != CAIRN_E_NOT_FOUND) {
		/* Askers can reach a limit of this daemon on purpose. So it does not make an old answer hold longer. */
		bool is_ours = cairn_diag_has(&lack->want.diag, "mirror.full");
		if (!is_ours && cairn_mirror_admits(mirror, r->repo.id, call->digest, true))
			return mirror_let_in(r);
		mirror_fail(call, &lack->want);
	}
	return is_told || !lack || !call->runs ? false : mirror_want_admission(r, lack);
}

bool hub_mirror_find(struct hub_repo *r, enum cairn_hub_access need)
{
	struct hub_call *call = &r->call;
	if (mirror_at_gate(r))
		return mirror_pass_gate(r);
	char name[CAIRN_INDEX_ALIAS_MAX + 1];
	bool unknown = call->status == CAIRN_E_NOT_FOUND && cairn_diag_has(&call->diag, "repo.unknown");
	if (!unknown || !r->namespace || !mirror_may_ask(r, need) ||
	    !cairn_mirror_may_have(call->job.app->mirror, r->namespace))
		return call->status == CAIRN_OK;
	mirror_name(r, name);
	if (mirror_follow_alias(r, name)) {
		cairn_diag_clear(&call->diag);
		call->status = cairn_hub_find_repo(&call->job.app->hub, &call->asker, r->kind, r->namespace, r->name,
						   need, &r->repo, &call->diag);
		if (mirror_at_gate(r))
			return mirror_pass_gate(r);
		if (call->status != CAIRN_E_NOT_FOUND)
			return call->status == CAIRN_OK;
		mirror_name(r, name);
	}
	if (!mirror_want_revision(r, name, CAIRN_HUB_MAIN))
		hub_mirror_explain(r);
	return false;
}

static enum cairn_status mirror_unknown(struct hub_call *call)
{
	cairn_diag_clear(&call->diag);
	return cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
			  "Repository not found. Name its owner, too, as in ann/cats");
}

/* Follows aliases that lead to other ones. */
static bool mirror_find_target(struct hub_repo *r, const char *name)
{
	struct cairn_mirror *mirror = r->call.job.app->mirror;
	struct hub_lack *lack = mirror_lack(&r->call);
	char from[CAIRN_INDEX_ALIAS_MAX + 1];
	if (!lack || strlen(name) >= sizeof(from) || !cairn_mirror_alias(mirror, r->kind, name, lack->target))
		return false;
	for (unsigned n = 0; n < MIRROR_ALIASES_MAX; n++) {
		memcpy(from, lack->target, sizeof(from));
		if (!cairn_mirror_alias(mirror, r->kind, from, lack->target)) {
			memcpy(lack->target, from, sizeof(from));
			break;
		}
	}
	return true;
}

bool hub_mirror_find_unowned(struct hub_repo *r)
{
	r->call.foreign_fits = true; /* it learns a name */
	bool may_ask = mirror_may_ask(r, CAIRN_HUB_SEE);
	if (may_ask && mirror_find_target(r, r->name))
		return true;
	if (may_ask && mirror_want_revision(r, r->name, CAIRN_HUB_MAIN))
		return false;
	r->call.status = mirror_unknown(&r->call);
	hub_mirror_explain(r);
	return false;
}

bool hub_mirror_find_call(struct hub_repo *r)
{
	const struct app *app = r->call.job.app;
	if (!r->namespace || !mirror_may_ask(r, CAIRN_HUB_SEE) || !cairn_mirror_may_have(app->mirror, r->namespace))
		return false;
	r->call.foreign_fits = true;
	if (mirror_find_target(r, r->namespace))
		return true;
	bool is_stale;
	if (!cairn_mirror_is_fresh(app->mirror, r->kind, r->namespace, CAIRN_HUB_MAIN, &is_stale))
		(void)mirror_want_revision(r, r->namespace, CAIRN_HUB_MAIN);
	return false;
}

const char *hub_mirror_target(const struct hub_call *call)
{
	return call->lack->target;
}

/* @param[out] revision  "": none that is mirrored */
static void mirror_take_revision(const char *raw, char revision[static CAIRN_HUB_REVISION_MAX + 1])
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	(void)snprintf(revision, CAIRN_HUB_REVISION_MAX + 1, "%s", CAIRN_HUB_MAIN);
	if (raw && !cairn_hub_split_revision(raw, 1, revision, path))
		revision[0] = '\0';
	if (strcmp(revision, "HEAD") == 0)
		(void)snprintf(revision, CAIRN_HUB_REVISION_MAX + 1, "%s", CAIRN_HUB_MAIN);
}

/* Was the revision looked for on behalf of this call? Notes whether the upstream could not be asked. */
static bool mirror_was_refreshed(struct hub_repo *r)
{
	const struct hub_lack *lack = r->call.lack;
	if (!lack || !lack->refreshed)
		return false;
	if (!lack->is_file && lack->has_outcome)
		r->call.is_stale = lack->want.status != CAIRN_OK && lack->want.status != CAIRN_E_NOT_FOUND;
	return true;
}

bool hub_mirror_refresh(struct hub_repo *r, const char *raw)
{
	char revision[CAIRN_HUB_REVISION_MAX + 1], name[CAIRN_INDEX_ALIAS_MAX + 1];
	const struct app *app = r->call.job.app;
	if (!r->repo.is_mirrored || !mirror_may_ask(r, CAIRN_HUB_SEE) || mirror_was_refreshed(r))
		return true;
	mirror_take_revision(raw, revision);
	(void)snprintf(name, sizeof(name), "%s/%s", r->repo.account_name, r->repo.name);
	if (!revision[0] || cairn_mirror_has_commit(app->mirror, r->repo.id, revision))
		return true;
	if (cairn_mirror_is_fresh(app->mirror, r->kind, name, revision, &r->call.is_stale))
		return true;
	bool waits = mirror_want_revision(r, name, revision);
	if (waits)
		r->call.lack->refreshed = true;
	return !waits;
}

void hub_mirror_explain(struct hub_repo *r)
{
	struct hub_call *call = &r->call;
	const struct hub_lack *lack = call->lack;
	if (!lack || !lack->has_outcome || lack->want.status == CAIRN_OK || lack->want.status == CAIRN_E_NOT_FOUND)
		return;
	mirror_fail(call, &lack->want);
}

bool hub_mirror_want_file(struct hub_repo *r, const char *path, const struct cairn_index_entry *entry)
{
	struct hub_call *call = &r->call;
	struct hub_lack *lack = mirror_may_ask(r, CAIRN_HUB_READ) ? mirror_lack(call) : NULL;
	call->status =
		cairn_fail(&call->diag, CAIRN_E_BUSY, "mirror.later", CAIRN_NO_OFFSET,
			   "the bytes of this file have not come from the mirrored hub yet; ask again in a moment");
	if (!lack)
		return false;
	if (lack->is_file && lack->has_outcome) {
		mirror_fail(call, &lack->want);
		return call->status == CAIRN_OK;
	}
	lack->wanted = lack->is_file = true;
	lack->is_admission = lack->has_outcome = false;
	lack->want.is_alone = r->repo.gate != CAIRN_INDEX_GATE_NONE;
	(void)snprintf(lack->want.token, sizeof(lack->want.token), "%s", lack->want.is_alone ? call->foreign : "");
	lack->want.kind = r->kind;
	lack->want.repo = r->repo.id;
	lack->want.commit = r->commit.oid;
	lack->want.entry = *entry;
	(void)snprintf(lack->want.name, sizeof(lack->want.name), "%s/%s", r->repo.account_name, r->repo.name);
	(void)snprintf(lack->want.path, sizeof(lack->want.path), "%s", path);
	return false;
}

enum cairn_status hub_mirror_open_file(struct hub_repo *r, const struct cairn_byte_range *range,
				       struct cairn_file_extent *extent, struct cairn_mirror_reader **out)
{
	struct hub_call *call = &r->call;
	struct hub_lack *lack = call->lack;
	enum cairn_status status =
		cairn_mirror_reader_open(call->job.app->mirror, &lack->want, range, extent, out, &call->diag);
	if (status == CAIRN_E_NOT_FOUND)
		lack->has_outcome = false;
	return status;
}

void hub_mirror_say(struct http_request *req, struct hub_call *call)
{
	const struct hub_repo *r = (const struct hub_repo *)call;
	if (!call->mirrors || !r->repo.is_mirrored || call->said_mirror)
		return;
	call->said_mirror = true;
	if (call->is_stale)
		atomic_fetch_add(&call->job.app->mirror_counts.n_stale, 1);
	http_reply_header(req, "X-Cairn-Mirror", call->is_stale ? "stale" : call->is_fetching ? "fetching" : "here");
}

bool hub_mirror_reply(struct http_request *req, const struct hub_call *call)
{
	static const struct {
		const char *rule, *error_code, *retry_after;
		unsigned code;
	} REPLIES[] = {
		{"mirror.later", NULL, "2", 429},          {"mirror.full", NULL, "5", 429},
		{"mirror.busy", NULL, "30", 429},          {"mirror.stopped", NULL, "5", 429},
		{"mirror.wrong", NULL, NULL, 502},         {"mirror.large", "NotImplemented", NULL, 501},
		{"mirror.denied", "GatedRepo", NULL, 403}, {"mirror.unknown", "EntryNotFound", NULL, 404},
	};
	const char *rule = call->diag.rule ? call->diag.rule : "";
	const struct hub_lack *lack = call->lack;
	if (strncmp(rule, "mirror.", 7) != 0 || call->status == CAIRN_OK)
		return false;
	for (size_t i = 0; i < sizeof(REPLIES) / sizeof(REPLIES[0]); i++) {
		if (strcmp(REPLIES[i].rule, rule) != 0)
			continue;
		if (REPLIES[i].retry_after)
			http_reply_header(req, "Retry-After", REPLIES[i].retry_after);
		if (REPLIES[i].error_code)
			http_reply_header(req, "X-Error-Code", REPLIES[i].error_code);
		http_reply_error(req, REPLIES[i].code, rule, call->diag.text, NULL);
		return true;
	}
	if (!lack || !lack->has_outcome)
		return false;
	http_reply_error(req, 504, rule, call->diag.text, NULL);
	return true;
}
