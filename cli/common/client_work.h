/* Shared by client.c, which sends requests to the server, and client_fetch.c, which reads from signed URLs. */
#ifndef CAIRN_CLI_CLIENT_WORK_H
#define CAIRN_CLI_CLIENT_WORK_H

#include "cli/common/client.h"

#include <curl/curl.h>

enum {
	CLIENT_ERROR_BYTES_MAX = 64 * 1024,
	CLIENT_RANGE_BYTES = 48, /* room for "18446744073709551615-18446744073709551615" */
};

struct client {
	CURL *curl;
	struct curl_slist *headers;
	char *url; /* without a final slash */
	unsigned retries;
	bool verbose, has_key, hurries;
	atomic_bool reached_here;
	atomic_bool *reached; /* the server has answered before; shared with the clients of client_new_like() */
	uint64_t bytes_sent;
	_Atomic uint64_t *watched; /* both borrowed; NULL: not set */
	const atomic_bool *stop;
	char error[CURL_ERROR_SIZE];
};

/** A request and its answer. */
struct client_exchange {
	struct client *c;
	struct cairn_buf *answer; /* the caller's buffer */
	struct cairn_buf error;   /* body of an answer that is not 2xx */
	const char *range;        /* "first-last"; NULL: all bytes */
	long code;
};

void client_exchange_fini(struct client_exchange *x);

/** Sets method and body of a request. @param body  of a POST, borrowed until the exchange is over */
void client_set_method(CURL *h, enum client_method method, const uint8_t *body, size_t body_len);

/** Sends the prepared request, and reads the code of the answer. */
CURLcode client_perform(struct client_exchange *x);

/** Maps the result to a status. @return as client_request() */
CAIRN_MUST_USE enum cairn_status client_judge(const struct client_exchange *x, CURLcode rc, struct cairn_diag *diag);

/** Could another try help? A server that never answered, or a name without an address, will hardly work a second later;
 * a server that answered before may be restarting. @param status  from client_judge() */
bool client_may_help(const struct client_exchange *x, CURLcode rc, enum cairn_status status);

/** Waits before another try: as long as the answer says, else longer with each try. @param why  the reason */
void client_wait(struct client *c, unsigned try, const struct cairn_diag *why);

#endif
