/* Pulling all files of a manifest into a folder. */
#ifndef CAIRN_CLI_PULL_FOLDER_H
#define CAIRN_CLI_PULL_FOLDER_H

#include "cli/pull/pull.h"

struct pull_folder_options {
	bool quiet, json;
	bool force; /* replace files of another content; else they are told, left, and the exit code says so */
};

/**
 * Files that are there and agree are left alone. No path of the manifest leads out of the folder, nor through a
 * symbolic link in it.
 * @param path    the manifest
 * @param folder  made when missing
 * @return an exit code; everything was printed
 */
int pull_folder(struct pull_crew *crew, const char *path, const char *folder,
		const struct pull_folder_options *options);

#endif
