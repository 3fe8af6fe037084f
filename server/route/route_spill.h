/* Replies that are written piece by piece (cas/spill.h). */
#ifndef CAIRN_SERVER_ROUTE_SPILL_H
#define CAIRN_SERVER_ROUTE_SPILL_H

#include "cas/spill.h"
#include "server/http/http.h"

/** For the reply to a request, within plan_bytes_max. */
void route_spill_init(struct cairn_spill *s, const struct http_request *req);

/** Reply that it is over bytes_max (rule plan.bytes), with both numbers. */
void route_reply_over(struct http_request *req, const struct cairn_spill *s, unsigned code);

/** Reply with what was written and finished. A failure on the way is replied as such. */
void route_reply_spill(struct http_request *req, struct cairn_spill *s, unsigned code, const char *content_type);

#endif
