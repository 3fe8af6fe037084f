#include "server/ask/hub_mirror.h"

#include "server/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	MIRROR_WAITS_MAX =
		7, /* waits of a call: for an alias, main, an admission, main again, another revision, a file */
	MIRROR_ALIASES_MAX = 4, /* longest chain of aliases that is followed */
};

enum mirror_lack_kind {
	MIRROR_LACK_REVISION,
	MIRROR_LACK_FILE,
	MIRROR_LACK_ADMISSION, /* whether the asker's token may read a repository */
	MIRROR_LACK_OWNER,     /* whose the asker's token is */
};

struct hub_lack {
	struct cairn_mirror_want want; /* first */
	struct hub_call *call;
	enum mirror_lack_kind kind;
	bool wanted; /* the mirrored hub has to be asked */
	unsigned n_waits;
	bool has_outcome; /* the fetch has ended */
	bool refreshed;   /* the revision was looked up upstream, with or without success */
	/* A repository that was not found here, and the steps taken to find it: a lookup without a token, a question
	 * about the asker's token, and a lookup by somebody who may see the repository. */
	char unknown[CAIRN_INDEX_ALIAS_MAX + 1];
	bool has_looked, has_asked, has_seen;
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
};

void hub_lack_free(struct hub_lack *lack)
{
	if (!lack)
		return;
	explicit_bzero(lack->want.token, sizeof(lack->want.token));
	free(lack->want.answer);
	free(lack);
}

/* Returns the call's lack, or makes one. @return NULL: the call must not wait again */
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

/* Returns the number that identifies an asker to the limits: the account's, or the address's if there is no account. */
static uint64_t mirror_sender(const struct http_request *req, const struct hub_call *call)
{
	return call->asker.account.id != 0 ? (uint64_t)call->asker.account.id : http_turn(req);
}

bool hub_mirror_waits(struct http_request *req, struct hub_call *call)
{
	static void (*const WANT[])(struct cairn_mirror * mirror, struct cairn_mirror_want * want) = {
		[MIRROR_LACK_REVISION] = cairn_mirror_want_revision,
		[MIRROR_LACK_FILE] = cairn_mirror_want_file,
		[MIRROR_LACK_ADMISSION] = cairn_mirror_want_admission,
		[MIRROR_LACK_OWNER] = cairn_mirror_want_owner,
	};
	struct hub_lack *lack = call->lack;
	struct app *app = call->job.app;
	if (!lack || !lack->wanted)
		return false;
	lack->wanted = false;
	lack->n_waits++;
	lack->want.done = mirror_done;
	lack->want.sender = mirror_sender(req, call);
	memcpy(lack->want.asked_by, call->asker.account.name, sizeof(lack->want.asked_by));
	call->status = CAIRN_OK;
	cairn_diag_clear(&call->diag);
	if (!route_job_wait(req))
		return true;
	atomic_fetch_add(&app->mirror_counts.n_waiting, 1);
	WANT[lack->kind](app->mirror, &lack->want);
	return true;
}

/* Fails the call with the status and the diagnosis of the mirror. */
static void mirror_fail(struct hub_call *call, const struct cairn_mirror_want *want)
{
	call->status = want->status;
	call->diag = want->diag;
}

/* Notes that the mirrored hub has to be asked when the call ends. */
static void mirror_want(struct hub_lack *lack, enum mirror_lack_kind kind)
{
	lack->kind = kind;
	lack->wanted = true;
	lack->has_outcome = false;
}

/* Has the call's lack of this kind an outcome? */
static bool mirror_has_outcome(const struct hub_lack *lack, enum mirror_lack_kind kind)
{
	return lack && lack->kind == kind && lack->has_outcome;
}

/* Gives a request to the mirror the asker's token of the mirrored hub. */
static void mirror_set_asker(const struct hub_call *call, struct cairn_mirror_want *want)
{
	memcpy(want->token, call->foreign, sizeof(want->token));
	memcpy(want->who, call->digest, sizeof(want->who));
}

static void mirror_name(const struct hub_repo *r, char out[static CAIRN_INDEX_ALIAS_MAX + 1])
{
	(void)snprintf(out, CAIRN_INDEX_ALIAS_MAX + 1, "%s/%s", r->namespace, r->name);
}

/* Fills in a request to the mirror to look up the repository. @param sees  the asker may see the repository even if it
 * is private */
