/* cairn pack create, and cairn pack list without a file: the requests to a server. */
#include "base/sys.h"
#include "cli/archive/pack.h"
#include "cli/common/admin.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "store/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PACK_ASK_EVERY_MS = 200 };

static bool pack_show_one(const struct cairn_json *pack)
{
	uint64_t bytes, objects;
	char size[REPORT_SIZE_BYTES];
	const char *name = cairn_json_text_of(pack, "name"), *fault = cairn_json_text_of(pack, "fault");
	if (!name || !admin_number(pack, "bytes", &bytes) || !admin_number(pack, "objects", &objects))
		return false;
	(void)printf("%10" PRIu64 " xorbs %12s  ", objects, report_size(size, bytes));
	admin_print_text(name);
	if (fault) {
		(void)fputs("  not served: ", stdout);
		cli_put_text(stdout, fault);
	}
	(void)fputs("\n", stdout);
	return true;
}

/* Shows the progress of a running packing. */
static bool pack_show_job(const struct cairn_json *job)
{
	bool running, durable;
	uint64_t xorbs, moved;
	const char *name = cairn_json_text_of(job, "name");
	if (!name || !admin_number(job, "xorbs", &xorbs) || !admin_number(job, "moved", &moved) ||
	    !cairn_json_bool_of(job, "running", &running) || !cairn_json_bool_of(job, "durable", &durable))
		return false;
	if (!running)
		return true;
	admin_print_text(name);
	if (durable)
		(void)printf(": %" PRIu64 " of %" PRIu64 " xorbs have left the object folder\n", moved, xorbs);
	else
		(void)printf(": %" PRIu64 " xorbs packed so far\n", xorbs);
	return true;
}

static bool pack_show_list(const struct cairn_json *json)
{
	const struct cairn_json *packs = cairn_json_get(json, "packs");
	if (!cairn_json_is_array(packs))
		return false;
	for (size_t i = 0; i < cairn_json_count(packs); i++)
		if (!pack_show_one(cairn_json_at(packs, i)))
			return false;
	return pack_show_job(cairn_json_get(json, "job"));
}

int pack_list_server(const struct pack_args *args)
{
	const struct admin_call call = {.server = &args->server,
					.subject = "pack",
					.method = CLIENT_GET,
					.path = "/v1/packs",
					.json = args->json,
					.show = pack_show_list};
	return admin_ask(&call);
}

/* The state of the server's job, from an answer. */
struct pack_job {
	uint64_t id, total_bytes, bytes, xorbs, moved;
	bool running, durable;
	char code[80];
	char message[256]; /* empty: the job succeeded */
};

static enum cairn_status pack_begin(struct client *client, const char *path, uint64_t *id, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	enum cairn_status status = admin_fetch(client, CLIENT_POST, path, NULL, &json, diag);
	if (status != CAIRN_OK)
		return status;
	return admin_number(json, "job", id) ? CAIRN_OK : admin_odd_answer(diag);
}

