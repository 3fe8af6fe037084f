/* The server's answer to a chunk query: a footered shard whose chunk hashes are keyed. */
#ifndef CAIRN_CLI_ANSWER_H
#define CAIRN_CLI_ANSWER_H

#include "cli/common/client.h"
#include "shard/reader.h"

enum { ANSWER_BYTES_MAX = 64 * 1024 * 1024 };

struct answer {
	struct cairn_shard_reader xorbs; /* stands before the first xorb: to read on, copy this reader */
	struct cairn_shard_footer footer;
	uint64_t n_xorbs, n_chunks;
};

/** Asks about a chunk. @param[out] bytes  as in client_request(), for answer_read() @return as client_request() */
CAIRN_MUST_USE enum cairn_status answer_ask(struct client *client, const struct cairn_hash *chunk,
					    struct cairn_buf *bytes, struct cairn_diag *diag);

/** Checks a whole answer. Borrows bytes. @return CAIRN_OK; CAIRN_E_FORMAT malformed, or without a footer */
CAIRN_MUST_USE enum cairn_status answer_read(struct answer *out, const uint8_t *bytes, size_t len,
					     struct cairn_diag *diag);

/** Returns whether the answer has not expired. */
bool answer_is_fresh(const struct answer *a, int64_t now_unix_s);

#endif
