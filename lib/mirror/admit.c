/* Asks the upstream whether it lets a token read a repository with a gate, and remembers those that it lets in. A token
 * itself is kept only while a request with it is under way. */
#include "base/bytes.h"
#include "base/clock.h"
#include "mirror/hub/ask_refused.h"
#include "mirror/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	ADMIT_BYTES_MAX = 4096, /* of the answer */
	ADMIT_MS = 5000,
	ADMIT_EACH_MS = 1000, /* a sender may ask once a second, */
	ADMIT_BURST = 8,      /* and this often at once */
};

static void admit_key(char out[static MIRROR_ADMIT_KEY_BYTES], int64_t repo,
		      const uint8_t who[static CAIRN_SHA256_BYTES])
{
	char hex[2 * CAIRN_SHA256_BYTES + 1];
	cairn_hex_text(hex, who, CAIRN_SHA256_BYTES);
	(void)snprintf(out, MIRROR_ADMIT_KEY_BYTES, "admit/%" PRId64 "/%s", repo, hex);
}

/* Grants share places: a later one takes the place of an earlier one, whose token is then asked about again. */
static struct mirror_grant *admit_place(struct cairn_mirror *m, int64_t repo,
					const uint8_t who[static CAIRN_SHA256_BYTES])
{
	return &m->grants[(cairn_get_u64le(who) + (uint64_t)repo) % MIRROR_GRANTS];
}

static bool admit_is(const struct mirror_grant *g, int64_t repo, const uint8_t who[static CAIRN_SHA256_BYTES])
{
	return g->asked_ms != 0 && g->repo == repo && memcmp(g->who, who, CAIRN_SHA256_BYTES) == 0;
}

bool cairn_mirror_admits(struct cairn_mirror *mirror, int64_t repo, const uint8_t who[static CAIRN_SHA256_BYTES],
			 bool is_cut_off)
{
	int64_t holds_ms = INT64_C(1000) * (is_cut_off ? CAIRN_MIRROR_ADMITS_CUT_OFF_S : CAIRN_MIRROR_ADMITS_S);
	pthread_mutex_lock(&mirror->lock);
	const struct mirror_grant *g = admit_place(mirror, repo, who);
	bool admits = admit_is(g, repo, who) && cairn_clock_mono_ms() - g->asked_ms < holds_ms;
	pthread_mutex_unlock(&mirror->lock);
	return admits;
}

static void admit_note(const struct mirror_fetch *f, bool admits)
{
	struct cairn_mirror *m = f->m;
	const struct cairn_mirror_want *what = &f->what;
	struct mirror_grant *g = admit_place(m, what->repo, what->who);
	pthread_mutex_lock(&m->lock);
	if (admits) {
		*g = (struct mirror_grant){.repo = what->repo, .asked_ms = cairn_clock_mono_ms()};
		memcpy(g->who, what->who, sizeof(g->who));
	} else if (admit_is(g, what->repo, what->who)) {
		*g = (struct mirror_grant){.repo = 0};
	}
	pthread_mutex_unlock(&m->lock);
}

static void admit_answered(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = CAIRN_OK;
	unsigned code = f->call.code;
	bool refused = code == 401 || code == 403 || code == 404;
	if (refused)
		status = cairn_fail(&diag, CAIRN_E_NOT_FOUND, "mirror.unknown", CAIRN_NO_OFFSET,
				    "the upstream does not let this token read %.120s", f->what.name);
	else if (code < 200 || code >= 300)
		status = mirror_read_refused(&f->call, &diag);
	if (status == CAIRN_OK || refused)
		admit_note(f, status == CAIRN_OK);
	mirror_fetch_end(f, status, &diag);
}

static void admit_begin(struct mirror_fetch *f)
{
	(void)snprintf(f->path, sizeof(f->path), "/api/%s/%s/auth-check", cairn_mirror_type(f->what.kind),
		       f->what.name);
	f->call.body_bytes_max = ADMIT_BYTES_MAX;
	f->call.deadline_ms = ADMIT_MS;
	f->step = admit_answered;
	mirror_fetch_send(f);
}

/* Keeps a sender from trying many tokens. Senders share places. */
static bool admit_may_ask(struct cairn_mirror *m, uint64_t sender)
{
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&m->lock);
	int64_t *next_ms = &m->admit_next_ms[sender % MIRROR_ADMIT_SENDERS];
	if (*next_ms < now_ms)
		*next_ms = now_ms;
	bool may = *next_ms - now_ms < (int64_t)ADMIT_EACH_MS * ADMIT_BURST;
	if (may)
		*next_ms += ADMIT_EACH_MS;
	pthread_mutex_unlock(&m->lock);
	return may;
}

void cairn_mirror_want_admission(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	char key[MIRROR_ADMIT_KEY_BYTES];
	cairn_diag_clear(&want->diag);
	bool failed;
	admit_key(key, want->repo, want->who);
	if (mirror_remembers(mirror, key, &failed) || admit_may_ask(mirror, want->sender)) {
		mirror_join(mirror, want, key, false, admit_begin);
		return;
	}
	want->status = cairn_fail(&want->diag, CAIRN_E_BUSY, "mirror.full", CAIRN_NO_OFFSET,
				  "you ask about too many tokens of the mirrored hub; ask again in a moment");
	want->done(want);
}
