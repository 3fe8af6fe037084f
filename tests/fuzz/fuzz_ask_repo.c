/* The address of an upstream, and its answer about a repository: "CODE X-Error-Code", after a line feed the body. An
 * accepted address is a host and a port. An accepted answer has a plausible id and a commit, a refused one a rule. */
#include "fuzz/fuzz.h"
#include "mirror/hub/ask_repo.h"

#include <stdio.h>

static void fuzz_upstream(const char *text)
{
	struct mirror_upstream upstream, again;
	struct cairn_diag diag = {0};
	if (mirror_upstream_parse(&upstream, text, &diag) != CAIRN_OK) {
		fuzz_must(diag.rule != NULL);
		return;
	}
	fuzz_must(upstream.port > 0 && upstream.host[0] && !strpbrk(upstream.host, "/@?#%\\ []"));
	fuzz_must(strncmp(upstream.url, "https://", 8) == 0 || upstream.reach == MIRROR_REACH_LOCAL);
	fuzz_must(!strpbrk(upstream.url + 8, "/@?#%\\ "));
	fuzz_must(mirror_upstream_parse(&again, upstream.url, NULL) == CAIRN_OK &&
		  strcmp(again.url, upstream.url) == 0);
}

static void fuzz_answer(const char *text, size_t text_len, const uint8_t *bytes, size_t len)
{
	struct mirror_call call = {.body = cairn_buf_init(MIRROR_REPO_BYTES_MAX)};
	struct mirror_repo repo;
	struct cairn_diag diag = {0};
	call.code = (unsigned)strtoul(text, NULL, 10) % 1000;
	const char *word = strchr(text, ' ');
	(void)snprintf(call.error_code, sizeof(call.error_code), "%s", word ? word + 1 : "");
	(void)snprintf(call.location, sizeof(call.location), "%s", word ? word + 1 : "");
	if (text_len < len)
		cairn_buf_add(&call.body, bytes + text_len + 1, len - text_len - 1);
	enum cairn_status status = mirror_read_repo(&repo, &call, &diag);
	fuzz_must((status == CAIRN_OK) == !diag.rule);
	if (status == CAIRN_OK)
		fuzz_must(call.code == 200 && repo.id[0] && strlen(repo.sha) == 40);
	if (status == CAIRN_E_NOT_FOUND)
		fuzz_must(call.code >= 401 && call.code <= 404);
	mirror_call_fini(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *line_end = len > 0 ? memchr(bytes, '\n', len) : NULL;
	size_t line_len = line_end ? (size_t)(line_end - bytes) : len;
	CLEANUP(fuzz_textp) char *line = fuzz_text(bytes, line_len);
	fuzz_upstream(line);
	fuzz_answer(line, line_len, bytes, len);
	return 0;
}
