/* Finding out which chunk is wrong when a file does not give its hash. */
#ifndef CAIRN_CLI_PULL_BLAME_H
#define CAIRN_CLI_PULL_BLAME_H

#include "cli/pull/pull_state.h"

struct client;

/**
 * Ask the server for the keyed hashes of the chunks of the file's xorbs, which it answers from its index, and compare
 * them with what was fetched. Only chunks that may be asked for lead to an answer, so this may find nothing.
 * @param state  of the whole pull
 * @param diag   gets the first wrong chunk, if one was found
 */
void pull_blame(struct client *client, const struct pull_state *state, const struct cairn_hash *file,
		uint64_t file_bytes, struct cairn_diag *diag);

#endif
