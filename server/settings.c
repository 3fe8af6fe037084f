#include "server/settings.h"

#include "base/nearest.h"
#include "hash/chunk_list.h"
#include "xorb/format.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define DAY UINT64_C(86400)

#define AT(member) .offset = offsetof(struct config, member)

const struct setting SETTINGS[] = {
	/* data and addresses */
	{"data_dir", SETTING_TEXT, "./cairn-data", .argument = "DIR", AT(data_dir),
	 .help = "Folder that holds the index, the objects and the secret. It is made if it is missing. Only one "
		 "daemon at a time can use it."},
	{"listen", SETTING_TEXT, "127.0.0.1:8080", .argument = "WHERE", AT(listen),
	 .help = "Address and port to serve on. [::]:8080 listens on every address of IPv4 and IPv6. Port 0 takes a "
		 "free port and prints it. unix:/PATH is a socket in the file system."},
	{"listen_mode", SETTING_CHOICE, "0660", .choices = "0600|0660|0666", .argument = "MODE", AT(listen_mode),
	 .help = "Users who may connect to a unix: socket. 0600: its owner; 0660: its group, too; "
		 "0666: everybody."},
	{"public_url", SETTING_TEXT, NULL, .argument = "URL", AT(public_url),
	 .help = "Address by which clients reach the daemon through a proxy; the addresses that clients are given "
		 "begin with it. A daemon without tokens also answers to this host name. Not given: the address in "
		 "each client's Host header."},
	{"cors_origins", SETTING_TEXT, NULL, .argument = "LIST", AT(cors_origins),
	 .help = "Origins whose pages may call the daemon from a browser, separated by blanks or commas: "
		 "https://app.example. * allows any; without tokens, any page that is open in a browser on this "
		 "machine can then write. Not given: none."},
	/* who may call */
	{"token_key", SETTING_TEXT, NULL, .argument = "PATH", AT(token_key),
	 .help = "File or folder of the keys that verify tokens. Not given: no tokens are needed, which is allowed "
		 "on loopback only. SIGHUP reads it again."},
	{"token_audience", SETTING_TEXT, NULL, .argument = "NAME", AT(token_audience),
	 .help = "Name of this service, which the aud claim of a token must include. Tokens made here for API keys "
		 "include it. Not given: tokens with an aud claim are refused. any: aud is not checked."},
	{"token_issuer", SETTING_TEXT, NULL, .argument = "NAME", AT(token_issuer),
	 .help = "Issuer that the iss claim of a token must name. Tokens made here for API keys name it. Not given, "
		 "or any: iss is not checked."},
	{"tls_certificate", SETTING_TEXT, NULL, .argument = "FILE", AT(tls_certificate),
	 .help = "Serve HTTPS with this certificate (PEM, followed by its chain). SIGHUP reads it again. Not given: "
		 "HTTP."},
	{"tls_key", SETTING_TEXT, NULL, .argument = "FILE", AT(tls_key),
	 .help = "Key of the certificate (PEM, not encrypted)."},
	{"insecure_no_auth", SETTING_FLAG, "no", AT(insecure_no_auth),
	 .help = "Serve addresses other than loopback without tokens: everybody who reaches the port may write."},
	{"user", SETTING_TEXT, NULL, .argument = "NAME", AT(user),
	 .help = "User that a daemon started by root becomes once it has the port. The data folder and the keys must "
		 "belong to that user. Not given: the daemon stays the user that started it."},
	{"group", SETTING_TEXT, NULL, .argument = "NAME", AT(group),
	 .help = "Group that the daemon takes together with that user. Not given: the user's own."},
	{"sandbox", SETTING_CHOICE, "auto", .choices = "auto|on|off", .argument = "HOW", AT(sandbox),
	 .help = "Give up files, system calls and executable memory that the daemon does not need. auto: as far as the "
		 "kernel supports it. on: all of it, or the daemon does not start."},
	{"dedupe_scope", SETTING_CHOICE, "global", .choices = "global|namespace|repository", .argument = "WHO",
	 AT(dedupe_scope),
	 .help = "Senders that may find the chunks of an upload by dedupe, unless its token says otherwise: everybody, "
		 "those of its namespace, or those of its repository alone."},
	{"secret_file", SETTING_TEXT, NULL, .argument = "FILE", AT(secret_file),
	 .help = "Secret from which the keys of dedupe answers and of signatures are derived. Not given: the file "
		 "secret in the data folder, made at the first start."},
	/* uploads */
	{"xorbs", SETTING_CHOICE, "store", .choices = "store|external", .argument = "WHERE", AT(xorbs),
	 .help = "Keeper of the bytes of uploaded xorbs. store: this daemon. external: it keeps an index only, and the "
		 "bytes of xorbs live elsewhere; shards are then checked against themselves alone."},
	{"store", SETTING_TEXT, "files", .argument = "WHERE", AT(store),
	 .help = "Place of the xorbs. files: in files of the data folder. "
		 "s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME&ca=FILE: in an S3 service, as objects. "
		 "The bucket must exist, and the prefix must belong to this daemon alone, or to all daemons that share "
		 "its index. memory: for tests; all xorbs are lost when the daemon ends, but the index still names "
		 "them."},
	{"store_credentials", SETTING_TEXT, NULL, .argument = "WHERE", AT(store_credentials),
	 .help = "File with aws_access_key_id and aws_secret_access_key of an S3 store; instance: ask this machine's "
		 "metadata service; a URL: ask a container's service of credentials there. They are read again at "
		 "SIGHUP, when the store refuses them, and before they expire. Not given: AWS_ACCESS_KEY_ID and "
		 "AWS_SECRET_ACCESS_KEY of the environment, or the service that the environment names."},
	{"index", SETTING_TEXT, NULL, .argument = "URL", AT(index),
	 .help = "Place of the index. postgres://USER@HOST/DATABASE?schema=NAME: in PostgreSQL, in a schema of its own "
		 "(cairn). It belongs to the daemon that first started with it, or to all daemons with the same "
		 "secret_file and S3 store. The password is not part of the URL: PGPASSFILE names its file. Not given: "
		 "SQLite, in the data folder."},
	{"hub", SETTING_FLAG, "yes", AT(hub),
	 .help = "Serve a hub: accounts, repositories, buckets and pages. no: serve only the store, "
		 "and tokens for API keys."},
	{"hub_anonymous", SETTING_FLAG, "yes", AT(hub_anonymous),
	 .help = "Show public repositories, buckets and accounts to clients without an API key. no: show nothing of "
		 "the hub without a key."},
	{"hub_private", SETTING_TEXT, NULL, .argument = "LIST", AT(hub_private),
	 .help = "Accounts whose new repositories and buckets are private unless the request says otherwise, separated "
		 "by blanks or commas; *: all. In other accounts they are public."},
	{"hub_user_header", SETTING_TEXT, NULL, .argument = "NAME", AT(hub_user_header),
	 .help = "Header in which a proxy that signs people in names the user. The daemon believes it only from "
		 "hub_trusted_proxies, and only for pages. Not given: people sign in with a key."},
	{"hub_trusted_proxies", SETTING_TEXT, NULL, .argument = "LIST", AT(hub_trusted_proxies),
	 .help = "Addresses and networks of the proxies whose hub_user_header is believed, and whose X-Forwarded-For "
		 "says for which client a request without a key counts, separated by blanks or commas. unix: everybody "
		 "who connects through a unix: socket."},
	{"hub_lfs_create", SETTING_FLAG, "no", AT(hub_lfs_create),
	 .help = "Make a private repository when Git LFS sends objects to one that does not exist, if the key allows "
		 "it."},
	{"mirror", SETTING_TEXT, NULL, .argument = "URL", AT(mirror),
	 .help = "Address of a hub to mirror, such as https://huggingface.co. Repositories that are not here are "
		 "fetched from it when somebody asks for them (docs/mirror.md). http is only for a hub on this "
		 "machine. Not given: the daemon mirrors no hub, and asks none."},
	{"mirror_ca", SETTING_TEXT, NULL, .argument = "FILE", AT(mirror_ca),
	 .help = "File of the authorities (PEM) that may sign that hub's certificate. Not given: the system's "
		 "authorities."},
	{"mirror_bytes_max", SETTING_BYTES, "0", 0, 1024 * (1024 * GIB), AT(mirror_bytes_max),
	 .help = "Most bytes that repositories of that hub may hold. From 90 % of it on, the least recently read files "
		 "are evicted, and fetched again when somebody asks for them. 0: as many as leave twice reserve_bytes "
		 "free."},
	{"mirror_hosts", SETTING_TEXT, NULL, .argument = "LIST", AT(mirror_hosts),
	 .help = "Other hosts to which that hub may redirect for files, separated by blanks or commas; *.NAME: all "
		 "hosts below a name. Not given: *.huggingface.co and *.hf.co if that hub is huggingface.co; none for "
		 "any other hub."},
	{"mirror_offline", SETTING_FLAG, "no", AT(mirror_offline),
	 .help = "Send that hub nothing, and serve its repositories as far as they are here: for a machine that cannot "
		 "reach it. Requests for the rest are answered 504."},
	{"mirror_pin", SETTING_TEXT, NULL, .argument = "PIN", AT(mirror_pin),
	 .help = "SHA-256 of the public key that the certificate of that hub must have, besides an authority's "
		 "signature, as sha256//BASE64; several are separated by \";\". Not given: any key that a trusted "
		 "authority signed."},
	{"mirror_proxy", SETTING_TEXT, NULL, .argument = "URL", AT(mirror_proxy),
	 .help = "Proxy through which the daemon reaches that hub, as http://HOST:PORT. Not given: none; HTTPS_PROXY is "
		 "not read."},
	{"mirror_rate_max", SETTING_BYTES, "0", 0, 1024 * GIB, AT(mirror_rate_max),
	 .help = "Most bytes a second that come from that hub. Lists and files of up to 32 MiB count, but do not wait. "
		 "0: no limit."},
	{"mirror_refresh", SETTING_SECONDS, "5m", 1, 365 * DAY, AT(mirror_refresh_s),
	 .help = "Age at which the state of a branch of that hub is checked again, when somebody asks for the branch."},
	{"mirror_rules", SETTING_TEXT, NULL, .argument = "FILE", AT(mirror_rules),
	 .help = "File of rules that say which repositories of that hub are mirrored: lines allow PATTERN or deny "
		 "PATTERN, of which the first that fits counts (docs/mirror.md). SIGHUP reads it again. Not given: all "
		 "public ones."},
	{"mirror_spool_max", SETTING_BYTES, "4G", 64 * MIB, 1024 * GIB, AT(mirror_spool_max),
	 .help = "Disk space for all long files of that hub that are being fetched; bytes leave it once they are in "
		 "the store. If it is full, clients that lag far behind have to ask again."},
	{"strict", SETTING_FLAG, "no", AT(strict),
	 .help = "Refuse two things that stock clients send and the newer format document forbids: a footer on an "
		 "uploaded shard, and files without metadata."},
	{"shard_bytes_max", SETTING_BYTES, "64M", 4 * KIB, GIB, AT(shard_bytes_max), .help = "Largest shard upload."},
	{"xorb_bytes_max", SETTING_BYTES, "65600K", 4 * KIB, CAIRN_XORB_SERIALIZED_BYTES_MAX, AT(xorb_bytes_max),
	 .help = "Largest xorb upload, footer not counted. The default is the format's: 64M of chunk data and a header "
		 "of 8 bytes for each of 8192 chunks."},
	{"xorb_chunks_max", SETTING_COUNT, "8192", 1, CAIRN_XORB_CHUNKS_MAX, AT(xorb_chunks_max),
	 .help = "Most chunks in a xorb."},
	{"files_max", SETTING_COUNT, "500000", 1, UINT32_MAX, AT(files_max), .help = "Most files in a shard."},
	{"terms_max", SETTING_COUNT, "1000000", 1, UINT32_MAX, AT(terms_max),
	 .help = "Most terms in a shard, and most terms of all files in one batch of reconstructions."},
	{"xorbs_max", SETTING_COUNT, "16384", 1, UINT32_MAX, AT(xorbs_max),
	 .help = "Most xorbs that a shard may describe. This limits the rows that a small shard can add to the index."},
	{"term_chunks_max", SETTING_COUNT, "33554432", 1, UINT64_C(1) << 40, AT(term_chunks_max),
	 .help = "Most chunks that all terms of a shard may cover together. This limits the hashing that a shard can "
		 "cause."},
	{"list_chunks_max", SETTING_COUNT, "268435456", 1, UINT64_C(1) << 40, AT(list_chunks_max),
	 .help = "Most chunks in the lists of stored xorbs that may be read to verify a shard. A "
		 "shard that needs a further list is refused. Lists that fit in 8 MiB together (25 of "
		 "8,192 chunks; at most 256 lists) are read once each; beyond that a list may be read "
		 "once for each term."},
	{"edit_chunks_max", SETTING_COUNT, "67108864", 1, UINT64_C(1) << 40, AT(edit_chunks_max),
	 .help = "Most chunks that the plan for an edit of a file may cover, or read in lists. The default is enough "
		 "for a file of 2 TiB. Above it, clients cut the whole file into chunks again."},
	{"spool_bytes_max", SETTING_BYTES, "8G", MIB, 1024 * GIB, AT(spool_bytes_max),
	 .help = "Most bytes that uploads under way, and answers too large for memory, take together. An upload that "
		 "announces its length counts in full from its beginning; one by Git LFS counts what it needs at one "
		 "time (up to 64 MiB, and memory); any other counts as it arrives. Over it: 503 with Retry-After."},
	{"spool_share_percent", SETTING_COUNT, "25", 1, 100, AT(spool_share_percent),
	 .help = "Percent of spool_bytes_max that one sender may have under way. A sender is the API key, subject or "
		 "repository of a token, the token itself, or, where no tokens are needed, the address. The largest "
		 "upload fits in any case. Over it: 503 with Retry-After."},
	{"reserve_bytes", SETTING_BYTES, "256M", 0, 1024 * GIB, AT(reserve_bytes),
	 .help = "Free space to leave on the disk. Below it, uploads are answered 507 and /ready 503; reading still "
		 "works."},
	{"answer_bytes_max", SETTING_BYTES, "1M", 4 * KIB, 64 * MIB, AT(answer_bytes_max),
	 .help = "Size at which an answer to a chunk query stops including neighbours of the xorb that was found."},
	{"cache_bytes_max", SETTING_BYTES, "64M", 0, 64 * GIB, AT(cache_bytes_max),
	 .help = "Memory for cached answers to chunk queries."},
	{"epoch", SETTING_SECONDS, "7d", 60, 365 * DAY, AT(epoch_s),
	 .help = "How long one key of dedupe answers is used. An answer expires at the end of the "
		 "next epoch."},
	{"gc_grace", SETTING_SECONDS, "14d", 120, 1000 * DAY, AT(gc_grace_s),
	 .help = "How long a xorb that no file needs is still offered to clients, and after that how long it is "
		 "still kept before it is removed. At least two epochs, the life of an answer. Below 10.5 days, "
		 "uploads of clients that remember such a xorb may be refused."},
	{"unregistered_bytes_max", SETTING_BYTES, "1024G", 0, 1024 * (1024 * GIB), AT(unregistered_bytes_max),
	 .help = "Most bytes of xorbs that one account, or another owner, has uploaded and that no "
		 "file needs yet. With a quota, the limit is also the quota, or 1 GiB if that is "
		 "more. At most 16,384 such xorbs. Over it: 403. 0: they do not count."},
	{"hub_upload_grace", SETTING_SECONDS, "2d", 0, 1000 * DAY, AT(hub_upload_grace_s),
	 .help = "How long two things are kept: a file that was uploaded to a bucket, or came from a mirrored hub, and "
		 "has no path, and a closed pull request by somebody who may not write in its repository."},
	/* jobs of the daemon */
	{"gc_schedule", SETTING_SCHEDULE, "1d", .argument = "WHEN", AT(gc_schedule),
	 .help = "When garbage is collected. A time: this long after the last collection, or up to a "
		 "tenth later. A window (UTC): once a day within it. off: only when cairn gc asks for "
		 "it. SIGHUP reads it again.",
	 .live = true},
	{"telemetry_age", SETTING_SECONDS, "90d", 0, 1000 * DAY, AT(telemetry_age_s),
	 .help = "Telemetry messages older than this are dropped, once an hour. 0: none is dropped for its age. "
		 "SIGHUP reads it again.",
	 .live = true},
	{"scrub_period", SETTING_SECONDS, "7d", 0, 1000 * DAY, AT(scrub_period_s),
	 .help = "Time in which the daemon reads and verifies everything stored once, in the background, at 1 MiB a "
		 "second or faster. 0: only when cairn scrub asks for it. SIGHUP reads it again.",
	 .live = true},
	{"proof_rate", SETTING_BYTES, "100M", 0, 1024 * GIB, AT(proof_rate),
	 .help = "How fast stored files are read in the background to check the SHA-256 that uploaders gave, in bytes "
		 "a second. 0: nothing is checked. SIGHUP reads it again.",
	 .live = true},
	/* lifetimes and limits of replies */
	{"token_ttl", SETTING_SECONDS, "1h", 60, DAY, AT(token_ttl_s),
	 .help = "How long the tokens last that clients get for API keys. SIGHUP reads it again.", .live = true},
	{"telemetry_rows", SETTING_COUNT, "10000", 0, 10000000, AT(telemetry_rows),
	 .help = "How many telemetry messages are kept, the newest ones. 0: none. SIGHUP reads it again.",
	 .live = true},
	{"prove_reads", SETTING_FLAG, "yes", AT(prove_reads),
	 .help = "Check stored bytes against their hashes before they are first sent, once a day. SIGHUP reads it "
		 "again.",
	 .live = true},
	{"fetch_ttl", SETTING_SECONDS, "1h", 60, 7 * DAY, AT(fetch_ttl_s),
	 .help = "How long the signed addresses of a reconstruction are valid. SIGHUP reads it again.", .live = true},
	{"fetch_from_store", SETTING_FLAG, "no", AT(fetch_from_store),
	 .help = "Let clients fetch from the S3 store itself, by signed addresses, instead of through this daemon. "
		 "The daemon then cannot verify what they get, so prove_reads must be no."},
	{"fetch_ranges_max", SETTING_COUNT, "64", 1, 256, AT(fetch_ranges_max),
	 .help = "Most byte ranges in one signed address. SIGHUP reads it again.", .live = true},
	{"plan_bytes_max", SETTING_BYTES, "1G", MIB, 64 * GIB, AT(plan_bytes_max),
	 .help = "Longest reconstruction, answer to a range edit, or list of keys. A longer one than 256K is written "
		 "to a temporary file without a name, not kept in memory."},
	/* connections */
	{"connections_max", SETTING_COUNT, "1008", 16, 16384, AT(connections_max),
	 .help = "Most open connections, all together; one thread serves 112. Over it, clients wait to be accepted."},
	{"connections_per_address_max", SETTING_COUNT, "256", 1, 16384, AT(connections_per_address_max),
	 .help = "Most open connections of one client address. Over it: 429, and the connection is closed. Raise it "
		 "behind a proxy."},
	{"idle_timeout", SETTING_SECONDS, "90s", 1, DAY, AT(idle_timeout_s),
	 .help = "How long a connection may stay open while no byte moves on it."},
	{"head_timeout", SETTING_SECONDS, "15s", 1, 3600, AT(head_timeout_s),
	 .help = "Time for a request's head to arrive, counted from its first byte."},
	{"request_timeout", SETTING_SECONDS, "15m", 1, DAY, AT(request_timeout_s),
	 .help = "Time for a body to arrive. A body may take longer while it arrives at 64 KiB a second or more, on "
		 "average."},
	{"head_bytes_max", SETTING_BYTES, "32K", 4 * KIB, MIB, AT(head_bytes_max),
	 .help = "Most bytes of a request's line and headers. Over it: 414 or 431, and the connection is closed."},
	{"rate_per_address", SETTING_COUNT, "0", 0, 1000000, AT(rate_per_address),
	 .help = "Requests a second that one client address may keep up. Over it: 429 with Retry-After. 0: no limit. "
		 "Leave it at 0 behind a proxy that hub_trusted_proxies does not name."},
	{"rate_per_token", SETTING_COUNT, "0", 0, 1000000, AT(rate_per_token),
	 .help = "Requests a second that one token, or all keys and tokens of one account (of the operator: one API "
		 "key), may keep up. Requests to the hub, of browsers that are signed in, and at signed addresses of "
		 "Git LFS count, too. Over it: 429 with Retry-After. 0: no limit."},
	{"rate_burst", SETTING_SECONDS, "10s", 1, 3600, AT(rate_burst_s),
	 .help = "How many seconds' worth of the requests that rate_per_address and rate_per_token allow may come at "
		 "once."},
	/* work */
	{"workers", SETTING_COUNT, "0", 0, 256, AT(workers),
	 .help = "Threads that verify uploads and wait for the disk. 0: two more than there are processors. Two "
		 "further threads are kept for requests that people wait for: plans and fetches."},
	{"worker_queue_max", SETTING_COUNT, "1024", 1, 65536, AT(worker_queue_max),
	 .help = "Most requests that wait for a worker. Over it: 503 with Retry-After."},
	{"drain", SETTING_SECONDS, "30s", 0, 3600, AT(drain_s),
	 .help = "How long the daemon waits at SIGTERM for requests under way before it cuts them. SIGHUP reads it "
		 "again.",
	 .live = true},
	/* log */
	{"log_level", SETTING_CHOICE, "info", .choices = "error|warning|info|debug", .argument = "LEVEL", AT(log_level),
	 .help = "Least important events that are logged. SIGHUP reads it again.", .live = true},
	{"access_log", SETTING_FLAG, "yes", AT(access_log),
	 .help = "Log each request, at level info. SIGHUP reads it again.", .live = true},
	{"access_log_probes", SETTING_FLAG, "no", AT(access_log_probes),
	 .help = "Log requests for /health, /ready and /metrics, too. SIGHUP reads it again.", .live = true},
	{"slow_request_ms", SETTING_COUNT, "0", 0, 3600000, AT(slow_request_ms),
	 .help = "Log a request that takes longer than this (milliseconds) as a warning, with the time that it "
		 "waited for a worker. 0: none. SIGHUP reads it again.",
	 .live = true},
	{"test_clock", SETTING_TEXT, NULL, AT(test_clock)}, /* the format of cairn_clock_use_file() */
};
const size_t N_SETTINGS = sizeof(SETTINGS) / sizeof(SETTINGS[0]);

