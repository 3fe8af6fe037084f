/* Git LFS: POST …/info/lfs/objects/batch of a repository returns the addresses where objects are sent and fetched. File
 * locking is not supported: its routes are missing, which tells clients. */
#include "base/clock.h"
#include "base/percent.h"
#include "hub/lfs.h"
#include "hub/quota.h"
#include "hub/revision.h"
#include "hub/stranger.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LFS_JSON "application/vnd.git-lfs+json"
static const char LFS_OTHER_SIZE[] = "the object has another size than the one that was asked for";

enum {
	LFS_OBJECTS_MAX = 1000, /* objects of a batch; clients ask for 100 or 256 */
	LFS_BODY_BYTES_MAX = 1 << 20,
	LFS_AUTHORIZATION_BYTES_MAX = 1024,
	LFS_PATH_BYTES = 3 * CAIRN_INDEX_PATH_MAX + CAIRN_GIT_OID_CHARS + 32,
	LFS_URL_BYTES = HUB_BASE_BYTES + 3 * CAIRN_INDEX_REPO_NAME_MAX + CAIRN_HUB_LFS_QUERY_BYTES + 256,
};

struct lfs_request {
	struct hub_repo repo;
	bool upload, xet;              /* the operation and the transfer */
	bool is_hubs;                  /* a client of a hub, which commits the uploaded objects itself */
	bool for_proposal;             /* the upload is for a pull request of a stranger */
	uint64_t new_bytes;            /* bytes of the objects that the client has to send, so far */
	struct cairn_index_repo place; /* the repository of the objects: that of the path, or the stranger's bucket */
	int64_t expires_unix_s;
	char *token;                              /* for an upload by xet; owned */
	char name[CAIRN_INDEX_REPO_NAME_MAX + 1]; /* the repository's name in the path, without ".git" */
	/* These serve files that are not here yet. Only a daemon that mirrors a hub sets them. */
	char *authorization; /* the request's header; owned. NULL: none */
	bool is_in_clear;    /* addresses may begin with http:// where clients use https:// */
};

static void lfs_free(void *state)
{
	struct lfs_request *l = state;
	if (!l)
		return;
	free(l->token);
	if (l->authorization)
		explicit_bzero(l->authorization, strlen(l->authorization));
	free(l->authorization);
	hub_repo_fini(&l->repo);
	free(l);
}

static bool lfs_names(const struct cairn_json *array, const char *name)
{
	for (size_t i = 0; cairn_json_is_array(array) && i < cairn_json_count(array); i++) {
		const char *text = cairn_json_string(cairn_json_at(array, i));
		if (text && strcmp(text, name) == 0)
			return true;
	}
	return false;
}

static enum cairn_status lfs_read(struct lfs_request *l, const struct cairn_json *json, struct cairn_diag *diag)
{
	const char *operation = cairn_json_text_of(json, "operation");
	const char *algorithm = cairn_json_text_of(json, "hash_algo");
	const struct cairn_json *objects = cairn_json_get(json, "objects");
	l->upload = operation && strcmp(operation, "upload") == 0;
	if ((!l->upload && (!operation || strcmp(operation, "download") != 0)) || !cairn_json_is_array(objects) ||
	    cairn_json_count(objects) > LFS_OBJECTS_MAX)
		return cairn_fail(
			diag, CAIRN_E_USAGE, "lfs.body", CAIRN_NO_OFFSET,
			"send {\"operation\":\"upload\" or \"download\",\"objects\":[{\"oid\",\"size\"}, ...]}, "
			"with at most %d of them",
			LFS_OBJECTS_MAX);
	/* the JavaScript client uses the other spelling */
	if (algorithm && strcmp(algorithm, "sha256") != 0 && strcmp(algorithm, "sha_256") != 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "lfs.hash", CAIRN_NO_OFFSET,
				  "this server knows objects only by their SHA-256; use the hash_algo sha256");
	l->xet = l->upload && lfs_names(cairn_json_get(json, "transfers"), "xet");
	/* Git LFS itself never asks for these transfers, and has no pull requests */
	l->is_hubs = l->xet || lfs_names(cairn_json_get(json, "transfers"), "multipart");
	return CAIRN_OK;
}