static void mirror_set_look(const struct hub_repo *r, struct cairn_mirror_want *want, const char *name,
			    const char *revision, bool sees)
{
	want->kind = r->kind;
	want->repo = r->repo.id;
	want->sees = sees;
	mirror_set_asker(&r->call, want);
	(void)snprintf(want->name, sizeof(want->name), "%s", name);
	(void)snprintf(want->revision, sizeof(want->revision), "%s", revision);
}

/* Notes a revision that has to be looked up upstream. A call that cannot wait replies with the status set here. @param
 * is_here  the asker can see the revision here, and the lookup only refreshes it. False for an asker who must not learn
 * that the repository exists, so that the limit on new names does not reveal it */
static bool mirror_want_revision(struct hub_repo *r, const char *name, const char *revision, bool sees, bool is_here)
{
	struct hub_call *call = &r->call;
	struct hub_lack *lack = mirror_lack(call);
	if (!lack || strlen(revision) >= sizeof(lack->want.revision))
		return false;
	bool is_same = lack->want.sees == sees && strcmp(lack->want.name, name) == 0 &&
		       strcmp(lack->want.revision, revision) == 0;
	if (is_same && mirror_has_outcome(lack, MIRROR_LACK_REVISION))
		return false; /* it was looked up a moment ago */
	mirror_want(lack, MIRROR_LACK_REVISION);
	mirror_set_look(r, &lack->want, name, revision, sees);
	lack->want.is_new = !is_here;
	cairn_diag_clear(&call->diag);
	call->status = cairn_mirror_later(&call->diag);
	return true;
}

/* Was this revision looked up upstream lately? */
static bool mirror_is_fresh(const struct hub_repo *r, const char *name, const char *revision, bool sees, bool *is_stale)
{
	struct cairn_mirror_want want = {.sees = false};
	mirror_set_look(r, &want, name, revision, sees);
	bool is_fresh = cairn_mirror_is_fresh(r->call.job.app->mirror, &want, is_stale);
	explicit_bzero(want.token, sizeof(want.token));
	return is_fresh;
}

/* Replaces the name of r by the target of an alias. */
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

/* Do the rules close the repository to everybody, whatever the mirrored hub says? */
static bool mirror_is_shut(const struct hub_repo *r)
{
	const struct cairn_hub_gates *gates = &r->call.job.app->hub.gates;
	struct cairn_hub_gate gate = {.is_shut = false};
	if (gates->find)
		gates->find(gates->ctx, &r->repo, &gate);
	return gate.is_shut;
}

static bool mirror_at_gate(const struct hub_repo *r)
{
	const struct hub_call *call = &r->call;
	return call->status == CAIRN_E_DENIED && cairn_diag_has(&call->diag, "repo.gated") && r->repo.is_mirrored &&
	       call->foreign[0] && !mirror_is_shut(r);
}

static bool mirror_let_in(struct hub_repo *r)
{
	cairn_diag_clear(&r->call.diag);
	r->call.status = CAIRN_OK;
	r->access = CAIRN_HUB_READ;
	r->call.asker.admitted = r->repo.id; /* while a long file is sent, the right to read is checked again */
	return true;
}

/* Notes that the mirrored hub has to be asked whether the asker's token may read the repository. */
static bool mirror_want_admission(struct hub_repo *r, struct hub_lack *lack, const char *name)
{
	struct hub_call *call = &r->call;
	mirror_want(lack, MIRROR_LACK_ADMISSION);
	lack->want.kind = r->kind;
	lack->want.repo = r->repo.id;
	(void)snprintf(lack->want.name, sizeof(lack->want.name), "%s", name);
	mirror_set_asker(call, &lack->want);
	cairn_diag_clear(&call->diag);
	call->status = cairn_mirror_later(&call->diag);
	return false;
}

/* The log names a token by the first digits of its SHA-256. */
static void mirror_log_admission(const struct cairn_mirror_want *want)
{
	enum { DIGEST_BYTES = 4 };
	char digest[2 * DIGEST_BYTES + 1];
	cairn_hex_text(digest, want->who, DIGEST_BYTES);
	const char *answer = want->status == CAIRN_OK            ? "admitted"
			     : want->status == CAIRN_E_NOT_FOUND ? "refused"
								 : "none";
	LOG(LOG_INFO, "mirror_admit", LOG_T("repo", want->name), LOG_T("token", digest), LOG_T("answer", answer),
	    LOG_T("message", "the mirrored hub was asked whether it lets a token in"));
}

/* Asks the upstream once whether the asker's token may read the repository. While the upstream cannot be asked, its
 * last yes counts for some time. @return false: the token may not, or the call waits, or has failed */
