/* cairn push: uploads files, sending only what the server does not have. */
#include "base/clock.h"
#include "cli/common/answer.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "cli/common/scan.h"
#include "cli/common/server_options.h"
#include "cli/push/placer.h"
#include "cli/push/push_folder.h"
#include "cli/push/shards.h"
#include "xorb/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PUSH_ANSWER_BYTES_MAX = 1024 * 1024 };

static const char PUSH_HELP[] =
	"Usage: cairn push [OPTION]... FILE...\n"
	"       cairn push [OPTION]... DIR\n"
	"Upload files. Chunks that the server or this push has already are not sent\n"
	"again. Prints hash, size and name of each file, then what it took. Of a folder\n"
	"all regular files are uploaded, and a manifest for `cairn pull` is written.\n"
	"\n" SERVER_OPTIONS_HELP "      --no-dedupe        do not ask the server for known chunks\n"
	"      --manifest FILE    manifest of the folder; without it the manifest is all\n"
	"                         that is printed\n"
	"      --quiet            no progress bar\n"
	"      --json             one JSON object, for programs\n"
	"  -h, --help             this help\n"
	"\n"
	"A file may be up to 1 TiB long; it is read once, through a window of 1 MiB,\n"
	"and takes about 150 bytes of memory a chunk of 64 KiB. The bar is shown on a\n"
	"terminal only.\n"
	"Exit codes: 0 done, 64 usage, 65 refused by the server, 66 a file cannot be\n"
	"opened, 69 server unavailable, 73 the manifest cannot be made, 74 a file cannot\n"
	"be read, 77 not permitted.\n";

struct push {
	struct client *client;
	struct placer placer;
	struct cairn_xorb_writer *writer;
	struct cairn_buf answer;        /* of the request in hand */
	struct cairn_buf dedupe_answer; /* may be large */
	struct progress progress;
	uint64_t read_bytes, queries, hits, xorbs_sent, shards_sent, shards_new;
};

static void push_fini(struct push *p)
{
	progress_clear(&p->progress);
	client_freep(&p->client);
	placer_fini(&p->placer);
	cairn_xorb_writer_freep(&p->writer);
	cairn_buf_fini(&p->answer);
	cairn_buf_fini(&p->dedupe_answer);
}

/* --- asking for known chunks -------------------------------------------------------------------------------------- */

static enum cairn_status push_learn(struct placer *placer, const struct answer *answer)
{
	struct cairn_shard_reader reader = answer->xorbs;
	struct cairn_shard_xorb xorb;
	bool more = true;
	enum cairn_status status = CAIRN_OK;
	while (status == CAIRN_OK) {
		uint32_t ordinal = 0;
		status = cairn_shard_next_xorb(&reader, &xorb, &more, NULL);
		if (status != CAIRN_OK || !more)
			break;
		status = placer_learn_xorb(placer, &xorb.hash, &ordinal);
		for (uint32_t i = 0; status == CAIRN_OK && i < xorb.n_chunks; i++) {
			struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(&xorb, i);
			status = placer_learn_chunk(placer, &answer->footer.chunk_hash_key, ordinal, i, &chunk.hash);
		}
	}
	return status == CAIRN_E_LIMIT ? CAIRN_OK : status; /* what is not kept is sent again, that is all */
}

static enum cairn_status push_query(void *ctx, struct placer *placer, const struct cairn_hash *chunk,
				    struct cairn_diag *diag)
{
	struct push *p = ctx;
	struct answer answer;
	struct cairn_diag why = {0};
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	cairn_hash_text(text, chunk);
	(void)snprintf(path, sizeof(path), "/v1/chunks/default/%s", text);
	p->queries++;
	enum cairn_status status = client_request(p->client, CLIENT_GET, path, NULL, 0, &p->dedupe_answer, &why);
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	if (status != CAIRN_OK) {
		*diag = why;
		return status;
	}
	if (answer_read(&answer, p->dedupe_answer.bytes, p->dedupe_answer.len, &why) != CAIRN_OK) {
		progress_clear(&p->progress);
		cli_error("an answer to a chunk query is not usable, going on without it: %s", why.text);
		return CAIRN_OK;
	}
	if (!answer_is_fresh(&answer, cairn_clock_unix_s()))
		return CAIRN_OK;
	p->hits++;
	return push_learn(placer, &answer);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

/* A 2xx answer without the member it must have comes from something that is not a store. */
static enum cairn_status push_not_a_store(struct cairn_diag *diag, const char *path, const char *member)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
			  "the answer to %.40s has no \"%s\": this is not a store of the protocol", path, member);
}

static enum cairn_status push_add(void *ctx, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				  struct cairn_diag *diag)
{
	struct push *p = ctx;
	(void)diag;
	return cairn_xorb_writer_add(p->writer, raw, len, chunk);
}

