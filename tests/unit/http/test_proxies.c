#include "server/http/proxies.h"
#include "support/run.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *list, *address;
	bool trusted;
} CASES[] = {
	{NULL, "127.0.0.1", false},
	{"", "-", false},
	{"127.0.0.1", "127.0.0.1", true},
	{"127.0.0.1", "127.0.0.2", false},
	{"127.0.0.1", "::ffff:127.0.0.1", true},
	{"127.0.0.1", "-", false},
	{"unix", "-", true},
	{"unix", "127.0.0.1", false},
	{" 10.0.0.0/8, ::1\t", "10.255.1.2", true},
	{" 10.0.0.0/8, ::1\t", "11.0.0.1", false},
	{" 10.0.0.0/8, ::1\t", "::1", true},
	{"192.0.2.128/25", "192.0.2.129", true},
	{"192.0.2.128/25", "192.0.2.127", false},
	{"2001:db8::/33", "2001:db8:7fff::1", true},
	{"2001:db8::/33", "2001:db8:8000::1", false},
	{"0.0.0.0/0", "203.0.113.9", true},
	{"0.0.0.0/0", "2001:db8::1", false},
	{"::/0", "203.0.113.9", true},
};

START_TEST(trusts)
{
	struct proxies p;
	ck_assert_int_eq(proxies_init(&p, CASES[_i].list, NULL), CAIRN_OK);
	ck_assert_int_eq(proxies_trust(&p, CASES[_i].address), CASES[_i].trusted);
}
END_TEST

static const char *const WRONG[] = {
	"x",           "10.0.0",           "10.0.0.0/",
	"10.0.0.0/33", "10.0.0.0/-1",      "10.0.0.0/8x",
	"::1/129",     "::1 host.example", "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111"};

START_TEST(refuses)
{
	struct proxies p;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(proxies_init(&p, WRONG[_i], &diag), CAIRN_E_USAGE);
	ck_assert_str_eq(diag.rule, "hub_trusted_proxies");
}
END_TEST

START_TEST(has_a_limit)
{
	char list[8 * (PROXIES_MAX + 1) + 1] = "";
	struct proxies p;
	for (int i = 0; i < PROXIES_MAX; i++)
		memcpy(list + strlen(list), "::1 ", 5);
	ck_assert_int_eq(proxies_init(&p, list, NULL), CAIRN_OK);
	memcpy(list + strlen(list), "::2", 4);
	ck_assert_int_eq(proxies_init(&p, list, NULL), CAIRN_E_USAGE);
}
END_TEST

static const struct {
	const char *peer, *forwarded;
	const char *client; /* expected client; NULL: none */
} CLIENTS[] = {
	{"10.0.0.1", NULL, NULL},
	{"10.0.0.1", "", NULL},
	{"10.0.0.1", "192.0.2.7", "::ffff:192.0.2.7"},
	{"10.0.0.1", "\t192.0.2.7 ", "::ffff:192.0.2.7"},
	{"10.0.0.1", "203.0.113.9, 192.0.2.7", "::ffff:192.0.2.7"}, /* the client itself sent the first address */
	{"10.0.0.1", "203.0.113.9,192.0.2.7 , 10.9.9.9,10.0.0.2", "::ffff:192.0.2.7"},
	{"10.0.0.1", "10.0.0.3, 10.0.0.2", "::ffff:10.0.0.3"}, /* only addresses of proxies */
	{"10.0.0.1", "unknown, 10.0.0.2", "::ffff:10.0.0.2"},
	{"10.0.0.1", "192.0.2.7, unknown", NULL},
	{"10.0.0.1", "192.0.2.7,", NULL},
	{"10.0.0.1", ",192.0.2.7", "::ffff:192.0.2.7"},
	{"10.0.0.1", "2001:db8::1", "2001:db8::1"},
	{"10.0.0.1", "1111111111111111111111111111111111111111111111111111111111111111111111111111", NULL},
	{"::ffff:10.0.0.1", "192.0.2.7", "::ffff:192.0.2.7"},
	{"11.0.0.1", "192.0.2.7", NULL},
	{"-", "192.0.2.7", NULL},
};

START_TEST(finds_clients)
{
	struct proxies p;
	uint8_t client[16] = {0};
	char text[INET6_ADDRSTRLEN];
	ck_assert_int_eq(proxies_init(&p, "10.0.0.0/8", NULL), CAIRN_OK);
	bool found = proxies_find_client(&p, CLIENTS[_i].peer, CLIENTS[_i].forwarded, client);
	ck_assert(found == (CLIENTS[_i].client != NULL));
	if (found)
		ck_assert_str_eq(inet_ntop(AF_INET6, client, text, sizeof(text)), CLIENTS[_i].client);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proxies");
	TCase *c = tcase_create("proxies");
	tcase_add_loop_test(c, trusts, 0, sizeof(CASES) / sizeof(CASES[0]));
	tcase_add_loop_test(c, refuses, 0, sizeof(WRONG) / sizeof(WRONG[0]));
	tcase_add_test(c, has_a_limit);
	tcase_add_loop_test(c, finds_clients, 0, sizeof(CLIENTS) / sizeof(CLIENTS[0]));
	suite_add_tcase(s, c);
	return run_suite(s);
}
