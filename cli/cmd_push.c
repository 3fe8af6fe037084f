/* cairn push: uploads files, sending only what the server does not have. */
#include "base/decimal.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/push/push.h"
#include "cli/push/push_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char PUSH_HELP[] =
	"Usage: cairn push [OPTION]... FILE...\n"
	"       cairn push [OPTION]... DIR\n"
	"       cairn push [OPTION]... -\n"
	"Upload files. Chunks that the server or this push has already are not sent\n"
	"again. Prints hash, size and name of each file, and then how much was sent. For\n"
	"a folder, uploads all regular files and writes a manifest for `cairn pull`.\n"
	"A single - is standard input.\n"
	"\n" SERVER_OPTIONS_HELP "      --no-dedupe        do not ask the server for known chunks\n"
	"      --manifest FILE    manifest of the folder; without it the manifest is all\n"
	"                         that is printed\n"
	"  -j, --jobs N           xorbs sent at once (default 4, at most 16); each takes\n"
	"                         up to 64 MiB of memory\n"
	"      --name NAME        name to print for standard input\n"
	"  -q, --quiet            no progress bar\n"
	"      --json             one JSON object, for programs\n"
	"  -h, --help             this help\n"
	"\n"
	"A file may be up to 1 TiB long; it is read once, through a window of 1 MiB,\n"
	"and takes about 150 bytes of memory a chunk of 64 KiB. The bar is shown on a\n"
	"terminal only. A file that cannot be read is left out; the others are\n"
	"pushed, and the exit code is that of the failure. A folder is pushed whole or\n"
	"not at all.\n"
	"\n"
	"Examples:\n"
	"  cairn push model.bin\n"
	"  cairn push --manifest photos.json photos\n"
	"  tar c photos | cairn push --name photos.tar -\n"
	"\n"
	"Exit codes: 0 done, 64 usage, 65 refused by the server, 66 a file cannot be\n"
	"opened, 69 server unavailable, 73 the manifest cannot be made, 74 a file cannot\n"
	"be read, 77 not permitted.\n";

struct push_args {
	struct server_options server;
	const char *manifest, *name, *jobs_text;
	unsigned jobs;
	bool no_dedupe, quiet, json;
};

/* A file to push, from the command line or from the folder. */
struct push_item {
	const char *path; /* "-": standard input */
	enum cairn_status status;
	struct cairn_diag *diag; /* owned; why the file was left out, or NULL */
};

struct push_items {
	struct push_item *at; /* owned */
	size_t n;
	int code; /* exit code for the first file that was left out */
};

static void push_items_fini(struct push_items *items)
{
	for (size_t i = 0; items->at && i < items->n; i++)
		free(items->at[i].diag);
	free(items->at);
}

static bool push_items_new(struct push_items *items, size_t n, char **paths)
{
	*items = (struct push_items){.at = calloc(n + 1, sizeof(*items->at)), .n = n, .code = CLI_EXIT_OK};
	for (size_t i = 0; items->at && i < n; i++)
		items->at[i].path = paths[i];
	return items->at != NULL;
}

static const char *push_name(const struct push_args *args, const char *path)
{
	return strcmp(path, "-") == 0 && args->name ? args->name : path;
}

static void push_print_file(struct report *r, const char *path, const struct cairn_placer_file *file)
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

static void push_print_failure(struct report *r, const char *path, const struct push_item *item)
{
	if (!r->is_json)
		return; /* already reported on standard error */
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "path", path);
	report_status(r, "error", item->status, item->diag);
	cairn_json_close(&r->json);
	report_flush(r);
}

static void push_print_totals(struct report *r, const struct push *p)
{
	uint64_t bytes = 0, new_bytes = 0, sent = push_sent_bytes(p);
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
		cairn_json_put_u64(&r->json, "queries", push_queries(p));
		cairn_json_put_u64(&r->json, "query_hits", p->hits);
		cairn_json_put_u64(&r->json, "xorbs_sent", push_sent_xorbs(p));
		cairn_json_put_u64(&r->json, "shards_sent", p->shards_sent);
		cairn_json_put_u64(&r->json, "shards_new", p->shards_new);
		return;
	}
	char sizes[4][REPORT_SIZE_BYTES];
	cli_line("%zu %s, %s: %s new, %s sent, %s saved", p->placer.n_files, p->placer.n_files == 1 ? "file" : "files",
		 report_size(sizes[0], bytes), report_size(sizes[1], new_bytes), report_size(sizes[2], sent),
		 report_size(sizes[3], saved));
}