const struct setting *setting_find(const char *name, size_t len)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		if (strlen(SETTINGS[i].name) == len && memcmp(SETTINGS[i].name, name, len) == 0)
			return &SETTINGS[i];
	return NULL;
}

const struct setting *setting_near(const char *name, size_t len)
{
	struct cairn_nearest near = cairn_nearest_to(name, len);
	for (size_t i = 0; i < N_SETTINGS; i++)
		cairn_nearest_offer(&near, SETTINGS[i].name);
	return near.best ? setting_find(near.best, strlen(near.best)) : NULL;
}

void setting_option_name(char out[static SETTING_NAME_BYTES], const struct setting *s)
{
	(void)snprintf(out, SETTING_NAME_BYTES, "%s", s->name);
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = '-';
}

struct setting_unit {
	char letter;
	uint64_t factor;
};
static const struct setting_unit BYTES_UNITS[] = {{'G', GIB}, {'M', MIB}, {'K', KIB}, {0, 1}};
static const struct setting_unit SECONDS_UNITS[] = {{'d', DAY}, {'h', 3600}, {'m', 60}, {'s', 1}, {0, 1}};
static const struct setting_unit COUNT_UNITS[] = {{0, 1}};

/* The largest unit comes first; the last one is the bare number. */
static const struct setting_unit *setting_units(enum setting_kind kind)
{
	if (kind == SETTING_BYTES)
		return BYTES_UNITS;
	return kind == SETTING_SECONDS ? SECONDS_UNITS : COUNT_UNITS;
}

