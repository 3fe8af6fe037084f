/* Pulls all files of a manifest into a folder. */
#ifndef CAIRN_CLI_PULL_FOLDER_H
#define CAIRN_CLI_PULL_FOLDER_H

#include "cli/pull/pull.h"

struct pull_folder_options {
	bool quiet, json;
	bool force; /* replace files of other content; else they are reported and kept, and the exit code is not 0 */
};

/** Keeps existing files that agree. No path of the manifest leads out of the folder, nor through a symbolic link in it.
 * @param path    the manifest
 * @param folder  created if missing
 * @return an exit code; everything was printed */
int pull_folder(struct pull_crew *crew, const char *path, const char *folder,
		const struct pull_folder_options *options);

#endif
