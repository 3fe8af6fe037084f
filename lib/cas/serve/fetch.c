#include "cas/serve/fetch.h"

#include "cas/internal.h"
#include "cas/object/mend.h"
#include "cas/object/sound_copy.h"
#include "cas/object/verify_read.h"

enum cairn_status cairn_fetch_check_grant(struct cairn_cas *cas, struct cairn_fetch *f, const char *ranges,
					  const char *expires, const char *signature, int64_t now_unix_s,
					  struct cairn_diag *diag)
{
	enum cairn_status status = cairn_fetch_check(cas, &f->xorb, ranges ? ranges : "", expires ? expires : "",
						     signature ? signature : "", now_unix_s, diag);
	if (status != CAIRN_OK)
		return status;
	f->granted.n = cairn_fetch_ranges_parse(f->granted.range, CAIRN_FETCH_RANGES_MAX, ranges);
	return f->granted.n > 0 ? CAIRN_OK : CAIRN_E_IO;
}

static bool fetch_is_within(const struct cairn_fetch_range *outer, const struct cairn_fetch_range *inner)
{
	return inner->first >= outer->first && inner->last <= outer->last;
}

static bool fetch_is_granted(const struct cairn_fetch *f, const struct cairn_fetch_range *range)
{
	for (size_t i = 0; i < f->granted.n; i++)
		if (fetch_is_within(&f->granted.range[i], range))
			return true;
	return false;
}

static uint64_t fetch_bytes(const struct cairn_fetch_ranges *ranges)
{
	uint64_t n = 0;
	for (size_t i = 0; i < ranges->n; i++)
		n += ranges->range[i].last - ranges->range[i].first + 1;
	return n;
}

/* Ranges may overlap, but one request must not make a large reply out of a small grant. */
static enum cairn_status fetch_check_bytes(const struct cairn_fetch *f, struct cairn_diag *diag)
{
	uint64_t max = 2 * fetch_bytes(&f->granted), asked = fetch_bytes(&f->wanted);
	if (asked <= max)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_USAGE, "range.many", CAIRN_NO_OFFSET,
			 "the ranges are more than twice as long as what this URL was signed for; ask for each once");
	cairn_diag_numbers(diag, max, asked);
	return CAIRN_E_USAGE;
}

/* Clips one requested range to an object of object_bytes bytes. */
static struct cairn_fetch_range fetch_clip(const struct cairn_byte_range *asked, uint64_t object_bytes)
{
	bool suffix = asked->kind == CAIRN_RANGE_SUFFIX;
	uint64_t back = asked->suffix_bytes < object_bytes ? asked->suffix_bytes : object_bytes;
	return (struct cairn_fetch_range){
		.first = suffix ? object_bytes - back : asked->first,
		.last = suffix || asked->last >= object_bytes ? object_bytes - 1 : asked->last,
	};
}

/* Decides which ranges to send, from the request, the grant and the length of the object. */
static enum cairn_status fetch_decide(struct cairn_fetch *f, struct cairn_diag *diag)
{
	if (f->n_asked == 0) {
		f->wanted = f->granted;
		return CAIRN_OK;
	}
	f->wanted.n = f->n_asked;
	for (size_t i = 0; i < f->n_asked; i++) {
		struct cairn_fetch_range *w = &f->wanted.range[i];
		*w = fetch_clip(&f->asked[i], f->object_bytes);
		if (w->first > w->last)
			return cairn_fail(diag, CAIRN_E_LIMIT, "range.past_end", CAIRN_NO_OFFSET,
					  "the range starts past the end of the xorb");
		if (!fetch_is_granted(f, w))
			return cairn_fail(diag, CAIRN_E_DENIED, "fetch.range", CAIRN_NO_OFFSET,
					  "this URL was signed for other byte ranges");
	}
	return fetch_check_bytes(f, diag);
}

/* Is the object as long as the grant requires? A shorter one has changed since. */
static bool fetch_is_whole(const struct cairn_fetch *f)
{
	for (size_t i = 0; i < f->granted.n; i++)
		if (f->granted.range[i].last >= f->object_bytes)
			return false;
	return true;
}

/* Opens the first copy. @return as cairn_fetch_open() */
static enum cairn_status fetch_open_first(struct cairn_cas *cas, struct cairn_fetch *f, struct cairn_diag *diag)
{
	struct cairn_store_object *object;
	struct cairn_index_xorb row = {.hash = f->xorb};
	/* If rows name no copies, open the object first, and read its row only if the object is not verified. */
	if (cas_names_copies(cas) && cairn_index_xorb(cas->index, &f->xorb, &row) != CAIRN_OK)
		return CAIRN_E_BUSY;
	if (cas_open_copy(cas, &row, 0, &object) != CAIRN_OK)
		return CAIRN_E_BUSY;
	f->source.object = object;
	f->object_bytes = cairn_store_object_bytes(object);
	return fetch_is_whole(f) ? fetch_decide(f, diag) : CAIRN_E_BUSY;
}

static bool fetch_is_verified(const struct cairn_cas *cas, const struct cairn_fetch *f)
{
	return cairn_cas_is_verified(cas, &f->xorb, f->source.object, f->wanted.range, f->wanted.n);
}

