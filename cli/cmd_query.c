/* cairn query: asks a server which xorbs contain a chunk, and decodes the answer. */
#include "base/clock.h"
#include "cli/common/admin.h"
#include "cli/common/answer.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/common/scan.h"
#include "cli/common/server_options.h"
#include "dedupe/placer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char QUERY_HELP[] = "Usage: cairn query [OPTION]... HASH\n"
				 "Ask a server about the chunk with this hash and show the answer: its key, how\n"
				 "long it may be used, and the xorbs in it. Chunk hashes in an answer are keyed;\n"
				 "with a file at hand you can see which of its chunks they are.\n"
				 "\n"
				 "      --file FILE        also tell which chunks of FILE the answer has\n"
				 "      --chunks           also list the (keyed) chunks\n" SERVER_OPTIONS_HELP
				 "      --json             one JSON object, for programs\n"
				 "  -h, --help             this help\n"
				 "\n"
				 "Examples:\n"
				 "  cairn query --chunks HASH\n"
				 "  cairn query --file model.bin HASH\n"
				 "\n"
				 "Exit codes: 0 known, 64 usage, 65 the answer is not valid, 66 not known,\n"
				 "69 server unavailable, 77 not permitted.\n";

struct query_run {
	struct report report;
	bool chunks;
	const char *file;
	struct cairn_buf bytes; /* the answer of the server */
	struct answer answer;
	struct cairn_placer known; /* the answer's chunks, to match those of a file */
	uint64_t matched, matched_bytes, offset, index;
};

static void query_fini(struct query_run *run)
{
	cairn_buf_fini(&run->bytes);
	cairn_placer_fini(&run->known);
}

/* Formats an expiry. 0 means never, as in the reference's test server; others send the largest number for that. */
static const char *query_expiry(char out[static ADMIN_TIME_BYTES], uint64_t unix_s)
{
	if (unix_s == 0 || unix_s > INT64_MAX)
		return "never";
	return admin_time(out, (int64_t)unix_s);
}

static void query_print_head(struct query_run *run)
{
	const struct cairn_shard_footer *f = &run->answer.footer;
	bool fresh = answer_is_fresh(&run->answer, cairn_clock_unix_s());
	struct report *r = &run->report;
	if (r->is_json) {
		report_hash(r, "key", &f->chunk_hash_key);
		cairn_json_put_u64(&r->json, "created_unix_s", f->created_unix_s);
		cairn_json_put_u64(&r->json, "expires_unix_s", f->key_expiry_unix_s);
		cairn_json_put_bool(&r->json, "fresh", fresh);
		cairn_json_put_u64(&r->json, "answer_bytes", run->bytes.len);
		return;
	}
	char key[CAIRN_HASH_TEXT_BYTES], size[REPORT_SIZE_BYTES], when[ADMIN_TIME_BYTES];
	cairn_hash_text(key, &f->chunk_hash_key);
	(void)printf("answer   %s, %" PRIu64 " xorbs, %" PRIu64 " chunks\n", report_size(size, run->bytes.len),
		     run->answer.n_xorbs, run->answer.n_chunks);
	(void)printf("key      %s%s\n", key, cairn_hash_is_zero(&f->chunk_hash_key) ? " (none)" : "");
	(void)printf("expires  %s%s\n", query_expiry(when, f->key_expiry_unix_s),
		     fresh ? "" : " (in the past: clients ignore the answer)");
}

static void query_print_xorb(struct query_run *run, const struct cairn_shard_xorb *xorb)
{
	struct report *r = &run->report;
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, &xorb->hash);
	if (!r->is_json) {
		(void)printf("xorb     %s %" PRIu32 " chunks, %" PRIu32 " bytes\n", text, xorb->n_chunks,
			     xorb->unpacked_bytes);
	} else {
		cairn_json_open_object(&r->json, NULL);
		cairn_json_put_text(&r->json, "hash", text);
		cairn_json_put_u64(&r->json, "n_chunks", xorb->n_chunks);
		cairn_json_put_u64(&r->json, "bytes", xorb->unpacked_bytes);
		if (run->chunks)
			cairn_json_open_array(&r->json, "chunks");
	}
	for (uint32_t i = 0; run->chunks && i < xorb->n_chunks; i++) {
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(xorb, i);
		bool eligible = (chunk.flags & CAIRN_SHARD_CHUNK_ELIGIBLE) != 0;
		cairn_hash_text(text, &chunk.hash);
		if (!r->is_json) {
			(void)printf("  chunk  %s %" PRIu32 "%s\n", text, chunk.unpacked_bytes, eligible ? " *" : "");
			continue;
		}
		cairn_json_open_object(&r->json, NULL);
		cairn_json_put_text(&r->json, "hash", text);
		cairn_json_put_u64(&r->json, "bytes", chunk.unpacked_bytes);
		cairn_json_put_bool(&r->json, "eligible", eligible);
		cairn_json_close(&r->json);
		report_flush(r);
	}
	if (r->is_json && run->chunks)
		cairn_json_close(&r->json);
	if (r->is_json)
		cairn_json_close(&r->json);
	report_flush(r);
}

static enum cairn_status query_learn(struct query_run *run, const struct cairn_shard_xorb *xorb)
{
	uint32_t ordinal = 0;
	enum cairn_status status = cairn_placer_learn_xorb(&run->known, &xorb->hash, &ordinal);
	for (uint32_t i = 0; status == CAIRN_OK && i < xorb->n_chunks; i++) {
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(xorb, i);
		status = cairn_placer_learn_chunk(&run->known, &run->answer.footer.chunk_hash_key, ordinal, i,
						  &chunk.hash);
	}
	return status;
}

