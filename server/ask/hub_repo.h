/* Shared parts of the routes of repositories and buckets: /api/{kind}/{namespace}/{name}/… */
#ifndef CAIRN_SERVER_HUB_REPO_H
#define CAIRN_SERVER_HUB_REPO_H

#include "base/json.h"
#include "hub/bucket.h"
#include "hub/revision.h"
#include "hub/tree.h"
#include "server/ask/hub_call.h"
#include "server/ask/route_body.h"

enum { HUB_BASE_BYTES = 1024 };

/** First member of a route's state, which begins with a call. */
struct hub_repo {
	struct hub_call call;
	struct route_body body;
	enum cairn_index_repo_kind kind;  /* 0: none; then no repository is found */
	const char *namespace, *name;     /* from the path; NULL: it has none. Owned by the request */
	char base[HUB_BASE_BYTES];        /* base of URLs in answers */
	unsigned code;                    /* of the answer; 0: 200 */
	struct cairn_index_repo repo;     /* set by the route */
	enum cairn_hub_access access;     /* to that repository */
	struct cairn_index_commit commit; /* set by the route, if the repository has commits */
};

/** Makes a struct hub_repo, as hub_call_new() makes a call. */
void *hub_repo_new(struct http_request *req, size_t bytes, enum cairn_index_repo_kind kind,
		   void (*run)(struct hub_call *call), void (*show)(struct http_request *req, struct hub_call *call));
void hub_repo_fini(struct hub_repo *r);
void hub_repo_free(void *state);

/** Does what hub_repo_new() does, for /api/{type}/{namespace}/{name}/…; type is models, datasets, spaces or kernels.
 * @return NULL: an error was replied, for instance for another type */
void *hub_repo_new_git(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		       void (*show)(struct http_request *req, struct hub_call *call));

/** Begins a request that needs a key: if the key is valid, the body is read and counts for the key. Call from head().
 * @param state  begins with a struct hub_repo; NULL: not made, an error was replied */
void hub_repo_begin_write(struct http_request *req, void *state);
/** Checks, before the body is read, whether the asker has this access to the repository of the path. The worker checks
 * again; over a remote index only the worker does. @return false: the call has failed */
bool hub_repo_check_access(struct hub_repo *r, enum cairn_hub_access need);
/** Begins a request with a body. If it is longer than CAIRN_BODY_MEMORY_BYTES, hub_repo_check_access() may refuse it
 * and reply. Call from head(), once the state has namespace and name. @param state  as in hub_repo_begin_write() */
void hub_repo_begin_in(struct http_request *req, void *state, enum cairn_hub_access need);
/** Does what hub_repo_begin_in() does, for somebody who may read the repository and proposes something.
 *  @param raw  of hub_repo_find_proposed() */
void hub_repo_begin_proposal(struct http_request *req, void *state, const char *raw);
/** A route's body(), after hub_repo_begin_write() or route_body_begin(). */
void hub_repo_body(struct http_request *req, const uint8_t *bytes, size_t len);
/** A route's done(), if run() reads the body. */
void hub_repo_done(struct http_request *req);

/** Finds the repository of the path. On the worker. @return false: the call has failed */
bool hub_repo_find(struct hub_repo *r, enum cairn_hub_access need);

/** Decodes a revision that is the whole end of an address. @param[out] revision  "": it is none */
void hub_repo_take_revision(const char *raw, char revision[static CAIRN_HUB_REVISION_MAX + 1]);
/** Finds the repository of the path for somebody who may write in it, or propose changes (hub/stranger.h).
 *  @param raw  the revision of the address to which they go; NULL: to a new pull request */
bool hub_repo_find_proposed(struct hub_repo *r, const char *raw);
/** May the asker only propose changes to the repository that was found? */
bool hub_repo_is_stranger(const struct hub_repo *r);

/** Mints a token of the store; else the call has failed. @param claims  of cairn_hub_token_claims(); the expiry is set
 * here
 *  @param[out] token  owned by the caller, also when it failed */
bool hub_repo_mint(struct hub_repo *r, struct cairn_token_claims *claims, char **token);

/** Does what hub_repo_find() does, and finds the commit of a revision in the address (NULL: main). */
bool hub_repo_find_commit(struct hub_repo *r, enum cairn_hub_access need, const char *raw);
/** Does what hub_repo_find_commit() does, in the repository that was found. */
bool hub_repo_find_commit_of_found(struct hub_repo *r, const char *raw);
/** Does what hub_repo_find_commit() does, for "revision/path". The path of the top folder is "". */
bool hub_repo_find_place(struct hub_repo *r, enum cairn_hub_access need, const char *raw,
			 char path[static CAIRN_INDEX_PATH_MAX + 1]);

/** Reads the query's limit: 1 to max. @param absent  if it is absent or cannot be parsed */
uint32_t hub_limit(const struct http_request *req, uint32_t absent, uint32_t max);

/** Does the body of a new repository ask for something that would narrow who may see it, or where it lies, and that is
 *  not here? To ignore that would open more than was asked for. @return the refusal (repo.narrow); NULL: no */
const char *hub_repo_narrows(const struct cairn_json *json);

/** Does a query's value mean yes: "true", "True", "1"? */
bool hub_says_yes(const char *value);

/** "model", as clients name a kind. */
const char *hub_kind_name(enum cairn_index_repo_kind kind);
/** @return 0: no kind has this name */
enum cairn_index_repo_kind hub_kind_of_name(const char *name);
/** Finds the kind of "models" and the like, as in addresses. @return 0: no kind, or buckets */
enum cairn_index_repo_kind hub_kind_of_segment(const char *segment);
/** Expands to a route for each kind of repository with branches. @param ROW  a macro for a route, whose first argument
 * is its pattern; the others follow. @param rest  the end of the pattern, for instance "/refs" */
#define HUB_EACH_KIND(ROW, rest, ...)                                                                                  \
	ROW("/datasets/{namespace}/{name}" rest, __VA_ARGS__), ROW("/spaces/{namespace}/{name}" rest, __VA_ARGS__),    \
		ROW("/kernels/{namespace}/{name}" rest, __VA_ARGS__), ROW("/{namespace}/{name}" rest, __VA_ARGS__)
/** Returns the kind by a pattern of HUB_EACH_KIND, or by one that begins with "/buckets/" or hub_kind_api(). */
enum cairn_index_repo_kind hub_kind_of_pattern(const struct http_request *req);
/** "/api/models/", before a repository's name. */
const char *hub_kind_api(enum cairn_index_repo_kind kind);
/** "/", "/datasets/": before a repository's name in addresses for people. */
const char *hub_kind_web(enum cairn_index_repo_kind kind);

/** Writes {namespace}/{name} as a member of JSON. */
void hub_repo_put_id(struct cairn_json_out *w, const char *member, const struct cairn_index_repo *repo);

/** Begins the answer about a new repository: an object with its address, which the caller extends and closes. If the
 * name was taken (status is not CAIRN_OK), the refusal carries the object, too: clients that accept an existing
 * repository read it. */
struct cairn_json_out hub_repo_open_made(struct hub_repo *r, enum cairn_status status);

/** Replies with the answer as JSON, with r->code. */
void hub_repo_show(struct http_request *req, struct hub_call *call);

/** Writes an address: {base}{path}{namespace}/{name}{rest}. */
void hub_repo_url(const struct hub_repo *r, char *out, size_t size, const char *path, const char *rest);

#endif
