/* What cairn user and cairn org ask a server. */
#ifndef CAIRN_CLI_HUB_ACCOUNTS_H
#define CAIRN_CLI_HUB_ACCOUNTS_H

#include "cli/common/admin.h"
#include "cli/common/cli.h"

struct accounts_args {
	const struct cli_command *command;
	struct server_options server;
	const char *fullname, *email;
	bool key;   /* make one, too */
	bool quiet; /* print nothing when it is done */
	bool json;
};

/** Each prints what was answered. @return an exit code */
int accounts_add(const struct accounts_args *args, const char *kind, const char *name);
int accounts_add_key(const struct accounts_args *args, const char *name);
/** @param kind  "user" or "organisation": those of the other kind are left out */
int accounts_list(const struct accounts_args *args, const char *kind);
int accounts_disable(const struct accounts_args *args, const char *name, bool disabled);
int accounts_set_member(const struct accounts_args *args, const char *organisation, const char *user, const char *role);
int accounts_members(const struct accounts_args *args, const char *organisation);

#endif
