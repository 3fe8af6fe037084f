#include "server/mirror_log.h"

#include "hash/hash.h"
#include "server/log/log.h"

#include <stdio.h>

enum { DIGEST_BYTES = 4, TOKEN_BYTES = 32 };

/* Names a token in the log: the token of a rule by the rule's line, the token of an asker by the first digits of its
 * SHA-256. */
static const char *log_token(const struct cairn_mirror_event *event, char out[static TOKEN_BYTES])
{
	if (event->rule != 0)
		(void)snprintf(out, TOKEN_BYTES, "rule of line %u", event->rule);
	else if (event->who)
		cairn_hex_text(out, event->who, DIGEST_BYTES);
	return event->rule != 0 || event->who ? out : NULL;
}

void mirror_log_event(const struct cairn_mirror_event *event)
{
	static const char *const STATES[] = {[CAIRN_INDEX_MIRROR_THERE] = "there",
					     [CAIRN_INDEX_MIRROR_GONE] = "gone",
					     [CAIRN_INDEX_MIRROR_PRIVATE] = "private",
					     [CAIRN_INDEX_MIRROR_DISABLED] = "disabled"};
	char text[TOKEN_BYTES];
	const char *token = log_token(event, text), *by = event->asked_by[0] ? event->asked_by : NULL;
	switch (event->kind) {
	case CAIRN_MIRROR_FETCHED:
		LOG(LOG_INFO, "mirror_fetch", LOG_T("repo", event->repo), LOG_T("revision", event->revision),
		    LOG_T("path", event->path), LOG_N("bytes", event->bytes),
		    LOG_N("fetched_bytes", event->fetched_bytes), LOG_N("took_ms", event->took_ms),
		    LOG_T("token", token), LOG_T("asked_by", by));
		break;
	case CAIRN_MIRROR_WRONG:
		LOG(LOG_WARNING, "mirror_wrong", LOG_T("repo", event->repo), LOG_T("revision", event->revision),
		    LOG_T("path", event->path), LOG_N("bytes", event->bytes), LOG_T("message", event->message));
		break;
	case CAIRN_MIRROR_REFUSED:
		LOG(LOG_WARNING, "mirror_denied", LOG_T("repo", event->repo), LOG_T("path", event->path),
		    LOG_T("token", token), LOG_T("cause", event->message),
		    LOG_T("message", "the mirrored hub refuses the token of a rule"));
		break;
	case CAIRN_MIRROR_CHANGED:
		LOG(LOG_INFO, "mirror_state", LOG_T("repo", event->repo), LOG_T("state", STATES[event->state]));
		break;
	}
}
