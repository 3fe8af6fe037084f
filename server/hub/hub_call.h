/* A request of a hub's client: who asks is found by the API key, and the answer made, on a worker. */
#ifndef CAIRN_SERVER_HUB_CALL_H
#define CAIRN_SERVER_HUB_CALL_H

#include "base/buf.h"
#include "cas/spill.h"
#include "hash/git_object.h"
#include "hub/account.h"
#include "server/route/route_job.h"

enum {
	HUB_CALL_USER_BYTES = CAIRN_INDEX_ACCOUNT_NAME_MAX + 2, /* one more than a name has: none is cut to another */
	HUB_CALL_SESSION_BYTES = 64,
};

/** First member of a route's state. */
struct hub_call {
	struct route_job job;
	bool has_key; /* else nobody asks, unless it is a user */
	uint8_t digest[CAIRN_SHA256_BYTES];
	char user[HUB_CALL_USER_BYTES];       /* whom a trusted proxy names; empty: nobody */
	char session[HUB_CALL_SESSION_BYTES]; /* what a browser shows; empty: nothing */
	struct cairn_hub_asker asker;         /* known when run() is called */
	void (*run)(struct hub_call *call);   /* on a worker; sets status, and diag when that is not CAIRN_OK */
	void (*show)(struct http_request *req, struct hub_call *call); /* replies when status is CAIRN_OK */
	enum cairn_status status;
	struct cairn_diag diag;
	char commit[CAIRN_GIT_OID_CHARS + 1]; /* at which something was looked for; "": at none */
	struct cairn_buf answer;              /* what hub_call_show_json() replies */
	struct cairn_hash sender;             /* as whose a long answer counts */
	struct cairn_spill spilled;           /* a long answer, on the disk until it is read; answer is empty then */
};

/**
 * Make a zeroed state of so many bytes that begins with a call, give it to the request, and take the key from its
 * Authorization header: "Bearer KEY", or "Basic" with the key as password. What is no key of ours is not known.
 * @return NULL without memory: that was replied
 */
void *hub_call_new(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		   void (*show)(struct http_request *req, struct hub_call *call));

/** Name of the cookie, and what stands between it and its value. By HTTPS it is one that browsers take from this very
 *  host alone: no other of the same domain can set it. */
const char *hub_call_cookie(bool secure);

/** Let a browser ask, where no key came along: by the session in its cookie, or as the user whom a trusted proxy names.
 * For pages, and what they link to. */
void hub_call_take_browser(struct http_request *req, struct hub_call *call);

/** Is what is made in this account, or in the asker's own ("me"), private where nobody says? On the worker. */
bool hub_call_makes_private(const struct hub_call *call, const char *account);

/** For what nobody does without a key, before its body is taken: is one there, and good? Then the call counts as its,
 * not as the address's. @return false: it is not, which was replied */
bool hub_call_admit(struct http_request *req, struct hub_call *call);

/** Reply the answer as JSON, which is for this asker alone. */
void hub_call_show_json(struct http_request *req, struct hub_call *call);
/** Likewise with another status, and another type. */
void hub_call_show_code(struct http_request *req, struct hub_call *call, unsigned code, const char *content_type);

/** Release what the call has; the state itself is free()d by the caller. */
void hub_call_fini(struct hub_call *call);
/** For routes whose state is a call alone. */
void hub_call_free(void *state);

#endif
