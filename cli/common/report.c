#include "cli/common/report.h"

#include "cli/common/cli.h"

#include <inttypes.h>
#include <stdio.h>

enum { REPORT_RECORD_BYTES_MAX = 1024 * 1024 };

void report_init(struct report *r, bool is_json)
{
	if (is_json)
		cli_json_begun();
	r->is_json = is_json;
	r->buf = cairn_buf_init(REPORT_RECORD_BYTES_MAX);
	/* The writer borrows the buffer, so r must not move from here on. */
	r->json = cairn_json_out_init(&r->buf);
}

void report_flush(struct report *r)
{
	if (r->buf.len > 0)
		(void)fwrite(r->buf.bytes, 1, r->buf.len, stdout);
	r->buf.len = 0;
}

int report_end(struct report *r, int code)
{
	report_flush(r);
	if (r->is_json)
		(void)fputs("\n", stdout);
	bool written = fflush(stdout) == 0 && !ferror(stdout) && r->buf.status == CAIRN_OK;
	cairn_buf_fini(&r->buf);
	if (written || code != CLI_EXIT_OK)
		return code;
	cli_error("cannot write to standard output");
	return CLI_EXIT_IO;
}

void report_hash(struct report *r, const char *name, const struct cairn_hash *hash)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	cairn_json_put_text(&r->json, name, text);
}

void report_status(struct report *r, const char *name, enum cairn_status status, const struct cairn_diag *diag)
{
	struct cairn_json_out *w = &r->json;
	cairn_json_open_object(w, name);
	cairn_json_put_text(w, "status", cairn_status_name(status));
	cairn_json_put_text(w, "rule", diag->rule);
	cairn_json_put_text(w, "message", diag->text);
	if (diag->has_offset)
		cairn_json_put_u64(w, "offset", diag->offset);
	if (diag->expected[0])
		cairn_json_put_text(w, "expected", diag->expected);
	if (diag->actual[0])
		cairn_json_put_text(w, "actual", diag->actual);
	cairn_json_close(w);
}

void report_error(struct report *r, const char *subject, enum cairn_status status, const struct cairn_diag *diag,
		  int exit_code)
{
	report_status(r, "error", status, diag);
	if (subject[0])
		cairn_json_put_text(&r->json, "subject", subject);
	cairn_json_put_u64(&r->json, "exit_code", (uint64_t)exit_code);
}

/* Returns a status with this exit code, for failures that have no status. */
static enum cairn_status report_status_of(int code)
{
	static const enum cairn_status LIKELY[] = {CAIRN_E_USAGE,    CAIRN_E_FORMAT, CAIRN_E_NOT_FOUND, CAIRN_E_BUSY,
						   CAIRN_E_CONFLICT, CAIRN_E_IO,     CAIRN_E_DENIED};
	for (size_t i = 0; i < sizeof(LIKELY) / sizeof(LIKELY[0]); i++)
		if (cli_exit_of(LIKELY[i]) == code)
			return LIKELY[i];
	return CAIRN_E_NOMEM;
}

void report_failure(int code)
{
	const struct cli_failure *last = cli_last_failure();
	enum cairn_status status = last->status != CAIRN_OK ? last->status : report_status_of(code);
	struct cairn_diag diag = last->diag;
	struct report r;
	if (code == CLI_EXIT_OK || last->json_begun || !last->reported)
		return;
	if (!diag.rule && !diag.text[0])
		(void)snprintf(diag.text, sizeof(diag.text), "%s", cairn_status_name(status));
	report_init(&r, true);
	cairn_json_open_object(&r.json, NULL);
	report_error(&r, last->subject, status, &diag, code);
	cairn_json_close(&r.json);
	(void)report_end(&r, code);
}

const char *report_size(char out[static REPORT_SIZE_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	if (bytes < 1024) {
		(void)snprintf(out, REPORT_SIZE_BYTES, "%" PRIu64 " bytes", bytes);
		return out;
	}
	size_t unit = 0;
	uint64_t unit_bytes = 1024;
	while (bytes / unit_bytes >= 1024) {
		unit_bytes *= 1024;
		unit++;
	}
	(void)snprintf(out, REPORT_SIZE_BYTES, "%.1f %s", (double)bytes / (double)unit_bytes, units[unit]);
	return out;
}
