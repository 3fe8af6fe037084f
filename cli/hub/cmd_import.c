/* cairn import: fills a repository of a hub from local files. */
#include "base/decimal.h"
#include "cli/hub/import_snapshot.h"
#include "cli/push/senders.h"
#include "hub/revision.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char IMPORT_HELP[] = "Usage: cairn import [OPTION]... DIR TEAM/NAME\n"
				  "Fill a repository of a hub from local files. The repository is made if it does\n"
				  "not exist. A folder becomes one commit. From the cache of huggingface_hub each\n"
				  "snapshot becomes a commit. DIR is the folder, or the cache\n"
				  "(~/.cache/huggingface/hub), or the folder of one repository in the cache\n"
				  "(models--TEAM--NAME). The token is an API key that may write to the repository.\n"
				  "\n"
				  "      --type TYPE        model, dataset, space or kernel (default model)\n"
				  "      --revision BRANCH  branch to commit to (default main); it is made if it\n"
				  "                         does not exist\n"
				  "      --private          make the repository private; an existing public one is\n"
				  "                         refused\n"
				  "      --force            let a cache replace all files of the branch, whoever\n"
				  "                         made them\n"
				  "      --message TEXT     title of the commits\n"
				  "  -j, --jobs N           xorbs sent at once (default 4, at most 16); each takes\n"
				  "                         up to 64 MiB of memory\n"
				  "  -q, --quiet            no progress bar\n" SERVER_OPTIONS_HELP
				  "      --json             one JSON object, for programs\n"
				  "  -h, --help             this help\n"
				  "\n"
				  "The snapshot that a cache calls main is committed to the branch. Each other\n"
				  "snapshot gets a tag, named as in the cache, else snapshot-ID. With an operator's\n"
				  "key commits keep their ids, so that pinned revisions are found; with other keys\n"
				  "they get new ids. A cache has only the files that were downloaded, and no\n"
				  "messages of commits. Snapshots that were imported before are left out. A branch\n"
				  "whose last commit did not come from this cache is refused.\n"
				  "\n"
				  "Examples:\n"
				  "  cairn import ./folder ann/cats\n"
				  "  cairn import --type dataset ~/.cache/huggingface/hub ann/table\n"
				  "\n"
				  "Exit codes: 0 done, 64 usage, 65 refused by the server, or a damaged cache,\n"
				  "66 a file or folder cannot be read, 69 server unavailable, 74 a file cannot be\n"
				  "read, 77 not permitted.\n";

static const struct {
	const char *type, *segment;
} IMPORT_TYPES[] = {{"model", "models"}, {"dataset", "datasets"}, {"space", "spaces"}, {"kernel", "kernels"}};
enum { IMPORT_TYPES_N = sizeof(IMPORT_TYPES) / sizeof(IMPORT_TYPES[0]) };

static void import_report_totals(struct report *r, const struct import_repo *repo)
{
	if (r->is_json) {
		cairn_json_put_u64(&r->json, "files", repo->n_files);
		cairn_json_put_u64(&r->json, "ignored", repo->n_ignored);
		cairn_json_put_u64(&r->json, "bytes", repo->bytes);
		cairn_json_put_u64(&r->json, "sent_bytes", repo->sent_bytes);
		cairn_json_close(&r->json);
		return;
	}
	char sizes[2][REPORT_SIZE_BYTES];
	cli_line("%s%s: %" PRIu64 " %s, %s; %s sent", repo->made ? "made " : "", repo->id, repo->n_files,
		 repo->n_files == 1 ? "file" : "files", report_size(sizes[0], repo->bytes),
		 report_size(sizes[1], repo->sent_bytes));
}

static void import_fini(struct import *im)
{
	import_source_fini(&im->source);
	import_repo_fini(&im->repo);
}