static bool mirror_is_admitted(struct hub_repo *r, const char *name)
{
	struct hub_call *call = &r->call;
	struct cairn_mirror *mirror = call->job.app->mirror;
	struct hub_lack *lack = mirror_lack(call);
	bool is_told = mirror_has_outcome(lack, MIRROR_LACK_ADMISSION) && lack->want.repo == r->repo.id &&
		       strcasecmp(lack->want.name, name) == 0;
	if (is_told)
		mirror_log_admission(&lack->want);
	if ((is_told && lack->want.status == CAIRN_OK) ||
	    cairn_mirror_admits(mirror, r->kind, name, r->repo.id, call->digest, false))
		return true;
	if (is_told && lack->want.status != CAIRN_OK && lack->want.status != CAIRN_E_NOT_FOUND) {
		/* Askers can reach a limit of this daemon on purpose. So reaching one does not mean that the upstream
		 * cannot be asked. */
		bool is_ours = cairn_diag_has(&lack->want.diag, "mirror.full") ||
			       cairn_diag_has(&lack->want.diag, "mirror.later");
		if (!is_ours && cairn_mirror_admits(mirror, r->kind, name, r->repo.id, call->digest, true))
			return true;
		mirror_fail(call, &lack->want);
	}
	return is_told || !lack || !call->runs ? false : mirror_want_admission(r, lack, name);
}

static bool mirror_pass_gate(struct hub_repo *r)
{
	char name[CAIRN_INDEX_ALIAS_MAX + 1];
	(void)snprintf(name, sizeof(name), "%s/%s", r->repo.account_name, r->repo.name);
	return mirror_is_admitted(r, name) && mirror_let_in(r);
}

/* Do the rules open a repository of this name to an organisation of which the asker is a member? */
static bool mirror_is_member(struct hub_repo *r, const char *name)
{
	const struct hub_call *call = &r->call;
	struct cairn_index_repo repo = {.id = -1, .kind = r->kind, .is_mirrored = true, .is_private = true};
	enum cairn_hub_access access;
	const char *slash = strchr(name, '/');
	if (!slash)
		return false;
	(void)snprintf(repo.account_name, sizeof(repo.account_name), "%.*s", (int)(slash - name), name);
	(void)snprintf(repo.name, sizeof(repo.name), "%s", slash + 1);
	return cairn_hub_access_to(&call->job.app->hub, &call->asker, &repo, &access) == CAIRN_OK &&
	       access >= CAIRN_HUB_READ;
}

static struct hub_lack *mirror_lack_of(struct hub_repo *r, const char *name)
{
	struct hub_lack *lack = mirror_lack(&r->call);
	if (lack && strcmp(lack->unknown, name) != 0) {
		(void)snprintf(lack->unknown, sizeof(lack->unknown), "%s", name);
		lack->has_looked = lack->has_asked = lack->has_seen = false;
	}
	return lack;
}

/* Looks up a repository, at most once in each call. @param sees  the asker may see it even if it is private */
static void mirror_look_once(struct hub_repo *r, const char *name, bool *has_looked, bool sees)
{
	bool waits = !*has_looked && mirror_want_revision(r, name, CAIRN_HUB_MAIN, sees, false);
	*has_looked = true;
	if (!waits)
		hub_mirror_explain(r);
}

/* Looks for a repository that is not here, or is hidden from the asker: first without a token, then with the asker's
 * token if the mirrored hub accepts that. The steps are the same in both cases, so they do not reveal whether the
 * repository is here. @return true: the repository is here, and the asker may read it */
static bool mirror_look_for(struct hub_repo *r, const char *name)
{
	struct hub_call *call = &r->call;
	struct hub_lack *lack = mirror_lack_of(r, name);
	bool is_hidden = r->repo.id != 0 && r->repo.is_mirrored, is_foreign = call->foreign[0];
	if (!lack) {
		hub_mirror_explain(r);
		return false;
	}
	if (!is_foreign && !is_hidden && mirror_is_member(r, name)) {
		mirror_look_once(r, name, &lack->has_seen, true);
		return false;
	}
	if (is_foreign && (lack->has_asked || cairn_mirror_admits(call->job.app->mirror, r->kind, name, r->repo.id,
								  call->digest, false))) {
		bool is_in = mirror_is_admitted(r, name);
		if (is_in && is_hidden && !mirror_is_shut(r))
			return mirror_let_in(r);
		if (is_in) /* also for a repository that is here but disabled: the upstream may have enabled it again */
			mirror_look_once(r, name, &lack->has_seen, true);
		return false;
	}
	bool has_looked = lack->has_looked;
	mirror_look_once(r, name, &lack->has_looked, false);
	bool is_unknown = has_looked && call->status == CAIRN_E_NOT_FOUND &&
			  (is_hidden || cairn_mirror_lets_in(call->job.app->mirror, r->kind, name));
	if (is_unknown && is_foreign) {
		lack->has_asked = true;
		return mirror_is_admitted(r, name) && is_hidden && !mirror_is_shut(r) && mirror_let_in(r);
	}
	return false;
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
	return mirror_look_for(r, name);
}