static enum cairn_status push_send_xorb(struct push *p, const char *path, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	size_t len = 0;
	bool inserted = false;
	const uint8_t *bytes = cairn_xorb_writer_bytes(p->writer, &len);
	enum cairn_status status = client_request(p->client, CLIENT_POST, path, bytes, len, &p->answer, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_json_parse(&json, (const char *)p->answer.bytes, p->answer.len) != CAIRN_OK ||
	    !cairn_json_bool(cairn_json_get(json, "was_inserted"), &inserted))
		return push_not_a_store(diag, path, "was_inserted");
	p->xorbs_sent++;
	return CAIRN_OK;
}

static enum cairn_status push_close(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list,
				    struct cairn_diag *diag)
{
	struct push *p = ctx;
	struct cairn_diag absent = {0};
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	(void)list;
	cairn_hash_text(text, xorb);
	(void)snprintf(path, sizeof(path), "/v1/xorbs/default/%s", text);
	enum cairn_status status = client_request(p->client, CLIENT_HEAD, path, NULL, 0, &p->answer, &absent);
	if (status == CAIRN_E_NOT_FOUND)
		status = push_send_xorb(p, path, diag);
	else if (status != CAIRN_OK)
		*diag = absent;
	cairn_xorb_writer_reset(p->writer);
	progress_draw(&p->progress, p->read_bytes, client_bytes_sent(p->client));
	return status;
}

static enum cairn_status push_shard(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct push *p = ctx;
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	static const char path[] = "/v1/shards";
	int64_t result = 0;
	enum cairn_status status = client_request(p->client, CLIENT_POST, path, bytes, len, &p->answer, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_json_parse(&json, (const char *)p->answer.bytes, p->answer.len) != CAIRN_OK ||
	    !cairn_json_i64(cairn_json_get(json, "result"), &result))
		return push_not_a_store(diag, path, "result");
	p->shards_sent++;
	p->shards_new += result == 1;
	return CAIRN_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static enum cairn_status push_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				    struct cairn_diag *diag)
{
	struct push *p = ctx;
	p->read_bytes += len;
	progress_draw(&p->progress, p->read_bytes, client_bytes_sent(p->client));
	return placer_chunk(&p->placer, hash, raw, len, diag);
}

static enum cairn_status push_file(struct push *p, const char *path, struct cairn_diag *diag)
{
	struct scan_result result;
	placer_file_begin(&p->placer);
	enum cairn_status status = scan_file(path, push_chunk, p, &result, diag);
	return status == CAIRN_OK ? placer_file_end(&p->placer, &result.file, result.sha256) : status;
}

static void push_print_file(struct report *r, const char *path, const struct placer_file *file)
{
	if (!r->is_json) {
		char text[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(text, &file->hash);
		cli_line("%s %" PRIu64 " %s", text, file->bytes, path);
		return;
	}
	char sha256[2 * 32 + 1];
	cairn_hex_text(sha256, file->sha256, sizeof(file->sha256));
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "path", path);
	report_hash(r, "hash", &file->hash);
	cairn_json_put_text(&r->json, "sha256", sha256);
	cairn_json_put_u64(&r->json, "bytes", file->bytes);
	cairn_json_put_u64(&r->json, "new_bytes", file->new_bytes);
	cairn_json_put_u64(&r->json, "terms", file->n_terms);
	cairn_json_close(&r->json);
	report_flush(r);
}

static void push_print_totals(struct report *r, const struct push *p)
{
	uint64_t bytes = 0, new_bytes = 0, sent = client_bytes_sent(p->client);
	for (size_t i = 0; i < p->placer.n_files; i++) {
		bytes += p->placer.files[i].bytes;
		new_bytes += p->placer.files[i].new_bytes;
	}
	uint64_t saved = bytes > sent ? bytes - sent : 0;
	if (r->is_json) {
		cairn_json_put_u64(&r->json, "bytes", bytes);
		cairn_json_put_u64(&r->json, "new_bytes", new_bytes);
		cairn_json_put_u64(&r->json, "sent_bytes", sent);
		cairn_json_put_u64(&r->json, "saved_bytes", saved);
		cairn_json_put_u64(&r->json, "queries", p->queries);
		cairn_json_put_u64(&r->json, "query_hits", p->hits);
		cairn_json_put_u64(&r->json, "xorbs_sent", p->xorbs_sent);
		cairn_json_put_u64(&r->json, "shards_sent", p->shards_sent);
		cairn_json_put_u64(&r->json, "shards_new", p->shards_new);
		return;
	}
	char sizes[4][REPORT_SIZE_BYTES];
	cli_line("%zu %s, %s: %s new, %s sent, %s saved", p->placer.n_files, p->placer.n_files == 1 ? "file" : "files",
		 report_size(sizes[0], bytes), report_size(sizes[1], new_bytes), report_size(sizes[2], sent),
		 report_size(sizes[3], saved));
}

