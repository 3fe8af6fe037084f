/* Lets a server evict files of the mirrored hub now. */
#ifndef CAIRN_CLI_HUB_MIRROR_PRUNE_H
#define CAIRN_CLI_HUB_MIRROR_PRUNE_H

#include "cli/common/server_options.h"

#include <stdbool.h>
#include <stdint.h>

/** Repeats the request until nothing more is evicted. @param path  of the route  @param to_bytes  that may remain;
 * UINT64_MAX: evict one repository @return an exit code; everything was printed */
int mirror_prune(const struct server_options *server, const char *subject, const char *path, uint64_t to_bytes,
		 bool is_json);

#endif
