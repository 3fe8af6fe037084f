#include "support/captured.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const CAPTURED_SHARDS[] = {
	"shards/dedupe",
	"shards/empty_only",
	"shards/given_sha",
	"shards/medium",
	"shards/shifted",
	"shards/skip_sha",
	"shards/small",
	"shards/two_xorbs",
	"js/js_1",
	"js/js_2",
	"js/js_3",
	"js/js_4",
	"js/js_5",
	"js/js_6",
	"js/js_7",
	"dedupe/plain",
	"dedupe/expiring",
	"dedupe/keyed",
	"dedupe/keyed_from_expiring",
};
const size_t CAPTURED_SHARDS_N = sizeof(CAPTURED_SHARDS) / sizeof(CAPTURED_SHARDS[0]);
const size_t CAPTURED_UPLOADS_N = sizeof(CAPTURED_SHARDS) / sizeof(CAPTURED_SHARDS[0]) - 4;

const char *const CAPTURED_XORBS[] = {
	"xorbs/40dc23e4e7c5709f17d8a426431ba954d49b84c15b2bd75483c327a1d1dc5304",
	"xorbs/4f6fc39d818d6ee9aac654dfb78bdc06d0926ae03fe97ba4bb2dbb77bf6811e8",
	"xorbs/7ebdf5546bf761e3d39c4894c50cf36287ff73231d6e699360569b0fb09fc951",
	"xorbs/9c3e0e4207f7d349f0699ec2f97aad7c532eec50a77b941c0065ed6a81b71106",
	"xorbs/ab724518ad282f6b1235a1510be9c97d6ed74233a404e40dc46aaef483b8bca2",
	"xorbs/cda0e2eaf2ba60109f23110334c2acfb35f73581c559579a4bc91bcc5dcef468",
	"xorbs/d777518d006a393f4aaa20ce7ef51fde16d4426777f49b751f26fd45e2fb3238",
	"xorbs/f0addca4d6fa9b43205c74136c5339d5e53f88deb24f8a7cd8aa032f8ecabf50",
	"js/xorbs/248b075b1d18ec7788d3d4fa0b80f749f6fdded07317fd375d7d9df8383955de",
	"js/xorbs/c1cbf254519b03aa1156bef0db91741e5d97522de940ee342201c7e7fd7b0018",
	"js/xorbs/c3990e05cc4e11d7f3989be7a43df9402550a4940cc1cca64f90190096d83d20",
};
const size_t CAPTURED_XORBS_N = sizeof(CAPTURED_XORBS) / sizeof(CAPTURED_XORBS[0]);

json_t *captured_dump(const char *name)
{
	static const char TOO_LARGE[] = "18446744073709551615", INSTEAD[] = "-1                  ";
	CLEANUP(vec_bytes_fini) struct vec_bytes text = vec_read("%s.json", name);
	for (uint8_t *at = text.bytes; (at = memmem(at, text.len - (size_t)(at - text.bytes), TOO_LARGE, 20)); at += 20)
		memcpy(at, INSTEAD, 20);
	json_t *dump = json_loadb((const char *)text.bytes, text.len, 0, NULL);
	ck_assert_msg(dump, "cannot read the dump of %s", name);
	return dump;
}

static void captured_load(struct made_xorb *x, const char *name)
{
	CLEANUP(vec_json_freep) json_t *dump = vec_json("%s.json", name);
	x->hash = vec_hash(dump, "xorb_hash");
	size_t i;
	json_t *chunk;
	json_array_foreach(vec_get(dump, "chunks"), i, chunk)
	{
		struct cairn_hash hash = vec_hash(chunk, "hash");
		struct cairn_span span = {.unpacked_bytes = (uint32_t)vec_u64(chunk, "uncompressed_length")};
		ck_assert_int_eq(cairn_chunk_list_add(&x->list, &hash, span), CAIRN_OK);
	}
}

struct made_store captured_store(const json_t *texts)
{
	size_t n = texts ? json_array_size(texts) : CAPTURED_XORBS_N;
	struct made_xorb *xorbs = calloc(n + 1, sizeof(*xorbs));
	ck_assert_ptr_nonnull(xorbs);
	for (size_t i = 0; i < n; i++) {
		char name[128];
		if (texts)
			(void)snprintf(name, sizeof(name), "xorbs/%s", json_string_value(json_array_get(texts, i)));
		captured_load(&xorbs[i], texts ? name : CAPTURED_XORBS[i]);
	}
	return (struct made_store){.xorbs = xorbs, .n = n};
}

void captured_store_fini(struct made_store *store)
{
	struct made_xorb *xorbs = (struct made_xorb *)(uintptr_t)store->xorbs;
	for (size_t i = 0; i < store->n; i++)
		made_xorb_fini(&xorbs[i]);
	free(xorbs);
}
