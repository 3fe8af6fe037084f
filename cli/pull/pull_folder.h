/* Pulls all files of a manifest into a folder. */
#ifndef CAIRN_CLI_PULL_FOLDER_H
#define CAIRN_CLI_PULL_FOLDER_H

#include "cli/pull/pull.h"

struct pull_folder_options {
	bool quiet, json;
	/* replace files with other content; otherwise they are reported and kept, and the exit code is not 0 */
	bool force;
};

/** Pulls the files. Keeps files that agree. No path of the manifest leads out of the folder, or through a symbolic
 * link. @param path    the manifest @param folder  created if missing @return an exit code; everything was printed */
int pull_folder(struct pull_crew *crew, const char *path, const char *folder,
		const struct pull_folder_options *options);

#endif
