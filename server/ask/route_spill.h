/* Replies that are written piece by piece (cas/spill.h). */
#ifndef CAIRN_SERVER_ROUTE_SPILL_H
#define CAIRN_SERVER_ROUTE_SPILL_H

#include "cas/spill.h"
#include "server/http/http.h"

/** Initialises the spill for the reply to a request, with the limit plan_bytes_max. */
void route_spill_init(struct cairn_spill *s, const struct http_request *req);

/** Replies that the answer would exceed bytes_max (rule plan.bytes), with both numbers. */
void route_reply_over(struct http_request *req, const struct cairn_spill *s, unsigned code);

/** Replies with the finished bytes of the spill, or with the error that occurred while they were written. */
void route_reply_spill(struct http_request *req, struct cairn_spill *s, unsigned code, const char *content_type);

#endif
