/* The parts of cairn pack. */
#ifndef CAIRN_CLI_PACK_H
#define CAIRN_CLI_PACK_H

#include "cli/common/server_options.h"

struct pack_args {
	struct server_options server;
	const char *older_than, *output;
	bool json, quiet;
	bool raw;       /* keys are plain hexadecimal: no Xet hashes */
	bool sha256;    /* also compute the SHA-256 of the contents */
	bool skip_data; /* do not read contents */
};

/** Asks the server to make a pack, and shows its progress. @return an exit code; errors were printed */
int pack_create(const struct cli_command *command, const struct pack_args *args, const char *name);
/** Lists the server's packs. @return as pack_create() */
int pack_list_server(const struct pack_args *args);

/** Lists a pack file. @return as pack_create() */
int pack_list_file(const struct pack_args *args, const char *path);
int pack_get(const struct cli_command *command, const struct pack_args *args, const char *path, const char *key);
int pack_verify(const struct pack_args *args, char **paths, int n);
int pack_delete(const struct cli_command *command, const struct pack_args *args, const char *path, char **keys, int n);

#endif
