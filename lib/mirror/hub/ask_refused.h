/* Reads why an upstream hub refuses a call. All calls use it. */
#ifndef CAIRN_MIRROR_HUB_ASK_REFUSED_H
#define CAIRN_MIRROR_HUB_ASK_REFUSED_H

#include "mirror/net/net.h"

#include <stdbool.h>

/** Reads an answer that does not have the requested thing.
 * @return CAIRN_E_NOT_FOUND  the upstream has no such repository or revision, or hides it (mirror.unknown)
 *         CAIRN_E_DENIED     the upstream refuses the token, or requires one (mirror.denied)
 *         CAIRN_E_BUSY       the upstream asks to try later, or has failed (mirror.busy)
 *         CAIRN_E_FORMAT     the upstream does not answer as a hub (mirror.redirect, mirror.answer) */
CAIRN_MUST_USE enum cairn_status mirror_read_refused(const struct mirror_call *call, struct cairn_diag *diag);
/** Fails: the upstream sent other bytes for a file than its tree states. @return CAIRN_E_MISMATCH (mirror.wrong) */
CAIRN_MUST_USE enum cairn_status mirror_wrong_bytes(const char *path, struct cairn_diag *diag);
/** Fails: bytes that were copied into a file by the upstream's plan are wrong. @return CAIRN_E_MISMATCH (mirror.plan)
 */
CAIRN_MUST_USE enum cairn_status mirror_wrong_copy(const char *path, struct cairn_diag *diag);
/** Fails, because the upstream's answer is not that of a hub. @return CAIRN_E_FORMAT (mirror.answer) */
CAIRN_MUST_USE enum cairn_status mirror_no_hub(const char *what, struct cairn_diag *diag);

#endif