/* Finds where an upload to the found repository goes. A batch does not say whether it is for a pull request. An asker
 * who may not write can only mean a pull request. */
static bool lfs_find_place(struct lfs_request *l)
{
	struct hub_call *call = &l->repo.call;
	const struct cairn_hub *hub = &call->job.app->hub;
	l->place = l->repo.repo;
	l->for_proposal = l->upload && hub_repo_is_stranger(&l->repo);
	if (!l->upload)
		return true;
	/* Only clients of a hub open pull requests: objects that Git LFS sends would be lost. "": no pull request. */
	call->status = cairn_hub_may_propose(hub, &call->asker, &l->repo.repo, l->repo.access, l->is_hubs ? NULL : "",
					     &call->diag);
	if (call->status == CAIRN_OK && l->for_proposal)
		call->status = cairn_hub_find_proposals(hub, &call->asker, &l->repo.repo, &l->place, &call->diag);
	return call->status == CAIRN_OK;
}

/* Finds the repository of the path. For a first upload, creates it, if hub_lfs_create and the key permit that. */
static bool lfs_find_repo(struct lfs_request *l)
{
	struct hub_call *call = &l->repo.call;
	if (hub_repo_find(&l->repo, CAIRN_HUB_READ))
		return lfs_find_place(l);
	if (call->status != CAIRN_E_NOT_FOUND || !l->upload || !call->job.app->config.hub_lfs_create)
		return false;
	struct cairn_diag diag = {0};
	const struct cairn_hub_new_repo made = {
		.kind = l->repo.kind, .account = l->repo.namespace, .name = l->repo.name, .is_private = true};
	enum cairn_status status = cairn_hub_make_repo(&call->job.app->hub, &call->asker, &made, &l->repo.repo, &diag);
	l->place = l->repo.repo;
	if (status == CAIRN_OK)
		call->status = CAIRN_OK;
	/* askers who may not create the repository only learn that it does not exist */
	else if (status != CAIRN_E_DENIED && status != CAIRN_E_CONFLICT && status != CAIRN_E_USAGE) {
		call->status = status;
		call->diag = diag;
	}
	return call->status == CAIRN_OK;
}

static void lfs_put_fault(struct cairn_json_out *w, uint64_t code, const char *message)
{
	cairn_json_open_object(w, "error");
	cairn_json_put_u64(w, "code", code);
	cairn_json_put_text(w, "message", message);
	cairn_json_close(w);
}

static void lfs_put_xet(struct cairn_json_out *w, const struct lfs_request *l)
{
	char url[LFS_URL_BYTES], expires[24];
	(void)snprintf(expires, sizeof(expires), "%" PRId64, l->expires_unix_s);
	hub_repo_url(&l->repo, url, sizeof(url), hub_kind_api(l->repo.kind),
		     l->for_proposal ? "/xet-write-token/main?create_pr=1" : "/xet-write-token/main");
	cairn_json_put_text(w, "href", url);
	cairn_json_open_object(w, "header");
	cairn_json_put_text(w, "X-Xet-Cas-Url", l->repo.base);
	cairn_json_put_text(w, "X-Xet-Access-Token", l->token);
	cairn_json_put_text(w, "X-Xet-Token-Expiration", expires);
	cairn_json_close(w);
}

static void lfs_put_basic(struct cairn_json_out *w, const struct lfs_request *l,
			  const uint8_t sha256[static CAIRN_SHA256_BYTES], uint64_t size_bytes)
{
	struct app *app = l->repo.call.job.app;
	struct cairn_hub_lfs_grant grant = {
		.upload = l->upload,
		.alone = l->place.is_private || app->auth.dedupe != CAIRN_DEDUPE_GLOBAL,
		.repo = l->place.id,
		.size_bytes = size_bytes,
		.expires_unix_s = l->expires_unix_s,
		.account = l->repo.call.asker.account.id,
		.key = l->repo.call.asker.key,
	};
	char url[LFS_URL_BYTES], query[CAIRN_HUB_LFS_QUERY_BYTES], oid[2 * CAIRN_SHA256_BYTES + 1];
	memcpy(grant.sha256, sha256, CAIRN_SHA256_BYTES);
	cairn_hex_text(oid, sha256, CAIRN_SHA256_BYTES);
	cairn_hub_lfs_sign(&app->hub, &grant, query);
	(void)snprintf(url, sizeof(url), "%s/lfs/%" PRId64 "/%s?%s", l->repo.base, grant.repo, oid, query);
	cairn_json_put_text(w, "href", url);
	cairn_json_put_u64(w, "expires_in", app->config.token_ttl_s);
}

