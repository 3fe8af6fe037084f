/* Answers 501 for features that only the public hub has, so that nobody takes their absence for a fault. */
#include "server/ask/hub_reply.h"
#include "server/hub/hub_routes.h"

#include <string.h>

enum { LEFT_OUT_BODY_BYTES_MAX = 65536 }; /* longest body that is read and ignored */

static void left_out_likes(struct http_request *req)
{
	hub_reply_left_out(req, "Likes are not kept here");
}

static void left_out_discussions(struct http_request *req)
{
	hub_reply_left_out(
		req,
		"Discussions are not kept here: a pull request has the title and the description that it began with");
}

static void left_out_collections(struct http_request *req)
{
	hub_reply_left_out(req, "Collections are not kept here");
}

static void left_out_webhooks(struct http_request *req)
{
	hub_reply_left_out(req, "Webhooks are not sent from here");
}

static void left_out_jobs(struct http_request *req)
{
	hub_reply_left_out(req, "Nothing is run here: there are no jobs");
}

static void left_out_runtime(struct http_request *req)
{
	hub_reply_left_out(req, "Nothing is run here: a space is its files");
}

static void left_out_papers(struct http_request *req)
{
	hub_reply_left_out(req, "Papers are not kept here");
}

static void left_out_tags(struct http_request *req)
{
	hub_reply_left_out(req, "There is no list of valid tags here: a README.md may have any");
}

/* Answers git's first request of a clone or a push, in plain text, which git shows to people. */
static void left_out_git(struct http_request *req)
{
	static const char TEXT[] = "Cairn keeps no git repository that could be cloned or pushed to: hf download and "
				   "hf upload do that here, and git lfs keeps large files here\n";
	http_reply_header(req, "X-Error-Code", "NotImplemented");
	http_reply_bytes(req, 501, "text/plain; charset=utf-8", (const uint8_t *)TEXT, sizeof(TEXT) - 1, NULL, NULL);
}

/* Does the path begin with this text? @param[out] rest  the rest of the path */
static bool left_out_begins(const char *path, const char *text, const char **rest)
{
	size_t len = strlen(text);
	bool begins = strncmp(path, text, len) == 0;
	*rest = begins ? path + len : path;
	return begins;
}

/* Is it a resource of a repository without an account in its name, as the public hub has some ("gpt2")? @param path
 * from the name on @param resources  NULL-terminated; "" comes first if the repository itself counts, too */
static bool left_out_is_unowned(const char *path, const char *const *resources)
{
	size_t name_len = strcspn(path, "/?"), len;
	const char *resource = path + name_len;
	if (name_len == 0)
		return false;
	if (*resource != '/')
		return resources[0][0] == '\0';
	len = strcspn(++resource, "/?");
	for (; *resources; resources++) {
		if (strlen(*resources) == len && strncmp(*resources, resource, len) == 0)
			return true;
	}
	return false;
}

/* Finds the answer for a path. Clients take a 404 without X-Error-Code for a network fault, so a name without an
 * account gets the code of a missing repository. */
static const struct http_unknown *left_out_unknown(const char *path)
{
	static const struct http_unknown UNOWNED = {"RepoNotFound", "repo.unknown",
						    "Repository not found. Name its owner, too, as in ann/cats"};
	static const char *const KINDS[] = {"models/", "datasets/", "spaces/", "kernels/", NULL};
	/* Resources of repositories: the names after "/api/{type}/{namespace}/{name}/" in all routes. */
	static const char *const OF_API[] = {"",
					     "ask-access",
					     "auth-check",
					     "branch",
					     "commit",
					     "commits",
					     "dev-mode",
					     "discussions",
					     "duplicate",
					     "hardware",
					     "lfs-files",
					     "like",
					     "likers",
					     "logs",
					     "paths-info",
					     "pause",
					     "preupload",
					     "refs",
					     "restart",
					     "revision",
					     "runtime",
					     "safetensors-metadata",
					     "secrets",
					     "settings",
					     "sleeptime",
					     "super-squash",
					     "tag",
					     "tree",
					     "user-access-request",
					     "variables",
					     "volumes",
					     "xet-read-token",
					     "xet-write-token",
					     NULL};
	static const char *const OF_PAGES[] = {"resolve", "raw", NULL};
	const char *rest, *name;
	if (!left_out_begins(path, "/api/", &rest))
		return path[0] == '/' && left_out_is_unowned(path + 1, OF_PAGES) ? &UNOWNED : NULL;
	if (left_out_begins(rest, "spaces/hardware", &name) && strcspn(name, "?") == 0)
		return &HUB_NO_ROUTE; /* the resource exists, but does not take this method */
	for (const char *const *kind = KINDS; *kind; kind++) {
		if (left_out_begins(rest, *kind, &name) && left_out_is_unowned(name, OF_API))
			return &UNOWNED;
	}
	return &HUB_NO_ROUTE;
}

