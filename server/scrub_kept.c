#include "server/scrub_kept.h"

#include "base/clock.h"
#include "cas/keep/scrub.h"
#include "data_dir/note.h"
#include "server/log/log.h"

#include <errno.h>
#include <string.h>

static const char SCRUB_NOTE[] = "scrub";

enum {
	SCRUB_PASS_FIELDS = 12,
	SCRUB_FIELDS = 2 * SCRUB_PASS_FIELDS + 2,
	SCRUB_HEAR_EVERY_MS = 900,
	SCRUB_ATTEMPTS = 5, /* how often a change is tried that conflicts with another daemon's */
};

_Static_assert((int)CAIRN_NOTE_BYTES_MAX < (int)CAIRN_INDEX_NOTE_BYTES, "a note fits into a row");

static void scrub_pass_fields(struct cairn_note_field out[static SCRUB_PASS_FIELDS], struct scrub_pass *p, bool now)
{
	const struct cairn_note_field fields[SCRUB_PASS_FIELDS] = {
		{now ? "started" : "last_started", &p->started_unix_s},
		{now ? "ended" : "last_ended", &p->ended_unix_s},
		{now ? "within" : "last_within", &p->within_s},
		{now ? "total_bytes" : "last_total_bytes", &p->total_bytes},
		{now ? "at" : "last_at", &p->at},
		{now ? "xorbs" : "last_xorbs", &p->xorbs},
		{now ? "bytes" : "last_bytes", &p->bytes},
		{now ? "damaged" : "last_damaged", &p->damaged},
		{now ? "mended" : "last_mended", &p->mended},
		{now ? "lost" : "last_lost", &p->lost},
		{now ? "unread" : "last_unread", &p->unread},
		{now ? "whole" : "last_whole", &p->whole},
	};
	memcpy(out, fields, sizeof(fields));
}

static void scrub_fields(struct cairn_note_field out[static SCRUB_FIELDS], struct scrub_kept *kept)
{
	scrub_pass_fields(out, &kept->now, true);
	scrub_pass_fields(out + SCRUB_PASS_FIELDS, &kept->last, false);
	out[SCRUB_FIELDS - 2] = (struct cairn_note_field){"good", &kept->good_unix_s};
	out[SCRUB_FIELDS - 1] = (struct cairn_note_field){"paused", &kept->paused};
}

struct scrub_kept scrub_kept_copy(struct scrub *s)
{
	pthread_mutex_lock(&s->lock);
	struct scrub_kept kept = s->kept;
	pthread_mutex_unlock(&s->lock);
	return kept;
}

/* Reads the note. A malformed note counts as absent, and a new pass begins. */
static struct scrub_kept scrub_read(struct cairn_index_note *note)
{
	struct scrub_kept kept = {0};
	struct cairn_note_field fields[SCRUB_FIELDS];
	scrub_fields(fields, &kept);
	if (cairn_note_parse(note->text, fields, SCRUB_FIELDS) != CAIRN_OK || kept.now.within_s <= 0)
		kept.now = (struct scrub_pass){0};
	return kept;
}

static void scrub_write(struct cairn_index_note *note, struct scrub_kept *kept)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(CAIRN_NOTE_BYTES_MAX);
	struct cairn_note_field fields[SCRUB_FIELDS];
	scrub_fields(fields, kept);
	cairn_note_text(&text, fields, SCRUB_FIELDS);
	size_t len = text.status == CAIRN_OK ? text.len : 0;
	if (len > 0)
		memcpy(note->text, text.bytes, len);
	note->text[len] = '\0';
}

/* Loads a note. The daemon that reads knows its own progress better. An older note may arrive after a newer one. */
static void scrub_learn(struct scrub *s, const struct scrub_kept *kept, int64_t version)
{
	pthread_mutex_lock(&s->lock);
	struct scrub_pass mine = s->kept.now;
	if (version > s->version) {
		s->version = version;
		s->kept = *kept;
		if (atomic_load(&s->holds) && mine.started_unix_s != 0 &&
		    mine.started_unix_s == kept->now.started_unix_s) {
			mine.within_s = kept->now.within_s;
			s->kept.now = mine;
		}
	}
	pthread_mutex_unlock(&s->lock);
}

bool scrub_kept_hear(struct app *app, bool now)
{
	struct scrub *s = &app->scrub;
	struct cairn_index_note note;
	int64_t now_ms = cairn_clock_mono_ms();
	if (!cairn_cas_is_shared(app->cas) || (!now && now_ms < s->hear_ms))
		return true;
	s->hear_ms = now_ms + SCRUB_HEAR_EVERY_MS;
	if (cairn_cas_scrub_note(app->cas, &note) != CAIRN_OK)
		return false;
	struct scrub_kept kept = scrub_read(&note);
	scrub_learn(s, &kept, note.version);
	return true;
}

