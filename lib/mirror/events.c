/* Reports the outcomes of fetches to operators. */
#include "base/clock.h"
#include "mirror/parts.h"

static struct cairn_mirror_event events_new(const struct mirror_fetch *f, enum cairn_mirror_event_kind kind)
{
	const struct cairn_mirror_want *what = &f->what;
	return (struct cairn_mirror_event){.kind = kind,
					   .repo = what->name,
					   .took_ms = cairn_clock_mono_ms() - f->begun_ms,
					   .rule = what->rule,
					   .who = mirror_is_askers(what) ? what->who : NULL,
					   .asked_by = what->asked_by};
}

void mirror_tell_state(const struct mirror_fetch *f, enum cairn_index_mirror_state state)
{
	struct cairn_mirror_event event = events_new(f, CAIRN_MIRROR_CHANGED);
	event.state = state;
	if (f->m->tell)
		f->m->tell(&event);
}

void mirror_tell_end(const struct mirror_fetch *f, enum cairn_status status, const struct cairn_diag *diag)
{
	char commit[CAIRN_GIT_OID_CHARS + 1];
	bool refused = f->what.rule != 0 && cairn_diag_has(diag, "mirror.denied");
	if (!f->m->tell || f->is_others ||
	    !(refused || (f->is_file && (status == CAIRN_OK || status == CAIRN_E_MISMATCH))))
		return;
	struct cairn_mirror_event event = events_new(f, refused              ? CAIRN_MIRROR_REFUSED
							: status == CAIRN_OK ? CAIRN_MIRROR_FETCHED
									     : CAIRN_MIRROR_WRONG);
	event.message = status == CAIRN_OK ? NULL : diag->text;
	event.revision = f->what.revision;
	if (f->is_file) {
		cairn_git_oid_text(commit, &f->what.commit);
		event.revision = commit;
		event.path = f->what.path;
		event.bytes = f->what.entry.size_bytes;
		event.fetched_bytes = f->fetched_bytes;
	}
	f->m->tell(&event);
}
