/* The requests of cairn user and cairn org. */
#ifndef CAIRN_CLI_HUB_ACCOUNTS_H
#define CAIRN_CLI_HUB_ACCOUNTS_H

#include "cli/common/admin.h"
#include "cli/common/cli.h"

struct accounts_args {
	const struct cli_command *command;
	struct server_options server;
	const char *fullname, *email;
	bool key;   /* also make a key */
	bool quiet; /* print nothing on success */
	bool json;
};

/** Each function prints the answer. @return an exit code */
int accounts_add(const struct accounts_args *args, const char *kind, const char *name);
int accounts_add_key(const struct accounts_args *args, const char *name);
/** Lists accounts. @param kind  "user" or "organisation"; the other kind is left out */
int accounts_list(const struct accounts_args *args, const char *kind);
int accounts_disable(const struct accounts_args *args, const char *name, bool disabled);
int accounts_set_member(const struct accounts_args *args, const char *organisation, const char *user, const char *role);
int accounts_members(const struct accounts_args *args, const char *organisation);

#endif
