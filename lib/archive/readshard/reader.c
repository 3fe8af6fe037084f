#include "archive/readshard/reader.h"

#include "archive/readshard/chd.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct cairn_readshard {
	int fd;               /* owned; -1: the bytes are borrowed */
	const uint8_t *bytes; /* NULL: read from fd */
	uint64_t len;
	struct cairn_readshard_header header;
	struct cairn_chd function;
	uint64_t end;
	bool disjoint; /* result of cairn_readshard_check_disjoint() */
};

enum cairn_status cairn_readshard_read(const struct cairn_readshard *s, uint64_t at, uint8_t *out, size_t len,
				       struct cairn_diag *diag)
{
	if (s->bytes && at <= s->len && len <= s->len - at) {
		memcpy(out, s->bytes + at, len);
		return CAIRN_OK;
	}
	if (!s->bytes && cairn_fd_read_at(s->fd, at, out, len) == CAIRN_OK)
		return CAIRN_OK;
	memset(out, 0, len); /* also for the analyzer, which overlooks failures */
	return cairn_fail(diag, CAIRN_E_IO, "readshard.read", at,
			  "%zu bytes of the file cannot be read: it was cut, or its disk fails", len);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Refuses an impossible number in the header. */
static enum cairn_status readshard_layout(struct cairn_diag *diag, uint64_t at, uint64_t expected, uint64_t actual,
					  const char *what)
{
	enum cairn_status status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.layout", at, "%s", what);
	cairn_diag_numbers(diag, expected, actual);
	return status;
}

static enum cairn_status readshard_check_layout(const struct cairn_readshard *s, struct cairn_diag *diag)
{
	const struct cairn_readshard_header *h = &s->header;
	if (h->objects_at < CAIRN_READSHARD_HEADER_BYTES || h->objects_at > s->len)
		return readshard_layout(diag, CAIRN_READSHARD_OBJECTS_AT, CAIRN_READSHARD_OBJECTS_START, h->objects_at,
					"the objects begin within the header or behind the file's end");
	if (h->index_at > s->len || h->index_at < h->objects_at)
		return readshard_layout(diag, CAIRN_READSHARD_INDEX_AT, s->len, h->index_at,
					"the index begins before the objects or behind the file's end");
	if (h->objects_bytes > h->index_at - h->objects_at)
		return readshard_layout(diag, CAIRN_READSHARD_OBJECTS_BYTES_AT, h->index_at - h->objects_at,
					h->objects_bytes, "the objects reach into the index");
	if (h->index_bytes > s->len - h->index_at)
		return readshard_layout(diag, CAIRN_READSHARD_INDEX_BYTES_AT, s->len - h->index_at, h->index_bytes,
					"the index reaches over the file's end");
	if (h->index_bytes % CAIRN_READSHARD_SLOT_BYTES != 0)
		return readshard_layout(diag, CAIRN_READSHARD_INDEX_BYTES_AT,
					h->index_bytes - h->index_bytes % CAIRN_READSHARD_SLOT_BYTES, h->index_bytes,
					"the index's length is not a multiple of 40");
	if (h->function_at > s->len || h->function_at < h->index_at + h->index_bytes)
		return readshard_layout(diag, CAIRN_READSHARD_FUNCTION_AT, h->index_at + h->index_bytes, h->function_at,
					"the hash function begins within the index or behind the file's end");
	return CAIRN_OK;
}

static enum cairn_status readshard_parse_header(struct cairn_readshard *s, struct cairn_diag *diag)
{
	uint8_t head[CAIRN_READSHARD_HEADER_BYTES];
	if (s->len < sizeof(head)) {
		enum cairn_status status =
			cairn_fail(diag, CAIRN_E_FORMAT, "readshard.short", s->len, "the file ends within the header");
		cairn_diag_numbers(diag, sizeof(head), s->len);
		return status;
	}
	enum cairn_status status = cairn_readshard_read(s, 0, head, sizeof(head), diag);
	if (status != CAIRN_OK)
		return status;
	if (memcmp(head, CAIRN_READSHARD_NAME, CAIRN_READSHARD_NAME_BYTES) != 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "readshard.magic", 0,
				  "the file does not begin with SWHShard: it is no Read Shard, or was not finished");
	uint64_t version = cairn_get_u64be(head + CAIRN_READSHARD_VERSION_AT);
	if (version != CAIRN_READSHARD_VERSION) {
		status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.version", CAIRN_READSHARD_VERSION_AT,
				    "the version is not supported");
		cairn_diag_numbers(diag, CAIRN_READSHARD_VERSION, version);
		return status;
	}
	s->header = (struct cairn_readshard_header){
		.n_objects = cairn_get_u64be(head + CAIRN_READSHARD_COUNT_AT),
		.objects_at = cairn_get_u64be(head + CAIRN_READSHARD_OBJECTS_AT),
		.objects_bytes = cairn_get_u64be(head + CAIRN_READSHARD_OBJECTS_BYTES_AT),
		.index_at = cairn_get_u64be(head + CAIRN_READSHARD_INDEX_AT),
		.index_bytes = cairn_get_u64be(head + CAIRN_READSHARD_INDEX_BYTES_AT),
		.function_at = cairn_get_u64be(head + CAIRN_READSHARD_FUNCTION_AT),
	};
	return readshard_check_layout(s, diag);
}