static enum cairn_status query_print_xorbs(struct query_run *run, struct cairn_diag *diag)
{
	struct cairn_shard_reader reader = run->answer.xorbs;
	struct cairn_shard_xorb xorb;
	bool more = true;
	enum cairn_status status = CAIRN_OK;
	if (run->report.is_json)
		cairn_json_open_array(&run->report.json, "xorbs");
	while (status == CAIRN_OK) {
		status = cairn_shard_next_xorb(&reader, &xorb, &more, diag);
		if (status != CAIRN_OK || !more)
			break;
		query_print_xorb(run, &xorb);
		if (run->file)
			status = query_learn(run, &xorb);
	}
	if (run->report.is_json)
		cairn_json_close(&run->report.json);
	return status;
}

static enum cairn_status query_match(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				     struct cairn_diag *diag)
{
	struct query_run *run = ctx;
	struct report *r = &run->report;
	const struct cairn_hash_map_entry *at = cairn_placer_find(&run->known, hash);
	uint64_t offset = run->offset, index = run->index++;
	(void)raw;
	(void)diag;
	run->offset += len;
	if (!at)
		return CAIRN_OK;
	run->matched++;
	run->matched_bytes += len;
	const struct cairn_hash *xorb = &run->known.xorbs[at->xorb].hash;
	char text[CAIRN_HASH_TEXT_BYTES];
	if (!r->is_json) {
		cairn_hash_text(text, xorb);
		(void)printf("match    chunk %" PRIu64 " at %" PRIu64 " is chunk %" PRIu32 " of %s\n", index, offset,
			     at->chunk, text);
		return CAIRN_OK;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_u64(&r->json, "index", index);
	cairn_json_put_u64(&r->json, "offset", offset);
	cairn_json_put_u64(&r->json, "bytes", len);
	report_hash(r, "hash", hash);
	report_hash(r, "xorb", xorb);
	cairn_json_put_u64(&r->json, "xorb_chunk", at->chunk);
	cairn_json_close(&r->json);
	report_flush(r);
	return CAIRN_OK;
}

static enum cairn_status query_match_file(struct query_run *run, struct cairn_diag *diag)
{
	struct cairn_cutter_file result;
	struct report *r = &run->report;
	if (r->is_json)
		cairn_json_open_array(&r->json, "matches");
	enum cairn_status status = scan_file(run->file, query_match, run, &result, diag);
	if (r->is_json) {
		cairn_json_close(&r->json);
		cairn_json_put_u64(&r->json, "matched_bytes", run->matched_bytes);
		cairn_json_put_u64(&r->json, "file_bytes", result.bytes);
	} else if (status == CAIRN_OK) {
		(void)printf("file     %" PRIu64 " of %" PRIu64 " chunks match, %" PRIu64 " of %" PRIu64 " bytes\n",
			     run->matched, result.n_chunks, run->matched_bytes, result.bytes);
	}
	return status;
}

static enum cairn_status query_ask(struct query_run *run, const struct server_options *server,
				   const struct cairn_hash *hash, struct cairn_diag *diag)
{
	CLEANUP(client_freep) struct client *client = NULL;
	enum cairn_status status = server_options_open(server, &client, diag);
	if (status == CAIRN_OK)
		client_hurry(client);
	if (status == CAIRN_OK)
		status = answer_ask(client, hash, &run->bytes, diag);
	if (status == CAIRN_OK)
		status = answer_read(&run->answer, run->bytes.bytes, run->bytes.len, diag);
	return status;
}

static int query_show(struct query_run *run, const struct server_options *server, const struct cairn_hash *hash,
		      bool json)
{
	static const struct cairn_placer_ops none = {0};
	struct cairn_diag diag = {0};
	struct report *r = &run->report;
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_placer_init(&run->known, &none, NULL);
	run->bytes = cairn_buf_init(ANSWER_BYTES_MAX);
	report_init(r, json);
	if (json) {
		cairn_json_open_object(&r->json, NULL);
		report_hash(r, "query", hash);
	}
	enum cairn_status status = query_ask(run, server, hash, &diag);
	if (json)
		cairn_json_put_bool(&r->json, "found", status == CAIRN_OK);
	if (status == CAIRN_OK) {
		query_print_head(run);
		status = query_print_xorbs(run, &diag);
	}
	cairn_hash_text(text, hash);
	const char *subject = text;
	if (status == CAIRN_OK && run->file) {
		subject = run->file;
		status = query_match_file(run, &diag);
	}
	if (json && status != CAIRN_OK)
		report_error(r, subject, status, &diag, cli_exit_of(status));
	if (json)
		cairn_json_close(&r->json);
	return report_end(r, status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(subject, status, &diag));
}

static int query_run(const struct cli_command *command, int argc, char **argv)
{
	CLEANUP(query_fini) struct query_run run = {0};
	struct server_options server = {0};
	bool json = false;
	int first = 0;
	const struct cli_option options[] = {{"file", NULL, &run.file},
					     {"chunks", &run.chunks, NULL},
					     {"json", &json, NULL},
					     SERVER_OPTIONS(&server)};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	struct cairn_hash hash;
	if (first + 1 != argc)
		return cli_usage_error(command, "give one hash");
	if (cairn_hash_parse(&hash, argv[first], strlen(argv[first])) != CAIRN_OK)
		return cli_usage_error(command, "\"%s\" is not a hash of 64 hexadecimal digits", argv[first]);
	return query_show(&run, &server, &hash, json);
}

const struct cli_command CLI_QUERY = {"query", "ask a server for a chunk and decode the answer", QUERY_HELP, query_run};
