#include "archive/readshard/reader.h"

#include "archive/readshard/chd.h"
#include "base/bytes.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct cairn_readshard {
	const uint8_t *bytes;
	uint64_t len;
	void *map; /* NULL: the bytes are borrowed */
	struct cairn_readshard_header header;
	struct cairn_chd function;
	uint64_t end;
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* A number of the header is not possible. */
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
	if (s->len < CAIRN_READSHARD_HEADER_BYTES) {
		enum cairn_status status =
			cairn_fail(diag, CAIRN_E_FORMAT, "readshard.short", s->len, "the file ends within the header");
		cairn_diag_numbers(diag, CAIRN_READSHARD_HEADER_BYTES, s->len);
		return status;
	}
	if (memcmp(s->bytes, CAIRN_READSHARD_NAME, CAIRN_READSHARD_NAME_BYTES) != 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "readshard.magic", 0,
				  "the file does not begin with SWHShard: it is no Read Shard, or was not finished");
	uint64_t version = cairn_get_u64be(s->bytes + CAIRN_READSHARD_VERSION_AT);
	if (version != CAIRN_READSHARD_VERSION) {
		enum cairn_status status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.version",
						      CAIRN_READSHARD_VERSION_AT, "the version is not supported");
		cairn_diag_numbers(diag, CAIRN_READSHARD_VERSION, version);
		return status;
	}
	s->header = (struct cairn_readshard_header){
		.n_objects = cairn_get_u64be(s->bytes + CAIRN_READSHARD_COUNT_AT),
		.objects_at = cairn_get_u64be(s->bytes + CAIRN_READSHARD_OBJECTS_AT),
		.objects_bytes = cairn_get_u64be(s->bytes + CAIRN_READSHARD_OBJECTS_BYTES_AT),
		.index_at = cairn_get_u64be(s->bytes + CAIRN_READSHARD_INDEX_AT),
		.index_bytes = cairn_get_u64be(s->bytes + CAIRN_READSHARD_INDEX_BYTES_AT),
		.function_at = cairn_get_u64be(s->bytes + CAIRN_READSHARD_FUNCTION_AT),
	};
	return readshard_check_layout(s, diag);
}

static enum cairn_status readshard_parse(struct cairn_readshard *s, struct cairn_diag *diag)
{
	enum cairn_status status = readshard_parse_header(s, diag);
	if (status != CAIRN_OK)
		return status;
	struct cairn_cur cur = cairn_cur_init(s->bytes, s->len);
	(void)cairn_cur_take(&cur, s->header.function_at);
	status = cairn_chd_parse(&s->function, &cur, diag);
	if (status != CAIRN_OK)
		return status;
	s->end = cairn_cur_offset(&cur);
	uint64_t n_slots = s->header.index_bytes / CAIRN_READSHARD_SLOT_BYTES;
	if (s->function.n_slots == n_slots)
		return CAIRN_OK;
	status = cairn_fail(diag, CAIRN_E_FORMAT, "readshard.slots", s->header.function_at,
			    "the hash function has another number of slots than the index");
	cairn_diag_numbers(diag, n_slots, s->function.n_slots);
	return status;
}

enum cairn_status cairn_readshard_open_bytes(struct cairn_readshard **out, const uint8_t *bytes, size_t len,
					     struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->bytes = bytes;
	s->len = len;
	enum cairn_status status = readshard_parse(s, diag);
	if (status != CAIRN_OK)
		return status;
	*out = s;
	s = NULL;
	return CAIRN_OK;
}

enum cairn_status cairn_readshard_open(struct cairn_readshard **out, int fd, struct cairn_diag *diag)
{
	static const uint8_t nothing[1];
	struct stat st;
	*out = NULL;
	if (fstat(fd, &st) < 0)
		return cairn_fail(diag, CAIRN_E_IO, "readshard.read", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cairn_fail(diag, CAIRN_E_FORMAT, "readshard.read", CAIRN_NO_OFFSET, "it is not a regular file");
	size_t len = (size_t)st.st_size;
	void *map = len ? mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	if (map == MAP_FAILED)
		return cairn_fail(diag, errno == ENOMEM ? CAIRN_E_NOMEM : CAIRN_E_IO, "readshard.read", CAIRN_NO_OFFSET,
				  "cannot map the file: %s", strerror(errno));
	enum cairn_status status = cairn_readshard_open_bytes(out, map ? map : nothing, len, diag);
	if (status == CAIRN_OK)
		(*out)->map = map;
	else if (map)
		(void)munmap(map, len);
	return status;
}

void cairn_readshard_free(struct cairn_readshard *s)
{
	if (!s)
		return;
	if (s->map)
		(void)munmap(s->map, s->len);
	cairn_chd_fini(&s->function);
	free(s);
}

void cairn_readshard_freep(struct cairn_readshard **s)
{
	cairn_readshard_free(*s);
	*s = NULL;
}

/* --- looking ------------------------------------------------------------------------------------------------------ */

const struct cairn_readshard_header *cairn_readshard_header_of(const struct cairn_readshard *s)
{
	return &s->header;
}

const uint8_t *cairn_readshard_bytes(const struct cairn_readshard *s, uint64_t *len)
{
	*len = s->len;
	return s->bytes;
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

/* The object of a slot: within the section, and its length, too. Each byte that decides is read once, since another
 * process may be deleting the object. */
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
	uint64_t bytes = cairn_get_u64be(s->bytes + at), max = objects_end - at - CAIRN_READSHARD_SIZE_BYTES;
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

enum cairn_status cairn_readshard_slot(const struct cairn_readshard *s, uint32_t slot, struct cairn_readshard_slot *out,
				       struct cairn_diag *diag)
{
	static const uint8_t ZEROS[CAIRN_READSHARD_KEY_BYTES];
	const uint8_t *key = s->bytes + cairn_readshard_slot_at(s, slot);
	assert(key);
	uint64_t at = cairn_get_u64be(key + CAIRN_READSHARD_KEY_BYTES);
	*out = (struct cairn_readshard_slot){0};
	/* Older writers leave a free slot all zero. The key alone says nothing: an object may have one of zeros. */
	if (at == CAIRN_READSHARD_NO_OFFSET || (at == 0 && memcmp(key, ZEROS, sizeof(ZEROS)) == 0))
		return CAIRN_OK;
	enum cairn_status status = readshard_place(s, slot, at, out, diag);
	if (status == CAIRN_OK)
		out->key = key;
	return status;
}

enum cairn_status cairn_readshard_find(const struct cairn_readshard *s,
				       const uint8_t key[static CAIRN_READSHARD_KEY_BYTES],
				       struct cairn_readshard_slot *out, struct cairn_diag *diag)
{
	uint32_t slot = cairn_chd_search(&s->function, key);
	*out = (struct cairn_readshard_slot){0};
	/* The function gives a slot for any key; most that are asked for here are not in it. */
	if (memcmp(s->bytes + cairn_readshard_slot_at(s, slot), key, CAIRN_READSHARD_KEY_BYTES) != 0)
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = cairn_readshard_slot(s, slot, out, diag);
	return status == CAIRN_OK && !out->key ? CAIRN_E_NOT_FOUND : status;
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
		if (status == CAIRN_OK && slot.key)
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