const struct http_family HUB_FAMILY = {.unknown = left_out_unknown, .errors = HTTP_ERRORS_HUB};

#define LEFT_OUT_BODY(verb, path, reply)                                                                               \
	{                                                                                                              \
		.method = (verb), .pattern = (path), .name = "left-out", .errors = HTTP_ERRORS_HUB,                    \
		.body_max = LEFT_OUT_BODY_BYTES_MAX, .body = http_ignore_body, .done = (reply)                         \
	}
#define LEFT_OUT_POST(path, reply)   LEFT_OUT_BODY("POST", path, reply)
#define LEFT_OUT_PUT(path, reply)    LEFT_OUT_BODY("PUT", path, reply)
#define LEFT_OUT_DELETE(path, reply) LEFT_OUT_BODY("DELETE", path, reply)

const struct http_route ROUTES_LEFT_OUT[] = {
	LEFT_OUT_POST("/api/{type}/{namespace}/{name}/like", left_out_likes),
	HUB_DELETE("/api/{type}/{namespace}/{name}/like", "left-out", left_out_likes, NULL),
	LEFT_OUT_POST("/api/{type}/{namespace}/{name}/discussions/{number}/comment", left_out_discussions),
	LEFT_OUT_POST("/api/{type}/{namespace}/{name}/discussions/{number}/title", left_out_discussions),
	HUB_GET("/api/collections", "left-out", left_out_collections, NULL),
	LEFT_OUT_POST("/api/collections", left_out_collections),
	HUB_GET("/api/settings/webhooks", "left-out", left_out_webhooks, NULL),
	LEFT_OUT_POST("/api/settings/webhooks", left_out_webhooks),
	HUB_GET("/api/jobs/{namespace}", "left-out", left_out_jobs, NULL),
	LEFT_OUT_POST("/api/jobs/{namespace}", left_out_jobs),
	HUB_GET("/api/spaces/{namespace}/{name}/runtime", "left-out", left_out_runtime, NULL),
	LEFT_OUT_POST("/api/spaces/{namespace}/{name}/restart", left_out_runtime),
	LEFT_OUT_POST("/api/spaces/{namespace}/{name}/pause", left_out_runtime),
	LEFT_OUT_POST("/api/spaces/{namespace}/{name}/hardware", left_out_runtime),
	LEFT_OUT_POST("/api/spaces/{namespace}/{name}/sleeptime", left_out_runtime),
	LEFT_OUT_POST("/api/spaces/{namespace}/{name}/dev-mode", left_out_runtime),
	HUB_GET("/api/spaces/{namespace}/{name}/secrets", "left-out", left_out_runtime, NULL),
	LEFT_OUT_POST("/api/spaces/{namespace}/{name}/secrets", left_out_runtime),
	LEFT_OUT_DELETE("/api/spaces/{namespace}/{name}/secrets", left_out_runtime),
	HUB_GET("/api/spaces/{namespace}/{name}/variables", "left-out", left_out_runtime, NULL),
	LEFT_OUT_POST("/api/spaces/{namespace}/{name}/variables", left_out_runtime),
	LEFT_OUT_DELETE("/api/spaces/{namespace}/{name}/variables", left_out_runtime),
	LEFT_OUT_PUT("/api/spaces/{namespace}/{name}/volumes", left_out_runtime),
	LEFT_OUT_DELETE("/api/spaces/{namespace}/{name}/volumes", left_out_runtime),
	HUB_GET("/api/spaces/{namespace}/{name}/logs/{kind}", "left-out", left_out_runtime, NULL),
	HUB_GET("/api/{type}/{namespace}/{name}/likers", "left-out", left_out_likes, NULL),
	HUB_GET("/api/users/{name}/likes", "left-out", left_out_likes, NULL),
	HUB_GET("/api/papers/{id}", "left-out", left_out_papers, NULL),
	HUB_GET("/api/daily_papers", "left-out", left_out_papers, NULL),
	HUB_GET("/api/models-tags-by-type", "left-out", left_out_tags, NULL),
	HUB_GET("/api/datasets-tags-by-type", "left-out", left_out_tags, NULL),
	HUB_GET("/api/spaces/hardware", "left-out", left_out_runtime, NULL),
	HUB_EACH_KIND(HUB_GET, "/info/refs", "left-out", left_out_git, NULL),
	{0},
};
