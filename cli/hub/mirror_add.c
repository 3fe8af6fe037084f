#include "cli/hub/mirror_add.h"

#include "base/sys.h"
#include "cli/common/admin.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "cli/hub/mirror_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	ADD_BODY_BYTES_MAX = 8192,
	ADD_POLL_MS = 500,
	ADD_PLACE_BYTES = 1024,
};

struct add {
	const struct mirror_add_options *options;
	struct client *client;
	char place[ADD_PLACE_BYTES]; /* the name without the revision */
	const char *revision;        /* NULL: main */
	char path[MIRROR_PATH_BYTES];
	int64_t every_s;
};

/* How far the server has come. */
struct add_state {
	bool is_over;
	uint64_t files, files_here, bytes, bytes_here, bytes_coming, failed;
	char rule[64], why[512]; /* rule and message of the last failure */
};

bool mirror_add_is_said(const struct mirror_add_options *options)
{
	return options->every || options->include[0] || options->keeps || options->no_wait || options->is_quiet;
}

static const char *add_body(const struct add *a, struct cairn_buf *out)
{
	struct cairn_json_out w = cairn_json_out_init(out);
	cairn_json_open_object(&w, NULL);
	if (a->revision)
		cairn_json_put_text(&w, "revision", a->revision);
	if (a->options->every)
		cairn_json_put_u64(&w, "every_s", (uint64_t)a->every_s);
	cairn_json_put_bool(&w, "keep", a->options->keeps);
	cairn_json_open_array(&w, "include");
	for (const char *const *pattern = a->options->include; *pattern; pattern++)
		cairn_json_put_text(&w, NULL, *pattern);
	cairn_json_close(&w);
	cairn_json_close(&w);
	return admin_path(out);
}

static enum cairn_status add_send(const struct add *a, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(ADD_BODY_BYTES_MAX);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	const char *text = add_body(a, &body);
	return text ? admin_fetch(a->client, CLIENT_POST, a->path, text, &json, diag) : CAIRN_E_NOMEM;
}

static void add_copy(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text ? text : "");
}

static bool add_read(const struct cairn_json *repo, struct add_state *out)
{
	const struct cairn_json *ahead = cairn_json_get(repo, "ahead");
	bool is_known = cairn_json_is_object(ahead);
	/* null: nothing is fetched ahead any more */
	const char *state = is_known ? cairn_json_text_of(ahead, "state") : "done";
	const struct cairn_json *of = is_known ? ahead : repo;
	if (!state || !admin_number(of, "files", &out->files) || !admin_number(of, "files_here", &out->files_here) ||
	    !admin_number(of, "bytes", &out->bytes) || !admin_number(of, "bytes_here", &out->bytes_here) ||
	    !admin_number(of, "bytes_coming", &out->bytes_coming))
		return false;
	out->failed = 0;
	if (is_known && !admin_number(ahead, "failed", &out->failed))
		return false;
	out->is_over = strcmp(state, "done") == 0;
	add_copy(out->rule, sizeof(out->rule), is_known ? cairn_json_text_of(ahead, "rule") : NULL);
	add_copy(out->why, sizeof(out->why), is_known ? cairn_json_text_of(ahead, "message") : NULL);
	return true;
}

/* Asks the server for the state. */
static enum cairn_status add_ask(const struct add *a, struct add_state *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	char path[MIRROR_PATH_BYTES + 16];
	(void)snprintf(path, sizeof(path), "%s?limit=1", a->path);
	enum cairn_status status = admin_fetch(a->client, CLIENT_GET, path, NULL, &json, diag);
	if (status != CAIRN_OK)
		return status;
	return add_read(cairn_json_get(json, "repository"), out) ? CAIRN_OK : admin_odd_answer(diag);
}

static void add_show(struct progress *bar, const struct add_state *state)
{
	char count[64];
	(void)snprintf(count, sizeof(count), "%" PRIu64 " of %" PRIu64 " files", state->files_here, state->files);
	bar->name = count;
	bar->total_bytes = state->bytes;
	progress_draw(bar, state->bytes_here + state->bytes_coming, 0);
	bar->name = NULL;
}

