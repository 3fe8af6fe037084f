#include "cli/hub/import_repo.h"

#include "base/percent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REPO_ANSWER_BYTES_MAX = 16 * 1024 * 1024,
	REPO_SMALL_BYTES_MAX = 4096,
};

void import_repo_fini(struct import_repo *r)
{
	client_freep(&r->client);
	cairn_buf_fini(&r->answer);
	cairn_json_freep(&r->refs);
}

enum cairn_status import_repo_not_a_hub(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
			  "the server's answer has no \"%s\": this is no hub, or it is switched off (setting hub)",
			  what);
}

/* Sends a request about the repository. @param rest  path after the repository's, beginning with "/"; may be "" */
static enum cairn_status repo_ask(struct import_repo *r, enum client_method method, const char *rest,
				  const struct cairn_buf *body, struct cairn_json **json, struct cairn_diag *diag)
{
	char *path = NULL;
	if (body && body->status != CAIRN_OK)
		return body->status;
	if (asprintf(&path, "/api/%s/%s%s", r->segment, r->id, rest) < 0)
		return CAIRN_E_NOMEM;
	enum cairn_status status = client_request(r->client, method, path, body ? body->bytes : NULL,
						  body ? body->len : 0, &r->answer, diag);
	free(path);
	if (status == CAIRN_OK && json && (r->answer.len == 0 || client_json(json, &r->answer) != CAIRN_OK))
		return import_repo_not_a_hub(diag, "{");
	return status;
}

/* Returns "/what/name" with the name escaped, owned by the caller; NULL: no memory. */
static char *repo_path(const char *what, const char *name)
{
	char escaped[3 * IMPORT_NAME_BYTES + 1], *path = NULL;
	if (strlen(name) >= IMPORT_NAME_BYTES)
		return NULL;
	cairn_percent_encode(escaped, name, CAIRN_PERCENT_UNRESERVED);
	return asprintf(&path, "/%s/%s", what, escaped) < 0 ? NULL : path;
}

enum cairn_status import_repo_ask_about(struct import_repo *r, enum client_method method, const char *what,
					const char *name, const struct cairn_buf *body, struct cairn_json **json,
					struct cairn_diag *diag)
{
	char *path = repo_path(what, name);
	if (!path)
		return CAIRN_E_NOMEM;
	enum cairn_status status = repo_ask(r, method, path, body, json, diag);
	free(path);
	return status;
}

static enum cairn_status repo_make(struct import_repo *r, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(REPO_SMALL_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&body);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "type", r->type);
	cairn_json_put_text(&w, "name", r->id);
	if (r->is_private)
		cairn_json_put_bool(&w, "private", true);
	cairn_json_close(&w);
	if (body.status != CAIRN_OK)
		return body.status;
	return client_request(r->client, CLIENT_POST, "/api/repos/create", body.bytes, body.len, &r->answer, diag);
}

/* Finds out whether the caller is an operator: only an operator may choose the id of a commit. */
static enum cairn_status repo_ask_whoami(struct import_repo *r, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	enum cairn_status status = client_request(r->client, CLIENT_GET, "/api/whoami-v2", NULL, 0, &r->answer, diag);
	if (status == CAIRN_E_NOT_FOUND)
		return import_repo_not_a_hub(diag, "name");
	if (status == CAIRN_E_DENIED && !client_has_key(r->client))
		return cairn_fail(diag, status, "import.key", CAIRN_NO_OFFSET,
				  "the hub wants an API key (cairn key add) by --token, --token-file or CAIRN_TOKEN");
	if (status != CAIRN_OK)
		return status;
	const char *name = NULL;
	if (r->answer.len > 0 && client_json(&json, &r->answer) == CAIRN_OK)
		name = cairn_json_text_of(json, "name");
	r->is_operator = name && strcmp(name, "operator") == 0;
	return name ? CAIRN_OK : import_repo_not_a_hub(diag, "name");
}

/* Looks the repository up. @return CAIRN_E_NOT_FOUND: it does not exist */
static enum cairn_status repo_find(struct import_repo *r, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	bool is_private = false;
	struct cairn_diag why = {0};
	enum cairn_status status = repo_ask(r, CLIENT_GET, "", NULL, &json, &why);
	if (status != CAIRN_OK) {
		if (status != CAIRN_E_NOT_FOUND)
			*diag = why;
		return status;
	}
	if (!cairn_json_bool_of(json, "private", &is_private))
		return import_repo_not_a_hub(diag, "private");
	if (r->is_private && !is_private)
		return cairn_fail(diag, CAIRN_E_FORMAT, "import.public", CAIRN_NO_OFFSET,
				  "%.100s is there already, and public: make it private first, or leave out --private",
				  r->id);
	return CAIRN_OK;
}