/* Begins an object's only action, whose members follow. */
static void lfs_open_action(struct cairn_json_out *w, const char *operation)
{
	cairn_json_put_bool(w, "authenticated", true);
	cairn_json_open_object(w, "actions");
	cairn_json_open_object(w, operation);
}

static void lfs_close_action(struct cairn_json_out *w)
{
	cairn_json_close(w);
	cairn_json_close(w);
}

static void lfs_put_action(struct cairn_json_out *w, const struct lfs_request *l,
			   const uint8_t sha256[static CAIRN_SHA256_BYTES], uint64_t size_bytes)
{
	lfs_open_action(w, l->upload ? "upload" : "download");
	if (l->xet)
		lfs_put_xet(w, l);
	else
		lfs_put_basic(w, l, sha256, size_bytes);
	lfs_close_action(w);
}

/* Did a proxy pass on the request, which may have come by HTTPS, although public_url is not set? */
static bool lfs_is_in_clear(const struct http_request *req, const struct lfs_request *l)
{
	static const char *const HEADERS[] = {"X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via"};
	bool proxied = false;
	for (size_t i = 0; i < sizeof(HEADERS) / sizeof(HEADERS[0]); i++)
		proxied = proxied || http_header(req, HEADERS[i]);
	return proxied && !l->repo.call.job.app->config.public_url && strncmp(l->repo.base, "https://", 8) != 0;
}

/* Writes an object of a mirrored repository whose bytes are not here: a GET of its file fetches them. If not everybody
 * may read the file, Git LFS gets the asker's own Authorization header, because it sends its keys to no such address by
 * itself. */
static void lfs_put_absent(struct cairn_json_out *w, struct lfs_request *l, const struct cairn_index_absent *absent)
{
	const struct cairn_index_repo *repo = &l->repo.repo;
	char url[LFS_URL_BYTES + LFS_PATH_BYTES], rest[LFS_PATH_BYTES], path[3 * CAIRN_INDEX_PATH_MAX + 1];
	char commit[CAIRN_GIT_OID_CHARS + 1];
	bool is_for_all =
		!repo->is_private && repo->gate == CAIRN_INDEX_GATE_NONE && l->repo.call.job.app->config.hub_anonymous;
	if (!is_for_all && l->authorization && l->is_in_clear) {
		lfs_put_fault(w, 403,
			      "the file is not here yet, and its address might send your key unencrypted; the "
			      "operator of this server has to set public_url");
		return;
	}
	l->repo.call.is_fetching = true;
	cairn_percent_encode(path, absent->path, CAIRN_PERCENT_PATH);
	cairn_git_oid_text(commit, &absent->commit);
	(void)snprintf(rest, sizeof(rest), "/resolve/%s/%s", commit, path);
	hub_repo_url(&l->repo, url, sizeof(url), hub_kind_web(l->repo.kind), rest);
	lfs_open_action(w, "download");
	cairn_json_put_text(w, "href", url);
	if (!is_for_all && l->authorization) {
		cairn_json_open_object(w, "header");
		cairn_json_put_text(w, "Authorization", l->authorization);
		cairn_json_close(w);
	}
	lfs_close_action(w);
}

