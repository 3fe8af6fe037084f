/* Tests which upstreams a daemon may have, and to which addresses a connection may go. */
#include "mirror/net/upstream.h"
#include "support/run.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>

static enum mirror_reach reach(const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return mirror_reach_of((const struct sockaddr *)&v4);
	ck_assert_int_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return mirror_reach_of((const struct sockaddr *)&v6);
}

START_TEST(addresses_of_the_internet)
{
	static const char *const ALL[] = {
		"1.0.0.0",
		"9.255.255.255",
		"11.0.0.0",
		"18.164.174.23",
		"100.63.255.255",
		"100.128.0.0",
		"126.255.255.255",
		"128.0.0.0",
		"169.253.255.255",
		"169.255.0.0",
		"172.15.255.255",
		"172.32.0.0",
		"192.167.255.255",
		"192.169.0.0",
		"198.17.255.255",
		"198.20.0.0",
		"223.255.255.255",
		"2600:9000::1",
		"2a00:1450:4001:81b::200e",
		"3fff:ffff::",
		"::ffff:1.1.1.1",
		"64:ff9b::101:101",
		"2002:101:101::",
	};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		ck_assert_msg(reach(ALL[i]) == MIRROR_REACH_PUBLIC, "%s", ALL[i]);
}
END_TEST

START_TEST(addresses_of_the_house)
{
	static const char *const ALL[] = {
		"10.0.0.0",        "10.255.255.255",  "172.16.0.0",  "172.31.255.255",  "192.168.0.1",
		"100.64.0.0",      "100.127.255.255", "198.18.0.1",  "198.19.255.255",  "192.0.2.1",
		"fc00::",          "fdff:ffff::1",    "2001:db8::1", "::ffff:10.1.2.3", "::192.168.0.1",
		"64:ff9b::c0a8:1", "2002:a00:1::",
	};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		ck_assert_msg(reach(ALL[i]) == MIRROR_REACH_PRIVATE, "%s", ALL[i]);
}
END_TEST

START_TEST(addresses_of_this_machine_and_link)
{
	static const char *const ALL[] = {
		"0.0.0.0",
		"0.1.2.3",
		"127.0.0.1",
		"127.255.255.255",
		"169.254.169.254",
		"224.0.0.1",
		"240.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"fe80::1",
		"febf::1",
		"ff02::1",
		"::ffff:127.0.0.1",
		"::127.0.0.1",
		"64:ff9b::7f00:1",
		"2002:7f00:1::",
		"2001:0:1::",
		"100::1",
		"4000::1",
		"::ffff:169.254.169.254",
	};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		ck_assert_msg(reach(ALL[i]) == MIRROR_REACH_LOCAL, "%s", ALL[i]);
	ck_assert_int_eq(mirror_reach_of(&(const struct sockaddr){.sa_family = AF_UNIX}), MIRROR_REACH_LOCAL);
}
END_TEST

START_TEST(upstreams)
{
	static const struct {
		const char *text, *url, *host;
		uint16_t port;
		enum mirror_reach reach;
	} ALL[] = {
		{"https://huggingface.co", "https://huggingface.co", "huggingface.co", 443, MIRROR_REACH_PRIVATE},
		{"https://huggingface.co/", "https://huggingface.co", "huggingface.co", 443, MIRROR_REACH_PRIVATE},
		{"https://Hub.house:8443", "https://Hub.house:8443", "Hub.house", 8443, MIRROR_REACH_PRIVATE},
		{"https://10.0.0.5", "https://10.0.0.5", "10.0.0.5", 443, MIRROR_REACH_PRIVATE},
		{"https://1.1.1.1", "https://1.1.1.1", "1.1.1.1", 443, MIRROR_REACH_PUBLIC},
		{"https://[fd00::1]:1/", "https://[fd00::1]:1", "fd00::1", 1, MIRROR_REACH_PRIVATE},
		{"https://127.1", "https://127.1", "127.1", 443,
		 MIRROR_REACH_PRIVATE}, /* a name, like any text that is not an address */
		{"https://LocalHost", "https://LocalHost", "LocalHost", 443, MIRROR_REACH_LOCAL},
		{"http://localhost:65535", "http://localhost:65535", "localhost", 65535, MIRROR_REACH_LOCAL},
		{"http://127.0.0.1", "http://127.0.0.1", "127.0.0.1", 80, MIRROR_REACH_LOCAL},
		{"http://[::1]:9/", "http://[::1]:9", "::1", 9, MIRROR_REACH_LOCAL},
	};
	struct mirror_upstream u;
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++) {
		ck_assert_int_eq(mirror_upstream_parse(&u, ALL[i].text, NULL), CAIRN_OK);
		ck_assert_str_eq(u.url, ALL[i].url);
		ck_assert_str_eq(u.host, ALL[i].host);
		ck_assert_uint_eq(u.port, ALL[i].port);
		ck_assert_int_eq(u.reach, ALL[i].reach);
	}
}
END_TEST

