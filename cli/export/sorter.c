#include "cli/export/sorter.h"

#include "base/bytes.h"
#include "base/fd.h"
#include "base/sys.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SORTER_READ_BYTES = 32 * 1024 }; /* memory for each run while runs are merged */

/* Sorts a record in memory: the start of its key as a big-endian number, and its index. */
struct sorter_entry {
	uint64_t prefix;
	uint32_t index;
};

/* A sorted run in the file, while runs are merged. */
struct sorter_run {
	uint64_t at, left; /* offset and length of the part that is not in memory yet */
	uint8_t *bytes;    /* the part in memory */
	size_t pos, len;
};

struct cairn_sorter {
	struct cairn_sorter_options o;
	uint64_t n_records;
	/* members for adding */
	uint8_t *records;
	struct sorter_entry *entries;
	uint32_t n, cap;
	int fd;
	uint64_t file_bytes;
	bool reading;
	uint32_t next; /* without runs: the entry to be read next */
	struct sorter_run *runs;
	uint32_t n_runs;
	uint32_t *heap; /* indices of runs, ordered by their first record */
	uint32_t n_heap;
	bool stale; /* the caller has the first record of the heap; the next call steps over it */
};

static uint64_t sorter_prefix(const uint8_t *record)
{
	return __builtin_bswap64(cairn_get_u64le(record));
}

enum cairn_status cairn_sorter_new(struct cairn_sorter **out, const struct cairn_sorter_options *options)
{
	assert(options->key_bytes >= 8 && options->key_bytes <= options->record_bytes &&
	       options->record_bytes <= CAIRN_SORTER_RECORD_BYTES_MAX &&
	       options->run_bytes >= CAIRN_SORTER_RUN_BYTES_MIN);
	*out = NULL;
	CLEANUP(cairn_sorter_freep) struct cairn_sorter *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->o = *options;
	s->fd = -1;
	s->cap = (uint32_t)(options->run_bytes / options->record_bytes);
	s->records = malloc((size_t)s->cap * options->record_bytes);
	s->entries = malloc(s->cap * sizeof(*s->entries));
	if (!s->records || !s->entries)
		return CAIRN_E_NOMEM;
	*out = s;
	s = NULL;
	return CAIRN_OK;
}

static void sorter_forget_memory(struct cairn_sorter *s)
{
	free(s->records);
	free(s->entries);
	s->records = NULL;
	s->entries = NULL;
}

void cairn_sorter_freep(struct cairn_sorter **sorter)
{
	struct cairn_sorter *s = *sorter;
	if (!s)
		return;
	sorter_forget_memory(s);
	for (uint32_t i = 0; s->runs && i < s->n_runs; i++)
		free(s->runs[i].bytes);
	free(s->runs);
	free(s->heap);
	cairn_fd_closep(&s->fd);
	free(s);
	*sorter = NULL;
}

