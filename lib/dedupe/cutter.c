#include "dedupe/cutter.h"

#include "chunk/chunker.h"
#include "hash/merkle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CUTTER_WINDOW_BYTES = 1024 * 1024 };

struct cairn_cutter {
	size_t end; /* bytes in the window that are not cut yet */
	uint64_t bytes, n_chunks;
	struct cairn_sha256 *sha256;
	struct cairn_merkle merkle;
	uint8_t window[CUTTER_WINDOW_BYTES];
};

struct cairn_cutter *cairn_cutter_new(void)
{
	struct cairn_cutter *c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	c->end = 0;
	c->bytes = c->n_chunks = 0;
	c->sha256 = cairn_sha256_new();
	cairn_merkle_init(&c->merkle);
	if (!c->sha256) {
		free(c);
		return NULL;
	}
	return c;
}

void cairn_cutter_free(struct cairn_cutter *c)
{
	if (!c)
		return;
	cairn_sha256_free(c->sha256);
	free(c);
}

void cairn_cutter_freep(struct cairn_cutter **c)
{
	cairn_cutter_free(*c);
	*c = NULL;
}

uint8_t *cairn_cutter_room(struct cairn_cutter *c, size_t *len)
{
	*len = CUTTER_WINDOW_BYTES - c->end;
	return c->window + c->end;
}

enum cairn_status cairn_cutter_take(struct cairn_cutter *c, size_t n, bool ended, cairn_cutter_visit *visit, void *ctx,
				    struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	size_t at = 0;
	assert(n <= CUTTER_WINDOW_BYTES - c->end);
	cairn_sha256_add(c->sha256, c->window + c->end, n);
	c->end += n;
	while (status == CAIRN_OK && (ended || c->end - at >= CAIRN_CHUNK_CUT_BYTES_MAX)) {
		size_t len = cairn_chunk_cut(c->window + at, c->end - at);
		if (len == 0)
			break;
		struct cairn_hash hash;
		cairn_hash_chunk(&hash, c->window + at, len);
		cairn_merkle_add(&c->merkle, &hash, len);
		c->bytes += len;
		c->n_chunks++;
		status = visit(ctx, &hash, c->window + at, len, diag);
		at += len;
	}
	c->end -= at;
	memmove(c->window, c->window + at, c->end);
	return status;
}

void cairn_cutter_end(struct cairn_cutter *c, struct cairn_cutter_file *out)
{
	struct cairn_hash root;
	cairn_merkle_root(&c->merkle, &root);
	cairn_hash_file(&out->hash, &root);
	cairn_sha256_end(c->sha256, out->sha256);
	out->bytes = c->bytes;
	out->n_chunks = c->n_chunks;
}