START_TEST(other_texts_are_no_upstreams)
{
	static const char *const BAD[] = {
		"",
		"huggingface.co",
		"ftp://huggingface.co",
		"https://",
		"https:///",
		"https://:443",
		"https://h:",
		"https://h:0",
		"https://h:65536",
		"https://h:99999999999999999999",
		"https://h:44 3",
		"https://h:443:1",
		"https://h//",
		"https://h/models",
		"https://h?x",
		"https://h#x",
		"https://user@h",
		"https://user:word@h",
		"https://h\\@x",
		"https://h%2e",
		"https://h h",
		"https://h\n",
		"https://[::1",
		"https://[::g]",
		"https://[]",
		"https://[1.1.1.1]",
		"https://[fe80::1%eth0]",
		"https://::1",
		"https://\xc3\xa9",
		"https://0.0.0.0",
		"http://0.0.0.0",
		"http://169.254.169.254",
		"https://224.0.0.1",
		"https://[::]",
		"https://[fe80::1]",
		"https://[::ffff:127.0.0.1]",
	};
	char longest[8 + MIRROR_HOST_BYTES + 1] = "https://";
	struct mirror_upstream u;
	struct cairn_diag diag;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		cairn_diag_clear(&diag);
		ck_assert_msg(mirror_upstream_parse(&u, BAD[i], &diag) == CAIRN_E_USAGE, "%s", BAD[i]);
		ck_assert_str_eq(diag.rule, "mirror.url");
	}
	memset(longest + 8, 'h', MIRROR_HOST_BYTES);
	ck_assert_int_eq(mirror_upstream_parse(&u, longest, NULL), CAIRN_E_USAGE);
	longest[8 + MIRROR_HOST_BYTES - 1] = '\0';
	ck_assert_int_eq(mirror_upstream_parse(&u, longest, NULL), CAIRN_OK);
}
END_TEST

START_TEST(without_tls_only_this_machine)
{
	static const char *const BAD[] = {"http://huggingface.co", "http://10.0.0.5", "http://127.1", "http://1.1.1.1"};
	struct mirror_upstream u;
	struct cairn_diag diag;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		cairn_diag_clear(&diag);
		ck_assert_int_eq(mirror_upstream_parse(&u, BAD[i], &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "mirror.insecure");
	}
}
END_TEST

START_TEST(proxies)
{
	static const char *const GOOD[] = {"http://proxy:3128", "http://127.0.0.1:3128/", "http://[::1]:3128"};
	static const char *const BAD[] = {"",
					  "proxy:3128",
					  "http://proxy",
					  "http://proxy/",
					  "http://proxy:0",
					  "http://proxy:3128/x",
					  "http://ann:word@proxy:3128",
					  "https://proxy:3128",
					  "socks5://proxy:3128",
					  "http://:3128"};
	struct cairn_diag diag;
	uint16_t port;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
		ck_assert_int_eq(mirror_proxy_parse(&port, GOOD[i], NULL), CAIRN_OK);
		ck_assert_uint_eq(port, 3128);
	}
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		cairn_diag_clear(&diag);
		ck_assert_msg(mirror_proxy_parse(&port, BAD[i], &diag) == CAIRN_E_USAGE, "%s", BAD[i]);
		ck_assert_str_eq(diag.rule, "mirror.proxy");
	}
}
END_TEST

