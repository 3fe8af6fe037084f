#include "mirror/net/rate.h"

#include <stdbool.h>

enum { RATE_SAVED_MS = 250, RATE_S_MS = 1000 };

void mirror_rate_take(struct mirror_rate *rate, uint64_t bytes)
{
	rate->left -= rate->bytes_s > 0 ? (int64_t)bytes * RATE_S_MS : 0;
}

int64_t mirror_rate_wait_ms(struct mirror_rate *rate, int64_t now_ms)
{
	if (rate->bytes_s == 0)
		return 0;
	int64_t a_ms = (int64_t)rate->bytes_s, most = a_ms * RATE_SAVED_MS + RATE_S_MS,
		passed_ms = now_ms - rate->at_ms;
	/* Compares before it multiplies, since any time may have passed. */
	bool is_full = rate->at_ms == 0 || passed_ms > (most - rate->left) / a_ms;
	rate->left = is_full ? most : rate->left + a_ms * passed_ms;
	rate->at_ms = now_ms;
	return rate->left > 0 ? 0 : 1 - rate->left / a_ms;
}