/* Reads the bytes of the hash function. Any number of bytes may follow it in the file. */
static enum cairn_status readshard_read_function(const struct cairn_readshard *s, uint8_t **out, size_t *len,
						 struct cairn_diag *diag)
{
	uint8_t head[CAIRN_CHD_HEAD_BYTES];
	uint64_t at = s->header.function_at, left = s->len - at, whole = sizeof(head);
	enum cairn_status status = CAIRN_OK;
	if (left >= sizeof(head)) {
		status = cairn_readshard_read(s, at, head, sizeof(head), diag);
		whole = status == CAIRN_OK ? cairn_chd_dump_bytes(head) : 0;
	}
	if (status != CAIRN_OK)
		return status;
	*len = (size_t)(whole < left ? whole : left);
	*out = malloc(*len + 1);
	return *out ? cairn_readshard_read(s, at, *out, *len, diag) : CAIRN_E_NOMEM;
}

static enum cairn_status readshard_parse_function(struct cairn_readshard *s, struct cairn_diag *diag)
{
	uint8_t *bytes = NULL;
	size_t len = 0;
	enum cairn_status status = readshard_read_function(s, &bytes, &len, diag);
	if (status == CAIRN_OK) {
		struct cairn_cur cur = cairn_cur_init(bytes, len);
		status = cairn_chd_parse(&s->function, &cur, diag);
		s->end = s->header.function_at + cairn_cur_offset(&cur);
		if (status == CAIRN_E_FORMAT && diag && diag->has_offset)
			diag->offset += s->header.function_at; /* the cursor began at the function */
	}
	free(bytes);
	return status;
}

static enum cairn_status readshard_parse(struct cairn_readshard *s, struct cairn_diag *diag)
{
	enum cairn_status status = readshard_parse_header(s, diag);
	if (status == CAIRN_OK)
		status = readshard_parse_function(s, diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t n_slots = s->header.index_bytes / CAIRN_READSHARD_SLOT_BYTES;
	if (s->function.n_slots == n_slots)
		return CAIRN_OK;
	status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.slots", s->header.function_at,
			    "the hash function has another number of slots than the index");
	cairn_diag_numbers(diag, n_slots, s->function.n_slots);
	return status;
}

/* @param fd  owned from now on, even after a failure */
static enum cairn_status readshard_open(struct cairn_readshard **out, int fd, const uint8_t *bytes, uint64_t len,
					struct cairn_diag *diag)
{
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = calloc(1, sizeof(*s));
	if (!s) {
		cairn_fd_closep(&fd);
		return CAIRN_E_NOMEM;
	}
	s->fd = fd;
	s->bytes = bytes;
	s->len = len;
	enum cairn_status status = readshard_parse(s, diag);
	if (status != CAIRN_OK)
		return status;
	*out = s;
	s = NULL;
	return CAIRN_OK;
}

enum cairn_status cairn_readshard_open_bytes(struct cairn_readshard **out, const uint8_t *bytes, size_t len,
					     struct cairn_diag *diag)
{
	static const uint8_t NOTHING[1];
	*out = NULL;
	return readshard_open(out, -1, bytes ? bytes : NOTHING, len, diag);
}

