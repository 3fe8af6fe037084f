/* cairn pull: fetches a file, a range of it, or the folder that a manifest describes. */
#include "base/decimal.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/common/server_options.h"
#include "cli/pull/pull.h"
#include "cli/pull/pull_folder.h"
#include "cli/pull/pull_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PULL_HELP[] =
	"Usage: cairn pull HASH -o FILE [OPTION]...\n"
	"       cairn pull MANIFEST -o DIR [OPTION]...\n"
	"Fetch a file by its hash, or all files of a manifest that `cairn push DIR`\n"
	"made. Every chunk is unpacked and hashed, and a file gets its name only when\n"
	"its hash agrees.\n"
	"\n"
	"  -o, --output TARGET    file or folder to write; - is standard output\n"
	"      --range A-B        only bytes A to B, B inclusive; A- is to the end\n"
	"      --force            replace a file that holds something else\n"
	"  -j, --jobs N           connections at once (default 4, at most 16)\n" SERVER_OPTIONS_HELP
	"  -q, --quiet            no progress bar\n"
	"      --json             one JSON object, for programs; not with -o -\n"
	"  -h, --help             this help\n"
	"\n"
	"FILE is written as FILE.part. Bytes that an interrupted pull left there, and in\n"
	"FILE.part.state, are hashed again, not fetched again. A range has no hash\n"
	"of its own, so its chunks are only checked to unpack and to have the right\n"
	"length. A file that exists and has the hash is not fetched. Without\n"
	"--force, one that holds something else is left as it is, and so is any that\n"
	"exists if a range is wanted (73); the other files of a manifest are fetched.\n"
	"\n"
	"Examples:\n"
	"  cairn pull HASH -o model.bin\n"
	"  cairn pull photos.json -o photos\n"
	"  cairn pull HASH --range 0-1023 -o - | xxd\n"
	"\n"
	"Exit codes: 0 done, 64 usage, 65 a chunk, a hash or the manifest is wrong,\n"
	"66 the server does not have it, 69 server unavailable, 73 a file cannot be made,\n"
	"74 input/output error, 77 not permitted.\n";

struct pull_args {
	struct server_options server;
	const char *output, *range, *jobs;
	bool force, quiet, json;
};

/* Reads "A-B" or "A-". @return false: malformed. "A-" leaves *end unchanged */
static bool pull_parse_range(const char *text, uint64_t *first, uint64_t *last)
{
	if (!cairn_decimal_read(&text, first) || *text++ != '-')
		return false;
	return !*text || (cairn_decimal_read(&text, last) && !*text && *first <= *last);
}

static enum cairn_status pull_open_crew(struct pull_crew *crew, const struct pull_args *args, unsigned jobs,
					struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	while (crew->n < jobs && status == CAIRN_OK) {
		status = server_options_open(&args->server, &crew->clients[crew->n], diag);
		crew->n += status == CAIRN_OK;
	}
	return status;
}

static int pull_report(const struct pull_job *job, const struct pull_crew *crew, const struct pull_args *args,
		       bool kept)
{
	struct report r;
	char sizes[3][REPORT_SIZE_BYTES];
	if (job->dir_fd < 0)
		return CLI_EXIT_OK;
	report_init(&r, args->json);
	if (args->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "path", args->output);
		report_hash(&r, "hash", &job->file);
		cairn_json_put_u64(&r.json, "file_bytes", job->file_bytes);
		cairn_json_put_u64(&r.json, "first", job->first);
		cairn_json_put_u64(&r.json, "bytes", job->end - job->first);
		cairn_json_put_u64(&r.json, "resumed_bytes", job->resumed_bytes);
		cairn_json_put_u64(&r.json, "fetched_bytes", crew->fetched_bytes);
		cairn_json_put_bool(&r.json, "kept", kept);
		cairn_json_close(&r.json);
	} else if (kept) {
		cli_line("%s: %s, there already with this hash, nothing fetched", args->output,
			 report_size(sizes[0], job->file_bytes));
	} else {
		cli_line("%s: %s, %s fetched, %s resumed", args->output, report_size(sizes[0], job->end - job->first),
			 report_size(sizes[1], crew->fetched_bytes), report_size(sizes[2], job->resumed_bytes));
	}
	return report_end(&r, CLI_EXIT_OK);
}

/* Splits a path into its folder and the file's name. */
static enum cairn_status pull_open_folder(const char *path, int *dir_fd, const char **name, struct cairn_diag *diag)
{
	const char *slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	if (!**name)
		return cairn_fail(diag, CAIRN_E_USAGE, "file.target", CAIRN_NO_OFFSET,
				  "the target is a folder; name the file in it: %.120sNAME", path);
	char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!folder)
		return CAIRN_E_NOMEM;
	*dir_fd = cairn_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int error = errno;
	free(folder);
	if (*dir_fd < 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "file.target", CAIRN_NO_OFFSET,
				  "cannot open the folder of the target: %s", strerror(error));
	return CAIRN_OK;
}

static enum cairn_status pull_set_range(struct pull_job *job, const struct pull_args *args, struct cairn_diag *diag)
{
	uint64_t last = UINT64_MAX;
	job->end = job->file_bytes;
	if (!args->range)
		return CAIRN_OK;
	(void)pull_parse_range(args->range, &job->first, &last); /* its form was checked before */
	if (job->first >= job->file_bytes) {
		(void)cairn_fail(diag, CAIRN_E_USAGE, "option.range", CAIRN_NO_OFFSET,
				 "--range begins past the end of the file");
		cairn_diag_numbers(diag, job->file_bytes, job->first);
		return CAIRN_E_USAGE;
	}
	if (last < job->file_bytes)
		job->end = last + 1;
	return CAIRN_OK;
}

