#include "cli/common/admin.h"

#include "base/json_text.h"
#include "base/percent.h"
#include "base/visible.h"
#include "cli/common/cli.h"

#include <stdio.h>
#include <string.h>

enum { ADMIN_ANSWER_BYTES_MAX = 16 * 1024 * 1024, ADMIN_TEXT_BYTES_MAX = 4096 };

static int admin_print(const struct admin_call *call, const struct cairn_buf *answer)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	bool parsed = client_json(&json, answer) == CAIRN_OK;
	if (!parsed || !cairn_json_is_object(json)) {
		cli_error("%s: the server's answer cannot be understood: is %s a server of another kind?",
			  call->subject, call->path);
		return CLI_EXIT_UNAVAILABLE;
	}
	if (call->json) {
		CLEANUP(cairn_buf_fini) struct cairn_buf shown = cairn_buf_init(UINT64_C(4) * ADMIN_ANSWER_BYTES_MAX);
		cairn_visible_json(&shown, (const char *)answer->bytes, answer->len);
		if (shown.status != CAIRN_OK)
			return cli_fail(call->subject, shown.status, &(struct cairn_diag){0});
		cli_json_begun();
		(void)fwrite(shown.bytes, 1, shown.len, stdout);
		if (answer->bytes[answer->len - 1] != '\n')
			(void)fputs("\n", stdout);
	} else if (!call->show(json)) {
		cli_error("%s: the server's answer lacks something; it may be older than this program, see --json",
			  call->subject);
		return CLI_EXIT_UNAVAILABLE;
	}
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_EXIT_OK;
	cli_error("cannot write to standard output");
	return CLI_EXIT_IO;
}

int admin_ask(const struct admin_call *call)
{
	CLEANUP(client_freep) struct client *client = NULL;
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(ADMIN_ANSWER_BYTES_MAX);
	struct cairn_diag diag = {0};
	enum cairn_status status = call->path ? server_options_open(call->server, &client, &diag) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK && !call->takes_long)
		client_hurry(client);
	if (status == CAIRN_OK)
		status = client_request(client, call->method, call->path, (const uint8_t *)call->body,
					call->body ? strlen(call->body) : 0, &answer, &diag);
	return status == CAIRN_OK ? admin_print(call, &answer) : cli_fail(call->subject, status, &diag);
}

enum cairn_status admin_odd_answer(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
			  "the server's answer cannot be understood: is the server older than this program?");
}

enum cairn_status admin_fetch(struct client *client, enum client_method method, const char *path, const char *body,
			      struct cairn_json **out, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(ADMIN_ANSWER_BYTES_MAX);
	enum cairn_status status =
		client_request(client, method, path, (const uint8_t *)body, body ? strlen(body) : 0, &answer, diag);
	if (status != CAIRN_OK)
		return status;
	return client_json(out, &answer) == CAIRN_OK ? CAIRN_OK : admin_odd_answer(diag);
}

void admin_add_arg(struct cairn_buf *path, const char *name, const char *value)
{
	if (!value)
		return;
	cairn_buf_printf(path, "%c%s=", memchr(path->bytes, '?', path->len) ? '&' : '?', name);
	cairn_percent_add(path, value, CAIRN_PERCENT_PATH);
}

const char *admin_path(struct cairn_buf *path)
{
	cairn_buf_add(path, "", 1);
	return path->status == CAIRN_OK ? (const char *)path->bytes : NULL;
}

bool admin_number(const struct cairn_json *object, const char *name, uint64_t *out)
{
	int64_t number = -1;
	if (!cairn_json_i64_of(object, name, &number) || number < 0)
		return false;
	*out = (uint64_t)number;
	return true;
}

void admin_print_text(const char *text)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(UINT64_C(8) * ADMIN_TEXT_BYTES_MAX);
	cairn_json_text(&b, text ? text : "", ADMIN_TEXT_BYTES_MAX);
	if (b.status == CAIRN_OK)
		(void)fwrite(b.bytes, 1, b.len, stdout);
}

const char *admin_time(char out[static ADMIN_TIME_BYTES], int64_t unix_s)
{
	if (!cairn_time_text(out, unix_s)[0])
		(void)snprintf(out, ADMIN_TIME_BYTES, "?");
	return out;
}
