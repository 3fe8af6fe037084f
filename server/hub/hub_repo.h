/* What the routes of repositories and buckets share: /api/{kind}/{namespace}/{name}/… */
#ifndef CAIRN_SERVER_HUB_REPO_H
#define CAIRN_SERVER_HUB_REPO_H

#include "base/json.h"
#include "hub/bucket.h"
#include "hub/tree.h"
#include "server/hub/hub_call.h"
#include "server/route/route_body.h"

enum { HUB_BASE_BYTES = 1024 };

/** First member of a route's state, which begins with a call. */
struct hub_repo {
	struct hub_call call;
	struct route_body body;
	enum cairn_index_repo_kind kind;  /* 0: none; then no repository is found */
	const char *namespace, *name;     /* of the path; NULL: it has none. The request's */
	char base[HUB_BASE_BYTES];        /* of addresses in answers */
	unsigned code;                    /* of the answer; 0: 200 */
	struct cairn_index_repo repo;     /* the route finds it */
	struct cairn_index_commit commit; /* likewise, of a repository that has some */
};

/** Make such a state, as hub_call_new(). */
void *hub_repo_new(struct http_request *req, size_t bytes, enum cairn_index_repo_kind kind,
		   void (*run)(struct hub_call *call), void (*show)(struct http_request *req, struct hub_call *call));
void hub_repo_fini(struct hub_repo *r);
void hub_repo_free(void *state);

/** Likewise for /api/{type}/{namespace}/{name}/…; type is models, datasets, spaces or kernels.
 *  @return NULL: replied, as that it is none of these */
void *hub_repo_new_git(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		       void (*show)(struct http_request *req, struct hub_call *call));

/** From head(), for what nobody does without a key: take the body, if there is one and it is good, as the key's.
 *  @param state  begins with this; NULL: it could not be made, which was replied */
void hub_repo_begin_write(struct http_request *req, void *state);
/** A route's body(), after that or route_body_begin(). */
void hub_repo_body(struct http_request *req, const uint8_t *bytes, size_t len);
/** A route's done(), where run() looks at the body. */
void hub_repo_done(struct http_request *req);

/** Find the repository of the path; else the call has failed. On the worker. */
bool hub_repo_find(struct hub_repo *r, enum cairn_hub_access need);

/** Mint a token of the store; else the call has failed.
 *  @param claims  of cairn_hub_token_claims(); when it ends is put in
 *  @param[out] token  owned by the caller, also when it failed */
bool hub_repo_mint(struct hub_repo *r, struct cairn_token_claims *claims, char **token);

/** Find it, and the commit of a revision, as the address has it (NULL: of main). */
bool hub_repo_find_commit(struct hub_repo *r, enum cairn_hub_access need, const char *raw);
/** Likewise of "revision/path", the path of the top folder being "". */
bool hub_repo_find_place(struct hub_repo *r, enum cairn_hub_access need, const char *raw,
			 char path[static CAIRN_INDEX_PATH_MAX + 1]);

/** The query's limit: 1 to max. @param absent  when none is given, or none that can be read */
uint32_t hub_limit(const struct http_request *req, uint32_t absent, uint32_t max);

/** Is a query's value a yes: "true", "True", "1"? */
bool hub_says_yes(const char *value);

/** "model", as clients name a kind. */
const char *hub_kind_name(enum cairn_index_repo_kind kind);
/** @return 0: it is the name of none */
enum cairn_index_repo_kind hub_kind_of_name(const char *name);
/** "models", as addresses name it. @return 0: it is none, or that of buckets */
enum cairn_index_repo_kind hub_kind_of_segment(const char *segment);
/** "/api/models/", before a repository's name. */
const char *hub_kind_api(enum cairn_index_repo_kind kind);
/** "/", "/datasets/": likewise in addresses for people. */
const char *hub_kind_web(enum cairn_index_repo_kind kind);

/** {namespace}/{name}, as a member of JSON. */
void hub_repo_put_id(struct cairn_json_out *w, const char *member, const struct cairn_index_repo *repo);

/** Begin the answer about a repository that was made: an object with its address, to be added to and closed. It is
 * there also when the name was taken (status is not CAIRN_OK), with the refusal: clients that do not mind read it. */
struct cairn_json_out hub_repo_open_made(struct hub_repo *r, enum cairn_status status);

/** Reply the answer as JSON with the code. */
void hub_repo_show(struct http_request *req, struct hub_call *call);

/** Reply an address: {base}{path}{namespace}/{name}{rest}. */
void hub_repo_url(const struct hub_repo *r, char *out, size_t size, const char *path, const char *rest);

#endif