/* Parses digits and maybe a unit; no sign, fraction or blank. A number above 2^64 - 1 becomes that, over any limit. */
static bool setting_parse_number(enum setting_kind kind, const char *text, uint64_t *out)
{
	const char *p = text;
	uint64_t n = 0;
	bool over = false;
	for (; *p >= '0' && *p <= '9'; p++)
		over = __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n) || over;
	if (p == text)
		return false;
	const struct setting_unit *unit = setting_units(kind);
	bool lower = kind == SETTING_BYTES && *p >= 'a' && *p <= 'z';
	char letter = lower ? (char)(*p - 'a' + 'A') : *p;
	while (unit->letter && unit->letter != letter)
		unit++;
	if (unit->letter != letter || (letter && p[1]))
		return false;
	over = __builtin_mul_overflow(n, unit->factor, &n) || over;
	*out = over ? UINT64_MAX : n;
	return true;
}

static void setting_print_number(enum setting_kind kind, uint64_t n, char *out, size_t out_len)
{
	const struct setting_unit *unit = setting_units(kind);
	while (unit->letter && (n == 0 || n % unit->factor != 0))
		unit++;
	const char letter[2] = {unit->letter, 0};
	(void)snprintf(out, out_len, "%" PRIu64 "%s", n / unit->factor, letter);
}

