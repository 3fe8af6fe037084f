#include "hub/safetensors.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 4096 };

static char told[FILE_MAX]; /* "name type 2x3=6|" for each tensor */

static void tell(void *ctx, const struct cairn_tensor *tensor)
{
	size_t len = strlen(told);
	(void)ctx;
	len += (size_t)snprintf(told + len, sizeof(told) - len, "%s %s ", tensor->name, tensor->type);
	for (unsigned i = 0; i < tensor->n_dims; i++)
		len += (size_t)snprintf(told + len, sizeof(told) - len, "%s%" PRIu64, i > 0 ? "x" : "",
					tensor->shape[i]);
	(void)snprintf(told + len, sizeof(told) - len, "=%" PRIu64 "|", tensor->n_values);
}

/* Reads a file with this head, and data_bytes bytes after it. */
static enum cairn_status read_head(const char *head, uint64_t data_bytes, struct cairn_tensors *out)
{
	uint8_t *file = calloc(1, strlen(head) + 8);
	size_t len = strlen(head);
	ck_assert_ptr_nonnull(file);
	file[0] = (uint8_t)len;
	file[1] = (uint8_t)(len >> 8);
	memcpy(file + 8, head, len);
	told[0] = '\0';
	enum cairn_status status = cairn_tensors_read(out, file, len + 8, len + 8 + data_bytes, tell, NULL);
	for (size_t cut = 0; cut < len + 8; cut++) { /* no cut part is a valid head, and reads stay within it */
		struct cairn_tensors part;
		uint8_t *copy = malloc(cut + 1);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, file, cut);
		ck_assert_int_eq(cairn_tensors_read(&part, copy, cut, cut, NULL, NULL), CAIRN_E_FORMAT);
		free(copy);
	}
	free(file);
	return status;
}

START_TEST(heads)
{
	struct cairn_tensors t;
	ck_assert_int_eq(read_head("{}", 0, &t), CAIRN_OK);
	ck_assert_uint_eq(t.n_tensors + t.n_values + t.n_types, 0);
	ck_assert_int_eq(
		read_head("{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\\\"}\"},"
			  "\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
			  " \"b\" : { \"data_offsets\" : [24, 26], \"shape\" : [] , \"dtype\" : \"BF16\" } }  ",
			  26, &t),
		CAIRN_OK);
	ck_assert_str_eq(told, "a.weight F32 2x3=6|b BF16 =1|");
	ck_assert_uint_eq(t.n_tensors, 2);
	ck_assert_uint_eq(t.n_values, 7);
	ck_assert_uint_eq(t.n_types, 2);
	ck_assert_str_eq(t.types[1].name, "BF16");
	ck_assert_uint_eq(t.types[0].n_values, 6);
	ck_assert_int_eq(
		read_head("{\"\\u0041\\n\\u00e9\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, &t),
		CAIRN_OK);
	ck_assert_str_eq(told, "A\n\xef\xbf\xbd F4 3=3|");
	ck_assert_int_eq(read_head("{\"a\":{\"dtype\":\"NEW\",\"shape\":[0,9],\"data_offsets\":[1,2]}}", 2, &t),
			 CAIRN_OK); /* the length of a value of this type is unknown here */
	ck_assert_uint_eq(t.n_values, 0);
}
END_TEST

START_TEST(no_heads)
{
	static const struct {
		const char *head, *fault;
	} BAD[] = {
		{"[]", "does not begin"},
		{"{", "string was expected"},
		{"{}x", "more behind"},
		{"{\"a\":1}", "tensor was expected"},
		{"{\"a\":{}}", "string was expected"},
		{"{\"a\"", "no value"},
		{"{\"\\q\":{}}", "escape"},
		{"{\"\\u0000\":{}}", "escape"},
		{"{\"\\u12\":{}}", "escape"},
		{"{\"\xff\":{}}", "not valid UTF-8"},
		{"{\"\x01\":{}}", "not valid UTF-8"},
		{"{\"__metadata__\":{\"a\":1}}", "string was expected"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "lacks"},
		{"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "twice"},
		{"{\"a\":{\"other\":1}}", "another member"},
		{"{\"a\":{\"dtype\":\"A-TYPE-OF-A-LONG-NAME\"}}", "long name"},
		{"{\"a\":{\"shape\":[-1]}}", "whole number"},
		{"{\"a\":{\"shape\":[1.5]}}", "list does not end"},
		{"{\"a\":{\"shape\":[18446744073709551616]}}", "too large"},
		{"{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}", "too many numbers"},
		{"{\"a\":{\"data_offsets\":[1]}}", "two numbers"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}",
		 "too many values"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,7]}}", "not as long"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "not in the file"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", "not in the file"},
	};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		struct cairn_tensors t;
		ck_assert_msg(read_head(BAD[i].head, 8, &t) == CAIRN_E_FORMAT, "%s", BAD[i].head);
		ck_assert_msg(strstr(t.fault, BAD[i].fault), "%s: %s", BAD[i].head, t.fault);
		ck_assert_uint_ge(t.fault_at, 8);
	}
}
END_TEST

START_TEST(limits)
{
	struct cairn_tensors t;
	size_t len = 8 + CAIRN_TENSORS_HEAD_MAX + 1;
	uint8_t *file = malloc(len);
	ck_assert_ptr_nonnull(file);
	memset(file, ' ', len);
	memcpy(file, "\0\0\x10\0\0\0\0\0{}", 10);
	ck_assert_int_eq(cairn_tensors_read(&t, file, len, UINT64_MAX, NULL, NULL), CAIRN_OK);
	file[0] = 1;
	ck_assert_int_eq(cairn_tensors_read(&t, file, len, UINT64_MAX, NULL, NULL), CAIRN_E_LIMIT);
	file[7] = 0xff;
	ck_assert_int_eq(cairn_tensors_read(&t, file, len, len, NULL, NULL), CAIRN_E_FORMAT);
	free(file);
	char head[FILE_MAX] = "{", types[FILE_MAX];
	for (unsigned i = 0; i <= CAIRN_TENSOR_TYPES_MAX; i++)
		(void)snprintf(head + strlen(head), sizeof(head) - strlen(head),
			       "%s\"a\":{\"dtype\":\"T%u\",\"shape\":[],\"data_offsets\":[0,1]}", i > 0 ? "," : "", i);
	(void)snprintf(types, sizeof(types), "%s}", head);
	ck_assert_int_eq(read_head(types, 1, &t), CAIRN_E_FORMAT);
	ck_assert_ptr_nonnull(strstr(t.fault, "too many types"));
	(void)snprintf(head, sizeof(head), "{\"%0300d\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 0);
	ck_assert_int_eq(read_head(head, 1, &t), CAIRN_OK);
	ck_assert_uint_eq(strcspn(told, " "), CAIRN_TENSOR_NAME_MAX);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("safetensors");
	TCase *c = tcase_create("safetensors");
	tcase_add_test(c, heads);
	tcase_add_test(c, no_heads);
	tcase_add_test(c, limits);
	suite_add_tcase(s, c);
	return run_suite(s);
}