static int sorter_compare_entries(const void *a, const void *b, void *ctx)
{
	const struct sorter_entry *x = a, *y = b;
	const struct cairn_sorter *s = ctx;
	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	int order = memcmp(s->records + x->index * s->o.record_bytes, s->records + y->index * s->o.record_bytes,
			   s->o.key_bytes);
	if (order != 0)
		return order;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void sorter_sort(struct cairn_sorter *s)
{
	if (s->n > 0)
		qsort_r(s->entries, s->n, sizeof(*s->entries), sorter_compare_entries, s);
}

/* Opens a file without a name, which vanishes when it is closed. */
static enum cairn_status sorter_open_file(struct cairn_sorter *s)
{
	if (s->fd >= 0)
		return CAIRN_OK;
	s->fd = cairn_sys_openat(s->o.dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd >= 0)
		return CAIRN_OK;
	/* Some file systems lack such files: create one with a name, then remove the name. */
	s->fd = cairn_sys_openat(s->o.dir_fd, ".sorter.tmp", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->fd < 0 || cairn_sys_unlinkat(s->o.dir_fd, ".sorter.tmp", 0) < 0)
		return cairn_fd_status(errno);
	return CAIRN_OK;
}

/* Writes the records in memory to the file as a run, in pieces of the size of later reads. */
static enum cairn_status sorter_spill(struct cairn_sorter *s)
{
	uint8_t out[SORTER_READ_BYTES];
	size_t len = 0;
	enum cairn_status status = sorter_open_file(s);
	if (status == CAIRN_OK && s->n_runs == CAIRN_SORTER_RUNS_MAX)
		status = CAIRN_E_LIMIT;
	if (status != CAIRN_OK)
		return status;
	if (!s->runs)
		s->runs = calloc(CAIRN_SORTER_RUNS_MAX, sizeof(*s->runs));
	if (!s->runs)
		return CAIRN_E_NOMEM;
	sorter_sort(s);
	for (uint32_t i = 0; i < s->n && status == CAIRN_OK; i++) {
		if (sizeof(out) - len < s->o.record_bytes) {
			status = cairn_fd_write_all(s->fd, out, len);
			len = 0;
		}
		memcpy(out + len, s->records + s->entries[i].index * s->o.record_bytes, s->o.record_bytes);
		len += s->o.record_bytes;
	}
	if (status == CAIRN_OK)
		status = cairn_fd_write_all(s->fd, out, len);
	uint64_t bytes = (uint64_t)s->n * s->o.record_bytes;
	s->runs[s->n_runs++] = (struct sorter_run){.at = s->file_bytes, .left = bytes};
	s->file_bytes += bytes;
	s->n = 0;
	return status;
}

enum cairn_status cairn_sorter_add(struct cairn_sorter *sorter, const void *record)
{
	assert(!sorter->reading);
	enum cairn_status status = sorter->n == sorter->cap ? sorter_spill(sorter) : CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	memcpy(sorter->records + sorter->n * sorter->o.record_bytes, record, sorter->o.record_bytes);
	sorter->entries[sorter->n] = (struct sorter_entry){sorter_prefix(record), sorter->n};
	sorter->n++;
	sorter->n_records++;
	return CAIRN_OK;
}

/* Ensures that the next record of the run is in memory. @return CAIRN_OK; CAIRN_E_IO */
static enum cairn_status sorter_fill(struct cairn_sorter *s, struct sorter_run *run)
{
	size_t window = SORTER_READ_BYTES / s->o.record_bytes * s->o.record_bytes;
	if (run->pos < run->len || run->left == 0)
		return CAIRN_OK;
	run->len = run->left < window ? (size_t)run->left : window;
	run->pos = 0;
	enum cairn_status status = cairn_fd_read_at(s->fd, run->at, run->bytes, run->len);
	run->at += run->len;
	run->left -= run->len;
	return status;
}

static const uint8_t *sorter_first(const struct cairn_sorter *s, uint32_t heap_at)
{
	const struct sorter_run *run = &s->runs[s->heap[heap_at]];
	return run->bytes + run->pos;
}

/* Does the first record of run a come before that of run b? Equal records keep the order of their runs. */
static bool sorter_before(const struct cairn_sorter *s, uint32_t a, uint32_t b)
{
	int order = memcmp(sorter_first(s, a), sorter_first(s, b), s->o.key_bytes);
	return order < 0 || (order == 0 && s->heap[a] < s->heap[b]);
}

static void sorter_sift_down(struct cairn_sorter *s, uint32_t at)
{
	for (;;) {
		uint32_t least = at;
		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->n_heap; child++) {
			if (sorter_before(s, child, least))
				least = child;
		}
		if (least == at)
			return;
		uint32_t run = s->heap[at];
		s->heap[at] = s->heap[least];
		s->heap[least] = run;
		at = least;
	}
}

static enum cairn_status sorter_begin_merge(struct cairn_sorter *s)
{
	enum cairn_status status = s->n > 0 ? sorter_spill(s) : CAIRN_OK;
	sorter_forget_memory(s);
	s->heap = calloc(s->n_runs, sizeof(*s->heap));
	if (!s->heap)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < s->n_runs && status == CAIRN_OK; i++) {
		s->runs[i].bytes = malloc(SORTER_READ_BYTES);
		if (!s->runs[i].bytes)
			return CAIRN_E_NOMEM;
		status = sorter_fill(s, &s->runs[i]);
		s->heap[s->n_heap++] = i;
	}
	for (uint32_t i = s->n_heap / 2; i > 0 && status == CAIRN_OK; i--)
		sorter_sift_down(s, i - 1);
	return status;
}

static enum cairn_status sorter_begin(struct cairn_sorter *s)
{
	s->reading = true;
	if (s->n_runs > 0)
		return sorter_begin_merge(s);
	sorter_sort(s); /* all records fit into memory */
	return CAIRN_OK;
}

/* Steps over the record that was returned last. */
static enum cairn_status sorter_advance(struct cairn_sorter *s)
{
	struct sorter_run *run = &s->runs[s->heap[0]];
	run->pos += s->o.record_bytes;
	enum cairn_status status = sorter_fill(s, run);
	if (run->pos >= run->len)
		s->heap[0] = s->heap[--s->n_heap];
	if (s->n_heap > 0)
		sorter_sift_down(s, 0);
	s->stale = false;
	return status;
}

enum cairn_status cairn_sorter_next(struct cairn_sorter *sorter, const uint8_t **record)
{
	*record = NULL;
	enum cairn_status status = sorter->reading ? CAIRN_OK : sorter_begin(sorter);
	if (status == CAIRN_OK && sorter->stale)
		status = sorter_advance(sorter);
	if (status != CAIRN_OK)
		return status;
	if (sorter->n_runs == 0) {
		if (sorter->next < sorter->n)
			*record = sorter->records + sorter->entries[sorter->next++].index * sorter->o.record_bytes;
		return CAIRN_OK;
	}
	if (sorter->n_heap > 0) {
		*record = sorter_first(sorter, 0);
		sorter->stale = true;
	}
	return CAIRN_OK;
}
