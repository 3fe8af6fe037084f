/* How often somebody may ask: a budget of requests for each client, refilled at a steady rate, in a table of fixed
 * size. Pure: knows neither HTTP nor sockets nor a clock. */
#ifndef CAIRN_SERVER_RATE_H
#define CAIRN_SERVER_RATE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RATE_CLIENTS = 16384 }; /* that are told apart, at most; 256 KiB */

/** Budgets of one kind of client (addresses, tokens). Any thread; a look-up takes the same few steps however full the
 *  table is. */
struct rate;

/**
 * @param per_s    requests a second that each client may go on with; 1 or more
 * @param burst_s  how many seconds' worth of them may come at once; 1 or more
 * @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_IO: the system has no random bytes for the table's key
 */
CAIRN_MUST_USE enum cairn_status rate_new(struct rate **out, uint64_t per_s, uint64_t burst_s);
void rate_free(struct rate *r);

/**
 * Take one request from a client's budget. A request that is refused costs nothing, so who waits as told is served.
 *
 * In a full set of the table the client whose budget is fullest is forgotten: it loses least, and one that is held back
 * stays held back, however many addresses somebody else sends from.
 * @param who     what tells a client from others: bytes of an address, a token
 * @param now_us  any clock that does not run backwards
 * @return 0: go on; else how many milliseconds to wait before the next try
 */
uint64_t rate_take(struct rate *r, const void *who, size_t len, int64_t now_us);

/** How many requests were refused. */
uint64_t rate_refused(const struct rate *r);

#endif
