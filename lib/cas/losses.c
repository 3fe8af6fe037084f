#include "cas/losses.h"

#include "base/clock.h"
#include "cas/internal.h"
#include "index/daemon/lease.h"
#include "index/operate.h"
#include "index/owner.h"
#include "index/refer.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOSSES_AGAIN_MS = 60 * 1000,      /* another daemon may delete, copy or repair lost files meanwhile */
	LOSSES_SHARED_MS = 5 * 60 * 1000, /* another daemon may have lost xorbs meanwhile */
	LOSSES_REST_MS = 500,             /* wait at least this long after a search, and ten times its duration */
};

_Static_assert((int)CAIRN_LOSSES_OWNER_BYTES == (int)CAIRN_INDEX_SCOPE_TEXT_MAX + 1, "an owner's name fits");

/* Counters that change if losses or repairs may have happened since the last search. */
struct losses_mark {
	uint64_t n_lost, n_found, n_stored;
	uint64_t n_files, n_xorbs;
};

struct losses_found {
	struct cairn_losses_sum sum;
	struct cairn_hash *files;          /* owned: sum.n_files hashes, sorted */
	struct cairn_losses_owner *owners; /* owned: sum.n_owners owners, by number of lost files */
};

struct cas_losses {
	pthread_mutex_t lock; /* guards found, mark and has_failed; only the searching thread changes them */
	struct losses_found found;
	struct losses_mark mark;  /* the counters when the search that filled `found` began */
	bool has_failed;          /* the last search failed */
	_Atomic uint64_t n_files; /* found.sum.n_files, to read without the lock */
	/* for the searching thread only */
	int64_t looked_ms, rest_ms; /* monotonic times: of the last search; the earliest for the next */
};

static void losses_found_fini(struct losses_found *found)
{
	free(found->files);
	free(found->owners);
	*found = (struct losses_found){0};
}

struct cas_losses *cas_losses_new(void)
{
	struct cas_losses *l = calloc(1, sizeof(*l));
	if (l)
		pthread_mutex_init(&l->lock, NULL);
	return l;
}

