/* A request of a hub's client. A worker finds the asker by the API key and makes the answer. */
#ifndef CAIRN_SERVER_HUB_CALL_H
#define CAIRN_SERVER_HUB_CALL_H

#include "base/buf.h"
#include "cas/spill.h"
#include "hash/git_object.h"
#include "hub/account.h"
#include "mirror/mirror.h"
#include "server/ask/route_job.h"

enum {
	HUB_CALL_USER_BYTES = CAIRN_INDEX_ACCOUNT_NAME_MAX + 2, /* so long that no cut name equals a valid one */
	HUB_CALL_SESSION_BYTES = 64,
};

/** Names the user of a request without a key. */
struct hub_browser {
	char user[HUB_CALL_USER_BYTES];       /* named by a trusted proxy; empty: none */
	char session[HUB_CALL_SESSION_BYTES]; /* sent by a browser; empty: none */
	bool is_ambiguous;                    /* the proxy named more than one user */
};

struct hub_lack;

/** First member of a route's state. */
struct hub_call {
	struct route_job job;
	bool has_key; /* false: the asker is anonymous, unless browser.user is set */
	uint8_t digest[CAIRN_SHA256_BYTES];
	struct hub_browser browser;
	struct cairn_hub_asker asker;       /* set before run() is called */
	void (*run)(struct hub_call *call); /* runs on a worker; sets status, and diag unless status is CAIRN_OK */
	void (*show)(struct http_request *req, struct hub_call *call); /* replies if status is CAIRN_OK */
	enum cairn_status status;
	struct cairn_diag diag;
	char commit[CAIRN_GIT_OID_CHARS + 1]; /* id of the commit that was looked up; "": none */
	struct cairn_buf answer;              /* what hub_call_show_json() replies */
	struct cairn_hash sender;             /* the sender for whom a long answer counts */
	struct cairn_spill spilled; /* holds a long answer on the disk until it is read; answer is then empty */
	bool mirrors, runs;         /* the call may wait for the mirrored hub; run() is running now */
	/* About a mirrored repository. is_fetching: its bytes are not here yet. is_stale: the upstream could not be
	 * asked lately. said_mirror: the reply has the header that says so. */
	bool is_fetching, is_stale, said_mirror;
	char foreign[CAIRN_MIRROR_TOKEN_BYTES]; /* token of the mirrored hub, sent in place of a key; "": none */
	bool foreign_fits;                      /* the request asks for something of the mirrored hub */
	struct hub_lack *lack;                  /* owned; what the call waits for (hub_mirror.h); NULL: nothing */
};

/** Makes a zeroed state of so many bytes that begins with a call, and gives it to the request. Takes the key from the
 * Authorization header: "Bearer KEY", or "Basic" with the key as password. A text without the form of a key counts as
 * an unknown key. @return NULL: no memory; an error was replied */
void *hub_call_new(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		   void (*show)(struct http_request *req, struct hub_call *call));

/** Returns the cookie's name and the text between name and value. With HTTPS, browsers accept the name from this host
 * alone: no other host of the domain can set the cookie. */
const char *hub_call_cookie(bool secure);

/** Identifies a browser that sent no key: by the session in its cookie, or as the user named by a trusted proxy. For
 * pages, and routes that they link to. */
void hub_call_take_browser(struct http_request *req, struct hub_call *call);

/** Identifies a browser that was identified lately, so that it counts for its account from the head on. For http's
 * options. @param ctx  the struct app */
void hub_call_recognise(void *ctx, const struct http_request *req, struct auth_identity *out);

/** Are new repositories of this account, or of the asker's own ("me"), private by default? On the worker. */
bool hub_call_makes_private(const struct hub_call *call, const char *account);

/** Finds the asker of a request before its body is read, unless a remote index would have to be queried. @return false:
 * the asker was not looked up, or the call has failed */
bool hub_call_find_asker(struct hub_call *call);

/** Fails the call of an anonymous asker, as if a key were missing. @return false: the call has failed */
bool hub_call_need_somebody(struct hub_call *call);

/** Checks the key of a request that needs one, before its body is read. The call then counts for the key, not for the
 * address. @return false: no valid key; an error was replied */
bool hub_call_admit(struct http_request *req, struct hub_call *call);

/** Replies with the answer as JSON, which is for this asker alone. */
void hub_call_show_json(struct http_request *req, struct hub_call *call);
/** Does what hub_call_show_json() does, with another HTTP status and content type. */
void hub_call_show_code(struct http_request *req, struct hub_call *call, unsigned code, const char *content_type);

/** Releases the call's members. The caller frees the state itself. */
void hub_call_fini(struct hub_call *call);
/** Frees a state that is a struct hub_call alone. */
void hub_call_free(void *state);

#endif
