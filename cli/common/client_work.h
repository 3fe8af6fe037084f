/* Between the files that talk to a server. client.c opens connections and asks the server; client_fetch.c stands above
 * it, and reads from signed URLs. */
#ifndef CAIRN_CLI_CLIENT_WORK_H
#define CAIRN_CLI_CLIENT_WORK_H

#include "cli/common/client.h"

#include <curl/curl.h>

enum {
	CLIENT_ERROR_BYTES_MAX = 64 * 1024,
	CLIENT_RANGE_BYTES = 48, /* "18446744073709551615-18446744073709551615" */
};

struct client {
	CURL *curl;
	struct curl_slist *headers;
	char *url; /* without a slash at its end */
	unsigned retries;
	bool verbose, has_key, hurries;
	atomic_bool reached_here;
	atomic_bool *reached; /* shared by all that are like it: the server has answered something, so it is there, if
				 not always */
	uint64_t bytes_sent;
	_Atomic uint64_t *watched; /* borrowed, as is the next; NULL: nobody's */
	const atomic_bool *stop;
	char error[CURL_ERROR_SIZE];
};

/** One exchange. */
struct client_exchange {
	struct client *c;
	struct cairn_buf *answer; /* of the caller */
	struct cairn_buf error;   /* what came with a status that is not 2xx */
	const char *range;        /* "first-last"; NULL: all of it */
	long code;
};

void client_exchange_fini(struct client_exchange *x);

/** @param body  of a POST, borrowed until the exchange is over */
void client_set_method(CURL *h, enum client_method method, const uint8_t *body, size_t body_len);

/** Send what was set, and learn the code of the answer. */
CURLcode client_perform(struct client_exchange *x);

/** What became of it. @return as client_request() */
CAIRN_MUST_USE enum cairn_status client_judge(const struct client_exchange *x, CURLcode rc, struct cairn_diag *diag);

/** Is another try worth it? A server that never was there, or a name without an address, will hardly be there in a
 * second; one that has answered before is being restarted. @param status  what it was judged to be */
bool client_may_help(const struct client_exchange *x, CURLcode rc, enum cairn_status status);

/** Before another try, for as long as the answer says, or else by their number. @param why  it is wanted */
void client_wait(struct client *c, unsigned try, const struct cairn_diag *why);

#endif