void cas_losses_free(struct cas_losses *l)
{
	if (!l)
		return;
	losses_found_fini(&l->found);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static int losses_compare_hashes(const void *a, const void *b)
{
	const struct cairn_hash *x = a, *y = b;
	return memcmp(x->b, y->b, sizeof(x->b));
}

/* --- a search ----------------------------------------------------------------------------------------------------- */

struct losses_search {
	struct cairn_cas *cas;
	bool (*stop)(void *ctx);
	void *stop_ctx;
	int64_t *xorbs; /* owned: the numbers of lost xorbs, sorted */
	size_t n_xorbs, xorbs_cap;
	size_t files_cap;
	void *tree;    /* owned; a tree (search.h) of owners by name */
	size_t n_kept; /* entries of found.owners, while the tree is flattened */
	const struct cairn_hash *file;
	uint64_t size_bytes; /* size of the file */
	bool is_short;       /* memory ran out */
	struct losses_found found;
};

static void losses_search_fini(struct losses_search *search)
{
	free(search->xorbs);
	tdestroy(search->tree, free);
	losses_found_fini(&search->found);
}

static bool losses_stops(const struct losses_search *search)
{
	return search->stop && search->stop(search->stop_ctx);
}

/* Grows an array. @return the array with room for one more; NULL: no memory, and the old array still exists */
static void *losses_room(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	size_t wanted = *cap ? 2 * *cap : 64;
	void *more = realloc(array, wanted * size);
	if (more)
		*cap = wanted;
	return more;
}

static void losses_take_xorb(void *ctx, const struct cairn_index_xorb *row)
{
	struct losses_search *search = ctx;
	if (row->stored_bytes != 0 || !row->referenced || search->is_short)
		return;
	if (search->n_xorbs == CAIRN_LOSSES_XORBS_MAX) {
		search->found.sum.more = true;
		return;
	}
	int64_t *xorbs = losses_room(search->xorbs, search->n_xorbs, &search->xorbs_cap, sizeof(*xorbs));
	search->is_short = !xorbs;
	if (!xorbs)
		return;
	search->xorbs = xorbs;
	search->xorbs[search->n_xorbs++] = row->id;
	search->found.sum.n_xorbs++;
	search->found.sum.xorb_bytes += row->unpacked_bytes;
}

static int losses_compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static bool losses_needs_one(const struct losses_search *search, const struct cairn_index_file *file)
{
	for (uint32_t i = 0; i < file->n_terms; i++)
		if ((i == 0 || file->terms[i].xorb_id != file->terms[i - 1].xorb_id) &&
		    bsearch(&file->terms[i].xorb_id, search->xorbs, search->n_xorbs, sizeof(*search->xorbs),
			    losses_compare_ids))
			return true;
	return false;
}

static void losses_take_file(void *ctx, const struct cairn_index_file *file)
{
	struct losses_search *search = ctx;
	struct cairn_losses_sum *sum = &search->found.sum;
	if (search->is_short || !losses_needs_one(search, file))
		return;
	if (sum->n_files == CAIRN_LOSSES_FILES_MAX) {
		sum->more = true;
		return;
	}
	struct cairn_hash *files =
		losses_room(search->found.files, (size_t)sum->n_files, &search->files_cap, sizeof(*files));
	search->is_short = !files;
	if (!files)
		return;
	search->found.files = files;
	search->found.files[sum->n_files++] = file->hash;
	sum->file_bytes += file->size_bytes;
}

static enum cairn_status losses_walk_xorbs(struct losses_search *search)
{
	enum cairn_status status = CAIRN_OK;
	for (int64_t id = 0, next = 1; next != 0 && status == CAIRN_OK && !search->is_short; id = next) {
		if (losses_stops(search))
			return CAIRN_E_BUSY;
		status = cairn_index_each_xorb(search->cas->index, id, CAIRN_INDEX_PAGE_MAX, losses_take_xorb, search,
					       &next);
	}
	return search->is_short ? CAIRN_E_NOMEM : status;
}

static enum cairn_status losses_walk_files(struct losses_search *search)
{
	enum cairn_status status = CAIRN_OK;
	for (int64_t id = 0, next = 1; next != 0 && status == CAIRN_OK && !search->is_short; id = next) {
		if (losses_stops(search))
			return CAIRN_E_BUSY;
		status = cairn_index_each_file(search->cas->index, id, CAIRN_INDEX_PAGE_MAX, true, losses_take_file,
					       search, &next);
	}
	return search->is_short ? CAIRN_E_NOMEM : status;
}

/* --- owners ------------------------------------------------------------------------------------------------------- */

static int losses_compare_owners(const void *a, const void *b)
{
	const struct cairn_losses_owner *x = a, *y = b;
	return strcmp(x->owner, y->owner);
}

static int losses_compare_counts(const void *a, const void *b)
{
	const struct cairn_losses_owner *x = a, *y = b;
	if (x->n_files != y->n_files)
		return x->n_files > y->n_files ? -1 : 1;
	return strcmp(x->shown, y->shown);
}

/* Counts a lost file for its owner, who has one row for each file. */
static void losses_take_owner(void *ctx, const struct cairn_index_owned *row)
{
	struct losses_search *search = ctx;
	struct cairn_losses_owner key;
	if (search->is_short || cairn_index_owner_is_gone(row->owner))
		return;
	(void)snprintf(key.owner, sizeof(key.owner), "%s", row->owner);
	struct cairn_losses_owner **known = tfind(&key, &search->tree, losses_compare_owners);
	if (known) {
		(*known)->n_files++;
		(*known)->file_bytes += row->size_bytes;
		return;
	}
	if (search->found.sum.n_owners == CAIRN_LOSSES_OWNERS_MAX) {
		search->found.sum.more = true;
		return;
	}
	struct cairn_losses_owner *owner = malloc(sizeof(*owner));
	search->is_short = !owner;
	if (!owner)
		return;
	*owner = (struct cairn_losses_owner){
		.in_hub = cairn_index_is_repo_owner(row->owner), .n_files = 1, .file_bytes = row->size_bytes};
	(void)snprintf(owner->owner, sizeof(owner->owner), "%s", row->owner);
	(void)snprintf(owner->shown, sizeof(owner->shown), "%s", row->shown ? row->shown : row->owner);
	search->is_short = !tsearch(owner, &search->tree, losses_compare_owners);
	if (search->is_short)
		free(owner);
	else
		search->found.sum.n_owners++;
}

static void losses_flatten(const void *node, VISIT visit, void *ctx)
{
	struct losses_search *search = ctx;
	if (visit == postorder || visit == leaf)
		search->found.owners[search->n_kept++] = **(struct cairn_losses_owner *const *)node;
}

static enum cairn_status losses_find_owners(struct losses_search *search)
{
	struct losses_found *found = &search->found;
	enum cairn_status status = CAIRN_OK;
	for (uint64_t i = 0; i < found->sum.n_files && status == CAIRN_OK && !search->is_short; i++) {
		bool more = false;
		if (i % CAIRN_INDEX_PAGE_MAX == 0 && losses_stops(search))
			return CAIRN_E_BUSY;
		status = cairn_index_each_match(search->cas->index, NULL, CAIRN_INDEX_MATCH_FILE, found->files[i].b,
						CAIRN_INDEX_PAGE_MAX, losses_take_owner, search, &more);
		found->sum.more = found->sum.more || more;
	}
	if (search->is_short)
		return CAIRN_E_NOMEM;
	if (status != CAIRN_OK || found->sum.n_owners == 0)
		return status;
	found->owners = calloc((size_t)found->sum.n_owners, sizeof(*found->owners));
	if (!found->owners)
		return CAIRN_E_NOMEM;
	twalk_r(search->tree, losses_flatten, search);
	qsort(found->owners, search->n_kept, sizeof(*found->owners), losses_compare_counts);
	return CAIRN_OK;
}

/* --- when to search ----------------------------------------------------------------------------------------------- */

static struct losses_mark losses_mark_now(struct cairn_cas *cas)
{
	struct cairn_index_stats index;
	cairn_index_stats(cas->index, &index);
	return (struct losses_mark){
		.n_lost = atomic_load(&cas->xorbs_lost),
		.n_found = atomic_load(&cas->xorbs_found),
		.n_stored = atomic_load(&cas->xorbs_stored),
		.n_files = index.n_files,
		.n_xorbs = index.n_xorbs,
	};
}

/* May a search find anything new? While nothing is lost, uploads and deletions cannot change the result. */
static bool losses_may_differ(struct cairn_cas *cas, const struct losses_mark *now, int64_t now_ms)
{
	const struct cas_losses *l = cas->losses;
	const struct losses_mark *then = &l->mark;
	if (now_ms < l->rest_ms)
		return false;
	if (!l->found.sum.is_known || now->n_lost != then->n_lost || now->n_found != then->n_found)
		return true;
	if (l->found.sum.n_xorbs == 0)
		return cairn_index_is_shared(cas->index) && now_ms - l->looked_ms > LOSSES_SHARED_MS;
	return now->n_stored != then->n_stored || now->n_files != then->n_files || now->n_xorbs != then->n_xorbs ||
	       now_ms - l->looked_ms > LOSSES_AGAIN_MS;
}

static void losses_keep(struct cas_losses *l, struct losses_found *found, const struct losses_mark *mark)
{
	struct losses_found old;
	pthread_mutex_lock(&l->lock);
	old = l->found;
	l->found = *found;
	l->mark = *mark;
	l->has_failed = false;
	atomic_store(&l->n_files, found->sum.n_files);
	pthread_mutex_unlock(&l->lock);
	*found = (struct losses_found){0};
	losses_found_fini(&old);
}

static void losses_note_failure(struct cas_losses *l)
{
	pthread_mutex_lock(&l->lock);
	l->has_failed = true;
	pthread_mutex_unlock(&l->lock);
}

enum cairn_status cairn_losses_search(struct cairn_cas *cas, bool (*stop)(void *ctx), void *ctx)
{
	struct cas_losses *l = cas->losses;
	int64_t begun_ms = cairn_clock_mono_ms();
	const struct losses_mark mark = losses_mark_now(cas);
	if (cas->options.xorbs_external || !losses_may_differ(cas, &mark, begun_ms))
		return CAIRN_OK;
	CLEANUP(losses_search_fini) struct losses_search search = {.cas = cas, .stop = stop, .stop_ctx = ctx};
	enum cairn_status status = losses_walk_xorbs(&search);
	if (status == CAIRN_OK && search.n_xorbs > 0)
		status = losses_walk_files(&search);
	if (search.found.sum.n_files > 0)
		qsort(search.found.files, (size_t)search.found.sum.n_files, sizeof(*search.found.files),
		      losses_compare_hashes);
	if (status == CAIRN_OK)
		status = losses_find_owners(&search);
	int64_t now_ms = cairn_clock_mono_ms();
	l->rest_ms = now_ms + LOSSES_REST_MS + 10 * (now_ms - begun_ms);
	if (status != CAIRN_OK) {
		if (!losses_stops(&search))
			losses_note_failure(l);
		return status;
	}
	search.found.sum.is_known = true;
	l->looked_ms = now_ms;
	losses_keep(l, &search.found, &mark);
	return CAIRN_OK;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

void cairn_losses_sum(struct cairn_cas *cas, struct cairn_losses_sum *out)
{
	struct cas_losses *l = cas->losses;
	pthread_mutex_lock(&l->lock);
	*out = l->found.sum;
	out->has_failed = l->has_failed;
	out->is_stale = !cas->options.xorbs_external &&
			(!out->is_known || l->has_failed || atomic_load(&cas->xorbs_lost) != l->mark.n_lost);
	pthread_mutex_unlock(&l->lock);
}

bool cairn_losses_has(struct cairn_cas *cas, const struct cairn_hash *file)
{
	struct cas_losses *l = cas->losses;
	if (atomic_load(&l->n_files) == 0)
		return false;
	pthread_mutex_lock(&l->lock);
	bool has = bsearch(file, l->found.files, (size_t)l->found.sum.n_files, sizeof(*file), losses_compare_hashes) !=
		   NULL;
	pthread_mutex_unlock(&l->lock);
	return has;
}

uint64_t cairn_losses_of_owner(struct cairn_cas *cas, const char *owner)
{
	struct cas_losses *l = cas->losses;
	uint64_t n = 0;
	if (atomic_load(&l->n_files) == 0)
		return 0;
	pthread_mutex_lock(&l->lock);
	for (uint64_t i = 0; i < l->found.sum.n_owners && n == 0; i++)
		if (strcmp(l->found.owners[i].owner, owner) == 0)
			n = l->found.owners[i].n_files;
	pthread_mutex_unlock(&l->lock);
	return n;
}

uint64_t cairn_losses_of_repo(struct cairn_cas *cas, int64_t repo)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo);
	return cairn_losses_of_owner(cas, owner);
}

size_t cairn_losses_owners(struct cairn_cas *cas, struct cairn_losses_owner *out, size_t max)
{
	struct cas_losses *l = cas->losses;
	pthread_mutex_lock(&l->lock);
	size_t n = (size_t)l->found.sum.n_owners < max ? (size_t)l->found.sum.n_owners : max;
	if (n > 0)
		memcpy(out, l->found.owners, n * sizeof(*out));
	pthread_mutex_unlock(&l->lock);
	return n;
}

size_t cairn_losses_files(struct cairn_cas *cas, const struct cairn_hash *after, struct cairn_hash *out, size_t max)
{
	struct cas_losses *l = cas->losses;
	size_t n = 0;
	pthread_mutex_lock(&l->lock);
	size_t first = 0, end = (size_t)l->found.sum.n_files;
	while (after && first < end) { /* find the first hash after it */
		size_t middle = first + (end - first) / 2;
		if (losses_compare_hashes(&l->found.files[middle], after) <= 0)
			first = middle + 1;
		else
			end = middle;
	}
	for (; n < max && first + n < l->found.sum.n_files; n++)
		out[n] = l->found.files[first + n];
	pthread_mutex_unlock(&l->lock);
	return n;
}
