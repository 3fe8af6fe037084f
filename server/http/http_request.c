#include "server/http/http_request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct http_request *http_request_new(struct http_conn *peer, const char *target)
{
	size_t path_len = (size_t)(strchrnul(target, '?') - target);
	if (path_len > ROUTER_PATH_BYTES_MAX)
		path_len = ROUTER_PATH_BYTES_MAX + 1; /* enough for the router to see that it is too long */
	struct http_request *req = peer->spare ? peer->spare : malloc(sizeof(*req));
	if (!req)
		return NULL;
	peer->spare = NULL;
	memset(req, 0, offsetof(struct http_request, match.text));
	req->method[0] = req->session_id[0] = req->user_agent[0] = '\0';
	auth_clear(&req->identity);
	req->peer = peer;
	memcpy(req->path, target, path_len);
	req->path[path_len] = '\0';
	http_target_log(req->target_log, sizeof(req->target_log), target);
	req->target_kind = http_target_judge(target);
	return req;
}

void http_request_free(struct http_request *req)
{
	while (req->added) {
		struct http_added *next = req->added->next;
		free(req->added);
		req->added = next;
	}
	req->peer->spare = req;
}

bool http_request_add(struct http_request *req, const char *name, const char *value)
{
	size_t name_len = strlen(name), value_len = strlen(value);
	struct http_added *added = malloc(sizeof(*added) + name_len + value_len + 2);
	if (!added)
		return false;
	memcpy(added->text, name, name_len + 1);
	memcpy(added->text + name_len + 1, value, value_len + 1);
	added->value = added->text + name_len + 1;
	added->next = NULL;
	struct http_added **tail = &req->added;
	while (*tail)
		tail = &(*tail)->next;
	*tail = added;
	return true;
}

bool http_request_has_added(const struct http_request *req, const char *name)
{
	for (const struct http_added *a = req->added; a; a = a->next) {
		if (strcasecmp(a->text, name) == 0)
			return true;
	}
	return false;
}

void http_request_set_id(struct http_request *req, const char *from_client, uint32_t prefix, uint32_t number)
{
	static const char HEX[] = "0123456789abcdef";
	if (http_id_is_sane(from_client)) {
		memcpy(req->id, from_client, strlen(from_client) + 1);
		return;
	}
	uint64_t id = (uint64_t)prefix << 32 | number;
	for (int i = 0; i < 16; i++)
		req->id[i] = HEX[id >> (60 - 4 * i) & 15];
	req->id[16] = '\0';
}

const struct http_server *http_server_of(const struct http_request *req)
{
	return req->server;
}

void http_set_state(struct http_request *req, void *state)
{
	req->state = state;
}

void *http_state(const struct http_request *req)
{
	return req->state;
}

const char *http_path_arg(const struct http_request *req, const char *name)
{
	size_t len = strlen(name);
	for (unsigned i = 0; i < req->match.n_args; i++) {
		if (req->match.args[i].name_len == len && memcmp(req->match.args[i].name, name, len) == 0)
			return req->match.args[i].value;
	}
	assert(!"a name that the route's pattern has");
	return "";
}

enum http_method_kind http_method(const struct http_request *req)
{
	if (strcmp(req->method, "GET") == 0)
		return HTTP_GET;
	return strcmp(req->method, "HEAD") == 0 ? HTTP_HEAD : HTTP_OTHER;
}

uint64_t http_content_length(const struct http_request *req)
{
	return req->body_len;
}

const struct auth_identity *http_identity(const struct http_request *req)
{
	return &req->identity;
}

const char *http_request_id(const struct http_request *req)
{
	return req->id;
}

void http_reply_header(struct http_request *req, const char *name, const char *value)
{
	if (!http_request_add(req, name, value))
		req->close_after = true; /* as good as any sign that the server is out of memory */
}