static int push_report(const struct push *p, const struct push_items *items, const struct push_args *args)
{
	struct report r;
	report_init(&r, args->json);
	if (args->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_open_array(&r.json, "files");
	}
	const struct cairn_placer_file *file = p->placer.files;
	for (size_t i = 0; i < items->n; i++) {
		const struct push_item *item = &items->at[i];
		if (item->diag)
			push_print_failure(&r, push_name(args, item->path), item);
		else
			push_print_file(&r, push_name(args, item->path), file++);
	}
	if (args->json)
		cairn_json_close(&r.json);
	push_print_totals(&r, p);
	if (args->json)
		cairn_json_close(&r.json);
	return report_end(&r, items->code);
}

/* Adds the results to a folder's files, and writes the manifest. */
static int push_end_folder(const struct push *p, struct push_folder *folder, const struct push_args *args,
			   const struct push_items *items)
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
	return args->manifest ? push_report(p, items, args) : CLI_EXIT_OK;
}

/* Reports a file that is left out, and stores the reason. @return false: out of memory */
static bool push_leave_out(struct push_items *items, struct push_item *item, const char *name, enum cairn_status status,
			   const struct cairn_diag *diag)
{
	int code = cli_fail(name, status, diag);
	item->status = status;
	item->diag = malloc(sizeof(*item->diag));
	if (item->diag)
		*item->diag = *diag;
	items->code = items->code == CLI_EXIT_OK ? code : items->code;
	return item->diag != NULL;
}

/* Measures the files, and reports missing ones before any byte is sent. @param[out] total_bytes  0: unknown. @return
 * false: out of memory */