void setting_print(struct cairn_buf *out, const struct config *config, const struct setting *s)
{
	const void *at = (const char *)config + s->offset;
	char number[32];
	const char *text = NULL;
	switch (s->kind) {
	case SETTING_TEXT:
		text = *(char *const *)at;
		break;
	case SETTING_CHOICE:
		text = s->choices;
		for (unsigned n = *(const unsigned *)at; n > 0; n--)
			text = strchr(text, '|') + 1;
		(void)snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, "|"), text);
		text = number;
		break;
	case SETTING_FLAG:
		text = *(const bool *)at ? "yes" : "no";
		break;
	case SETTING_SCHEDULE:
		text = schedule_text(number, at);
		break;
	case SETTING_COUNT:
	case SETTING_BYTES:
	case SETTING_SECONDS:
		setting_print_number(s->kind, *(const uint64_t *)at, number, sizeof(number));
		text = number;
		break;
	}
	if (text)
		cairn_buf_printf(out, "%s = %s\n", s->name, text);
}

static bool setting_parse_flag(const char *text, bool *out)
{
	static const char *const WORDS[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
		if (strcmp(text, WORDS[i]) == 0) {
			*out = i % 2;
			return true;
		}
	}
	return false;
}

static bool setting_parse_choice(const char *choices, const char *text, unsigned *out)
{
	size_t len = strlen(text);
	unsigned i = 0;
	for (const char *p = choices; *p; i++) {
		size_t n = strcspn(p, "|");
		if (n == len && memcmp(p, text, n) == 0) {
			*out = i;
			return true;
		}
		p += n + (p[n] == '|');
	}
	return false;
}