/* Prints once why files do not arrive; the server keeps trying. */
static void add_say_failure(struct progress *bar, const struct add_state *state, bool *is_said)
{
	if (*is_said || state->is_over || state->failed == 0 || !state->rule[0])
		return;
	*is_said = true;
	progress_clear(bar);
	cli_note("files fail, and the server tries again: %s [%s]", state->why, state->rule);
}

static enum cairn_status add_wait(const struct add *a, struct add_state *state, struct cairn_diag *diag)
{
	struct progress bar;
	bool is_said = false;
	progress_say_if_interrupted(
		"cairn: interrupted; the server goes on with it: cairn mirror show says how far it is\n");
	progress_init(&bar, !a->options->is_quiet, 0, NULL);
	enum cairn_status status;
	while ((status = add_ask(a, state, diag)) == CAIRN_OK && !state->is_over) {
		add_show(&bar, state);
		add_say_failure(&bar, state, &is_said);
		cairn_sys_sleep_ms(ADD_POLL_MS);
	}
	progress_clear(&bar);
	return status;
}

static int add_report(const struct add *a, const struct add_state *state, bool is_json)
{
	char here[REPORT_SIZE_BYTES], all[REPORT_SIZE_BYTES];
	bool is_good = !state->is_over || (state->files_here == state->files && state->failed == 0);
	int code = is_good ? CLI_EXIT_OK : CLI_EXIT_DATA;
	struct report r;
	if (!is_good)
		cli_error("%s: %" PRIu64 " of %" PRIu64 " files are here%s%s%s%s%s", a->place, state->files_here,
			  state->files, state->why[0] ? ": " : "", state->why, state->rule[0] ? " [" : "", state->rule,
			  state->rule[0] ? "]" : "");
	report_init(&r, is_json);
	if (is_json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "repository", a->place);
		cairn_json_put_bool(&r.json, "done", state->is_over);
		cairn_json_put_u64(&r.json, "files", state->files);
		cairn_json_put_u64(&r.json, "bytes", state->bytes);
		cairn_json_put_u64(&r.json, "files_here", state->files_here);
		cairn_json_put_u64(&r.json, "bytes_here", state->bytes_here);
		cairn_json_put_u64(&r.json, "failed", state->failed);
		cairn_json_put_text(&r.json, "rule", state->rule[0] ? state->rule : NULL);
		cairn_json_put_text(&r.json, "message", state->why[0] ? state->why : NULL);
		cairn_json_close(&r.json);
	} else if (is_good) {
		cli_line("%s: %" PRIu64 " of %" PRIu64 " files, %s of %s%s", a->place, state->files_here, state->files,
			 report_size(here, state->bytes_here), report_size(all, state->bytes),
			 state->is_over ? "" : "; the server fetches the others");
	}
	return report_end(&r, code);
}

static int add_run(struct add *a, const struct server_options *server, bool is_json)
{
	CLEANUP(client_freep) struct client *client = NULL;
	struct add_state state = {.is_over = false};
	struct cairn_diag diag = {0};
	enum cairn_status status = server_options_open(server, &client, &diag);
	a->client = client;
	if (status == CAIRN_OK)
		status = add_send(a, &diag);
	if (status == CAIRN_OK)
		status = a->options->no_wait ? add_ask(a, &state, &diag) : add_wait(a, &state, &diag);
	return status == CAIRN_OK ? add_report(a, &state, is_json) : cli_fail(a->place, status, &diag);
}

int mirror_add(const struct cli_command *command, const struct server_options *server, const char *place,
	       const struct mirror_add_options *options, bool is_json)
{
	struct add a = {.options = options};
	if (snprintf(a.place, sizeof(a.place), "%s", place) >= (int)sizeof(a.place))
		return cli_usage_error(command, MIRROR_PLACE_EXPECTED, place);
	char *at = strchr(a.place, '@');
	if (at) {
		*at = '\0';
		a.revision = at + 1;
	}
	if (!mirror_place_path(a.path, a.place, "") || (at && !a.revision[0]))
		return cli_usage_error(command, MIRROR_PLACE_EXPECTED, place);
	if (options->every &&
	    (!cli_parse_seconds(options->every, &a.every_s) || a.every_s < 60 || a.every_s > INT64_C(365) * 86400))
		return cli_usage_error(command, "--every is a time like 15m, 1h or 30d, from 1m to 365d, not \"%s\"",
				       options->every);
	return add_run(&a, server, is_json);
}
