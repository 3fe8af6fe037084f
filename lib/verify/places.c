/* Finds the described xorbs of a shard by hash. */
#include "verify/run.h"

#include "base/bytes.h"

#include <string.h>

/* Orders two blocks by hash. The prefix nearly always decides; else the shard has the whole hash. */
static int place_compare(const struct verify_run *run, const struct verify_place *a, const struct verify_place *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return memcmp(run->bytes + a->offset, run->bytes + b->offset, CAIRN_HASH_BYTES);
}

static void place_swap(struct verify_place *a, struct verify_place *b)
{
	struct verify_place kept = *a;
	*a = *b;
	*b = kept;
}

static void place_sift(const struct verify_run *run, size_t root, size_t n)
{
	struct verify_place *p = run->places;
	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && place_compare(run, &p[child], &p[child + 1]) < 0)
			child++;
		if (place_compare(run, &p[root], &p[child]) >= 0)
			return;
		place_swap(&p[root], &p[child]);
	}
}

/* Heap sort: the C library's qsort() may take extra memory or quadratic time. */
void cairn_verify_sort_places(struct verify_run *run)
{
	for (size_t i = run->n_places / 2; i-- > 0;)
		place_sift(run, i, run->n_places);
	for (size_t n = run->n_places; n > 1;) {
		n--;
		place_swap(&run->places[0], &run->places[n]);
		place_sift(run, 0, n);
	}
}

struct cairn_shard_xorb cairn_verify_xorb_at(const struct verify_run *run, uint64_t offset)
{
	/* The first pass has read this block, so reading it again cannot fail. */
	struct cairn_shard_reader r = run->xorbs_start;
	(void)cairn_cur_take(&r.cur, (size_t)(offset - cairn_cur_offset(&r.cur)));
	struct cairn_shard_xorb xorb = {0};
	bool more;
	enum cairn_status status = cairn_shard_next_xorb(&r, &xorb, &more, NULL);
	(void)status;
	return xorb;
}

const struct verify_place *cairn_verify_find(const struct verify_run *run, const struct cairn_hash *hash,
					     struct cairn_shard_xorb *out)
{
	uint64_t prefix = cairn_get_u64le(hash->b);
	size_t low = 0, high = run->n_places;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct verify_place *place = &run->places[mid];
		int order = place->prefix < prefix ? -1 : 1;
		if (place->prefix == prefix)
			order = memcmp(run->bytes + place->offset, hash->b, CAIRN_HASH_BYTES);
		if (order == 0) {
			*out = cairn_verify_xorb_at(run, place->offset);
			return place;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
