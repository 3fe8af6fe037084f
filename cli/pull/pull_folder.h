/* Pulling all files of a manifest into a folder. */
#ifndef CAIRN_CLI_PULL_FOLDER_H
#define CAIRN_CLI_PULL_FOLDER_H

#include "cli/pull/pull.h"

/**
 * Files that are there and agree are left alone. No path of the manifest leads out of the folder, nor through a
 * symbolic link in it.
 * @param path    the manifest
 * @param folder  made when missing
 * @return an exit code; everything was printed
 */
int pull_folder(struct pull_crew *crew, const char *path, const char *folder, bool quiet, bool json);

#endif