enum cairn_status cairn_readshard_open(struct cairn_readshard **out, int fd, struct cairn_diag *diag)
{
	struct stat st;
	*out = NULL;
	if (cairn_sys_fstat(fd, &st) < 0)
		return cairn_fail(diag, CAIRN_E_IO, "readshard.read", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cairn_fail(diag, CAIRN_E_FORMAT, "readshard.read", CAIRN_NO_OFFSET, "it is not a regular file");
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return cairn_fail(diag, CAIRN_E_IO, "readshard.read", CAIRN_NO_OFFSET,
				  "cannot keep the file open: %s; allow more descriptors", strerror(errno));
	return readshard_open(out, copy, NULL, (uint64_t)st.st_size, diag);
}

void cairn_readshard_free(struct cairn_readshard *s)
{
	if (!s)
		return;
	cairn_fd_closep(&s->fd);
	cairn_chd_fini(&s->function);
	free(s);
}

void cairn_readshard_freep(struct cairn_readshard **s)
{
	cairn_readshard_free(*s);
	*s = NULL;
}

/* --- finding objects ---------------------------------------------------------------------------------------------- */

const struct cairn_readshard_header *cairn_readshard_header_of(const struct cairn_readshard *s)
{
	return &s->header;
}

uint64_t cairn_readshard_len(const struct cairn_readshard *s)
{
	return s->len;
}

uint64_t cairn_readshard_end(const struct cairn_readshard *s)
{
	return s->end;
}

uint32_t cairn_readshard_n_slots(const struct cairn_readshard *s)
{
	return s->function.n_slots;
}

uint32_t cairn_readshard_slot_of(const struct cairn_readshard *s, const uint8_t key[static CAIRN_READSHARD_KEY_BYTES])
{
	return cairn_chd_search(&s->function, key);
}

uint64_t cairn_readshard_slot_at(const struct cairn_readshard *s, uint32_t slot)
{
	return s->header.index_at + (uint64_t)slot * CAIRN_READSHARD_SLOT_BYTES;
}

/* Checks that the object of a slot and its length are within the section. Reads each of these bytes once, because
 * another process may be deleting the object. */
static enum cairn_status readshard_place(const struct cairn_readshard *s, uint32_t slot, uint64_t at,
					 struct cairn_readshard_slot *out, struct cairn_diag *diag)
{
	const struct cairn_readshard_header *h = &s->header;
	enum cairn_status status = CAIRN_OK;
	uint64_t objects_end = h->objects_at + h->objects_bytes;
	if (at < h->objects_at || at > objects_end || objects_end - at < CAIRN_READSHARD_SIZE_BYTES) {
		status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.offset",
				    cairn_readshard_slot_at(s, slot) + CAIRN_READSHARD_KEY_BYTES,
				    "the object of slot %" PRIu32 " is not among the objects", slot);
		cairn_diag_numbers(diag, h->objects_at, at);
		return status;
	}
	uint8_t size[CAIRN_READSHARD_SIZE_BYTES];
	status = cairn_readshard_read(s, at, size, sizeof(size), diag);
	if (status != CAIRN_OK)
		return status;
	uint64_t bytes = cairn_get_u64be(size), max = objects_end - at - CAIRN_READSHARD_SIZE_BYTES;
	if (bytes > max) {
		status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.size", at,
				    "the object of slot %" PRIu32 " is longer than what is left of the objects", slot);
		cairn_diag_numbers(diag, max, bytes);
		return status;
	}
	out->at = at;
	out->bytes_at = at + CAIRN_READSHARD_SIZE_BYTES;
	out->bytes = bytes;
	return CAIRN_OK;
}

static enum cairn_status readshard_parse_slot(const struct cairn_readshard *s, uint32_t slot,
					      const uint8_t bytes[static CAIRN_READSHARD_SLOT_BYTES],
					      struct cairn_readshard_slot *out, struct cairn_diag *diag)
{
	static const uint8_t ZEROS[CAIRN_READSHARD_KEY_BYTES];
	uint64_t at = cairn_get_u64be(bytes + CAIRN_READSHARD_KEY_BYTES);
	/* Older writers leave a free slot all zero. The key alone is no proof: an object's key may be all zero. */
	if (at == CAIRN_READSHARD_NO_OFFSET || (at == 0 && memcmp(bytes, ZEROS, sizeof(ZEROS)) == 0))
		return CAIRN_OK;
	enum cairn_status status = readshard_place(s, slot, at, out, diag);
	if (status != CAIRN_OK)
		return status;
	memcpy(out->key, bytes, sizeof(out->key));
	out->is_live = true;
	return CAIRN_OK;
}