static bool pull_has(const struct pull_job *job)
{
	CLEANUP(cairn_fd_closep) int fd = pull_target_find(job, NULL);
	return fd >= 0;
}

/* Finds the length of an existing file. */
static enum cairn_status pull_find(struct pull_crew *crew, struct pull_job *job, struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status = pull_size(crew, &job->file, &job->file_bytes, &why);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(diag, status, why.rule, why.offset,
				  "%.120s; no file that you may read has this hash: `cairn ls` lists those that there "
				  "are, and `cairn info` tells whether it is of something else",
				  why.text);
	*diag = why;
	return status;
}

static int pull_one(struct pull_crew *crew, const struct pull_args *args, const char *text,
		    const struct cairn_hash *hash)
{
	CLEANUP(cairn_fd_closep) int dir_fd = -1;
	struct pull_job job = {.file = *hash, .dir_fd = -1, .force = args->force};
	struct cairn_diag diag = {0};
	enum cairn_status status = CAIRN_OK;
	if (strcmp(args->output, "-") != 0)
		status = pull_open_folder(args->output, &dir_fd, &job.name, &diag);
	job.dir_fd = dir_fd;
	if (status == CAIRN_OK)
		status = pull_find(crew, &job, &diag);
	if (status == CAIRN_OK)
		status = pull_set_range(&job, args, &diag);
	progress_init(&crew->progress, !args->quiet && !args->server.verbose, job.end - job.first, "fetched");
	crew->progress.name = job.name;
	bool kept = status == CAIRN_OK && dir_fd >= 0 && !args->range && pull_has(&job);
	if (status == CAIRN_OK && !kept)
		status = pull_file(crew, &job, &diag);
	progress_clear(&crew->progress);
	return status == CAIRN_OK ? pull_report(&job, crew, args, kept) : cli_fail(text, status, &diag);
}

static int pull_check_args(const struct cli_command *command, const struct pull_args *args, bool is_hash,
			   unsigned *jobs)
{
	uint64_t first = 0, last = UINT64_MAX, n = PULL_JOBS_DEFAULT;
	if (!args->output || !*args->output)
		return cli_usage_error(command, "say with -o where to write");
	if (args->jobs && !cairn_decimal_parse(args->jobs, 1, PULL_JOBS_MAX, &n))
		return cli_usage_error(command, "--jobs takes 1 to %d", PULL_JOBS_MAX);
	*jobs = (unsigned)n;
	if (args->range && (!is_hash || !pull_parse_range(args->range, &first, &last)))
		return cli_usage_error(command, "--range takes A-B or A-, A not after B, and goes with a hash");
	if (strcmp(args->output, "-") == 0 && (!is_hash || args->json))
		return cli_usage_error(command, "-o - takes one file, without --json");
	return CLI_RUN;
}

/* Reports an argument that is neither a hash nor a file: usually a cut hash, or a wrong name. */
static int pull_nothing(const char *what)
{
	struct cairn_diag diag = {0};
	enum { HASH_DIGITS = 2 * CAIRN_HASH_BYTES };
	size_t len = strlen(what), digits = strspn(what, "0123456789abcdefABCDEF");
	if (digits < len)
		(void)cairn_fail(&diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET,
				 "there is no such file, and it is no hash: give the %d hexadecimal digits of a file's "
				 "hash, or the file with the manifest that `cairn push DIR` printed",
				 HASH_DIGITS);
	else
		(void)cairn_fail(&diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET,
				 "a hash has %d hexadecimal digits, and this has %zu: give all of it, as `cairn push` "
				 "and `cairn ls` print it",
				 HASH_DIGITS, len);
	return cli_fail(what, CAIRN_E_NOT_FOUND, &diag);
}

static int pull_run(const struct cli_command *command, int argc, char **argv)
{
	CLEANUP(pull_crew_fini) struct pull_crew crew = {0};
	struct pull_args args = {0};
	struct cairn_hash hash;
	struct cairn_diag diag = {0};
	unsigned jobs = 0;
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&args.server), {"output", NULL, &args.output},
					     {"range", NULL, &args.range}, {"force", &args.force, NULL},
					     {"jobs", NULL, &args.jobs},   {"quiet", &args.quiet, NULL},
					     {"json", &args.json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc)
		return cli_usage_error(command, "give one hash or one manifest");
	const char *what = argv[first];
	bool is_hash = cairn_hash_parse(&hash, what, strlen(what)) == CAIRN_OK;
	end = pull_check_args(command, &args, is_hash, &jobs);
	if (end != CLI_RUN)
		return end;
	if (!is_hash && cairn_sys_access(what, F_OK) != 0 && errno == ENOENT)
		return pull_nothing(what);
	enum cairn_status status = pull_open_crew(&crew, &args, jobs, &diag);
	if (status != CAIRN_OK)
		return cli_fail("pull", status, &diag);
	if (is_hash)
		return pull_one(&crew, &args, what, &hash);
	const struct pull_folder_options folder = {
		.quiet = args.quiet || args.server.verbose, .json = args.json, .force = args.force};
	return pull_folder(&crew, what, args.output, &folder);
}

const struct cli_command CLI_PULL = {"pull", "fetch a file or a folder, checking every chunk", PULL_HELP, pull_run};
