/* Counts for the metrics. */
#include "mirror/parts.h"

void mirror_count_failure(struct cairn_mirror *m, enum cairn_status status, const struct cairn_diag *diag)
{
	static const struct {
		const char *rule;
		enum cairn_mirror_why why;
	} RULES[] = {
		{"mirror.unreachable", CAIRN_MIRROR_WHY_UNREACHABLE},
		{"mirror.cut", CAIRN_MIRROR_WHY_UNREACHABLE},
		{"mirror.tls", CAIRN_MIRROR_WHY_UNREACHABLE},
		{"mirror.silent", CAIRN_MIRROR_WHY_SILENT},
		{"mirror.busy", CAIRN_MIRROR_WHY_BUSY},
		{"mirror.wrong", CAIRN_MIRROR_WHY_WRONG},
		{"mirror.room", CAIRN_MIRROR_WHY_ROOM},
		{"disk.reserve", CAIRN_MIRROR_WHY_ROOM},
		{"mirror.stopped", CAIRN_MIRROR_WHYS},
		{"mirror.offline", CAIRN_MIRROR_WHYS},
		{"mirror.full", CAIRN_MIRROR_WHYS},
		{"mirror.later", CAIRN_MIRROR_WHYS},
		{"mirror.denied", CAIRN_MIRROR_WHYS},
	};
	enum cairn_mirror_why why = CAIRN_MIRROR_WHY_OTHER;
	if (status == CAIRN_OK || status == CAIRN_E_NOT_FOUND)
		return;
	for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++)
		if (cairn_diag_has(diag, RULES[i].rule))
			why = RULES[i].why;
	if (why < CAIRN_MIRROR_WHYS)
		atomic_fetch_add(&m->n_failures[why], 1);
}

bool cairn_mirror_is_up(struct cairn_mirror *mirror)
{
	uint64_t body_bytes;
	bool up;
	mirror_net_stats(mirror->net, &up, &body_bytes);
	return up && !mirror->is_offline;
}

void cairn_mirror_stats(struct cairn_mirror *mirror, struct cairn_mirror_stats *out)
{
	mirror_net_stats(mirror->net, &out->up, &out->plain_bytes);
	out->is_offline = mirror->is_offline;
	out->packed_bytes = atomic_load(&mirror->n_packed_bytes);
	out->fetched_bytes = out->plain_bytes + out->packed_bytes;
	out->copied_bytes = atomic_load(&mirror->n_copied_bytes);
	for (size_t i = 0; i < CAIRN_MIRROR_WHYS; i++)
		out->n_failures[i] = atomic_load(&mirror->n_failures[i]);
	pthread_mutex_lock(&mirror->lock);
	out->n_fetching = mirror->n_begun[MIRROR_FETCH_SHORT] + mirror->n_begun[MIRROR_FETCH_LONG];
	pthread_mutex_unlock(&mirror->lock);
}