/* Verifies by a cached list, which reads only the requested bytes. @return false: undecided */
static bool fetch_verify_by_kept_list(struct cairn_cas *cas, const struct cairn_fetch *f, bool (*stop)(void *ctx),
				      void *stop_ctx)
{
	struct cairn_diag ignored = {0};
	bool damaged;
	return cairn_cas_verify_read(cas, &f->xorb, f->source.object, NULL, f->wanted.range, f->wanted.n, stop,
				     stop_ctx, &damaged, &ignored) == CAIRN_OK &&
	       !damaged;
}

/* Does the row call the object stored? A lost xorb must first be found (sound_copy.h), even with a sound object. */
static bool fetch_row_vouches(const struct cairn_cas *cas, const struct cairn_fetch *f)
{
	struct cairn_index_xorb row;
	return cairn_index_xorb(cas->index, &f->xorb, &row) == CAIRN_OK && row.stored_bytes == f->object_bytes;
}

static bool fetch_is_over(void *ctx)
{
	uint32_t *n_chunks = ctx;
	return (*n_chunks)++ == CAIRN_FETCH_OPEN_CHUNKS;
}

/* Verifies a small range at once, which takes less time than handing it to a worker. */
static bool fetch_verify_small(struct cairn_cas *cas, const struct cairn_fetch *f)
{
	uint32_t n_chunks = 0;
	return fetch_bytes(&f->wanted) <= CAIRN_FETCH_OPEN_BYTES &&
	       fetch_verify_by_kept_list(cas, f, fetch_is_over, &n_chunks) && fetch_row_vouches(cas, f);
}

/* Reads the first bytes from the store before the client is promised any. A body needs the whole range; otherwise one
 * byte is enough to see that the object has not changed. */
static enum cairn_status fetch_prepare(struct cairn_fetch *f)
{
	const struct cairn_fetch_range *first = &f->wanted.range[0];
	return cairn_store_object_prepare(f->source.object, first->first,
					  f->no_body ? 1 : first->last - first->first + 1);
}

enum cairn_status cairn_fetch_open(struct cairn_cas *cas, struct cairn_fetch *f, bool verify, struct cairn_diag *diag)
{
	enum cairn_status status = fetch_open_first(cas, f, diag);
	if (status == CAIRN_OK && verify && !fetch_is_verified(cas, f) && !fetch_verify_small(cas, f))
		status = CAIRN_E_BUSY;
	/* A HEAD verifies nothing, but must still report a lost xorb. */
	if (status == CAIRN_OK && (fetch_prepare(f) != CAIRN_OK || (f->no_body && !fetch_row_vouches(cas, f))))
		status = CAIRN_E_BUSY;
	if (status != CAIRN_OK)
		cairn_fetch_source_fini(&f->source);
	return status;
}

/* Verifies the first copy, which usually is sound and has a cached list. @return false: undecided */
static bool fetch_verify_first(struct cairn_cas *cas, struct cairn_fetch *f, bool (*stop)(void *ctx), void *stop_ctx)
{
	struct cairn_diag ignored = {0};
	if (fetch_open_first(cas, f, &ignored) == CAIRN_OK &&
	    (fetch_is_verified(cas, f) || fetch_verify_by_kept_list(cas, f, stop, stop_ctx)) &&
	    fetch_row_vouches(cas, f))
		return true;
	cairn_fetch_source_fini(&f->source);
	return false;
}

static enum cairn_status fetch_find_sound(struct cairn_cas *cas, struct cairn_fetch *f, bool (*stop)(void *ctx),
					  void *stop_ctx, struct cairn_diag *diag)
{
	if (fetch_verify_first(cas, f, stop, stop_ctx))
		return CAIRN_OK;
	enum cairn_status status = cas_object_bytes(cas, &f->xorb, &f->object_bytes);
	if (status == CAIRN_OK)
		status = fetch_decide(f, diag);
	return status == CAIRN_OK ? cas_sound_copy(cas, &f->xorb, f->wanted.range, f->wanted.n, stop, stop_ctx,
						   &f->source.object, diag)
				  : status;
}

enum cairn_status cairn_fetch_verify(struct cairn_cas *cas, struct cairn_fetch *f, bool (*stop)(void *ctx),
				     void *stop_ctx, struct cairn_diag *diag)
{
	/* If the object changed after it was verified, open and verify it once more. */
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		enum cairn_status status = fetch_find_sound(cas, f, stop, stop_ctx, diag);
		if (status == CAIRN_OK)
			status = fetch_prepare(f);
		else
			return status;
		if (status == CAIRN_OK)
			return CAIRN_OK;
		cairn_fetch_source_fini(&f->source);
		if (status == CAIRN_E_BUSY)
			return cas_store_is_silent(diag);
		if (status != CAIRN_E_NOT_FOUND)
			return status;
	}
	return cairn_fail(diag, CAIRN_E_BUSY, "object.changing", CAIRN_NO_OFFSET,
			  "the object changes in the store while it is read; try again");
}

int cairn_fetch_source_take_fd(struct cairn_fetch_source *source, uint64_t *offset)
{
	return cairn_store_object_take_fd(source->object, offset);
}

enum cairn_status cairn_fetch_source_read(struct cairn_fetch_source *source, uint64_t offset, uint8_t *out, size_t len)
{
	return cairn_store_object_read(source->object, offset, out, len);
}

void cairn_fetch_source_fini(struct cairn_fetch_source *source)
{
	cairn_store_object_freep(&source->object);
}
