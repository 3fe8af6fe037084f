/* What the routes of buckets share: /api/buckets/{namespace}/{name}/… */
#ifndef CAIRN_SERVER_HUB_BUCKET_H
#define CAIRN_SERVER_HUB_BUCKET_H

#include "base/json.h"
#include "hub/bucket.h"
#include "server/hub/hub_call.h"
#include "server/route/route_body.h"

enum { HUB_BASE_BYTES = 1024 };

/** First member of a route's state, which begins with a call. */
struct hub_bucket {
	struct hub_call call;
	struct route_body body;
	const char *namespace, *name; /* of the path; NULL: it has none. The request's */
	char base[HUB_BASE_BYTES];    /* of addresses in answers */
	unsigned code;                /* of the answer; 0: 200 */
	struct cairn_index_repo repo; /* the route finds it */
};

/** Make such a state, as hub_call_new(). */
void *hub_bucket_new(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		     void (*show)(struct http_request *req, struct hub_call *call));
void hub_bucket_fini(struct hub_bucket *b);
void hub_bucket_free(void *state);

/** Find the bucket of the path; else the call has failed. On the worker. */
bool hub_bucket_find(struct hub_bucket *b, enum cairn_hub_access need);

/** Reply the answer as JSON with the code. */
void hub_bucket_show(struct http_request *req, struct hub_call *call);

/** Reply an address: {base}{path}{namespace}/{name}{rest}. */
void hub_bucket_url(const struct hub_bucket *b, char *out, size_t size, const char *path, const char *rest);

#endif
