/* Asks the upstream who owns a token of it. */
#ifndef CAIRN_MIRROR_OWNER_H
#define CAIRN_MIRROR_OWNER_H

#include "mirror/mirror.h"

/** A question about the owner of a token. The caller sets done, sender, asked_by, token and who of the want. */
struct cairn_mirror_owner {
	struct cairn_mirror_want want; /* first */
	char *answer; /* with CAIRN_OK: the upstream's JSON; the caller frees it. NULL: ask again later */
};

/** Asks the upstream who owns the token. Stores neither the token nor the answer. CAIRN_E_NOT_FOUND: the upstream
 * refuses the token. The questions count with those of cairn_mirror_want_admission(): a sender may ask eight at once,
 * and then one a second (mirror.full). */
void cairn_mirror_want_owner(struct cairn_mirror *mirror, struct cairn_mirror_owner *owner);

#endif
