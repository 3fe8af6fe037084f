#include "server/page/page_alarms.h"

#include "base/clock.h"
#include "cas/keep/proof.h"
#include "server/log/log_writer.h"
#include "server/page/show.h"
#include "server/ready.h"

#include <stdio.h>
#include <string.h>

enum {
	ALARMS_DAY_S = 86400,
	ALARMS_COLLECTION_LATE_S = 3 * ALARMS_DAY_S,
	ALARMS_SCRUB_LATE_S = 21 * ALARMS_DAY_S,
	ALARMS_BACKUP_LATE_S = 8 * ALARMS_DAY_S,
	ALARMS_CERTIFICATE_S = 7 * ALARMS_DAY_S,
	ALARMS_SPOOL_PERCENT = 80,
	ALARMS_QUEUE = 1000,
	ALARMS_LOG_HELD_MS = 600 * 1000,
	ALARMS_TEXT_BYTES = 512,
};

struct alarms {
	const struct page_figures *f;
	struct app *app;
	void (*visit)(void *ctx, const struct page_alarm *alarm);
	void *ctx;
};

void page_figures_take(struct page_figures *out, struct app *app)
{
	*out = (struct page_figures){.now_unix_s = cairn_clock_unix_s()};
	out->ready = ready_check(app, &out->why);
	cairn_cas_stats(app->cas, &out->stats);
	scrub_status(app, &out->scrub);
	cairn_losses_sum(app->cas, &out->lost);
	out->claims_status = cairn_cas_claims(app->cas, &out->claims);
	if (out->claims_status != CAIRN_OK)
		out->claims = (struct cairn_index_claims){0};
}

static void alarms_add(const struct alarms *a, const char *text, const char *part)
{
	const struct page_alarm alarm = {text, part};
	a->visit(a->ctx, &alarm);
}

static bool alarms_is_late(const struct alarms *a, int64_t good_unix_s, int64_t within_s)
{
	return good_unix_s != 0 && a->f->now_unix_s - good_unix_s > within_s;
}

/* Returns the section of the guide that helps if uploads are refused by this rule. */
static const char *alarms_part_of(const char *rule)
{
	static const struct {
		const char *start, *part;
	} PARTS[] = {{"disk.", "full-disks"}, {"index.", "a-damaged-index"}, {"store.", "failing-disks"}};
	for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++)
		if (strncmp(rule, PARTS[i].start, strlen(PARTS[i].start)) == 0)
			return PARTS[i].part;
	return "troubleshooting";
}

static void alarms_of_uploads(const struct alarms *a)
{
	const struct page_figures *f = a->f;
	char text[ALARMS_TEXT_BYTES];
	if (f->ready == CAIRN_OK)
		return;
	(void)snprintf(text, sizeof(text), "Uploads are refused: %s",
		       f->why.text[0] ? f->why.text : cairn_status_name(f->ready));
	alarms_add(a, text, alarms_part_of(f->why.rule ? f->why.rule : ""));
}

static void alarms_of_room(const struct alarms *a)
{
	const struct cairn_cas_stats *s = &a->f->stats;
	uint64_t reserve = a->app->config.reserve_bytes, spool_max = a->app->config.spool_bytes_max;
	char text[ALARMS_TEXT_BYTES], left[SHOW_BYTES], kept[SHOW_BYTES];
	if (s->room.bytes < 2 * reserve && a->f->ready == CAIRN_OK) {
		(void)snprintf(text, sizeof(text), "%s are free, and below %s uploads are refused.",
			       show_size(left, s->room.bytes), show_size(kept, reserve));
		alarms_add(a, text, "full-disks");
	}
	if (s->spool_bytes + s->spool_reserved_bytes > spool_max / 100 * ALARMS_SPOOL_PERCENT)
		alarms_add(a, "Uploads under way take nearly all of spool_bytes_max.", "limits-and-what-a-client-sees");
	if (s->index.n_queued > ALARMS_QUEUE)
		alarms_add(a, "Writes to the index wait for the disk.", "sizing");
	if (s->index.log.held_ms > ALARMS_LOG_HELD_MS) {
		(void)snprintf(text, sizeof(text), "A read that does not end makes the index's log grow: %s.",
			       s->index.log.holder);
		alarms_add(a, text, "troubleshooting");
	}
}

/* Warns of stale figures about losses: figures that are too low must not look like good news. */
static void alarms_of_stale_losses(const struct alarms *a)
{
	const struct cairn_losses_sum *lost = &a->f->lost;
	if (!lost->is_stale)
		return;
	if (lost->has_failed)
		alarms_add(a, "The last look for lost files failed: which files are lost is not known.", "lost-xorbs");
	else if (lost->is_known)
		alarms_add(a, "Stored bytes were found damaged or missing. Which files need them is being looked up.",
			   "lost-xorbs");
	else
		alarms_add(a, "Whether files are lost is being looked up, as after each start.", "lost-xorbs");
}