static enum cairn_status pack_ask(struct client *client, struct pack_job *job, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	enum cairn_status status = admin_fetch(client, CLIENT_GET, "/v1/packs", NULL, &json, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_json *j = cairn_json_get(json, "job");
	*job = (struct pack_job){0};
	if (!admin_number(j, "id", &job->id) || !admin_number(j, "total_bytes", &job->total_bytes) ||
	    !admin_number(j, "bytes", &job->bytes) || !admin_number(j, "xorbs", &job->xorbs) ||
	    !admin_number(j, "moved", &job->moved) || !cairn_json_bool_of(j, "running", &job->running) ||
	    !cairn_json_bool_of(j, "durable", &job->durable))
		return admin_odd_answer(diag);
	const char *code = cairn_json_text_of(j, "code"), *message = cairn_json_text_of(j, "message");
	(void)snprintf(job->code, sizeof(job->code), "%s", code ? code : "");
	(void)snprintf(job->message, sizeof(job->message), "%s", message ? message : "");
	return CAIRN_OK;
}

/* Polls until the pack is durable or the job has ended. The server goes on without polling, too. Removing the packed
 * xorbs from the object folder may take much longer than packing them. */
static enum cairn_status pack_wait(struct client *client, uint64_t id, bool quiet, struct pack_job *job,
				   struct cairn_diag *diag)
{
	struct progress progress;
	enum cairn_status status;
	progress_init(&progress, !quiet, 0, "packed");
	do {
		status = pack_ask(client, job, diag);
		if (status == CAIRN_OK && job->id != id)
			status = cairn_fail(
				diag, CAIRN_E_BUSY, "pack.running", CAIRN_NO_OFFSET,
				"the server was started anew or has begun another packing; see cairn pack list");
		progress.total_bytes = job->total_bytes;
		progress_draw(&progress, job->bytes, job->bytes);
		if (status == CAIRN_OK && job->running && !job->durable)
			cairn_sys_sleep_ms(PACK_ASK_EVERY_MS);
	} while (status == CAIRN_OK && job->running && !job->durable);
	progress_clear(&progress);
	return status;
}

/* Prints the server's message, and returns the exit code for its rule. */
static int pack_refused(const char *name, const struct pack_job *job)
{
	static const struct {
		const char *code;
		int exit;
	} codes[] = {
		{"pack.name", CLI_EXIT_USAGE},          {"pack.none", CLI_EXIT_USAGE},
		{"pack.exists", CLI_EXIT_CANT_CREATE},  {"pack.many", CLI_EXIT_CANT_CREATE},
		{"disk.reserve", CLI_EXIT_CANT_CREATE},
	};
	cli_error("%s: %s [%s]", name, job->message, job->code);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(codes[i].code, job->code) == 0)
			return codes[i].exit;
	return CLI_EXIT_UNAVAILABLE;
}

static int pack_print_made(const struct pack_args *args, const char *name, const struct pack_job *job)
{
	struct report r;
	char size[REPORT_SIZE_BYTES];
	report_init(&r, args->json);
	if (args->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "name", name);
		cairn_json_put_u64(&r.json, "xorbs", job->xorbs);
		cairn_json_put_u64(&r.json, "bytes", job->bytes);
		cairn_json_put_u64(&r.json, "moved", job->moved);
		cairn_json_close(&r.json);
	} else if (job->xorbs == 0) {
		(void)puts("nothing to pack; no pack was made");
	} else {
		cli_line("%s: %" PRIu64 " xorbs of %s", name, job->xorbs, report_size(size, job->bytes));
		if (job->running)
			(void)puts("the server removes them from the object folder in the background");
	}
	return report_end(&r, CLI_EXIT_OK);
}

int pack_create(const struct cli_command *command, const struct pack_args *args, const char *name)
{
	CLEANUP(client_freep) struct client *client = NULL;
	CLEANUP(cairn_buf_fini) struct cairn_buf path = cairn_buf_init(4096);
	struct cairn_diag diag = {0};
	struct pack_job job = {0};
	uint64_t id = 0;
	int64_t age_s = 0;
	char age[24];
	if (args->older_than && !cli_parse_seconds(args->older_than, &age_s))
		return cli_usage_error(command, "--older-than is a time like 90s, 15m, 1h or 30d, not \"%s\"",
				       args->older_than);
	if (!cairn_store_is_pack_name(name))
		return cli_usage_error(command, "\"%s\" is no name for a pack, which ends in .shard and has no folder",
				       name);
	(void)snprintf(age, sizeof(age), "%" PRId64, age_s);
	cairn_buf_printf(&path, "/v1/packs");
	admin_add_arg(&path, "name", name);
	admin_add_arg(&path, "older_than_s", age);
	const char *target = admin_path(&path);
	if (!target)
		return cli_usage_error(command, "the name is too long");
	enum cairn_status status = server_options_open(&args->server, &client, &diag);
	if (status == CAIRN_OK)
		status = pack_begin(client, target, &id, &diag);
	if (status == CAIRN_OK)
		status = pack_wait(client, id, args->quiet || args->json || args->server.verbose, &job, &diag);
	if (status != CAIRN_OK)
		return cli_fail(name, status, &diag);
	return job.message[0] ? pack_refused(name, &job) : pack_print_made(args, name, &job);
}