/* Writes "a|b|c" as "a, b or c". */
static void setting_list_choices(const char *choices, char *out, size_t out_len)
{
	size_t at = 0;
	for (const char *p = choices; *p && at < out_len;) {
		size_t n = strcspn(p, "|");
		const char *joint = p == choices ? "" : p[n] ? ", " : " or ";
		int wrote = snprintf(out + at, out_len - at, "%s%.*s", joint, (int)n, p);
		at += wrote > 0 ? (size_t)wrote : 0;
		p += n + (p[n] == '|');
	}
}

void setting_allowed(const struct setting *s, char *out, size_t out_len)
{
	char min[32], max[32];
	switch (s->kind) {
	case SETTING_TEXT:
		(void)snprintf(out, out_len, "text");
		return;
	case SETTING_FLAG:
		(void)snprintf(out, out_len, "yes or no");
		return;
	case SETTING_CHOICE:
		setting_list_choices(s->choices, out, out_len);
		return;
	case SETTING_SCHEDULE:
		(void)snprintf(out, out_len, "off, 1m to 1000d, or HH:MM-HH:MM");
		return;
	case SETTING_COUNT:
	case SETTING_BYTES:
	case SETTING_SECONDS:
		setting_print_number(s->kind, s->min, min, sizeof(min));
		setting_print_number(s->kind, s->max, max, sizeof(max));
		(void)snprintf(out, out_len, "%s to %s", min, max);
		return;
	}
}