/* Writes an object that is to be downloaded, and that the repository does not have. */
static enum cairn_status lfs_put_lacking(struct cairn_json_out *w, struct lfs_request *l,
					 const uint8_t sha256[static CAIRN_SHA256_BYTES], uint64_t size_bytes)
{
	const struct app *app = l->repo.call.job.app;
	struct cairn_index_absent absent;
	enum cairn_status status = CAIRN_E_NOT_FOUND;
	if (l->repo.repo.is_mirrored && app->mirror)
		status = cairn_hub_lfs_find_absent(&app->hub, l->place.id, sha256, &absent);
	if (status == CAIRN_OK && absent.size_bytes == size_bytes)
		lfs_put_absent(w, l, &absent);
	else if (status == CAIRN_OK)
		lfs_put_fault(w, 422, LFS_OTHER_SIZE);
	else if (status == CAIRN_E_NOT_FOUND)
		lfs_put_fault(w, 404, "the repository does not have this object");
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Writes an object that the repository lacks. The quota must have room for the object and all those before it. */
static enum cairn_status lfs_put_new(struct cairn_json_out *w, struct lfs_request *l,
				     const uint8_t sha256[static CAIRN_SHA256_BYTES], uint64_t size_bytes)
{
	struct cairn_diag diag = {0};
	uint64_t counts = cairn_hub_file_counts(size_bytes);
	enum cairn_status status =
		cairn_hub_check_room(&l->repo.call.job.app->hub, &l->place, l->new_bytes + counts, &diag);
	if (status == CAIRN_E_DENIED) {
		lfs_put_fault(w, 403, diag.text);
		return CAIRN_OK;
	}
	l->new_bytes += counts;
	if (status == CAIRN_OK)
		lfs_put_action(w, l, sha256, size_bytes);
	return status;
}

/* Writes an object of the answer. Its oid and size are valid. */
static enum cairn_status lfs_put_found(struct cairn_json_out *w, struct lfs_request *l,
				       const uint8_t sha256[static CAIRN_SHA256_BYTES], uint64_t size_bytes)
{
	struct cairn_index_file file;
	enum cairn_status status = cairn_hub_lfs_find(&l->repo.call.job.app->hub, l->place.id, sha256, &file);
	if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
		return status;
	/* A file copied with another repository's unproved claim can be fetched, but an upload of it is not skipped. */
	bool there = status == CAIRN_OK && (!l->upload || file.belief >= CAIRN_INDEX_SAID);
	if (there && file.size_bytes != size_bytes)
		lfs_put_fault(w, 422, LFS_OTHER_SIZE);
	else if (!there && !l->upload)
		return lfs_put_lacking(w, l, sha256, size_bytes);
	else if (l->upload && size_bytes > CAIRN_HUB_INGEST_BYTES_MAX)
		lfs_put_fault(w, 422, "an object may have at most 1 TiB; split it");
	else if (!there)
		return lfs_put_new(w, l, sha256, size_bytes);
	else if (!l->upload)
		lfs_put_action(w, l, sha256, size_bytes);
	/* no action: a stored object is not sent again */
	return CAIRN_OK;
}

/* Does the batch have this object earlier, too? Then one answer is enough, and its bytes count once for the quota. */
static bool lfs_is_again(const struct cairn_json *objects, size_t n_before, const char *oid)
{
	for (size_t i = 0; i < n_before; i++) {
		const char *other = cairn_json_text_of(cairn_json_at(objects, i), "oid");
		if (other && strcmp(other, oid) == 0)
			return true;
	}
	return false;
}

static enum cairn_status lfs_put_object(struct cairn_json_out *w, struct lfs_request *l,
					const struct cairn_json *object)
{
	uint8_t sha256[CAIRN_SHA256_BYTES];
	int64_t size = -1;
	enum cairn_status status = CAIRN_OK;
	const char *oid = cairn_json_text_of(object, "oid");
	bool good = oid && strlen(oid) == (size_t)2 * CAIRN_SHA256_BYTES &&
		    cairn_hex_parse(sha256, CAIRN_SHA256_BYTES, oid, strlen(oid)) == CAIRN_OK;
	good = cairn_json_i64_of(object, "size", &size) && size >= 0 && good;
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "oid", oid ? oid : "");
	cairn_json_put_u64(w, "size", size >= 0 ? (uint64_t)size : 0);
	if (good)
		status = lfs_put_found(w, l, sha256, (uint64_t)size);
	else
		lfs_put_fault(w, 422, "an object has an oid of 64 hexadecimal digits, and a size");
	cairn_json_close(w);
	return status;
}

/* Looks up the revision that the client has checked out, if the repository is mirrored, so that its files are known.
 * @return false: the call waits */
