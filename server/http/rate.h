/* Rate limits: a budget of requests for each client, refilled at a steady rate, in a table of fixed size. Pure: uses
 * neither HTTP nor sockets nor a clock. */
#ifndef CAIRN_SERVER_RATE_H
#define CAIRN_SERVER_RATE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RATE_CLIENTS = 16384 }; /* most clients in the table, which takes 256 KiB */

/** Budgets of one kind of client (addresses, tokens). Any thread. A lookup takes few steps even in a full table. */
struct rate;

/** Makes a rate limiter. @param per_s  requests a second that each client may sustain; 1 or more @param burst_s
 * seconds' worth of requests that may come at once; 1 or more @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_IO: the system
 * has no random bytes for the table's key */
CAIRN_MUST_USE enum cairn_status rate_new(struct rate **out, uint64_t per_s, uint64_t burst_s);
void rate_free(struct rate *r);

/** Takes one request from a client's budget. A refused request costs nothing, so a client that waits as long as the
 * result says is served. If the client's set of the table is full, the client with the fullest budget is evicted from
 * it, because that client loses least. So a limited client stays limited, however many other addresses send.
 * @param who     the client's key: bytes of an address or a token
 * @param now_us  any clock that does not run backwards
 * @return 0: allowed; else how many milliseconds to wait before the next try */
uint64_t rate_take(struct rate *r, const void *who, size_t len, int64_t now_us);

/** Returns how many requests were refused. */
uint64_t rate_refused(const struct rate *r);

#endif