const char *hub_mirror_owner(struct hub_call *call)
{
	struct hub_lack *lack = mirror_lack(call);
	call->foreign_fits = true;
	call->status = lack ? cairn_mirror_later(&call->diag) : CAIRN_E_NOMEM;
	if (!lack)
		return NULL;
	if (!lack->has_outcome) {
		mirror_want(lack, MIRROR_LACK_OWNER);
		mirror_set_asker(call, &lack->want);
		return NULL;
	}
	mirror_fail(call, &lack->want);
	call->foreign_fits = call->status != CAIRN_E_NOT_FOUND; /* else it is an unknown key */
	/* There was no memory for the answer, or the question came just after others had got it. */
	if (call->status == CAIRN_OK && !lack->want.answer)
		call->status = cairn_mirror_later(&call->diag);
	return call->status == CAIRN_OK ? lack->want.answer : NULL;
}

static enum cairn_status mirror_unknown(struct hub_call *call)
{
	cairn_diag_clear(&call->diag);
	return cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
			  "Repository not found. Name its owner, too, as in ann/cats");
}

/* Follows a chain of aliases to its end. */
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
	r->call.foreign_fits = true; /* the token opens nothing here, so the asker learns only the new name */
	bool may_ask = mirror_may_ask(r, CAIRN_HUB_SEE);
	if (may_ask && mirror_find_target(r, r->name))
		return true;
	if (may_ask && mirror_want_revision(r, r->name, CAIRN_HUB_MAIN, false, false))
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
	if (!mirror_is_fresh(r, r->namespace, CAIRN_HUB_MAIN, false, &(bool){false}))
		(void)mirror_want_revision(r, r->namespace, CAIRN_HUB_MAIN, false, false);
	return false;
}

const char *hub_mirror_target(const struct hub_call *call)
{
	return call->lack->target;
}

/* Reads the revision from an address. @param[out] revision  "": the address has a kind of revision that is not mirrored
 * */
static void mirror_take_revision(const char *raw, char revision[static CAIRN_HUB_REVISION_MAX + 1])
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	(void)snprintf(revision, CAIRN_HUB_REVISION_MAX + 1, "%s", CAIRN_HUB_MAIN);
	if (raw && !cairn_hub_split_revision(raw, 1, revision, path))
		revision[0] = '\0';
	if (strcmp(revision, "HEAD") == 0)
		(void)snprintf(revision, CAIRN_HUB_REVISION_MAX + 1, "%s", CAIRN_HUB_MAIN);
}

/* Was the revision looked up for this call? If the look has found another name of the repository, the revision has to
 * be looked up under that one. If the upstream could not be asked, notes that in the call. */
static bool mirror_was_refreshed(struct hub_repo *r, const char *name)
{
	const struct hub_lack *lack = r->call.lack;
	if (!lack || !lack->refreshed ||
	    (mirror_has_outcome(lack, MIRROR_LACK_REVISION) && strcasecmp(lack->want.name, name) != 0))
		return false;
	if (lack->kind != MIRROR_LACK_FILE && lack->has_outcome)
		r->call.is_stale = lack->want.status != CAIRN_OK && lack->want.status != CAIRN_E_NOT_FOUND;
	return true;
}

