#include "cli/pull/pull.h"

#include "base/fd.h"
#include "base/sys.h"
#include "cli/pull/pull_blame.h"
#include "cli/pull/pull_target.h"
#include "cli/pull/pull_window.h"
#include "hash/merkle.h"
#include "xorb/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PULL_REPLANS_MAX = 3 };
/* Two full xorbs for each thread: threads wait for each other only at the end of a window. */
#define PULL_WINDOW_BYTES_PER_THREAD (UINT64_C(128) << 20)

struct pull {
	struct pull_crew *crew;
	struct pull_job *job;
	struct pull_target target;
	struct pull_state state;
	uint64_t window_offset; /* offset of the current window in the state file */
	uint64_t at;            /* end of the complete part of the output */
	bool started;           /* this run has fetched the current part */
	struct cairn_merkle merkle;
};

void pull_crew_fini(struct pull_crew *crew)
{
	progress_clear(&crew->progress);
	for (unsigned i = 0; i < crew->n; i++)
		client_freep(&crew->clients[i]);
	crew->n = 0;
}

enum cairn_status pull_size(struct pull_crew *crew, const struct cairn_hash *file, uint64_t *out,
			    struct cairn_diag *diag)
{
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	cairn_hash_text(text, file);
	(void)snprintf(path, sizeof(path), "/v1/files/%s", text);
	return client_head_bytes(crew->clients[0], path, out, diag);
}

static bool pull_is_whole(const struct pull_job *job)
{
	return job->first == 0 && job->end == job->file_bytes;
}

/* Keeps the chunks whose bytes in FILE.part match the state. */
static enum cairn_status pull_check_chunks(struct pull *p, struct pull_chunks *have)
{
	size_t n = 0;
	uint64_t part_at = p->job->dir_fd < 0 ? p->at : p->job->first;
	uint8_t *raw = NULL;
	size_t cap = 0;
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < have->n && status == CAIRN_OK; i++) {
		const struct pull_chunk chunk = have->at[i];
		struct cairn_hash hash;
		if (chunk.bytes > CAIRN_CHUNK_READ_BYTES_MAX || chunk.at < part_at || chunk.at >= p->job->end ||
		    chunk.bytes > p->job->end - chunk.at)
			continue;
		if (chunk.bytes > cap) {
			uint8_t *more = realloc(raw, chunk.bytes);
			if (!more) {
				status = CAIRN_E_NOMEM;
				break;
			}
			raw = more;
			cap = chunk.bytes;
		}
		if (cairn_fd_read_at(p->target.part_fd, chunk.at - part_at, raw, chunk.bytes) != CAIRN_OK)
			continue;
		cairn_hash_chunk(&hash, raw, chunk.bytes);
		if (cairn_hash_equal(&hash, &chunk.hash))
			have->at[n++] = chunk;
	}
	have->n = n;
	free(raw);
	return status;
}

/* Do the chunks cover the window without gaps? */
static bool pull_is_window(const struct pull *p, const struct pull_chunks *have)
{
	uint64_t at = p->at;
	for (size_t i = 0; i < have->n; i++) {
		if (have->at[i].at != at)
			return false;
		at += have->at[i].bytes;
	}
	return have->ended && have->n > 0 && at == have->window_end;
}

static void pull_add_window(struct pull *p, const struct pull_chunk *chunks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cairn_merkle_add(&p->merkle, &chunks[i].hash, chunks[i].bytes);
}

/* Takes up the complete windows in the state. @param have  gets the chunks of the next window, which ends the state */
static enum cairn_status pull_take_up(struct pull *p, struct pull_chunks *have, struct cairn_diag *diag)
{
	for (;;) {
		uint64_t next = 0;
		enum cairn_status status = pull_state_read(&p->state, p->window_offset, have, &next, diag);
		if (status == CAIRN_OK)
			status = pull_check_chunks(p, have);
		if (status != CAIRN_OK)
			return status;
		if (!pull_is_window(p, have))
			break;
		pull_add_window(p, have->at, have->n);
		p->crew->done_bytes += have->window_end - p->at;
		p->job->resumed_bytes += have->window_end - p->at;
		p->at = have->window_end;
		p->window_offset = next;
		pull_chunks_fini(have);
	}
	enum cairn_status status = pull_state_cut(&p->state, p->window_offset, diag);
	return status == CAIRN_OK ? pull_state_add(&p->state, have->at, have->n, diag) : status;
}

static enum cairn_status pull_end_window(struct pull *p, const struct pull_window *w, struct cairn_diag *diag)
{
	pull_add_window(p, w->chunks, w->plan.n_chunks);
	p->at = w->plan.end;
	if (p->job->dir_fd < 0) {
		uint64_t end = w->plan.end < p->job->end ? w->plan.end : p->job->end;
		enum cairn_status status = pull_target_print(&p->target, end - w->part_at, diag);
		if (status != CAIRN_OK)
			return status;
	}
	enum cairn_status status = pull_state_end_window(&p->state, p->at, diag);
	p->window_offset = p->state.end;
	return status;
}

