/* Files: HEAD /v1/files/{hash}, GET /v1/files/by-sha256/{sha256}. */
#include "server/app.h"
#include "server/route/route_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void files_head(struct http_request *req)
{
	struct cairn_hash hash;
	struct cairn_index_file file;
	if (!route_hash(req, &hash))
		return;
	struct cairn_cas_who who = auth_who(http_identity(req));
	enum cairn_status status = cairn_index_file(cairn_cas_index(app_of(req)->cas), &hash, who.viewer, false, &file);
	if (status == CAIRN_OK)
		http_reply_empty(req, 200, file.size_bytes);
	else
		route_reply_no_file(req, status);
}

static void files_by_sha256(struct http_request *req)
{
	uint8_t sha256[32];
	struct cairn_index_file file;
	const char *text = http_path_arg(req, "sha256");
	if (cairn_hex_parse(sha256, sizeof(sha256), text, strlen(text)) != CAIRN_OK) {
		http_reply_error(req, 400, "sha256.text", "a SHA-256 has 64 hexadecimal digits, as sha256sum prints it",
				 NULL);
		return;
	}
	struct cairn_cas_who who = auth_who(http_identity(req));
	enum cairn_status status =
		cairn_index_file_by_sha256(cairn_cas_index(app_of(req)->cas), sha256, who.viewer, &file);
	if (status != CAIRN_OK) {
		route_reply_no_file(req, status);
		return;
	}
	char hash[CAIRN_HASH_TEXT_BYTES], sha256_text[65], json[256];
	cairn_hash_text(hash, &file.hash);
	cairn_hex_text(sha256_text, sha256, sizeof(sha256));
	(void)snprintf(json, sizeof(json), "{\"hash\":\"%s\",\"size\":%" PRIu64 ",\"sha256\":\"%s\"}", hash,
		       file.size_bytes, sha256_text);
	http_reply_json(req, 200, json);
}

const struct http_route ROUTES_FILES[] = {
	{.method = "HEAD",
	 .pattern = "/v1/files/{hash}",
	 .name = "files",
	 .scope = CAIRN_TOKEN_READ,
	 .done = files_head},
	{.method = "GET",
	 .pattern = "/v1/files/by-sha256/{sha256}",
	 .name = "files-by-sha256",
	 .scope = CAIRN_TOKEN_READ,
	 .done = files_by_sha256},
	{0},
};