bool hub_mirror_refresh(struct hub_repo *r, const char *raw)
{
	char revision[CAIRN_HUB_REVISION_MAX + 1], name[CAIRN_INDEX_ALIAS_MAX + 1];
	const struct app *app = r->call.job.app;
	if (!r->repo.is_mirrored || !mirror_may_ask(r, CAIRN_HUB_SEE))
		return true;
	(void)snprintf(name, sizeof(name), "%s/%s", r->repo.account_name, r->repo.name);
	if (mirror_was_refreshed(r, name))
		return true;
	mirror_take_revision(raw, revision);
	if (!revision[0] || cairn_mirror_has_commit(app->mirror, r->repo.id, revision))
		return true;
	bool is_here = cairn_mirror_has_branch(app->mirror, r->repo.id, revision);
	bool is_fresh = mirror_is_fresh(r, name, revision, r->repo.is_private, &r->call.is_stale);
	/* A failed lookup of a revision that is not here decides nothing. Its remembered outcome does. */
	if (is_fresh && (is_here || !r->call.is_stale))
		return true;
	bool waits = mirror_want_revision(r, name, revision, r->repo.is_private, is_here);
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
	call->status = cairn_fail(&call->diag, CAIRN_E_BUSY, "mirror.later", CAIRN_NO_OFFSET,
				  "this file is still being fetched from the mirrored hub; ask again in a moment");
	if (!lack)
		return false;
	if (mirror_has_outcome(lack, MIRROR_LACK_FILE)) {
		mirror_fail(call, &lack->want);
		return call->status == CAIRN_OK;
	}
	mirror_want(lack, MIRROR_LACK_FILE);
	lack->want.is_alone = r->repo.gate != CAIRN_INDEX_GATE_NONE || r->repo.is_private;
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

/* Is it a long file? If the upstream falls silent in it, clients had some of its bytes, and the rest may come later. */
static bool mirror_is_long(const struct hub_lack *lack)
{
	return lack && lack->kind == MIRROR_LACK_FILE && lack->want.entry.size_bytes > CAIRN_MIRROR_SHORT_BYTES_MAX;
}

/* Replies 429 if the mirror put a want off, so that the client asks again. @return false: the want did not end so */
static bool mirror_reply_later(struct http_request *req, const struct cairn_diag *diag, bool is_long)
{
	static const struct {
		const char *rule, *retry_after;
		bool of_long; /* only for a long file */
	} RULES[] = {{"mirror.later", "2", false},   {"mirror.full", "5", false}, {"mirror.busy", "30", false},
		     {"mirror.stopped", "5", false}, {"mirror.cut", "30", false}, {"mirror.silent", "30", true}};
	for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
		if (!cairn_diag_has(diag, RULES[i].rule) || (RULES[i].of_long && !is_long))
			continue;
		http_reply_header(req, "Retry-After", RULES[i].retry_after);
		http_reply_error(req, 429, RULES[i].rule, diag->text, NULL);
		return true;
	}
	return false;
}

void hub_mirror_reply_look(struct http_request *req, const struct cairn_mirror_want *want)
{
	if (want->status == CAIRN_E_NOT_FOUND)
		http_reply_error(req, 404, "mirror.unknown", "the upstream has no such repository, or revision",
				 &want->diag);
	else if (mirror_reply_later(req, &want->diag, false))
		return;
	else if (want->diag.rule)
		http_reply_error(req, 504, "mirror.unreachable", "the upstream could not be asked", &want->diag);
	else
		http_reply_status(req, want->status, &want->diag);
}

/* Returns the text of the failure. Only operators learn how much room is left. */
static const char *mirror_text(const struct hub_call *call, const char *rule)
{
	bool is_told = strcmp(rule, "mirror.room") != 0 || call->asker.kind == CAIRN_HUB_OPERATOR;
	return is_told ? call->diag.text
		       : "this mirror has no room for the file now; files that nobody read lately make room, if there are "
			 "some: ask again later, or tell your operator";
}

bool hub_mirror_reply(struct http_request *req, const struct hub_call *call)
{
	static const struct {
		const char *rule, *error_code;
		unsigned code;
	} REPLIES[] = {
		{"mirror.wrong", NULL, 502},
		{"mirror.plan", NULL, 502},
		{"mirror.large", "NotImplemented", 501},
		{"mirror.denied", "GatedRepo", 403},
		{"mirror.unknown", "EntryNotFound", 404},
		{"mirror.room", NULL, 507},
	};
	const char *rule = call->diag.rule ? call->diag.rule : "";
	const struct hub_lack *lack = call->lack;
	if (strncmp(rule, "mirror.", 7) != 0 || call->status == CAIRN_OK)
		return false;
	if (mirror_reply_later(req, &call->diag, mirror_is_long(lack)))
		return true;
	for (size_t i = 0; i < sizeof(REPLIES) / sizeof(REPLIES[0]); i++) {
		if (strcmp(REPLIES[i].rule, rule) != 0)
			continue;
		if (REPLIES[i].error_code)
			http_reply_header(req, "X-Error-Code", REPLIES[i].error_code);
		http_reply_error(req, REPLIES[i].code, rule, mirror_text(call, rule), NULL);
		return true;
	}
	if (!lack || !lack->has_outcome)
		return false;
	http_reply_error(req, 504, rule, call->diag.text, NULL);
	return true;
}
