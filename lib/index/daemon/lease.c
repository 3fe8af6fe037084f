#include "index/daemon/lease.h"

#include "index/backend.h"

#include <stdlib.h>
#include <string.h>

bool cairn_index_is_shared(const struct cairn_index *ix)
{
	return ix->shared;
}

bool cairn_index_clock_is_off(struct cairn_index *ix, struct cairn_diag *diag)
{
	return cairn_index_is_shared(ix) && ix->backend->clock_is_off(ix, diag);
}

const char *cairn_index_introduce(struct cairn_index *ix, const char *who)
{
	size_t len = strnlen(who, sizeof(ix->who) - 1);
	for (size_t i = 0; i < len; i++) /* the index accepts only valid text */
		ix->who[i] = (char)(who[i] < ' ' || who[i] > '~' ? '?' : who[i]);
	ix->who[len] = '\0';
	return ix->who;
}

void cairn_index_job_state(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_job_state *out)
{
	*out = (struct cairn_index_job_state){.taken = false};
	if (cairn_index_is_shared(ix))
		ix->backend->job_state(ix, job, out);
}

enum cairn_status cairn_index_note(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_note *out)
{
	return ix->backend->note(ix, job, out);
}

/* @param out  has the job, or the content */
static enum cairn_status lease_take(struct cairn_index *ix, struct cairn_index_lease *out, struct cairn_diag *diag)
{
	struct cairn_index_begin_lease begin = {.lease = *out};
	if (!cairn_index_is_shared(ix))
		return CAIRN_OK;
	memcpy(begin.who, ix->who, sizeof(begin.who));
	enum cairn_status status = cairn_index_begin_lease(ix, &begin);
	*diag = begin.write.diag;
	if (status != CAIRN_OK)
		return status;
	*out = begin.lease;
	ix->backend->renew_lease(ix, out, true);
	return CAIRN_OK;
}

enum cairn_status cairn_index_take_lease(struct cairn_index *ix, enum cairn_index_job job,
					 struct cairn_index_lease *out, struct cairn_diag *diag)
{
	*out = (struct cairn_index_lease){.job = job};
	return lease_take(ix, out, diag);
}

enum cairn_status cairn_index_take_fetch(struct cairn_index *ix, int64_t content, struct cairn_index_lease *out,
					 struct cairn_diag *diag)
{
	*out = (struct cairn_index_lease){.job = CAIRN_INDEX_JOBS, .content = content};
	return lease_take(ix, out, diag);
}

enum cairn_status cairn_index_fetch(struct cairn_index *ix, int64_t repo, int64_t content,
				    struct cairn_index_fetch *out)
{
	*out = (struct cairn_index_fetch){.is_here = false};
	return cairn_index_is_shared(ix) ? ix->backend->fetch(ix, repo, content, out) : CAIRN_OK;
}

enum cairn_status cairn_index_give_lease(struct cairn_index *ix, const struct cairn_index_lease *lease,
					 int64_t ran_unix_s, int64_t good_unix_s)
{
	struct cairn_index_end_lease end = {.lease = *lease, .ran_unix_s = ran_unix_s, .good_unix_s = good_unix_s};
	if (lease->fence == 0)
		return CAIRN_OK;
	ix->backend->renew_lease(ix, lease, false);
	return cairn_index_end_lease(ix, &end);
}

static void lease_left(struct cairn_index_write *write)
{
	free(write);
}

void cairn_index_leave_lease(struct cairn_index *ix, const struct cairn_index_lease *lease)
{
	if (lease->fence == 0)
		return;
	ix->backend->renew_lease(ix, lease, false);
	struct cairn_index_end_lease *end = calloc(1, sizeof(*end));
	if (!end)
		return;
	*end = (struct cairn_index_end_lease){.write.done = lease_left, .lease = *lease};
	if (cairn_index_end_lease(ix, end) != CAIRN_OK)
		free(end);
}