static bool push_measure(struct push_items *items, uint64_t *total_bytes)
{
	bool known = true;
	*total_bytes = 0;
	for (size_t i = 0; i < items->n; i++) {
		struct push_item *item = &items->at[i];
		struct cairn_diag diag = {0};
		struct stat st;
		known &= strcmp(item->path, "-") != 0;
		if (strcmp(item->path, "-") == 0)
			continue;
		if (cairn_sys_stat(item->path, &st) == 0) {
			*total_bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
			continue;
		}
		(void)cairn_fail(&diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
		if (!push_leave_out(items, item, item->path, CAIRN_E_NOT_FOUND, &diag))
			return false;
	}
	*total_bytes = known ? *total_bytes : 0;
	return true;
}

/* Opens a file for a question about it. On another thread, so only the item's path may be read: other fields change. */
static int push_item_open(void *ctx, size_t i)
{
	const struct push_items *items = ctx;
	const char *path = items->at[i].path;
	struct stat st;
	/* never open a pipe early: that would disturb its other end */
	if (strcmp(path, "-") == 0 || cairn_sys_stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return cairn_sys_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
}

/* Pushes all files. @param whole  a file that cannot be read ends the push. @return CAIRN_OK, even if files were left
 * out; otherwise subject names the cause */
static enum cairn_status push_all(struct push *p, struct push_items *items, const struct push_args *args, bool whole,
				  const char **subject, struct cairn_diag *diag)
{
	size_t n_left_out = 0;
	for (size_t i = 0; i < items->n; i++) {
		struct push_item *item = &items->at[i];
		struct cairn_diag why = {0};
		if (item->diag) {
			n_left_out++;
			continue;
		}
		push_next(p, i);
		*subject = push_name(args, item->path);
		p->progress.name = *subject;
		enum cairn_status status = push_file(p, item->path, &why);
		if (status != CAIRN_OK && (whole || p->broken)) {
			*diag = why;
			return status;
		}
		if (status != CAIRN_OK) {
			progress_clear(&p->progress);
			n_left_out++;
			if (!push_leave_out(items, item, *subject, status, &why))
				return CAIRN_E_NOMEM;
		}
	}
	*subject = "push";
	return n_left_out < items->n ? push_end(p, diag) : CAIRN_OK;
}

/* Pushes files, and prints the results. @param folder  push its files; NULL: push the arguments */
static int push_files(const struct push_args *args, size_t n, char **paths, struct push_folder *folder)
{
	CLEANUP(push_items_fini) struct push_items items = {0}; /* must outlive the threads of p */
	CLEANUP(push_fini) struct push p;
	struct cairn_diag diag = {0};
	const char *subject = "push";
	uint64_t total_bytes = 0;
	push_init(&p, !args->no_dedupe);
	bool ready = push_items_new(&items, n, paths) && push_measure(&items, &total_bytes);
	if (folder && items.code != CLI_EXIT_OK)
		return items.code;
	enum cairn_status status = ready ? push_open(&p, &args->server, args->jobs, &diag) : CAIRN_E_NOMEM;
	progress_init(&p.progress, !args->quiet && !args->server.verbose, total_bytes, "sent");
	if (status == CAIRN_OK)
		status = push_ask_ahead(&p, items.n, push_item_open, &items);
	if (status == CAIRN_OK)
		status = push_all(&p, &items, args, folder != NULL, &subject, &diag);
	progress_clear(&p.progress);
	if (status != CAIRN_OK)
		return cli_fail(subject, status, &diag);
	return folder ? push_end_folder(&p, folder, args, &items) : push_report(&p, &items, args);
}

static int push_one_folder(const struct push_args *args, const char *path)
{
	CLEANUP(push_folder_fini) struct push_folder folder = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = args->manifest ? push_folder_may_write(args->manifest, &diag) : CAIRN_OK;
	if (status != CAIRN_OK)
		return cli_fail("push", status, &diag);
	status = push_folder_read(&folder, path, NULL, &diag);
	if (status != CAIRN_OK)
		return cli_fail(path, status, &diag);
	return push_files(args, folder.manifest.n, folder.paths, &folder);
}

static bool push_is_folder(const char *path)
{
	struct stat st;
	return cairn_sys_stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int push_check_args(const struct cli_command *command, const struct push_args *args, int n, char **paths,
			   bool folder)
{
	int inputs = 0;
	for (int i = 0; i < n; i++) {
		inputs += strcmp(paths[i], "-") == 0;
		if (i > 0 && (folder || push_is_folder(paths[i])))
			return cli_usage_error(command, "a folder is pushed alone");
	}
	if (inputs > 1)
		return cli_usage_error(command, "standard input can be read once");
	if (args->name && inputs == 0)
		return cli_usage_error(command, "--name goes with -, which is standard input");
	if (args->manifest && !folder)
		return cli_usage_error(command, "--manifest goes with a folder");
	return CLI_RUN;
}

static int push_run(const struct cli_command *command, int argc, char **argv)
{
	struct push_args args = {0};
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&args.server),    {"manifest", NULL, &args.manifest},   {"name", NULL, &args.name},
		{"jobs", NULL, &args.jobs_text}, {"no-dedupe", &args.no_dedupe, NULL}, {"quiet", &args.quiet, NULL},
		{"json", &args.json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first == argc)
		return cli_usage_error(command, "name a file or a folder");
	uint64_t jobs = SENDERS_DEFAULT;
	if (args.jobs_text && !cairn_decimal_parse(args.jobs_text, 1, SENDERS_MAX, &jobs))
		return cli_usage_error(command, "--jobs takes 1 to %d", SENDERS_MAX);
	args.jobs = (unsigned)jobs;
	bool folder = push_is_folder(argv[first]);
	end = push_check_args(command, &args, argc - first, argv + first, folder);
	if (end != CLI_RUN)
		return end;
	if (folder)
		return push_one_folder(&args, argv[first]);
	return push_files(&args, (size_t)(argc - first), argv + first, NULL);
}

const struct cli_command CLI_PUSH = {"push", "upload files, sending only what is new", PUSH_HELP, push_run};
