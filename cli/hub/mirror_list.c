#include "cli/hub/mirror_list.h"

#include "cli/common/admin.h"
#include "cli/common/listing.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Prints "models/far/model: 2 of 12 files, 1.0 MiB of 5.0 GiB, …" */
static bool list_print_line(const struct cairn_json *repo)
{
	const char *type = cairn_json_text_of(repo, "type"), *name = cairn_json_text_of(repo, "name");
	const char *state = cairn_json_text_of(repo, "state");
	char here[REPORT_SIZE_BYTES], all[REPORT_SIZE_BYTES], when[ADMIN_TIME_BYTES];
	uint64_t files, files_here, bytes, bytes_here, looked;
	bool kept;
	if (!type || !name || !state || !admin_number(repo, "files", &files) ||
	    !admin_number(repo, "files_here", &files_here) || !admin_number(repo, "bytes", &bytes) ||
	    !admin_number(repo, "bytes_here", &bytes_here) || !admin_number(repo, "looked", &looked) ||
	    !cairn_json_bool_of(repo, "kept", &kept))
		return false;
	cli_line("%s/%s: %" PRIu64 " of %" PRIu64 " files, %s of %s, main as of %s%s%s%s", type, name, files_here,
		 files, report_size(here, bytes_here), report_size(all, bytes), admin_time(when, (int64_t)looked),
		 kept ? ", kept" : "", strcmp(state, "there") != 0 ? ", upstream: " : "",
		 strcmp(state, "there") != 0 ? state : "");
	return true;
}

static bool list_print_repo(struct report *r, const struct cairn_json *row)
{
	if (!r->is_json)
		return list_print_line(row);
	cairn_json_put_value(&r->json, NULL, row);
	return true;
}

int mirror_list(const struct cli_command *command, const struct server_options *server, const char *limit, bool is_json)
{
	const struct listing list = {.command = "mirror",
				     .path = "/v1/mirror/repositories",
				     .name = "repositories",
				     .limit = limit,
				     .is_json = is_json,
				     .print = list_print_repo};
	return listing_run(command, server, &list);
}

static bool show_begin(struct report *r, const struct cairn_json *page)
{
	const struct cairn_json *repo = cairn_json_get(page, "repository");
	if (!r->is_json)
		return list_print_line(repo);
	cairn_json_put_value(&r->json, "repository", repo);
	return true;
}

/* Formats the state of a file, such as "part 1.0 MiB" or "failed". */
static void show_state(char *out, size_t size, const char *state, uint64_t bytes_here)
{
	char here[REPORT_SIZE_BYTES];
	bool has_part = bytes_here > 0 && strcmp(state, "here") != 0;
	(void)snprintf(out, size, "%s%s%s", state, has_part ? " " : "", has_part ? report_size(here, bytes_here) : "");
}

static bool show_print_line(const struct cairn_json *file)
{
	const char *path = cairn_json_text_of(file, "path"), *state = cairn_json_text_of(file, "state");
	const char *rule = cairn_json_text_of(file, "rule"), *message = cairn_json_text_of(file, "message");
	char size[REPORT_SIZE_BYTES], how[64], when[ADMIN_TIME_BYTES];
	uint64_t bytes, bytes_here, until = 0;
	if (!path || !state || !admin_number(file, "size", &bytes) || !admin_number(file, "bytes_here", &bytes_here))
		return false;
	show_state(how, sizeof(how), state, bytes_here);
	bool failed = rule && message && admin_number(file, "until", &until);
	if (failed)
		cli_line("%-18s %10s  %s: %s [%s], until %s", how, report_size(size, bytes), path, message, rule,
			 admin_time(when, (int64_t)until));
	else
		cli_line("%-18s %10s  %s", how, report_size(size, bytes), path);
	return true;
}

static bool show_print_file(struct report *r, const struct cairn_json *row)
{
	if (!r->is_json)
		return show_print_line(row);
	cairn_json_put_value(&r->json, NULL, row);
	return true;
}

int mirror_show(const struct cli_command *command, const struct server_options *server, const char *path,
		const char *limit, bool is_json)
{
	const struct listing list = {.command = "mirror",
				     .path = path,
				     .name = "files",
				     .limit = limit,
				     .is_json = is_json,
				     .begin = show_begin,
				     .print = show_print_file};
	return listing_run(command, server, &list);
}
