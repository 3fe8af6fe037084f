/* Lets a server fetch a repository of the mirrored hub in advance, and waits for its files. */
#ifndef CAIRN_CLI_HUB_MIRROR_ADD_H
#define CAIRN_CLI_HUB_MIRROR_ADD_H

#include "cli/common/options.h"
#include "cli/common/server_options.h"

/** The options of add. Zeroed: none was given. */
struct mirror_add_options {
	const char *every; /* interval of repeated fetches; NULL: fetch once */
	const char *include[CLI_TEXTS_MAX + 1];
	bool keeps, no_wait, is_quiet;
};

bool mirror_add_is_said(const struct mirror_add_options *options);

/** Runs cairn mirror add. @param place  [TYPE/]NAMESPACE/NAME[@REVISION]  @return an exit code; everything was printed
 * */
int mirror_add(const struct cli_command *command, const struct server_options *server, const char *place,
	       const struct mirror_add_options *options, bool is_json);

#endif