enum cairn_status import_repo_open(struct import_repo *r, struct cairn_diag *diag)
{
	r->answer = cairn_buf_init(REPO_ANSWER_BYTES_MAX);
	enum cairn_status status = server_options_open(r->server, &r->client, diag);
	if (status == CAIRN_OK)
		status = repo_ask_whoami(r, diag);
	if (status == CAIRN_OK)
		status = repo_find(r, diag);
	if (status == CAIRN_E_NOT_FOUND) {
		status = repo_make(r, diag);
		r->made = status == CAIRN_OK;
		if (status == CAIRN_E_FORMAT && (status = repo_find(r, diag)) == CAIRN_E_NOT_FOUND)
			status = CAIRN_E_FORMAT; /* the repository does not exist, so its name must be invalid */
	}
	return status == CAIRN_OK ? repo_ask(r, CLIENT_GET, "/refs", NULL, &r->refs, diag) : status;
}

const char *import_repo_ref(const struct import_repo *r, const char *member, const char *name)
{
	const struct cairn_json *refs = cairn_json_get(r->refs, member);
	for (size_t i = 0; i < cairn_json_count(refs); i++) {
		const char *one = cairn_json_text_of(cairn_json_at(refs, i), "name");
		if (one && strcmp(one, name) == 0)
			return cairn_json_text_of(cairn_json_at(refs, i), "targetCommit");
	}
	return NULL;
}

enum cairn_status import_repo_add_branch(struct import_repo *r, const char *name, const char *start,
					 struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(REPO_SMALL_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&body);
	struct cairn_diag unsaid = {0};
	cairn_json_open_object(&w, NULL);
	cairn_json_put_bool(&w, "emptyBranch", !start);
	if (start)
		cairn_json_put_text(&w, "startingPoint", start);
	cairn_json_close(&w);
	enum cairn_status status = import_repo_ask_about(r, CLIENT_POST, "branch", name, &body, NULL, diag);
	if (status == CAIRN_E_FORMAT &&
	    import_repo_ask_about(r, CLIENT_GET, "revision", name, NULL, NULL, &unsaid) == CAIRN_OK)
		return CAIRN_OK;
	return status;
}

enum cairn_status import_repo_drop_branch(struct import_repo *r, const char *name, struct cairn_diag *diag)
{
	return import_repo_ask_about(r, CLIENT_DELETE, "branch", name, NULL, NULL, diag);
}

enum cairn_status import_repo_add_tag(struct import_repo *r, const char *name, const char *commit,
				      struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(REPO_SMALL_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&body);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "tag", name);
	cairn_json_close(&w);
	return import_repo_ask_about(r, CLIENT_POST, "tag", commit, &body, NULL, diag);
}

enum cairn_status import_repo_find_commit(struct import_repo *r, const char *id, struct cairn_diag *diag)
{
	return import_repo_ask_about(r, CLIENT_GET, "revision", id, NULL, NULL, diag);
}

enum cairn_status import_repo_list_commits(struct import_repo *r, const char *revision, unsigned page, unsigned limit,
					   struct cairn_json **json, struct cairn_diag *diag)
{
	char *about = repo_path("commits", revision), *path = NULL;
	int made = about ? asprintf(&path, "%s?p=%u&limit=%u", about, page, limit) : -1;
	free(about);
	if (made < 0)
		return CAIRN_E_NOMEM;
	enum cairn_status status = repo_ask(r, CLIENT_GET, path, NULL, json, diag);
	free(path);
	return status;
}

enum cairn_status import_repo_has_files(struct import_repo *r, const char *revision, bool *has, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	enum cairn_status status = import_repo_ask_about(r, CLIENT_GET, "revision", revision, NULL, &json, diag);
	const struct cairn_json *siblings = cairn_json_get(json, "siblings");
	*has = false;
	for (size_t i = 0; i < cairn_json_count(siblings) && !*has; i++) {
		const char *path = cairn_json_text_of(cairn_json_at(siblings, i), "rfilename");
		*has = !path || strcmp(path, ".gitattributes") != 0;
	}
	return status;
}
