#include "server/http/hosts.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* When a Host header is accepted: always, as an address, as the name in https://Cas.Example:8443/xet, or never. */
enum taken { ALWAYS, BY_ADDRESS, BY_NAME, NEVER };

static const struct {
	const char *host;
	enum taken taken;
} HOSTS[] = {
	{"localhost", ALWAYS},
	{"localhost:8080", ALWAYS},
	{"LocalHost.:8080", ALWAYS},
	{"127.0.0.1", ALWAYS},
	{"127.0.0.1:1", ALWAYS},
	{"127.255.3.4:65535", ALWAYS},
	{"[::1]", ALWAYS},
	{"[::1]:8080", ALWAYS},
	{"[0:0:0:0:0:0:0:1]:8080", ALWAYS},
	{"[::ffff:127.0.0.1]", ALWAYS},
	{"192.0.2.1:8080", BY_ADDRESS},
	{"0.0.0.0:8080", BY_ADDRESS},
	{"[2001:db8::1]:8080", BY_ADDRESS},
	{"[::]:8080", BY_ADDRESS},
	{"[::ffff:10.0.0.1]", BY_ADDRESS},
	{"cas.example", BY_NAME},
	{"CAS.example.:8443", BY_NAME},
	{"cas.example:1", BY_NAME},
	{"evil.example", NEVER},
	{"cas.example.evil.example", NEVER},
	{"x.cas.example", NEVER},
	{"localhost.evil.example", NEVER},
	{"evil.localhost", NEVER},
	{"127.0.0.1.evil.example", NEVER},
	{"127.1", NEVER},
	{"2130706433", NEVER},
	{"128.0.0.1.", BY_ADDRESS},
	{"", NEVER},
	{":8080", NEVER},
	{".", NEVER},
	{"[]", NEVER},
	{"[", NEVER},
	{"::1", NEVER},
};

START_TEST(names_and_addresses_of_a_host)
{
	struct hosts plain, open, named;
	const char *host = HOSTS[_i].host;
	enum taken taken = HOSTS[_i].taken;
	hosts_init(&plain, NULL, false);
	hosts_init(&open, NULL, true);
	hosts_init(&named, "https://Cas.Example:8443/xet", false);
	ck_assert_msg(hosts_allow(&plain, host) == (taken == ALWAYS), "%s", host);
	ck_assert_msg(hosts_allow(&open, host) == (taken == ALWAYS || taken == BY_ADDRESS), "%s, addresses", host);
	ck_assert_msg(hosts_allow(&named, host) == (taken == ALWAYS || taken == BY_NAME), "%s, public URL", host);
}
END_TEST

START_TEST(public_urls)
{
	static const struct {
		const char *url, *host;
	} GOOD[] = {
		{"http://a", "a"}, {"http://[2001:db8::1]:80/x", "[2001:db8::1]:9"}, {"http://10.0.0.1", "10.0.0.1"}};
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
		struct hosts hosts;
		hosts_init(&hosts, GOOD[i].url, false);
		ck_assert_msg(hosts_allow(&hosts, GOOD[i].host), "%s", GOOD[i].url);
	}
}
END_TEST

START_TEST(names_that_are_too_long)
{
	char url[400] = "http://", host[400] = "";
	struct hosts hosts;
	memset(url + 7, 'x', 255);
	memset(host, 'x', 256);
	hosts_init(&hosts, url, false);
	ck_assert(hosts_allow(&hosts, url + 7));
	ck_assert(!hosts_allow(&hosts, host));
	memset(url + 7, 'x', 256);
	hosts_init(&hosts, url, false);
	ck_assert(!hosts_allow(&hosts, host));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hosts");
	TCase *t = tcase_create("hosts");
	tcase_add_loop_test(t, names_and_addresses_of_a_host, 0, sizeof(HOSTS) / sizeof(HOSTS[0]));
	tcase_add_test(t, public_urls);
	tcase_add_test(t, names_that_are_too_long);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