enum cairn_status cairn_readshard_slot(const struct cairn_readshard *s, uint32_t slot, struct cairn_readshard_slot *out,
				       struct cairn_diag *diag)
{
	uint8_t bytes[CAIRN_READSHARD_SLOT_BYTES];
	*out = (struct cairn_readshard_slot){0};
	enum cairn_status status =
		cairn_readshard_read(s, cairn_readshard_slot_at(s, slot), bytes, sizeof(bytes), diag);
	return status == CAIRN_OK ? readshard_parse_slot(s, slot, bytes, out, diag) : status;
}

enum cairn_status cairn_readshard_find(const struct cairn_readshard *s,
				       const uint8_t key[static CAIRN_READSHARD_KEY_BYTES],
				       struct cairn_readshard_slot *out, struct cairn_diag *diag)
{
	uint8_t bytes[CAIRN_READSHARD_SLOT_BYTES];
	uint32_t slot = cairn_chd_search(&s->function, key);
	*out = (struct cairn_readshard_slot){0};
	enum cairn_status status =
		cairn_readshard_read(s, cairn_readshard_slot_at(s, slot), bytes, sizeof(bytes), diag);
	if (status != CAIRN_OK)
		return status;
	/* The function returns a slot for any key, and most keys looked up here are absent. */
	if (memcmp(bytes, key, CAIRN_READSHARD_KEY_BYTES) != 0)
		return CAIRN_E_NOT_FOUND;
	status = readshard_parse_slot(s, slot, bytes, out, diag);
	return status == CAIRN_OK && !out->is_live ? CAIRN_E_NOT_FOUND : status;
}

enum cairn_status cairn_readshard_find_again(const struct cairn_readshard *s, const struct cairn_readshard_slot *found,
					     struct cairn_diag *diag)
{
	uint8_t bytes[CAIRN_READSHARD_SLOT_BYTES];
	uint64_t at = cairn_readshard_slot_at(s, cairn_chd_search(&s->function, found->key));
	enum cairn_status status = cairn_readshard_read(s, at, bytes, sizeof(bytes), diag);
	if (status != CAIRN_OK)
		return status;
	bool same = memcmp(bytes, found->key, CAIRN_READSHARD_KEY_BYTES) == 0 &&
		    cairn_get_u64be(bytes + CAIRN_READSHARD_KEY_BYTES) == found->at;
	return same ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

struct readshard_place {
	uint64_t at;
	uint32_t slot;
};

static int readshard_compare(const void *a, const void *b)
{
	const struct readshard_place *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

enum cairn_status cairn_readshard_list(const struct cairn_readshard *s, uint32_t **slots, uint32_t *n,
				       struct cairn_diag *diag)
{
	*slots = NULL;
	*n = 0;
	struct readshard_place *places = malloc(s->function.n_slots * sizeof(*places));
	uint32_t *list = malloc(s->function.n_slots * sizeof(*list)), n_live = 0;
	enum cairn_status status = places && list ? CAIRN_OK : CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < s->function.n_slots && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		status = cairn_readshard_slot(s, i, &slot, diag);
		if (status == CAIRN_OK && slot.is_live)
			places[n_live++] = (struct readshard_place){.at = slot.at, .slot = i};
	}
	if (status == CAIRN_OK) {
		qsort(places, n_live, sizeof(*places), readshard_compare);
		for (uint32_t i = 0; i < n_live; i++)
			list[i] = places[i].slot;
		*slots = list;
		*n = n_live;
		list = NULL;
	}
	free(places);
	free(list);
	return status;
}

enum cairn_status cairn_readshard_check_behind(const struct cairn_readshard_slot *object, uint32_t slot, uint64_t *end,
					       struct cairn_diag *diag)
{
	if (object->at < *end) {
		enum cairn_status status = cairn_fail(
			diag, CAIRN_E_FORMAT, "readshard.overlap", object->at,
			"the object of slot %" PRIu32 " lies over another: one of their slots is wrong", slot);
		cairn_diag_numbers(diag, *end, object->at);
		return status;
	}
	*end = object->bytes_at + object->bytes;
	return CAIRN_OK;
}

enum cairn_status cairn_readshard_check_disjoint(struct cairn_readshard *s, struct cairn_diag *diag)
{
	uint32_t *slots, n;
	uint64_t end = 0;
	if (s->disjoint)
		return CAIRN_OK;
	enum cairn_status status = cairn_readshard_list(s, &slots, &n, diag);
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		status = cairn_readshard_slot(s, slots[i], &slot, diag);
		if (status == CAIRN_OK && slot.is_live)
			status = cairn_readshard_check_behind(&slot, slots[i], &end, diag);
	}
	free(slots);
	s->disjoint = status == CAIRN_OK;
	return status;
}