/* Describes the form of a value, for the message about a malformed one. */
static const char *setting_shape(enum setting_kind kind)
{
	switch (kind) {
	case SETTING_BYTES:
		return "a size (digits, then K, M or G or nothing)";
	case SETTING_SECONDS:
		return "a time (digits, then s, m, h or d)";
	case SETTING_COUNT:
		return "a whole number";
	case SETTING_FLAG:
	case SETTING_CHOICE:
	case SETTING_SCHEDULE:
	case SETTING_TEXT:
		break;
	}
	return "one of the known words";
}

static bool setting_store_text(char **slot, const char *text, char *why, size_t why_len)
{
	char *copy = NULL;
	if (text && !(copy = strdup(text))) {
		(void)snprintf(why, why_len, "there is not enough memory");
		return false;
	}
	free(*slot);
	*slot = copy;
	return true;
}

static bool setting_apply_text(char **slot, const struct setting *s, const char *text, char *why, size_t why_len)
{
	if (!*text && s->start) {
		(void)snprintf(why, why_len, "the value is empty; give one, or leave the setting out for %s", s->start);
		return false;
	}
	return setting_store_text(slot, *text ? text : NULL, why, why_len);
}

static bool setting_apply_choice(unsigned *slot, const struct setting *s, const char *text, char *why, size_t why_len)
{
	char allowed[128];
	if (setting_parse_choice(s->choices, text, slot))
		return true;
	setting_allowed(s, allowed, sizeof(allowed));
	(void)snprintf(why, why_len, "\"%s\" is not known; use %s", text, allowed);
	return false;
}

