/* JSON texts, one on each line, for every reader of JSON: a token's settings, telemetry, and the command. The command
 * reads manifests and plans of a server that may lie. */
#include "base/json.h"
#include "base/json_text.h"
#include "cli/common/manifest.h"
#include "cli/pull/pull_plan.h"
#include "fuzz/fuzz.h"

/* Checks that a text that was read can be written and read again. */
static void ndjson_text(const char *text)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(1 << 20);
	CLEANUP(cairn_json_freep) struct cairn_json *again = NULL;
	struct cairn_json_out w = cairn_json_out_init(&out);
	cairn_json_open_array(&w, NULL);
	cairn_json_put_text(&w, NULL, text);
	cairn_json_close(&w);
	fuzz_must(out.status == CAIRN_OK);
	fuzz_must(cairn_json_parse(&again, (const char *)out.bytes, out.len) == CAIRN_OK);
	fuzz_must(strcmp(cairn_json_string(cairn_json_at(again, 0)), text) == 0);
}

static void ndjson_walk(const struct cairn_json *value)
{
	int64_t number;
	bool flag;
	if (!value)
		return;
	if (cairn_json_string(value))
		ndjson_text(cairn_json_string(value));
	fuzz_must(!cairn_json_bool(value, &flag) || !cairn_json_i64(value, &number));
	for (size_t i = 0; i < cairn_json_count(value); i++)
		ndjson_walk(cairn_json_at(value, i));
	for (size_t i = 0; i < 4; i++)
		ndjson_walk(cairn_json_get(value, (const char *[]){"event", "metrics", "files", "error"}[i]));
}

/* Checks that an accepted manifest stays within its folder, and is the same after writing and reading. */
static void ndjson_manifest(const uint8_t *bytes, size_t len)
{
	CLEANUP(manifest_fini) struct manifest m = {0};
	CLEANUP(manifest_fini) struct manifest again = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = manifest_read(&m, bytes, len, &diag);
	fuzz_must(status == CAIRN_OK || diag.rule);
	if (status != CAIRN_OK)
		return;
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(1 << 24);
	manifest_write(&out, &m);
	fuzz_must(out.status == CAIRN_OK && manifest_read(&again, out.bytes, out.len, NULL) == CAIRN_OK);
	fuzz_must(again.n == m.n);
	for (size_t i = 0; i < m.n; i++) {
		const char *path = m.files[i].path;
		fuzz_must(manifest_path_is_safe(path) && path[0] != '/' && m.files[i].mode <= 0777);
		fuzz_must(strncmp(path, "../", 3) != 0 && !strstr(path, "/../") && strcmp(path, "..") != 0);
		fuzz_must(strcmp(path, again.files[i].path) == 0);
	}
}

static void ndjson_plan(const uint8_t *bytes, size_t len)
{
	CLEANUP(pull_plan_fini) struct pull_plan plan = {0};
	if (pull_plan_parse(&plan, bytes, len, 0, 30000, 30000, NULL) != CAIRN_OK)
		return;
	fuzz_must(plan.at == 0 && plan.end >= 30000 && plan.n_chunks <= PULL_PLAN_CHUNKS_MAX);
	for (size_t i = 0; i < plan.n_terms; i++)
		fuzz_must(plan.terms[i].start < plan.terms[i].end && plan.terms[i].slot < plan.n_chunks);
	for (size_t i = 0; i < plan.n_units; i++)
		fuzz_must(plan.units[i].n_uses <= plan.n_terms);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		const uint8_t *end = memchr(bytes, '\n', len);
		size_t n = end ? (size_t)(end - bytes) : len;
		CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
		if (cairn_json_parse(&json, (const char *)bytes, n) == CAIRN_OK)
			ndjson_walk(json);
		ndjson_manifest(bytes, n);
		ndjson_plan(bytes, n);
		bytes += n + (end != NULL);
		len -= n + (end != NULL);
	}
	return 0;
}
