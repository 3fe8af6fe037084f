#include "cas/check/check.h"

#include "cas/check/check_run.h"
#include "index/operate.h"
#include "store/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_note_xorb(void *ctx, const struct cairn_index_xorb *xorb)
{
	struct check_run *run = ctx;
	run->xorbs[run->n_page++] = *xorb;
}

static enum cairn_status check_page(struct check_run *run)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < run->n_page && status == CAIRN_OK; i++) {
		run->report->n_xorbs++;
		status = check_xorb(run, &run->xorbs[i]);
		if (status == CAIRN_OK)
			status = check_step(run);
	}
	return status;
}

/* Checks in lanes only if the store is remote: a local disk is fastest read in sequence. Repairs are made in order. */
static enum cairn_status check_xorbs(struct check_run *run)
{
	bool in_lanes = cairn_store_is_remote(run->cas->store) && !run->repair;
	int64_t from_id = 0;
	do {
		run->n_page = 0;
		enum cairn_status status =
			cairn_index_each_xorb(run->cas->index, from_id, CHECK_PAGE, check_note_xorb, run, &from_id);
		if (status == CAIRN_OK)
			status = in_lanes ? check_page_in_lanes(run) : check_page(run);
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	return CAIRN_OK;
}

/* Reports a faulty pack. The xorbs lost with it are reported one by one elsewhere. */
static void check_pack(void *ctx, const struct cairn_store_pack *pack)
{
	static const char STRUCTURE[] = "readshard.";
	static const struct cairn_hash NONE;
	const struct cairn_diag *fault = pack->fault;
	char place[32] = "";
	if (!fault)
		return;
	if (fault->has_offset)
		(void)snprintf(place, sizeof(place), " at byte %" PRIu64, fault->offset);
	bool damaged = strncmp(fault->rule, STRUCTURE, sizeof(STRUCTURE) - 1) == 0;
	check_report(ctx, CAIRN_CHECK_PACK, &NONE, false, "packs/%s: %s%s [%s]; %s", pack->name, fault->text, place,
		     fault->rule,
		     damaged ? "put it back from a backup, or move it away, run fsck --repair, and upload or repair "
			       "what is lost"
			     : "it is not served, so its xorbs count as not stored");
}

static enum cairn_status check_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	struct check_run *run = ctx;
	struct cairn_index_xorb row;
	(void)bytes;
	run->report->n_objects++;
	enum cairn_status status = cairn_index_xorb(run->cas->index, hash, &row);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && row.stored_bytes == 0))
		status = check_lone_object(run, hash);
	return status == CAIRN_OK ? check_step(run) : status;
}

static void check_note_file(void *ctx, const struct cairn_index_file *file)
{
	struct check_run *run = ctx;
	run->files[run->n_page++] = (struct check_file_row){file->id, file->hash};
}

static enum cairn_status check_files(struct check_run *run)
{
	int64_t from_id = 0;
	do {
		run->n_page = 0;
		enum cairn_status status = cairn_index_each_file(run->cas->index, from_id, CHECK_PAGE, false,
								 check_note_file, run, &from_id);
		for (uint32_t i = 0; i < run->n_page && status == CAIRN_OK; i++) {
			run->report->n_files++;
			status = check_file(run, &run->files[i]);
			if (status == CAIRN_OK)
				status = check_step(run);
		}
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	return CAIRN_OK;
}

enum cairn_status cairn_cas_check(struct cairn_cas *cas, const struct cairn_check_options *options,
				  struct cairn_check_report *report)
{
	*report = (struct cairn_check_report){0};
	struct check_run *run = calloc(1, sizeof(*run));
	if (!run)
		return CAIRN_E_NOMEM;
	run->cas = cas;
	run->options = options;
	run->report = report;
	run->repair = options->repair;
	enum cairn_status status = check_index(run);
	if (status == CAIRN_OK)
		status = cairn_store_check_packs(cas->store, check_pack, run);
	if (status == CAIRN_OK)
		status = check_xorbs(run);
	if (status == CAIRN_OK && !cas->options.xorbs_external)
		status = cairn_store_each(cas->store, check_object, run);
	if (status == CAIRN_OK)
		status = check_files(run);
	cairn_list_cache_fini(&run->lists);
	free(run);
	return status;
}
