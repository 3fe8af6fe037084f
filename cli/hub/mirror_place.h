/* Names of repositories of the mirrored hub, as operators give them: [TYPE/]NAMESPACE/NAME. */
#ifndef CAIRN_CLI_HUB_MIRROR_PLACE_H
#define CAIRN_CLI_HUB_MIRROR_PLACE_H

#include <stdbool.h>

enum { MIRROR_PATH_BYTES = 512 };

/** The message of cli_usage_error() about a malformed name of a repository. */
#define MIRROR_PLACE_EXPECTED                                                                                          \
	"say [TYPE/]NAMESPACE/NAME, where TYPE is models, datasets, spaces or kernels, not \"%.300s\""

/** Makes the path of a repository's route. @param more  appended to it, such as "/refresh" @return false: place is not
 * a valid name */
bool mirror_place_path(char out[static MIRROR_PATH_BYTES], const char *place, const char *more);

/** Makes the path of a namespace's route. @return false: name is not valid */
bool mirror_place_namespace(char out[static MIRROR_PATH_BYTES], const char *name);

#endif
