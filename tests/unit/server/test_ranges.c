/* The Range header, and the multipart body that answers a request for several ranges. */
#include "server/ask/multipart.h"
#include "server/ask/range_header.h"
#include "store/store.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(range_headers)
{
	struct cairn_byte_range r[2];
	ck_assert_uint_eq(range_header_parse(r, 2, NULL), 0);
	ck_assert_uint_eq(range_header_parse(r, 2, "bytes=0-9"), 1);
	ck_assert(r[0].kind == CAIRN_RANGE_FROM_TO && r[0].first == 0 && r[0].last == 9);
	ck_assert_uint_eq(range_header_parse(r, 2, "Bytes=5-"), 1);
	ck_assert(r[0].first == 5 && r[0].last == UINT64_MAX);
	ck_assert_uint_eq(range_header_parse(r, 2, "bytes=-7"), 1);
	ck_assert(r[0].kind == CAIRN_RANGE_SUFFIX && r[0].suffix_bytes == 7);
	ck_assert_uint_eq(range_header_parse(r, 2, "bytes=0-1, 4-5"), 2);
	ck_assert(r[1].first == 4 && r[1].last == 5);
	ck_assert_uint_gt(range_header_parse(r, 2, "bytes=0-1,2-3,4-5"), 2);
	ck_assert_uint_eq(range_header_parse(r, 2, "bytes=0-18446744073709551615"), 1);
}
END_TEST

static const char *const BAD_HEADERS[] = {
	"",
	"bytes",
	"bytes=",
	"bytes=-",
	"bytes=a-b",
	"bytes=9-0",
	"bytes=1-2,",
	"bytes=1",
	"items=0-1",
	"bytes=1-2x",
	"bytes=--2",
	"bytes=1-2;3",
	"bytes=18446744073709551616-",
};

START_TEST(malformed_range_headers_count_as_absent)
{
	struct cairn_byte_range r[2];
	ck_assert_msg(range_header_parse(r, 2, BAD_HEADERS[_i]) == 0, "%s", BAD_HEADERS[_i]);
}
END_TEST

/* An object of 256 bytes 0, 1, 2, ... */
static struct cairn_fetch_source source_new(struct cairn_store *store)
{
	struct cairn_hash hash = {{1}};
	struct cairn_store_put *put;
	struct cairn_store_object *object;
	uint8_t bytes[256];
	bool existed;
	for (int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	ck_assert_int_eq(cairn_store_put_begin(store, &put), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(put, bytes, sizeof(bytes)), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_commit(put, &hash, &existed), CAIRN_OK);
	ck_assert_int_eq(cairn_store_get(store, &hash, &object), CAIRN_OK);
	return (struct cairn_fetch_source){object};
}

static size_t read_all(struct multipart *m, uint8_t *out, size_t out_len, size_t piece)
{
	size_t at = 0;
	for (;;) {
		ssize_t n = multipart_read(m, at, out + at, piece < out_len - at ? piece : out_len - at);
		ck_assert_int_ge(n, 0);
		if (n == 0)
			return at;
		at += (size_t)n;
	}
}

/* The body is the same, whatever the size of the pieces in which it is read. */
START_TEST(a_multipart_body)
{
	static const size_t PIECES[] = {1, 7, 64, 4096};
	CLEANUP(cairn_store_freep) struct cairn_store *store = NULL;
	ck_assert_int_eq(cairn_store_open(&store, "memory:", NULL, NULL), CAIRN_OK);
	const struct cairn_fetch_range ranges[] = {{10, 19}, {250, 255}, {0, 0}};
	struct cairn_fetch_source source = source_new(store);
	struct multipart *m = multipart_new(&source, 256, ranges, 3);
	ck_assert_ptr_nonnull(m);
	const char *type = multipart_content_type(m);
	const char *boundary = strstr(type, "boundary=") + strlen("boundary=");
	char expected[2048];
	size_t len = 0;
	static const char *const CONTENT[] = {"10-19", "250-255", "0-0"};
	for (int i = 0; i < 3; i++) {
		len += (size_t)snprintf(
			expected + len, sizeof(expected) - len,
			"%s--%s\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes %s/256\r\n\r\n",
			i ? "\r\n" : "", boundary, CONTENT[i]);
		for (uint64_t b = ranges[i].first; b <= ranges[i].last; b++)
			expected[len++] = (char)b;
	}
	len += (size_t)snprintf(expected + len, sizeof(expected) - len, "\r\n--%s--\r\n", boundary);
	ck_assert_uint_eq(multipart_bytes(m), len);
	for (size_t i = 0; i < sizeof(PIECES) / sizeof(PIECES[0]); i++) {
		uint8_t body[2048];
		ck_assert_uint_eq(read_all(m, body, sizeof(body), PIECES[i]), len);
		ck_assert_mem_eq(body, expected, len);
	}
	multipart_free(m);
}
END_TEST

static Suite *ranges_suite(void)
{
	Suite *s = suite_create("ranges");
	TCase *t = tcase_create("ranges");
	tcase_add_test(t, range_headers);
	tcase_add_loop_test(t, malformed_range_headers_count_as_absent, 0,
			    sizeof(BAD_HEADERS) / sizeof(BAD_HEADERS[0]));
	tcase_add_test(t, a_multipart_body);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(ranges_suite());
}
