#include "backup/backup_prune.h"

#include "backup/backup_rewrite.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PRUNE_NEXT[] = "next.part"; /* left by an interrupted backup, which could still continue */

/* The part of an archive of objects that is needed. */
struct prune_share {
	enum cairn_backup_fate fate;
	uint64_t object_bytes, given_bytes;
	bool has_needed;
	bool vouches; /* it provides objects that other archives have, too */
};

struct prune {
	struct cairn_backup_set *set;
	const struct cairn_backup_prune_options *options;
	struct cairn_backup_prune_report *report;
	struct cairn_diag *diag;
	bool *keep; /* a flag for each archive: is it a moment that the rules keep? */
	struct prune_share *shares;
	size_t at; /* the archive whose catalog is being read */
	struct cairn_backup_use use;
};

static enum cairn_status prune_io(struct prune *p, const char *what, const char *name)
{
	return cairn_fail(p->diag, cairn_fd_status(errno), "backup.file", CAIRN_NO_OFFSET, "cannot %s %s in %s: %s",
			  what, name, p->set->folder, strerror(errno));
}

static enum cairn_status prune_read_moments(struct prune *p)
{
	bool any = false;
	p->use.needed.len = p->use.givers.len = 0;
	for (size_t i = 0; i < p->set->n; i++) {
		if (!p->keep[i])
			continue;
		any = true;
		enum cairn_status status =
			cairn_backup_moment_needs(p->set, &p->set->archives[i], false, &p->use.needed, p->diag);
		if (status != CAIRN_OK)
			return status;
		/* Sort after each moment, to drop duplicates: moments mostly name the same objects. */
		cairn_backup_objects_sort(&p->use.needed);
	}
	if (!any)
		return cairn_fail(p->diag, CAIRN_E_CONFLICT, "backup.rules", CAIRN_NO_OFFSET,
				  "these rules would keep no backup of %s", p->set->folder);
	cairn_buf_fill(&p->use.givers, 0, p->use.needed.len / sizeof(struct cairn_backup_object) * sizeof(uint32_t));
	return p->use.givers.status;
}

static enum cairn_status prune_note_item(void *ctx, const struct cairn_backup_item *item)
{
	struct prune *p = ctx;
	struct prune_share *share = &p->shares[p->at];
	uint32_t *giver = cairn_backup_use_giver(&p->use, &item->object), self = (uint32_t)p->at + 1;
	share->object_bytes += item->object.len;
	share->has_needed = share->has_needed || giver;
	if (giver && *giver == 0) {
		*giver = self;
		share->given_bytes += item->object.len;
	} else if (giver && *giver != self) {
		p->shares[*giver - 1].vouches = true;
	}
	return CAIRN_OK;
}

static enum cairn_backup_fate prune_fate_of(const struct prune *p, const struct prune_share *share)
{
	if (!share->has_needed)
		return CAIRN_BACKUP_REMOVED;
	uint64_t unused = share->object_bytes - share->given_bytes; /* no overflow: lengths within one file */
	return unused * 100 > share->object_bytes * p->options->max_unused_percent ? CAIRN_BACKUP_REWRITTEN
										   : CAIRN_BACKUP_KEPT;
}

/* Assigns each object to the newest archive that has it. If a pruning was killed after writing its new archive, that
 * one provides all its objects, and its sources none. */
static enum cairn_status prune_share_out(struct prune *p)
{
	for (size_t i = p->set->n; i > 0; i--) {
		CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
		const struct cairn_backup_archive *archive = &p->set->archives[i - 1];
		p->at = i - 1;
		p->shares[p->at].fate = p->keep[p->at] ? CAIRN_BACKUP_KEPT : CAIRN_BACKUP_REMOVED;
		if (archive->is_moment)
			continue;
		enum cairn_status status = cairn_backup_file_open(&file, p->set, archive, p->diag);
		if (status == CAIRN_OK)
			status = cairn_backup_catalog_each(&file, prune_note_item, p, p->diag);
		if (status != CAIRN_OK) {
			cairn_backup_blame(p->diag, archive);
			return status;
		}
		p->shares[p->at].fate = prune_fate_of(p, &p->shares[p->at]);
	}
	return CAIRN_OK;
}

