/* Replies that are written piece by piece (cas/spill.h). */
#ifndef CAIRN_SERVER_ROUTE_SPILL_H
#define CAIRN_SERVER_ROUTE_SPILL_H

#include "cas/spill.h"
#include "server/http/http.h"

/** For the reply to a request, within plan_bytes_max. */
void route_spill_init(struct cairn_spill *s, const struct http_request *req);

/** Replies that the reply would exceed bytes_max (rule plan.bytes), with both numbers. */
void route_reply_over(struct http_request *req, const struct cairn_spill *s, unsigned code);

/** Replies with the written and finished bytes, or with the error that occurred on the way. */
void route_reply_spill(struct http_request *req, struct cairn_spill *s, unsigned code, const char *content_type);

#endif