static bool lfs_refresh(struct lfs_request *l, const struct cairn_json *json)
{
	char revision[3 * CAIRN_INDEX_REF_NAME_MAX + 1];
	const char *name = cairn_json_text_of(cairn_json_get(json, "ref"), "name");
	struct cairn_hub_ref_name ref;
	if (l->upload || !l->repo.repo.is_mirrored)
		return true;
	cairn_hub_ref_name(name ? name : CAIRN_HUB_MAIN, &ref);
	/* Refs of other kinds are not mirrored, so main is looked up instead. */
	if (ref.kind == CAIRN_INDEX_PULL || strncmp(ref.name, "refs/", 5) == 0 ||
	    strlen(ref.name) > CAIRN_INDEX_REF_NAME_MAX)
		return hub_mirror_refresh(&l->repo, NULL);
	cairn_percent_encode(revision, ref.name, CAIRN_PERCENT_UNRESERVED);
	return hub_mirror_refresh(&l->repo, revision);
}

static void lfs_answer(struct hub_call *call)
{
	struct lfs_request *l = (struct lfs_request *)call;
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json_list(&l->repo.body);
	call->status = lfs_read(l, json, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	if (l->upload) /* an upload asks for nothing of the mirrored hub */
		call->runs = false;
	if ((l->upload && call->foreign[0]) || !lfs_find_repo(l) || !lfs_refresh(l, json))
		return;
	struct cairn_token_claims claims;
	cairn_hub_token_claims(&call->asker, &l->place, true, &claims);
	l->expires_unix_s = cairn_clock_unix_s() + (int64_t)atomic_load(&call->job.app->live.token_ttl_s);
	if (l->xet && !hub_repo_mint(&l->repo, &claims, &l->token))
		return;
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	const struct cairn_json *objects = cairn_json_get(json, "objects");
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "transfer", l->xet ? "xet" : "basic");
	cairn_json_put_text(&w, "hash_algo", "sha256");
	cairn_json_open_array(&w, "objects");
	for (size_t i = 0; i < cairn_json_count(objects) && call->status == CAIRN_OK; i++) {
		const struct cairn_json *object = cairn_json_at(objects, i);
		const char *oid = cairn_json_text_of(object, "oid");
		if (!oid || !lfs_is_again(objects, i, oid))
			call->status = lfs_put_object(&w, l, object);
	}
	cairn_json_close(&w);
	cairn_json_close(&w);
}

static void lfs_show(struct http_request *req, struct hub_call *call)
{
	hub_call_show_code(req, call, 200, LFS_JSON);
}

/* --- routes ------------------------------------------------------------------------------------------------------- */

/* Keeps the request's headers for files of a mirrored hub that are not here yet. */
static void lfs_keep_headers(struct http_request *req, struct lfs_request *l)
{
	const char *authorization = http_header(req, "Authorization");
	if (authorization && strlen(authorization) < LFS_AUTHORIZATION_BYTES_MAX)
		l->authorization = strdup(authorization); /* NULL: out of memory, the object is then refused later */
	l->is_in_clear = lfs_is_in_clear(req, l);
}

static void lfs_begin(struct http_request *req)
{
	struct lfs_request *l = hub_repo_new(req, sizeof(*l), hub_kind_of_pattern(req), lfs_answer, lfs_show);
	if (!l)
		return;
	const char *name = http_path_arg(req, "name"), *dot = strrchr(name, '.');
	int len = dot && strcmp(dot, ".git") == 0 ? (int)(dot - name) : (int)strlen(name);
	/* a name that is too long is cut, but stays too long for any repository */
	(void)snprintf(l->name, sizeof(l->name), "%.*s", len < (int)sizeof(l->name) ? len : 0, name);
	l->repo.namespace = http_path_arg(req, "namespace");
	l->repo.name = l->name;
	l->repo.call.mirrors = true; /* the body says whether the request only reads */
	if (l->repo.call.job.app->mirror)
		lfs_keep_headers(req, l);
	(void)route_body_begin(req, &l->repo.body);
}

#define LFS_POST(path, label)                                                                                          \
	{                                                                                                              \
		.method = "POST", .pattern = (path), .name = (label), .errors = HTTP_ERRORS_LFS,                       \
		.body_max = LFS_BODY_BYTES_MAX, .head = lfs_begin, .body = hub_repo_body, .done = hub_repo_done,       \
		.free = lfs_free                                                                                       \
	}

const struct http_route ROUTES_LFS[] = {
	HUB_EACH_KIND(LFS_POST, "/info/lfs/objects/batch", "lfs-batch"),
	{0},
};
