/* Rules that say which repositories of the upstream are mirrored. Pure. */
#ifndef CAIRN_MIRROR_RULES_H
#define CAIRN_MIRROR_RULES_H

#include "base/status.h"

#include <stddef.h>

enum {
	MIRROR_RULES_BYTES_MAX = 1 << 20, /* of the file */
	MIRROR_RULES_MAX = 10000,
};

/** The rules. Zeroed, there are none: everything is mirrored. */
struct mirror_rules {
	struct mirror_rule *all; /* owned */
	size_t n;
};
void mirror_rules_fini(struct mirror_rules *rules);

/**
 * Parses lines "allow PATTERN" and "deny PATTERN"; empty lines and those that begin with "#" are skipped. A pattern is
 * "account/name", or "name" for a repository without an account, with "*" and "?" for any characters, the slash
 * included. "models:", "datasets:", "spaces:" or "kernels:" before it confines it to one kind.
 * @param text  ended by a zero; borrowed until the rules are freed, and changed
 * @return CAIRN_OK; CAIRN_E_USAGE (mirror.rules); CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status mirror_rules_parse(struct mirror_rules *out, char *text, struct cairn_diag *diag);

/** Does the first rule that fits allow the name, regardless of case? If there are rules and none fits, it is denied.
 * @param type  "models" and the like  @param name  "account/name", or "name" */
bool mirror_rules_allow(const struct mirror_rules *rules, const char *type, const char *name);

#endif
