/* Lists mirrored repositories, and the files of one. */
#ifndef CAIRN_CLI_HUB_MIRROR_LIST_H
#define CAIRN_CLI_HUB_MIRROR_LIST_H

#include "cli/common/cli.h"
#include "cli/common/server_options.h"

/** Lists the repositories. @param limit  of the rows, as given; NULL: all  @return an exit code; everything was printed
 * */
int mirror_list(const struct cli_command *command, const struct server_options *server, const char *limit,
		bool is_json);

/** Shows the state of a mirrored repository, and lists its files. @param path  of its route @return as mirror_list() */
int mirror_show(const struct cli_command *command, const struct server_options *server, const char *path,
		const char *limit, bool is_json);

#endif