static void alarms_of_damage(const struct alarms *a)
{
	const struct scrub_pass *last = &a->f->scrub.kept.last;
	char text[ALARMS_TEXT_BYTES], files[SHOW_BYTES], xorbs[SHOW_BYTES];
	if (a->f->lost.n_xorbs > 0) {
		(void)snprintf(text, sizeof(text), "Stored bytes are lost. Xorbs: %s. Files that need them: %s.",
			       show_count(xorbs, a->f->lost.n_xorbs), show_count(files, a->f->lost.n_files));
		alarms_add(a, text, "lost-xorbs");
	}
	alarms_of_stale_losses(a);
	if (last->started_unix_s != 0 && (!last->whole || last->unread > 0))
		alarms_add(a, "The last scrub could not read everything.", "scrub-and-repair");
	if (a->f->scrub.state != SCRUB_OFF && alarms_is_late(a, a->f->scrub.kept.good_unix_s, ALARMS_SCRUB_LATE_S))
		alarms_add(a, "No scrub has finished for three weeks.", "scrub-and-repair");
}

static void alarms_of_claims(const struct alarms *a)
{
	if (a->f->claims.n_false > 0)
		alarms_add(a, "Uploaders gave files a false SHA-256.", "false-claims");
	if (a->f->claims_status != CAIRN_OK)
		alarms_add(a, "The list of false SHA-256 could not be read.", "false-claims");
}

static void alarms_of_jobs(const struct alarms *a)
{
	const struct app_garbage *g = &a->app->garbage;
	const struct app_backup *b = &a->app->backup;
	if (atomic_load(&g->ran_unix_s) != 0 && atomic_load(&g->failed))
		alarms_add(a, "The last collection failed.", "collecting-garbage");
	if (alarms_is_late(a, atomic_load(&g->good_unix_s), ALARMS_COLLECTION_LATE_S))
		alarms_add(a, "No collection has succeeded for three days.", "collecting-garbage");
	if (atomic_load(&b->ran_unix_s) != 0 && atomic_load(&b->failed))
		alarms_add(a, "The last backup failed.", "backup-and-restore");
	if (alarms_is_late(a, atomic_load(&b->good_unix_s), ALARMS_BACKUP_LATE_S))
		alarms_add(a, "The last good backup is more than eight days old.", "backup-and-restore");
}

static void alarms_of_process(const struct alarms *a)
{
	uint64_t lines, dropped;
	log_writer_counts(&lines, &dropped);
	if (atomic_load(&a->app->reload.failed))
		alarms_add(a, "Settings, keys or certificate could not be read at the last SIGHUP.", "settings");
	if (a->app->tls && tls_expires_unix_s(a->app->tls) - a->f->now_unix_s < ALARMS_CERTIFICATE_S)
		alarms_add(a, "The certificate expires within a week, or has expired.", "tls");
	if (dropped > 0)
		alarms_add(a, "Lines of the log were lost: the reader of the log is too slow.", "logs");
}

void page_alarms_each(const struct page_figures *f, struct app *app,
		      void (*visit)(void *ctx, const struct page_alarm *alarm), void *ctx)
{
	const struct alarms a = {f, app, visit, ctx};
	alarms_of_uploads(&a);
	alarms_of_room(&a);
	alarms_of_damage(&a);
	alarms_of_claims(&a);
	alarms_of_jobs(&a);
	alarms_of_process(&a);
}

/* Notes that damage was repaired. That is no alarm, but a disk may be failing. */
static void alarms_of_mended(const struct alarms *a)
{
	const struct cairn_cas_stats *s = &a->f->stats;
	const struct scrub_pass *last = &a->f->scrub.kept.last;
	bool damaged = s->objects_damaged > 0 || s->xorbs_lost > 0 || last->damaged > 0 || last->lost > 0;
	if (damaged && a->f->lost.is_known && !a->f->lost.is_stale && a->f->lost.n_xorbs == 0)
		alarms_add(a, "Stored bytes were found damaged or missing, and nothing that files need is lost now.",
			   "lost-xorbs");
}

void page_notes_each(const struct page_figures *f, struct app *app,
		     void (*visit)(void *ctx, const struct page_alarm *alarm), void *ctx)
{
	const struct alarms a = {f, app, visit, ctx};
	const struct schedule gc = atomic_load(&app->live.gc_schedule);
	alarms_of_mended(&a);
	if (atomic_load(&app->backup.good_unix_s) == 0 && !atomic_load(&app->backup.failed))
		alarms_add(&a, "No backup was ever made.", "backup-and-restore");
	if (f->scrub.state == SCRUB_OFF && f->scrub.period_s == 0)
		alarms_add(&a, "The scrub is off by settings: damage is found only when somebody reads it.",
			   "scrub-and-repair");
	if (gc.every_s == 0 && gc.minutes == 0)
		alarms_add(&a, "Collection is off by settings: deleted files keep their space.", "collecting-garbage");
}