static enum cairn_status scrub_change_shared(struct app *app, const struct cairn_index_lease *lease,
					     struct scrub_change *change, struct cairn_diag *diag)
{
	struct cairn_index_note note;
	enum cairn_status status = CAIRN_E_CONFLICT;
	for (unsigned attempt = 0; attempt < SCRUB_ATTEMPTS && status == CAIRN_E_CONFLICT; attempt++) {
		status = cairn_cas_scrub_note(app->cas, &note);
		if (status != CAIRN_OK)
			return status;
		struct scrub_kept kept = scrub_read(&note);
		change->apply(&kept, change);
		scrub_write(&note, &kept);
		status = cairn_cas_keep_scrub_note(app->cas, lease, &note, diag);
		if (status == CAIRN_OK)
			scrub_learn(&app->scrub, &kept, note.version);
	}
	return status;
}

enum cairn_status scrub_kept_change(struct app *app, const struct cairn_index_lease *lease, struct scrub_change *change,
				    struct cairn_diag *diag)
{
	struct scrub *s = &app->scrub;
	if (cairn_cas_is_shared(app->cas))
		return scrub_change_shared(app, lease, change, diag);
	pthread_mutex_lock(&s->lock);
	change->apply(&s->kept, change);
	pthread_mutex_unlock(&s->lock);
	return CAIRN_OK;
}

void scrub_kept_open(struct app *app)
{
	struct scrub *s = &app->scrub;
	struct cairn_note_field fields[SCRUB_FIELDS];
	s->version = -1;
	if (cairn_cas_is_shared(app->cas)) {
		(void)scrub_kept_hear(app, true); /* if this fails, the state is read as soon as the index answers */
		return;
	}
	scrub_fields(fields, &s->kept);
	if (cairn_note_read(app->config.data_dir, SCRUB_NOTE, fields, SCRUB_FIELDS) == CAIRN_E_IO)
		LOG(LOG_WARNING, "note_failed", LOG_T("note", SCRUB_NOTE), LOG_T("cause", strerror(errno)),
		    LOG_T("message", "how far the last scrub came is not known; it begins anew"));
	if (s->kept.now.within_s <= 0)
		s->kept.now = (struct scrub_pass){0};
}

static void scrub_apply_progress(struct scrub_kept *kept, struct scrub_change *change)
{
	struct scrub_pass pass = change->pass;
	if (pass.started_unix_s == 0 || pass.started_unix_s != kept->now.started_unix_s)
		return;
	pass.within_s = kept->now.within_s;
	kept->now = pass;
}

/* Writes the note. @param[out] over another daemon has taken over. @return true: written */
static bool scrub_keep_shared(struct app *app, bool *over, struct cairn_diag *diag)
{
	struct scrub *s = &app->scrub;
	struct scrub_change change = {.apply = scrub_apply_progress, .pass = scrub_kept_copy(s).now};
	enum cairn_status status = scrub_kept_change(app, &s->lease, &change, diag);
	*over = status == CAIRN_E_BUSY && cairn_diag_has(diag, "lease.over");
	return status == CAIRN_OK;
}

static bool scrub_keep_file(struct app *app)
{
	struct cairn_note_field fields[SCRUB_FIELDS];
	struct scrub_kept kept = scrub_kept_copy(&app->scrub);
	scrub_fields(fields, &kept);
	return cairn_note_write(app->config.data_dir, SCRUB_NOTE, fields, SCRUB_FIELDS) == CAIRN_OK;
}

bool scrub_kept_keep(struct app *app)
{
	struct scrub *s = &app->scrub;
	bool over = false, shared = cairn_cas_is_shared(app->cas);
	struct cairn_diag diag = {0};
	s->kept_ms = cairn_clock_mono_ms();
	bool kept = shared ? scrub_keep_shared(app, &over, &diag) : scrub_keep_file(app);
	if (over)
		return false;
	if (!kept && !s->cannot_keep)
		LOG(LOG_WARNING, "note_failed", LOG_T("note", SCRUB_NOTE),
		    LOG_T("cause", shared ? diag.text : strerror(errno)),
		    LOG_T("message", "after a restart the scrub goes on from an earlier place"));
	s->cannot_keep = !kept;
	return true;
}