static bool setting_apply_number(uint64_t *slot, const struct setting *s, const char *text, char *why, size_t why_len)
{
	char allowed[80];
	setting_allowed(s, allowed, sizeof(allowed));
	uint64_t n = 0;
	if (!setting_parse_number(s->kind, text, &n)) {
		(void)snprintf(why, why_len, "\"%s\" is not %s; use %s", text, setting_shape(s->kind), allowed);
		return false;
	}
	if (n < s->min || n > s->max) {
		(void)snprintf(why, why_len, "\"%s\" is out of range; use %s", text, allowed);
		return false;
	}
	*slot = n;
	return true;
}

bool setting_apply(struct config *config, const struct setting *s, const char *text, char *why, size_t why_len)
{
	void *slot = (char *)config + s->offset;
	switch (s->kind) {
	case SETTING_TEXT:
		return setting_apply_text(slot, s, text, why, why_len);
	case SETTING_CHOICE:
		return setting_apply_choice(slot, s, text, why, why_len);
	case SETTING_COUNT:
	case SETTING_BYTES:
	case SETTING_SECONDS:
		return setting_apply_number(slot, s, text, why, why_len);
	case SETTING_SCHEDULE:
		if (schedule_parse(slot, text))
			return true;
		(void)snprintf(why, why_len,
			       "\"%s\" is no schedule; use off, a time like 6h (1m to 1000d), or a "
			       "window like 01:00-05:00 (UTC)",
			       text);
		return false;
	case SETTING_FLAG:
		if (setting_parse_flag(text, slot))
			return true;
		(void)snprintf(why, why_len, "\"%s\" is neither; use yes or no", text);
		return false;
	}
	return false;
}

void setting_clear(struct config *config, const struct setting *s)
{
	void *at = (char *)config + s->offset;
	char **slot = at;
	if (s->kind != SETTING_TEXT)
		return;
	free(*slot);
	*slot = NULL;
}