static enum cairn_status import_all(struct import *im, struct cairn_diag *diag)
{
	enum cairn_status status =
		import_source_read(&im->source, im->args->folder, im->repo.segment, im->repo.id, diag);
	if (status == CAIRN_OK)
		status = import_check_all(im, diag);
	if (status == CAIRN_OK)
		status = import_repo_open(&im->repo, diag);
	if (status == CAIRN_OK)
		status = import_check_branch(im, diag);
	if (status != CAIRN_OK)
		return status;
	report_init(&im->report, im->args->json);
	if (im->args->json) {
		cairn_json_open_object(&im->report.json, NULL);
		cairn_json_put_text(&im->report.json, "repository", im->repo.id);
		cairn_json_put_text(&im->report.json, "type", im->repo.type);
		cairn_json_put_bool(&im->report.json, "made", im->repo.made);
		cairn_json_open_array(&im->report.json, "commits");
	}
	for (size_t i = 0; i < im->source.n && status == CAIRN_OK; i++)
		status = import_one(im, &im->source.snapshots[i], diag);
	return status;
}

/* Reports the result, even after a failure; JSON includes the failure. */
static int import_run_with(const struct import_args *args, struct import *im)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = import_all(im, &diag);
	bool begun = im->report.buf.max > 0;
	int code = status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(args->folder, status, &diag);
	/* Keep the repository: uploaded files belong to it, and need not be sent again. */
	if (status != CAIRN_OK && im->repo.made)
		cli_error("%s was made for this import and is not complete: run the same command again to "
			  "continue, or delete the repository",
			  im->repo.id);
	if (!begun)
		return code;
	if (args->json) {
		cairn_json_close(&im->report.json);
		if (status != CAIRN_OK)
			report_error(&im->report, args->folder, status, &diag, code);
	}
	if (status == CAIRN_OK || args->json)
		import_report_totals(&im->report, &im->repo);
	return report_end(&im->report, code);
}

static bool import_is_repository(const char *text)
{
	static const char GOOD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t team = strspn(text, GOOD);
	return team > 0 && team <= 96 && text[team] == '/' && text[team + 1] && strlen(text + team + 1) <= 96 &&
	       text[team + 1 + strspn(text + team + 1, GOOD)] == '\0';
}

static int import_check(const struct cli_command *command, struct import_args *args, struct import *im)
{
	uint64_t jobs = SENDERS_DEFAULT;
	if (args->jobs_text && !cairn_decimal_parse(args->jobs_text, 1, SENDERS_MAX, &jobs))
		return cli_usage_error(command, "--jobs takes 1 to %d", SENDERS_MAX);
	for (size_t i = 0; i < IMPORT_TYPES_N; i++) {
		if (strcmp(IMPORT_TYPES[i].type, args->type ? args->type : "model") != 0)
			continue;
		im->repo.type = IMPORT_TYPES[i].type;
		im->repo.segment = IMPORT_TYPES[i].segment;
	}
	if (!im->repo.type)
		return cli_usage_error(command, "--type takes model, dataset, space or kernel");
	if (!import_is_repository(im->repo.id))
		return cli_usage_error(command, "\"%s\" is not the TEAM/NAME of a repository", im->repo.id);
	if (args->message && !*args->message)
		return cli_usage_error(command, "--message is empty; leave it out for a title of its own");
	args->revision = args->revision ? args->revision : "main";
	if (!cairn_hub_ref_is_good(args->revision))
		return cli_usage_error(command, "\"%s\" is no name of a branch", args->revision);
	im->repo.jobs = (unsigned)jobs;
	return CLI_RUN;
}

static int import_run(const struct cli_command *command, int argc, char **argv)
{
	struct import_args args = {0};
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&args.server),        {"type", NULL, &args.type},   {"revision", NULL, &args.revision},
		{"private", &args.is_private, NULL}, {"force", &args.force, NULL}, {"message", NULL, &args.message},
		{"jobs", NULL, &args.jobs_text},     {"quiet", &args.quiet, NULL}, {"json", &args.json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (argc - first != 2)
		return cli_usage_error(command, "name a folder, and the repository that it fills");
	args.folder = argv[first];
	CLEANUP(import_fini)
	struct import im = {.args = &args,
			    .repo = {.server = &args.server, .id = argv[first + 1], .is_private = args.is_private}};
	end = import_check(command, &args, &im);
	return end == CLI_RUN ? import_run_with(&args, &im) : end;
}

const struct cli_command CLI_IMPORT = {"import", "fill a repository of a hub from local files", IMPORT_HELP,
				       import_run};