/* Plans the next window, and marks the chunks that are there already. */
static enum cairn_status pull_plan_window(struct pull *p, struct pull_window *w, const struct pull_chunks *have,
					  struct cairn_diag *diag)
{
	const struct pull_job *job = p->job;
	uint64_t window_bytes = PULL_WINDOW_BYTES_PER_THREAD * p->crew->n, have_bytes = 0;
	uint64_t end = job->end - p->at > window_bytes ? p->at + window_bytes : job->end;
	w->part_at = job->dir_fd < 0 ? p->at : job->first;
	enum cairn_status status =
		pull_plan_get(&w->plan, p->crew->clients[0], &job->file, p->at, end, job->file_bytes, diag);
	if (status != CAIRN_OK)
		return status;
	if (w->plan.at != p->at && p->at != job->first)
		return cairn_fail(diag, CAIRN_E_MISMATCH, "plan.content", p->at,
				  "the server's plan does not begin where the one before ended: try again");
	status = pull_window_prepare(w, have);
	for (size_t i = 0; i < w->plan.n_terms && status == CAIRN_OK; i++)
		have_bytes += w->plan.terms[i].complete ? w->plan.terms[i].bytes : 0;
	p->crew->done_bytes += have_bytes;
	if (!p->started)
		p->job->resumed_bytes += have_bytes;
	p->started = true;
	return status;
}

/* Tries the next window once. @return CAIRN_E_DENIED and *planned: its URLs have expired, so try again */
static enum cairn_status pull_try_window(struct pull *p, bool *planned, struct cairn_diag *diag)
{
	CLEANUP(pull_window_fini)
	struct pull_window w = {.crew = p->crew,
				.part_fd = p->target.part_fd,
				.first = p->job->first,
				.end = p->job->end,
				.state = &p->state};
	CLEANUP(pull_chunks_fini) struct pull_chunks have = {0};
	enum cairn_status status = pull_take_up(p, &have, diag);
	if (status != CAIRN_OK || p->at >= p->job->end)
		return status;
	uint64_t done_bytes = p->crew->done_bytes, at = p->at;
	status = pull_plan_window(p, &w, &have, diag);
	*planned = status == CAIRN_OK;
	if (status == CAIRN_OK)
		status = pull_window_run(&w, diag);
	if (status == CAIRN_OK)
		status = pull_end_window(p, &w, diag);
	/* Terms may exceed the requested range, and a repeated try counts its terms again. */
	p->crew->done_bytes = done_bytes + (p->at < p->job->end ? p->at : p->job->end) - at;
	return status;
}

static enum cairn_status pull_windows(struct pull *p, struct cairn_diag *diag)
{
	unsigned tries = 0;
	while (p->at < p->job->end) {
		struct cairn_diag why = {0};
		bool planned = false;
		uint64_t at = p->at;
		enum cairn_status status = pull_try_window(p, &planned, &why);
		tries = p->at > at ? 0 : tries + 1;
		if (status == CAIRN_E_DENIED && planned && tries < PULL_REPLANS_MAX)
			continue;
		if (status != CAIRN_OK) {
			*diag = why;
			return status;
		}
	}
	return CAIRN_OK;
}

static enum cairn_status pull_check_hash(struct pull *p, struct cairn_diag *diag)
{
	struct cairn_hash root, got;
	if (!pull_is_whole(p->job))
		return CAIRN_OK;
	cairn_merkle_root(&p->merkle, &root);
	cairn_hash_file(&got, &root);
	if (cairn_hash_equal(&got, &p->job->file))
		return CAIRN_OK;
	char want_text[CAIRN_HASH_TEXT_BYTES], got_text[CAIRN_HASH_TEXT_BYTES];
	pull_blame(p->crew->clients[0], &p->state, &p->job->file, p->job->file_bytes, diag);
	(void)cairn_fail(diag, CAIRN_E_MISMATCH, "file.hash", CAIRN_NO_OFFSET,
			 "the bytes that the server sent do not have the file's hash, and are thrown away: "
			 "run cairn fsck on the server");
	cairn_hash_text(want_text, &p->job->file);
	cairn_hash_text(got_text, &got);
	if (!diag->expected[0])
		cairn_diag_values(diag, want_text, got_text);
	return CAIRN_E_MISMATCH;
}

static enum cairn_status pull_find_end(struct pull_state *state, struct cairn_diag *diag)
{
	struct stat st;
	if (cairn_sys_fstat(state->fd, &st) < 0)
		return cairn_fail(diag, CAIRN_E_IO, "state.read", CAIRN_NO_OFFSET, "cannot read the state file: %s",
				  strerror(errno));
	state->end = (uint64_t)st.st_size;
	return CAIRN_OK;
}

static void pull_fini(struct pull *p)
{
	pull_target_fini(&p->target);
}

enum cairn_status pull_file(struct pull_crew *crew, struct pull_job *job, struct cairn_diag *diag)
{
	CLEANUP(pull_fini)
	struct pull p = {.crew = crew, .job = job, .window_offset = PULL_STATE_HEADER_BYTES, .at = job->first};
	cairn_merkle_init(&p.merkle);
	job->resumed_bytes = 0;
	enum cairn_status status = pull_target_open(&p.target, job, diag);
	if (status != CAIRN_OK)
		return status;
	p.state.fd = p.target.state_fd;
	if (p.target.resumes)
		status = pull_find_end(&p.state, diag);
	else
		status = pull_state_begin(&p.state, &job->file, job->first, job->end, diag);
	if (status == CAIRN_OK)
		status = pull_windows(&p, diag);
	if (status == CAIRN_OK) {
		status = pull_check_hash(&p, diag);
		if (status == CAIRN_E_MISMATCH)
			pull_target_drop(&p.target);
	}
	return status == CAIRN_OK ? pull_target_finish(&p.target, job, diag) : status;
}