/* Removes the remains of killed backups and prunings that cannot be continued. */
static void prune_clear(const struct prune *p)
{
	static const char *const LEFT[] = {"moment.part", "next.index", "prune.part"};
	for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++)
		(void)cairn_sys_unlinkat(p->set->dir_fd, LEFT[i], 0);
}

static enum cairn_status prune_decide(struct prune *p)
{
	cairn_backup_rules_apply(&p->options->rules, p->set, p->keep);
	enum cairn_status status = prune_read_moments(p);
	/* If the disk is full, give up the interrupted backup, so that pruning can free space. */
	if (status == CAIRN_E_FULL && !p->options->dry_run && cairn_sys_unlinkat(p->set->dir_fd, PRUNE_NEXT, 0) == 0) {
		*p->diag = (struct cairn_diag){0};
		status = prune_read_moments(p);
	}
	return status == CAIRN_OK ? prune_share_out(p) : status;
}

static uint64_t prune_unused(const struct prune *p, size_t i)
{
	return p->shares[i].object_bytes - p->shares[i].given_bytes;
}

static void prune_sum_up(struct prune *p)
{
	struct cairn_backup_prune_report *report = p->report;
	for (size_t i = 0; i < p->set->n; i++) {
		const struct cairn_backup_archive *a = &p->set->archives[i];
		const struct prune_share *share = &p->shares[i];
		uint64_t frees = 0;
		if (share->fate == CAIRN_BACKUP_REMOVED)
			frees = a->bytes;
		else if (share->fate == CAIRN_BACKUP_REWRITTEN)
			frees = (uint64_t)((double)a->bytes * (double)prune_unused(p, i) / (double)share->object_bytes);
		else
			report->unused_bytes += prune_unused(p, i);
		report->n_kept += share->fate == CAIRN_BACKUP_KEPT && a->is_moment;
		report->n_dropped += share->fate == CAIRN_BACKUP_REMOVED && a->is_moment;
		report->n_archives_kept += share->fate == CAIRN_BACKUP_KEPT && !a->is_moment;
		report->n_archives_dropped += share->fate == CAIRN_BACKUP_REMOVED && !a->is_moment;
		report->n_archives_rewritten += share->fate == CAIRN_BACKUP_REWRITTEN;
		report->freed_bytes += frees;
		report->left_bytes += a->bytes;
		if (p->options->visit)
			p->options->visit(p->options->ctx, a, share->fate, prune_unused(p, i));
	}
	report->left_bytes -= report->freed_bytes;
}

static enum cairn_status prune_remove(struct prune *p, enum cairn_backup_fate fate, bool moments)
{
	for (size_t i = 0; i < p->set->n; i++) {
		char name[CAIRN_BACKUP_FILE_BYTES];
		const struct cairn_backup_archive *a = &p->set->archives[i];
		if (p->shares[i].fate != fate || a->is_moment != moments)
			continue;
		cairn_backup_file_name(name, a->time, a->is_moment);
		if (cairn_sys_unlinkat(p->set->dir_fd, name, 0) < 0 && errno != ENOENT)
			return prune_io(p, "remove", name);
		cairn_crash_point(CAIRN_CRASH_PRUNE_REMOVED);
	}
	return cairn_sys_fsync(p->set->dir_fd) == 0 ? CAIRN_OK : prune_io(p, "make durable", "what was removed");
}

