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
	enum cairn_index_repo_kind kind;  /* 0: the path names no kind, and no repository is found */
	const char *namespace, *name;     /* from the path; NULL: the path has none. Owned by the request */
	char base[HUB_BASE_BYTES];        /* base address of the URLs in answers */
	unsigned code;                    /* HTTP status of the answer; 0: 200 */
	struct cairn_index_repo repo;     /* the repository that was found */
	enum cairn_hub_access access;     /* the asker's access to that repository */
	struct cairn_index_commit commit; /* the commit that was found, if the route looks one up */
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

/** Begins a request that needs a key. If the key is valid, the body is read and counts for the key. Call from head().
 * @param state  begins with a struct hub_repo; NULL: it could not be made, and an error was replied */
void hub_repo_begin_write(struct http_request *req, void *state);
/** Checks before the body is read whether the asker has this access to the repository of the path. The worker checks
 * again. If the index is remote, only the worker checks. @return false: the call has failed */
bool hub_repo_check_access(struct hub_repo *r, enum cairn_hub_access need);
/** Begins a request with a body. If it is longer than CAIRN_BODY_MEMORY_BYTES, hub_repo_check_access() may refuse it
 * and reply. Call from head(), once the state has namespace and name. @param state  as in hub_repo_begin_write() */
void hub_repo_begin_in(struct http_request *req, void *state, enum cairn_hub_access need);
/** Does the same as hub_repo_begin_in(), for an asker who may read the repository and proposes a change. @param raw  as
 * in hub_repo_find_proposed() */
void hub_repo_begin_proposal(struct http_request *req, void *state, const char *raw);
/** The body() of a route that called hub_repo_begin_write() or route_body_begin(). */
void hub_repo_body(struct http_request *req, const uint8_t *bytes, size_t len);
/** The done() of a route whose run() reads the body. */
void hub_repo_done(struct http_request *req);

/** Finds the repository of the path. Call on the worker. @return false: the call has failed */
bool hub_repo_find(struct hub_repo *r, enum cairn_hub_access need);

/** Decodes a revision that takes the whole rest of an address. @param[out] revision  "": the rest is not valid */
void hub_repo_take_revision(const char *raw, char revision[static CAIRN_HUB_REVISION_MAX + 1]);
/** Finds the repository of the path for an asker who may write in it or propose changes (hub/stranger.h). @param raw
 * the revision in the address, to which the changes go; NULL: to a new pull request */
bool hub_repo_find_proposed(struct hub_repo *r, const char *raw);
/** May the asker only propose changes to the repository that was found? */
bool hub_repo_is_stranger(const struct hub_repo *r);

/** Mints a token of the store. If that fails, the call fails. @param claims  from cairn_hub_token_claims(); the expiry
 * is set here @param[out] token  owned by the caller, even after a failure */
bool hub_repo_mint(struct hub_repo *r, struct cairn_token_claims *claims, char **token);

/** Does what hub_repo_find() does, and finds the commit of a revision in the address (NULL: main). */
bool hub_repo_find_commit(struct hub_repo *r, enum cairn_hub_access need, const char *raw);
/** Does what hub_repo_find_commit() does, in the repository that was already found. */
bool hub_repo_find_commit_of_found(struct hub_repo *r, const char *raw);
/** Does what hub_repo_find_commit() does, for "revision/path". The path of the top folder is "". */
bool hub_repo_find_place(struct hub_repo *r, enum cairn_hub_access need, const char *raw,
			 char path[static CAIRN_INDEX_PATH_MAX + 1]);

/** Reads the limit in the query: 1 to max. @param absent  used if the limit is absent or malformed */
uint32_t hub_limit(const struct http_request *req, uint32_t absent, uint32_t max);

/** Does the body of a new repository ask for a restriction that this server lacks, of who may see the repository or
 * where its files lie? Ignoring it would open more than was asked for. @return the refusal (repo.narrow); NULL: no */
const char *hub_repo_narrows(const struct cairn_json *json);

/** Does the value of a query mean yes: "true", "True", "1"? */
bool hub_query_is_true(const char *value);

/** Returns the name that clients give to a kind, such as "model". */
const char *hub_kind_name(enum cairn_index_repo_kind kind);
/** Returns the name of a kind in addresses, such as "models". */
const char *hub_kind_segment(enum cairn_index_repo_kind kind);
/** Finds the kind that clients call by this name. @return 0: no such kind */
enum cairn_index_repo_kind hub_kind_of_name(const char *name);
/** Finds the kind of "models" and the like, as in addresses. @return 0: no such kind, or "buckets" */
enum cairn_index_repo_kind hub_kind_of_segment(const char *segment);
/** Expands to one route for each kind of repository with branches. @param ROW  a macro for a route, whose first
 * argument is the pattern; the other arguments follow. @param rest  the end of the pattern, for instance "/refs" */
#define HUB_EACH_KIND(ROW, rest, ...)                                                                                  \
	ROW("/datasets/{namespace}/{name}" rest, __VA_ARGS__), ROW("/spaces/{namespace}/{name}" rest, __VA_ARGS__),    \
		ROW("/kernels/{namespace}/{name}" rest, __VA_ARGS__), ROW("/{namespace}/{name}" rest, __VA_ARGS__)
/** Returns the kind by a pattern of HUB_EACH_KIND, or by one that begins with "/buckets/" or hub_kind_api(). */
enum cairn_index_repo_kind hub_kind_of_pattern(const struct http_request *req);
/** Returns the beginning of a kind's addresses in the interface, such as "/api/models/". */
const char *hub_kind_api(enum cairn_index_repo_kind kind);
/** Returns the beginning of a kind's addresses for people: "/", "/datasets/" and the like. */
const char *hub_kind_web(enum cairn_index_repo_kind kind);

/** Writes {namespace}/{name} as a member of JSON. */
void hub_repo_put_id(struct cairn_json_out *w, const char *member, const struct cairn_index_repo *repo);

/** Begins the answer about a new repository: an object with its address, which the caller extends and closes. If the
 * name was taken (status is not CAIRN_OK), the refusal contains this object, too, because clients that accept an
 * existing repository read it. */
struct cairn_json_out hub_repo_open_made(struct hub_repo *r, enum cairn_status status);

/** Replies with the answer as JSON, with HTTP status r->code. */
void hub_repo_show(struct http_request *req, struct hub_call *call);

/** Writes an address: {base}{path}{namespace}/{name}{rest}. */
void hub_repo_url(const struct hub_repo *r, char *out, size_t size, const char *path, const char *rest);

#endif