/* All files exist before any byte is sent. @return CLI_RUN, or an exit code */
static int push_measure(int n, char **paths, uint64_t *total_bytes)
{
	*total_bytes = 0;
	for (int i = 0; i < n; i++) {
		struct stat st;
		if (stat(paths[i], &st) < 0) {
			cli_error("%s: %s", paths[i], strerror(errno));
			return CLI_EXIT_NO_INPUT;
		}
		*total_bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	}
	return CLI_RUN;
}

static enum cairn_status push_all(struct push *p, int n, char **paths, const char **subject, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	for (int i = 0; i < n && status == CAIRN_OK; i++) {
		*subject = paths[i];
		status = push_file(p, paths[i], diag);
	}
	if (status != CAIRN_OK)
		return status;
	*subject = "push";
	status = placer_end(&p->placer, diag);
	if (status == CAIRN_OK)
		status = shards_write(&p->placer, SHARDS_BYTES_MAX, push_shard, p, diag);
	return status;
}

static int push_report(const struct push *p, char **paths, bool json)
{
	struct report r;
	report_init(&r, json);
	if (json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_open_array(&r.json, "files");
	}
	for (size_t i = 0; i < p->placer.n_files; i++)
		push_print_file(&r, paths[i], &p->placer.files[i]);
	if (json)
		cairn_json_close(&r.json);
	push_print_totals(&r, p);
	if (json)
		cairn_json_close(&r.json);
	return report_end(&r, CLI_EXIT_OK);
}

struct push_args {
	struct server_options server;
	const char *manifest;
	bool no_dedupe, quiet, json;
};

/* What a folder's files turned out to be, and then the manifest. */
static int push_end_folder(const struct push *p, struct push_folder *folder, const struct push_args *args, char **paths)
{
	struct cairn_diag diag = {0};
	for (size_t i = 0; i < folder->manifest.n; i++) {
		struct manifest_file *f = &folder->manifest.files[i];
		f->hash = p->placer.files[i].hash;
		f->size_bytes = p->placer.files[i].bytes;
		memcpy(f->sha256, p->placer.files[i].sha256, sizeof(f->sha256));
	}
	enum cairn_status status = push_folder_write(folder, args->manifest, &diag);
	if (status != CAIRN_OK)
		return cli_fail("push", status, &diag);
	return args->manifest ? push_report(p, paths, args->json) : CLI_EXIT_OK;
}

/* @param folder  the paths are its files; NULL: they are the arguments */
static int push_files(const struct push_args *args, int n, char **paths, struct push_folder *folder)
{
	const struct placer_ops ops = {
		.query = args->no_dedupe ? NULL : push_query, .add = push_add, .close = push_close};
	CLEANUP(push_fini)
	struct push p = {.answer = cairn_buf_init(PUSH_ANSWER_BYTES_MAX),
			 .dedupe_answer = cairn_buf_init(ANSWER_BYTES_MAX)};
	struct cairn_diag diag = {0};
	const char *subject = "push";
	uint64_t total_bytes = 0;
	placer_init(&p.placer, &ops, &p);
	int end = push_measure(n, paths, &total_bytes);
	if (end != CLI_RUN)
		return end;
	p.writer = cairn_xorb_writer_new();
	progress_init(&p.progress, !args->quiet, total_bytes, "sent");
	enum cairn_status status = p.writer ? server_options_open(&args->server, &p.client, &diag) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = push_all(&p, n, paths, &subject, &diag);
	progress_clear(&p.progress);
	if (status != CAIRN_OK)
		return cli_fail(subject, status, &diag);
	return folder ? push_end_folder(&p, folder, args, paths) : push_report(&p, paths, args->json);
}

static int push_one_folder(const struct push_args *args, const char *path)
{
	CLEANUP(push_folder_fini) struct push_folder folder = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = push_folder_read(&folder, path, &diag);
	if (status != CAIRN_OK)
		return cli_fail(path, status, &diag);
	return push_files(args, (int)folder.manifest.n, folder.paths, &folder);
}

static bool push_is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int push_run(const struct cli_command *command, int argc, char **argv)
{
	struct push_args args = {0};
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&args.server),
					     {"manifest", NULL, &args.manifest},
					     {"no-dedupe", &args.no_dedupe, NULL},
					     {"quiet", &args.quiet, NULL},
					     {"json", &args.json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first == argc)
		return cli_usage_error(command, "name a file or a folder");
	bool folder = push_is_folder(argv[first]);
	for (int i = first + 1; i < argc; i++)
		if (folder || push_is_folder(argv[i]))
			return cli_usage_error(command, "a folder is pushed alone");
	if (args.manifest && !folder)
		return cli_usage_error(command, "--manifest goes with a folder");
	if (folder)
		return push_one_folder(&args, argv[first]);
	return push_files(&args, argc - first, argv + first, NULL);
}

const struct cli_command CLI_PUSH = {"push", "upload files, sending only what is new", PUSH_HELP, push_run};
