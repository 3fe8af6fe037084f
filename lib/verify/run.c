#include "verify/run.h"

enum { PROGRESS_CHUNKS = 4096 }; /* chunks hashed between two reports: about a millisecond */

void cairn_verify_diag_hashes(struct cairn_diag *diag, const struct cairn_hash *expected,
			      const struct cairn_hash *actual)
{
	char expected_text[CAIRN_HASH_TEXT_BYTES], actual_text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(expected_text, expected);
	cairn_hash_text(actual_text, actual);
	cairn_diag_values(diag, expected_text, actual_text);
}

enum cairn_status cairn_verify_report(struct verify_run *run)
{
	run->unreported = 0;
	const struct cairn_verify_options *o = run->options;
	if (!o->progress || o->progress(o->progress_ctx, run->verified, run->total))
		return CAIRN_OK;
	return cairn_fail(run->diag, CAIRN_E_BUSY, "verify.stopped", CAIRN_NO_OFFSET,
			  "verification was stopped before its end: send the shard again later");
}

enum cairn_status cairn_verify_advance(struct verify_run *run, uint64_t entries, uint64_t chunks)
{
	run->verified += entries;
	run->unreported += chunks;
	return run->unreported < PROGRESS_CHUNKS ? CAIRN_OK : cairn_verify_report(run);
}

enum cairn_status cairn_verify_ask(struct verify_run *run, const struct cairn_hash *xorb, bool described,
				   uint64_t offset, const struct cairn_chunk_list **list, int64_t *id)
{
	*id = 0;
	enum cairn_status status = run->resolver->chunk_list(run->resolver->ctx, xorb, described, list, id);
	if (status == CAIRN_OK || status == CAIRN_E_NOT_FOUND)
		return status;
	/* Do not reveal the number: it depends on xorbs that the sender may not know. */
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(run->diag, status, "limit.list_chunks", offset,
				  "the terms alternate between too many xorbs (list_chunks_max): send fewer files in a "
				  "shard");
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, xorb);
	return cairn_fail(run->diag, status, "xorb.unreadable", offset,
			  "the server could not read its chunk list of xorb %s (%s): send the shard again later", text,
			  cairn_status_name(status));
}
