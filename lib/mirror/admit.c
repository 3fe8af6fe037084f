/* Asks the upstream whether a token may read a repository with a gate, and remembers a yes; and whose a token is.
 * Forgets the token after its request. */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/json.h"
#include "mirror/hub/ask_refused.h"
#include "mirror/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	ADMIT_BYTES_MAX = 4096, /* most bytes of the answer */
	ADMIT_MS = 5000,
	ADMIT_BURST = 8,               /* a sender may ask once a second, and at most so many times at once */
	ADMIT_OWNER_BYTES_MAX = 65536, /* most bytes of the answer that says whose a token is */
	ADMIT_OWNER_VALUES_MAX = 10000,
};

/* Makes the key of a grant. It has the repository's name, not its id, because the upstream answers about a name. */
static void admit_key(char out[static MIRROR_ADMIT_KEY_BYTES], enum cairn_index_repo_kind kind, const char *name,
		      const uint8_t who[static CAIRN_SHA256_BYTES])
{
	char hex[2 * CAIRN_SHA256_BYTES + 1];
	cairn_hex_text(hex, who, CAIRN_SHA256_BYTES);
	(void)snprintf(out, MIRROR_ADMIT_KEY_BYTES, "admit/%d/%s/%s", (int)kind, name, hex);
	mirror_key_fold(out);
}

/* Returns the slot of a grant. Grants share slots: a later grant replaces an earlier one, whose token is then asked
 * about again. NULL: libcrypto has failed. */
static struct mirror_grant *admit_place(struct cairn_mirror *m, enum cairn_index_repo_kind kind, const char *name,
					const uint8_t who[static CAIRN_SHA256_BYTES],
					uint8_t key[static CAIRN_SHA256_BYTES])
{
	char text[MIRROR_ADMIT_KEY_BYTES];
	admit_key(text, kind, name, who);
	bool hashed = cairn_sha256_of(key, text, strlen(text)) == CAIRN_OK;
	return hashed ? &m->grants[cairn_get_u64le(key) % MIRROR_GRANTS] : NULL;
}

static bool admit_is(const struct mirror_grant *g, const uint8_t key[static CAIRN_SHA256_BYTES])
{
	return g->asked_ms != 0 && memcmp(g->key, key, CAIRN_SHA256_BYTES) == 0;
}

bool cairn_mirror_admits(struct cairn_mirror *mirror, enum cairn_index_repo_kind kind, const char *name, int64_t repo,
			 const uint8_t who[static CAIRN_SHA256_BYTES], bool is_cut_off)
{
	int64_t holds_ms = INT64_C(1000) * (is_cut_off ? CAIRN_MIRROR_ADMITS_CUT_OFF_S : CAIRN_MIRROR_ADMITS_S);
	uint8_t key[CAIRN_SHA256_BYTES];
	const struct mirror_grant *g = admit_place(mirror, kind, name, who, key);
	if (!g)
		return false;
	pthread_mutex_lock(&mirror->lock);
	bool admits = admit_is(g, key) && g->repo == repo && cairn_clock_mono_ms() - g->asked_ms < holds_ms;
	pthread_mutex_unlock(&mirror->lock);
	return admits;
}

static void admit_note(const struct mirror_fetch *f, bool admits)
{
	struct cairn_mirror *m = f->m;
	const struct cairn_mirror_want *what = &f->what;
	uint8_t key[CAIRN_SHA256_BYTES];
	struct mirror_grant *g = admit_place(m, what->kind, what->name, what->who, key);
	if (!g)
		return;
	pthread_mutex_lock(&m->lock);
	if (admits) {
		*g = (struct mirror_grant){.asked_ms = cairn_clock_mono_ms(), .repo = what->repo};
		memcpy(g->key, key, sizeof(g->key));
	} else if (admit_is(g, key)) {
		*g = (struct mirror_grant){.asked_ms = 0};
	}
	pthread_mutex_unlock(&m->lock);
}

/* At a gate, the description is for everybody, so a token that was shown it says nothing. */
void mirror_grant_brought(const struct mirror_fetch *f, int64_t repo)
{
	const struct cairn_mirror_want *what = &f->what;
	uint8_t key[CAIRN_SHA256_BYTES];
	if (!what->sees || what->rule != 0 || f->repo.is_gated)
		return;
	struct mirror_grant *g = admit_place(f->m, what->kind, what->name, what->who, key);
	if (!g)
		return;
	pthread_mutex_lock(&f->m->lock);
	if (admit_is(g, key) && g->repo == 0)
		g->repo = repo;
	pthread_mutex_unlock(&f->m->lock);
}

/* Sends the question about a token. */
static void admit_send(struct mirror_fetch *f, size_t answer_bytes_max, void (*answered)(struct mirror_fetch *f))
{
	f->call.body_bytes_max = answer_bytes_max;
	f->call.deadline_ms = ADMIT_MS;
	f->step = answered;
	mirror_fetch_send(f);
}

static bool admit_is_refused(const struct mirror_fetch *f)
{
	return f->call.code == 401 || f->call.code == 403 || f->call.code == 404;
}