/* Verifies the new archive before the old ones are removed: a catalog alone is no proof. */
static enum cairn_status prune_verify(struct prune *p, const struct cairn_backup_archive *made)
{
	enum cairn_status status = CAIRN_OK;
	if (made->time[0])
		status = cairn_backup_archive_verify(p->set, made, p->diag);
	for (size_t i = 0; i < p->set->n && status == CAIRN_OK; i++) {
		if (p->shares[i].vouches && p->shares[i].fate == CAIRN_BACKUP_KEPT)
			status = cairn_backup_archive_verify(p->set, &p->set->archives[i], p->diag);
	}
	return status;
}

/* Replaces the estimate by the bytes that were freed. */
static void prune_freed(struct prune *p, uint64_t freed_bytes)
{
	p->report->left_bytes += p->report->freed_bytes - freed_bytes;
	p->report->freed_bytes = freed_bytes;
}

static enum cairn_status prune_rewrite(struct prune *p)
{
	struct cairn_backup_archive made;
	char name[CAIRN_BACKUP_FILE_BYTES];
	bool *from = calloc(p->set->n, sizeof(*from));
	uint64_t removed_bytes = 0, rewritten_bytes = 0;
	if (!from)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < p->set->n; i++) {
		from[i] = p->shares[i].fate == CAIRN_BACKUP_REWRITTEN;
		rewritten_bytes += from[i] ? p->set->archives[i].bytes : 0;
		removed_bytes += p->shares[i].fate == CAIRN_BACKUP_REMOVED ? p->set->archives[i].bytes : 0;
	}
	prune_freed(p, removed_bytes);
	const struct cairn_backup_rewrite_options options = {
		.from = from, .progress = p->options->progress, .ctx = p->options->ctx};
	enum cairn_status status = cairn_backup_rewrite(p->set, &p->use, &options, &made, p->diag);
	if (status == CAIRN_OK)
		status = prune_verify(p, &made);
	cairn_backup_file_name(name, made.time, false);
	if (status == CAIRN_OK)
		status = prune_remove(p, CAIRN_BACKUP_REWRITTEN, false);
	else if (made.time[0])
		(void)cairn_sys_unlinkat(p->set->dir_fd, name, 0);
	free(from);
	if (status == CAIRN_OK)
		prune_freed(p, removed_bytes + rewritten_bytes - made.bytes);
	return status;
}

static enum cairn_status prune_run(struct prune *p)
{
	if (!p->options->dry_run)
		prune_clear(p);
	/* The rules select by names, and removal is final: check the names first. */
	enum cairn_status status = cairn_backup_set_check(p->set, true, p->diag);
	if (status == CAIRN_OK)
		status = prune_decide(p);
	if (status != CAIRN_OK)
		return status;
	prune_sum_up(p);
	if (p->options->dry_run)
		return CAIRN_OK;
	/* Remove moments first, durably: no moment may remain without its objects. */
	status = prune_remove(p, CAIRN_BACKUP_REMOVED, true);
	if (status == CAIRN_OK)
		status = prune_remove(p, CAIRN_BACKUP_REMOVED, false);
	return status == CAIRN_OK && p->report->n_archives_rewritten > 0 ? prune_rewrite(p) : status;
}

enum cairn_status cairn_backup_prune(struct cairn_backup_set *set, const struct cairn_backup_prune_options *options,
				     struct cairn_backup_prune_report *report, struct cairn_diag *diag)
{
	struct prune p = {
		.set = set,
		.options = options,
		.report = report,
		.diag = diag,
		.keep = calloc(set->n + 1, sizeof(*p.keep)),
		.shares = calloc(set->n + 1, sizeof(*p.shares)),
		.use = {cairn_buf_init(SIZE_MAX), cairn_buf_init(SIZE_MAX)}, /* bounded by the indexes */
	};
	*report = (struct cairn_backup_prune_report){0};
	enum cairn_status status = p.keep && p.shares ? prune_run(&p) : CAIRN_E_NOMEM;
	cairn_buf_fini(&p.use.needed);
	cairn_buf_fini(&p.use.givers);
	free(p.keep);
	free(p.shares);
	return status;
}