/* Returns where a redirect leads; "": it is refused. */
static const char *hop(const char *upstream, const char *location)
{
	static struct mirror_hop out;
	struct mirror_upstream parsed;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(mirror_upstream_parse(&parsed, upstream, NULL), CAIRN_OK);
	enum cairn_status status = mirror_hop_judge(&out, &parsed, NULL, location, &diag);
	ck_assert(status == CAIRN_OK || (status == CAIRN_E_DENIED && strcmp(diag.rule, "mirror.elsewhere") == 0));
	return status == CAIRN_OK ? out.url : "";
}

START_TEST(redirects_that_are_followed)
{
	ck_assert_str_eq(hop("https://hub.example", "/x?y=z"), "https://hub.example/x?y=z");
	ck_assert_str_eq(hop("https://hub.example:444", "/x"), "https://hub.example:444/x");
	ck_assert_str_eq(hop("https://hub.example", "https://HUB.example/x"), "https://HUB.example/x");
	ck_assert_str_eq(hop("http://127.0.0.1:80", "http://127.0.0.1/x"), "http://127.0.0.1/x");
	ck_assert_str_eq(hop("https://huggingface.co", "https://cdn-lfs.huggingface.co/x"),
			 "https://cdn-lfs.huggingface.co/x");
	ck_assert_str_eq(hop("https://huggingface.co", "https://cas-bridge.xethub.hf.co/a/b?X=%2F"),
			 "https://cas-bridge.xethub.hf.co/a/b?X=%2F");
}
END_TEST

START_TEST(redirects_that_are_refused)
{
	static const char *const ALL[] = {
		"",
		"x",
		"//cdn.hf.co/x",
		"http://cdn.hf.co/x",
		"http://huggingface.co/x",
		"https://cdn.hf.co:8443/x",
		"https://evil.example/x",
		"https://hf.co.evil.example/x",
		"https://evilhf.co/x",
		"https://user@cdn.hf.co/x",
		"https://cdn.hf.co@127.0.0.1/x",
		"https://127.0.0.1/.hf.co",
		"https://cdn.hf.co\\x",
		"https://cdn.hf.co/a b",
		"https://cdn.hf.co/\x01",
		"ftp://cdn.hf.co/x",
		"file:///etc/passwd",
		"https://",
		"https://[::1]/x",
	};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		ck_assert_msg(hop("https://huggingface.co", ALL[i])[0] == '\0', "%s", ALL[i]);
	ck_assert_str_eq(hop("https://hub.example", "https://cdn.hf.co/x"), "");
	ck_assert_str_eq(hop("https://hub.example", "https://other.example/x"), "");
	ck_assert_str_eq(hop("https://hub.example", "http://hub.example/x"), "");
}
END_TEST

/* Returns where a redirect of https://hub.example leads with a list of hosts; "": it is refused. */
static const char *listed(const char *upstream, const char *hosts, const char *location, enum mirror_reach *reach,
			  bool *own)
{
	static struct mirror_hop out;
	struct mirror_upstream parsed;
	ck_assert_int_eq(mirror_upstream_parse(&parsed, upstream, NULL), CAIRN_OK);
	ck_assert_int_eq(mirror_hosts_check(hosts, NULL), CAIRN_OK);
	parsed.hosts = hosts;
	enum cairn_status status = mirror_hop_judge(&out, &parsed, NULL, location, NULL);
	*reach = out.reach;
	*own = out.is_own;
	return status == CAIRN_OK ? out.url : "";
}

