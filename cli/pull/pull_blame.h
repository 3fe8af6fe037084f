/* Finds the wrong chunk of a file whose hash is wrong. */
#ifndef CAIRN_CLI_PULL_BLAME_H
#define CAIRN_CLI_PULL_BLAME_H

#include "cli/pull/pull_state.h"

struct client;

/** Asks the server for the keyed chunk hashes of the file's xorbs, and compares them with the fetched chunks. The
 * server answers only for eligible chunks, so this may find nothing. @param state  of the whole pull @param diag   gets
 * the first wrong chunk, if one was found */
void pull_blame(struct client *client, const struct pull_state *state, const struct cairn_hash *file,
		uint64_t file_bytes, struct cairn_diag *diag);

#endif
