/* Rules: which repositories of the upstream are mirrored, with whose token, and for whom. Pure. */
#ifndef CAIRN_MIRROR_RULES_H
#define CAIRN_MIRROR_RULES_H

#include "mirror/mirror.h"

#include <stddef.h>

enum {
	MIRROR_RULES_BYTES_MAX = 1 << 20, /* bytes of the file */
	MIRROR_RULES_MAX = 10000,
	MIRROR_TOKENS_MAX = CAIRN_MIRROR_TOKEN_FILES_MAX, /* rules with a token */
};

/** Readers of a repository that is private or has a gate. */
enum mirror_gated {
	MIRROR_GATED_ASKER,  /* askers whose own token the upstream accepts */
	MIRROR_GATED_ORG,    /* these, and members of an organisation of this server */
	MIRROR_GATED_NOBODY, /* nobody */
};

/** A rule. Its texts are borrowed from the text of the file. */
struct mirror_rule {
	const char *type; /* NULL: any */
	const char *pattern;
	bool allows;
	enum mirror_gated gated;
	const char *org;        /* for MIRROR_GATED_ORG */
	const char *token_file; /* NULL: the rule has no token */
	char *token;            /* owned; content of token_file, when it was read */
	unsigned line;          /* line of the file; 0: the rule that is valid without a file */
};

/** The rules, in the order of the file. Zeroed: none, and all repositories are mirrored. */
struct mirror_rules {
	struct mirror_rule *all; /* owned */
	size_t n, n_tokens;
};
void mirror_rules_fini(struct mirror_rules *rules);

/**
 * Parses lines "allow PATTERN [token=FILE] [gated=asker|org:NAME|nobody]" and "deny PATTERN"; empty lines and those
 * that begin with "#" are skipped. A pattern is "account/name", or "name" for a repository without an account, with "*"
 * and "?" for any characters, the slash included. The prefix "models:", "datasets:", "spaces:" or "kernels:" limits it
 * to one kind. gated=org:NAME needs a token, whose holder has accepted the upstream's terms for the members.
 * @param text  ended by a zero; borrowed until the rules are freed, and changed
 * @return CAIRN_OK; CAIRN_E_USAGE (mirror.rules); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status mirror_rules_parse(struct mirror_rules *out, char *text, struct cairn_diag *diag);

/** Finds the first rule that matches the name, ignoring case. If there are no rules, a rule that allows everything
 * matches.
 * @param type  "models" and the like  @param name  "account/name", or "name"
 * @return NULL: that rule denies the name, or none matches. Lives as long as the rules */
const struct mirror_rule *mirror_rules_find(const struct mirror_rules *rules, const char *type, const char *name);

#endif
