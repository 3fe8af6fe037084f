/* Reads why an upstream hub refuses a call, which all calls share. */
#ifndef CAIRN_MIRROR_HUB_ASK_REFUSED_H
#define CAIRN_MIRROR_HUB_ASK_REFUSED_H

#include "mirror/net/net.h"

#include <stdbool.h>

/** Reads an answer that is not what was asked for.
 * @return CAIRN_E_NOT_FOUND  the upstream has no such repository or revision, or hides it (mirror.unknown)
 *         CAIRN_E_DENIED     it wants another token (mirror.denied)
 *         CAIRN_E_BUSY       it asks to come back later, or has failed (mirror.busy)
 *         CAIRN_E_FORMAT     a hub does not answer like that (mirror.redirect, mirror.answer) */
CAIRN_MUST_USE enum cairn_status mirror_read_refused(const struct mirror_call *call, struct cairn_diag *diag);
/** Fails: what the upstream sent for a file is not what its tree says. @return CAIRN_E_MISMATCH (mirror.wrong) */
CAIRN_MUST_USE enum cairn_status mirror_wrong_bytes(const char *path, struct cairn_diag *diag);
/** Fails: the upstream's answer is not that of a hub. @return CAIRN_E_FORMAT (mirror.answer) */
CAIRN_MUST_USE enum cairn_status mirror_no_hub(const char *what, struct cairn_diag *diag);

#endif
