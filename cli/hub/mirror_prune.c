#include "cli/hub/mirror_prune.h"

#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <stdio.h>

struct prune {
	uint64_t evicted, bytes, left_bytes;
	bool more;
};

static enum cairn_status prune_ask(struct client *client, const char *path, bool has_left, struct prune *out,
				   struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	uint64_t evicted, bytes;
	enum cairn_status status = admin_fetch(client, CLIENT_POST, path, NULL, &json, diag);
	if (status != CAIRN_OK)
		return status;
	if (!admin_number(json, "evicted", &evicted) || !admin_number(json, "bytes", &bytes) ||
	    !cairn_json_bool_of(json, "more", &out->more) ||
	    (has_left && !admin_number(json, "left_bytes", &out->left_bytes)) || (out->more && evicted == 0))
		return admin_odd_answer(diag);
	out->evicted += evicted;
	out->bytes += bytes;
	return CAIRN_OK;
}

static int prune_report(const char *subject, const struct prune *p, bool has_left, uint64_t to_bytes, bool is_json)
{
	bool too_much = has_left && p->left_bytes > to_bytes;
	char size[REPORT_SIZE_BYTES], left[REPORT_SIZE_BYTES];
	int code = too_much ? CLI_EXIT_DATA : CLI_EXIT_OK;
	struct report r;
	if (too_much)
		cli_error("%s: %s are left: kept files, files that repositories of this server have, too, and what "
			  "is not in files of the store",
			  subject, report_size(left, p->left_bytes));
	report_init(&r, is_json);
	if (is_json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_u64(&r.json, "evicted", p->evicted);
		cairn_json_put_u64(&r.json, "bytes", p->bytes);
		if (has_left)
			cairn_json_put_u64(&r.json, "left_bytes", p->left_bytes);
		cairn_json_close(&r.json);
	} else {
		cli_line("evicted %" PRIu64 " %s, %s", p->evicted, p->evicted == 1 ? "file" : "files",
			 report_size(size, p->bytes));
	}
	return report_end(&r, code);
}

int mirror_prune(const struct server_options *server, const char *subject, const char *path, uint64_t to_bytes,
		 bool is_json)
{
	CLEANUP(client_freep) struct client *client = NULL;
	struct prune p = {.more = true};
	struct cairn_diag diag = {0};
	bool has_left = to_bytes != UINT64_MAX;
	enum cairn_status status = server_options_open(server, &client, &diag);
	while (status == CAIRN_OK && p.more)
		status = prune_ask(client, path, has_left, &p, &diag);
	return status == CAIRN_OK ? prune_report(subject, &p, has_left, to_bytes, is_json)
				  : cli_fail(subject, status, &diag);
}