START_TEST(hosts_of_a_list)
{
	static const char HUB[] = "https://hub.example", HOSTS[] = " CDN.example,*.files.example\t";
	enum mirror_reach reach;
	bool own;
	ck_assert_str_ne(listed(HUB, HOSTS, "https://cdn.example/x", &reach, &own), "");
	ck_assert(reach == MIRROR_REACH_PRIVATE && !own);
	ck_assert_str_ne(listed(HUB, HOSTS, "https://a.b.FILES.example/x", &reach, &own), "");
	ck_assert(reach == MIRROR_REACH_PUBLIC && !own);
	ck_assert_str_ne(listed(HUB, HOSTS, "https://hub.example/x", &reach, &own), "");
	ck_assert(reach == MIRROR_REACH_PRIVATE && own);
	ck_assert_str_ne(listed("http://127.0.0.1:8", "127.0.0.2", "http://127.0.0.2:8/x", &reach, &own), "");
	ck_assert(reach == MIRROR_REACH_LOCAL && !own);
	ck_assert_str_eq(listed(HUB, HOSTS, "https://files.example/x", &reach, &own), "");
	ck_assert_str_eq(listed(HUB, HOSTS, "https://other.example/x", &reach, &own), "");
	ck_assert_str_eq(listed(HUB, HOSTS, "http://cdn.example/x", &reach, &own), "");
	ck_assert_str_eq(listed(HUB, HOSTS, "https://cdn.example:444/x", &reach, &own), "");
	/* a list of hosts replaces the known ones */
	ck_assert_str_eq(listed("https://huggingface.co", HOSTS, "https://cdn.hf.co/x", &reach, &own), "");
}
END_TEST

START_TEST(malformed_lists_of_hosts_are_refused)
{
	static const char *const ALL[] = {"",      " ",  ",",         "*",   "*.",  ".x",
					  "*.*.x", "a*", "https://x", "x/y", "x:1", "[::1]"};
	char longest[MIRROR_HOST_BYTES + 1];
	struct cairn_diag diag;
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++) {
		cairn_diag_clear(&diag);
		ck_assert_msg(mirror_hosts_check(ALL[i], &diag) == CAIRN_E_USAGE, "%s", ALL[i]);
		ck_assert_str_eq(diag.rule, "mirror.hosts");
	}
	memset(longest, 'h', MIRROR_HOST_BYTES);
	longest[MIRROR_HOST_BYTES] = '\0';
	ck_assert_int_eq(mirror_hosts_check(longest, NULL), CAIRN_E_USAGE);
	ck_assert_int_eq(mirror_hosts_check(longest + 1, NULL), CAIRN_OK);
}
END_TEST

START_TEST(a_path_is_completed_by_the_host_before)
{
	struct mirror_upstream upstream;
	struct mirror_hop first, second;
	ck_assert_int_eq(mirror_upstream_parse(&upstream, "https://huggingface.co", NULL), CAIRN_OK);
	ck_assert_int_eq(mirror_hop_judge(&first, &upstream, NULL, "https://cdn.hf.co/a", NULL), CAIRN_OK);
	ck_assert_int_eq(mirror_hop_judge(&second, &upstream, &first, "/b", NULL), CAIRN_OK);
	ck_assert_str_eq(second.url, "https://cdn.hf.co/b");
	ck_assert_int_eq(second.reach, MIRROR_REACH_PUBLIC);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream");
	TCase *tcase = tcase_create("upstream");
	tcase_add_test(tcase, addresses_of_the_internet);
	tcase_add_test(tcase, addresses_of_the_house);
	tcase_add_test(tcase, addresses_of_this_machine_and_link);
	tcase_add_test(tcase, upstreams);
	tcase_add_test(tcase, other_texts_are_no_upstreams);
	tcase_add_test(tcase, without_tls_only_this_machine);
	tcase_add_test(tcase, proxies);
	tcase_add_test(tcase, redirects_that_are_followed);
	tcase_add_test(tcase, redirects_that_are_refused);
	tcase_add_test(tcase, hosts_of_a_list);
	tcase_add_test(tcase, malformed_lists_of_hosts_are_refused);
	tcase_add_test(tcase, a_path_is_completed_by_the_host_before);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
