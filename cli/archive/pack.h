/* The parts of cairn pack. */
#ifndef CAIRN_CLI_PACK_H
#define CAIRN_CLI_PACK_H

#include "cli/common/server_options.h"

struct pack_args {
	struct server_options server;
	const char *older_than, *output;
	bool json, quiet;
	bool raw;       /* keys are plain hexadecimal */
	bool sha256;    /* and the SHA-256 of the contents */
	bool skip_data; /* contents are not read */
};

/** Let the server make a pack, and show how far it is. @return an exit code; all was printed */
int pack_create(const struct cli_command *command, const struct pack_args *args, const char *name);
/** The server's packs. Likewise. */
int pack_list_server(const struct pack_args *args);

/** On a file. Likewise. */
int pack_list_file(const struct pack_args *args, const char *path);
int pack_get(const struct cli_command *command, const struct pack_args *args, const char *path, const char *key);
int pack_verify(const struct pack_args *args, char **paths, int n);
int pack_delete(const struct cli_command *command, const struct pack_args *args, const char *path, char **keys, int n);

#endif
