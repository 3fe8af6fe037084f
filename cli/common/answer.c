#include "cli/common/answer.h"

#include <stdio.h>

enum cairn_status answer_ask(struct client *client, const struct cairn_hash *chunk, struct cairn_buf *bytes,
			     struct cairn_diag *diag)
{
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	cairn_hash_text(text, chunk);
	(void)snprintf(path, sizeof(path), "/v1/chunks/default/%s", text);
	return client_request(client, CLIENT_GET, path, NULL, 0, bytes, diag);
}

enum cairn_status answer_read(struct answer *out, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct cairn_shard_reader r;
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	const uint8_t *tables;
	size_t tables_len;
	bool more = true, has_footer = false;
	*out = (struct answer){0};
	enum cairn_status status = cairn_shard_reader_init(&r, bytes, len, diag);
	while (status == CAIRN_OK && more)
		status = cairn_shard_next_file(&r, &file, &more, diag);
	out->xorbs = r;
	more = true;
	while (status == CAIRN_OK && more) {
		status = cairn_shard_next_xorb(&r, &xorb, &more, diag);
		if (status == CAIRN_OK && more) {
			out->n_xorbs++;
			out->n_chunks += xorb.n_chunks;
		}
	}
	if (status == CAIRN_OK)
		status = cairn_shard_reader_end(&r, &out->footer, &has_footer, &tables, &tables_len, diag);
	if (status == CAIRN_OK && !has_footer)
		return cairn_fail(diag, CAIRN_E_FORMAT, "answer.footer", CAIRN_NO_OFFSET,
				  "the server's answer has no footer, so neither key nor expiry are known");
	return status;
}

bool answer_is_fresh(const struct answer *a, int64_t now_unix_s)
{
	/* 0: never expires, as in the reference's test server */
	return a->footer.key_expiry_unix_s == 0 ||
	       (now_unix_s >= 0 && a->footer.key_expiry_unix_s >= (uint64_t)now_unix_s);
}