/* Reads why the upstream does not say yes, without having refused the token. @return CAIRN_OK: it says yes */
static enum cairn_status admit_read(const struct mirror_fetch *f, struct cairn_diag *diag)
{
	if (f->call.code == 429) /* askers can provoke this, so it does not mean that the upstream is unreachable */
		return cairn_fail(diag, CAIRN_E_BUSY, "mirror.later", CAIRN_NO_OFFSET,
				  "the upstream limits calls with this token; ask again in a moment");
	return f->call.code >= 200 && f->call.code < 300 ? CAIRN_OK : mirror_read_refused(&f->call, diag);
}

static void admit_answered(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	bool refused = admit_is_refused(f);
	enum cairn_status status =
		refused ? cairn_fail(&diag, CAIRN_E_NOT_FOUND, "mirror.unknown", CAIRN_NO_OFFSET,
				     "the upstream refuses this token for %.120s; ask there for access", f->what.name)
			: admit_read(f, &diag);
	if (status == CAIRN_OK || refused)
		admit_note(f, status == CAIRN_OK);
	mirror_fetch_end(f, status, &diag);
}

static void admit_begin(struct mirror_fetch *f)
{
	(void)snprintf(f->path, sizeof(f->path), "/api/%s/%s/auth-check", cairn_mirror_type(f->what.kind),
		       f->what.name);
	admit_send(f, ADMIT_BYTES_MAX, admit_answered);
}

/* Keeps a sender from trying many tokens. */
static bool admit_may_ask(struct cairn_mirror *m, const struct cairn_mirror_want *want)
{
	pthread_mutex_lock(&m->lock);
	bool may = mirror_sender_may(&m->admit_senders, want, ADMIT_BURST);
	pthread_mutex_unlock(&m->lock);
	return may;
}

/* Joins a question about a token, or refuses it if its sender asks too much. */
static void admit_ask(struct cairn_mirror *m, struct cairn_mirror_want *want, const char *key,
		      void (*begin)(struct mirror_fetch *f))
{
	bool failed;
	cairn_diag_clear(&want->diag);
	if (mirror_remembers(m, key, 0, &failed) || admit_may_ask(m, want)) {
		mirror_join(m, want, key, false, begin);
		return;
	}
	want->status = cairn_fail(&want->diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
				  "you ask about too many tokens of the mirrored hub; ask again in a moment");
	want->done(want);
}

/* The key has the repository's id, too: while a repository is made anew, the answer for the old one is none for the new
 * one. But a refusal from before the repository came here still counts: whoever is refused must not find out by a
 * slower answer that it came. */
void cairn_mirror_want_admission(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	bool failed;
	char name[MIRROR_ADMIT_KEY_BYTES], key[MIRROR_ADMIT_KEY_BYTES + 24];
	admit_key(name, want->kind, want->name, want->who);
	(void)snprintf(key, sizeof(key), "%s/%" PRId64, name, want->repo);
	bool asks_anew = want->repo != 0 && !mirror_remembers(mirror, name, 0, &failed);
	admit_ask(mirror, want, asks_anew ? key : name, admit_begin);
}

/* --- whose a token is --------------------------------------------------------------------------------------------- */

/* Is the answer an object with a name, as clients need it? */
static enum cairn_status admit_check_owner(const struct cairn_buf *body, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	if (cairn_json_parse_some(&json, (const char *)body->bytes, body->len, ADMIT_OWNER_VALUES_MAX) != CAIRN_OK ||
	    !cairn_json_text_of(json, "name"))
		return mirror_no_hub("it does not say whose the token is", diag);
	return CAIRN_OK;
}

/* Gives each request that waits a copy of the answer. */
static void admit_copy_owner(struct mirror_fetch *f)
{
	const struct cairn_buf *body = &f->call.body;
	pthread_mutex_lock(&f->m->lock);
	for (struct cairn_mirror_want *want = f->waiting; want; want = want->next)
		want->answer = strndup((const char *)body->bytes, body->len);
	pthread_mutex_unlock(&f->m->lock);
}

static void admit_owner_answered(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = admit_is_refused(f) ? cairn_fail(&diag, CAIRN_E_NOT_FOUND, "mirror.unknown",
								    CAIRN_NO_OFFSET, "the upstream refuses this token")
						       : admit_read(f, &diag);
	if (status == CAIRN_OK)
		status = admit_check_owner(&f->call.body, &diag);
	if (status == CAIRN_OK)
		admit_copy_owner(f);
	mirror_fetch_end(f, status, &diag);
}

static void admit_owner_begin(struct mirror_fetch *f)
{
	(void)snprintf(f->path, sizeof(f->path), "/api/whoami-v2");
	admit_send(f, ADMIT_OWNER_BYTES_MAX, admit_owner_answered);
}

void cairn_mirror_want_owner(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	char hex[2 * CAIRN_SHA256_BYTES + 1], key[sizeof(hex) + 8];
	cairn_hex_text(hex, want->who, CAIRN_SHA256_BYTES);
	(void)snprintf(key, sizeof(key), "owner/%s", hex);
	admit_ask(mirror, want, key, admit_owner_begin);
}
