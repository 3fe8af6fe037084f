/* The head of a request: "METHOD target", then one header on each line. An accepted head has one meaning: a target
 * without odd bytes, path arguments of one plain segment each, and at most one length. No log line shows a secret. */
#include "fuzz/fuzz.h"
#include "server/app.h"
#include "server/http/http_head.h"
#include "server/http/listen.h"
#include "server/http/router.h"
#include "server/route/routes.h"

#include <stdlib.h>
#include <strings.h>

static const struct http_route *const ROUTES[] = {
	ROUTES_HEALTH, ROUTES_SHARDS,    ROUTES_CHUNKS, ROUTES_ADMIN,           ROUTES_KEYS,        ROUTES_HUB,
	ROUTES_FETCH,  ROUTES_TELEMETRY, ROUTES_FILES,  ROUTES_RECONSTRUCTIONS, ROUTES_FILE_CHUNKS, ROUTES_XORBS,
	NULL,
};

/* Returns the rest of a line, ended by a zero; NULL: there are no more lines. */
static char *query_line(char **at)
{
	char *line = strsep(at, "\n");
	if (line && line[0])
		line[strcspn(line, "\r")] = '\0';
	return line;
}

static void query_route(const char *method, const char *target, bool plain)
{
	struct router_match match;
	char allow[64], *copy = strdup(target);
	fuzz_must(copy != NULL);
	enum router_result result = router_find(ROUTES, method, copy, plain, &match, allow, sizeof(allow));
	fuzz_must((result == ROUTER_FOUND) == (match.route != NULL));
	fuzz_must(memchr(allow, '\0', sizeof(allow)) != NULL);
	for (unsigned i = 0; result == ROUTER_FOUND && i < match.n_args; i++) {
		const char *value = match.args[i].value;
		fuzz_must(value[0] && !strchr(value, '/') && !strchr(value, '?') && strstr(target, value) != NULL);
		fuzz_must(strcmp(value, ".") != 0 && strcmp(value, "..") != 0);
		fuzz_must(!strchr(value, '%') || strncmp(match.args[i].name, "revision", 8) == 0);
	}
	free(copy);
}

/* Checks that the log has no value of an argument with a secret's name. */
static void query_log(const char *target, enum http_target_kind kind)
{
	char log[300];
	http_target_log(log, sizeof(log), target, strlen(target), kind);
	fuzz_must(strlen(log) < sizeof(log));
	for (const char *p = strchr(log, '?'); p; p = strpbrk(p, "?&")) {
		p++;
		const char *value = p + strcspn(p, "=?&");
		if (strncasecmp(p, "signature", 9) == 0 && *value == '=' && value[1])
			fuzz_must(value[1] == '-' && (value[2] == '\0' || value[2] == '&'));
	}
}

static void query_head(char *lines, enum http_target_kind kind, size_t head_bytes)
{
	struct http_head head = {0};
	struct http_head_body body;
	for (char *line; (line = query_line(&lines)) != NULL;) {
		char *value = line + strcspn(line, ":");
		size_t name_len = (size_t)(value - line);
		value += *value ? 1 + strspn(value + 1, " ") : 0;
		http_head_note(&head, line, name_len, value, strlen(value));
	}
	struct http_refusal refusal = http_head_check(&head, kind, "HTTP/1.1", head_bytes, 4096, &body);
	fuzz_must(refusal.code == 0 ? !refusal.rule : refusal.code >= 400 && refusal.rule && refusal.message);
	if (refusal.code != 0)
		return;
	fuzz_must((kind == HTTP_TARGET_PLAIN || kind == HTTP_TARGET_OK) && head_bytes <= 4096 && !head.bad_name &&
		  !head.bad_value);
	fuzz_must(head.n_host <= 1 && head.n_authorization <= 1 &&
		  head.n_content_length + head.n_transfer_encoding <= 1);
	fuzz_must(head.n_transfer_encoding == 0 || body.len == UINT64_MAX);
	fuzz_must(head.n_content_length == 0 || body.len == strtoull(head.content_length, NULL, 10));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	CLEANUP(fuzz_textp) char *text = fuzz_text(bytes, len);
	char *rest = text, *line = query_line(&rest);
	const char *method = line ? strsep(&line, " ") : "";
	const char *target = line ? line : "";
	enum http_target_kind kind = http_target_judge(target);
	struct listen_address address;
	struct cors cors = {0};
	query_route(method, target, kind == HTTP_TARGET_PLAIN);
	query_log(target, kind);
	if (listen_parse(target, &address, NULL) == CAIRN_OK)
		fuzz_must(address.len > 0);
	if (cors_init(&cors, rest, NULL) == CAIRN_OK)
		fuzz_must(cors.n == 0 || cors_allows(&cors, cors.origins[0]));
	cors_fini(&cors);
	if (rest)
		query_head(rest, kind, len);
	return 0;
}
