/* The values of the daemon's settings. */
#ifndef CAIRN_SERVER_CONFIG_VALUES_H
#define CAIRN_SERVER_CONFIG_VALUES_H

#include "base/status.h"
#include "server/log/log.h"
#include "server/sandbox/sandbox.h"
#include "server/schedule.h"
#include "token/token.h"

#include <stdint.h>

/** Where the bytes of xorbs are kept. */
enum config_xorbs { CONFIG_XORBS_STORE, CONFIG_XORBS_EXTERNAL };

/** Mode of the Unix socket on which the daemon listens. */
enum config_listen_mode { CONFIG_LISTEN_0600, CONFIG_LISTEN_0660, CONFIG_LISTEN_0666 };

/** All settings; strings are owned. A table in settings.c has the name, kind, default, limits and help of each setting.
 * The command line (--shard-bytes-max N), the file (shard_bytes_max = N), the environment (CAIRN_SHARD_BYTES_MAX) and
 * --help use this table; a test compares docs/operations.md with it. Sizes take K, M, G; times take s, m, h, d. */
struct config {
	char *data_dir; /* default: ./cairn-data */
	char *listen;   /* default 127.0.0.1:8080; [::]:8080: all addresses of both families; port 0: any free port */
	enum config_listen_mode listen_mode;
	char *public_url;                    /* NULL: taken from the Host header */
	char *cors_origins;                  /* parsed by cors_init(); NULL: none */
	char *token_key;                     /* file or folder of keys; NULL: no tokens */
	char *token_audience, *token_issuer; /* used as in struct cairn_token_binding */
	bool insecure_no_auth;               /* serve beyond loopback without tokens */
	char *tls_certificate, *tls_key;     /* NULL: HTTP */
	char *user, *group;                  /* to which the process switches; NULL: no switch */
	enum sandbox_mode sandbox;
	enum cairn_dedupe_scope dedupe_scope;
	char *secret_file; /* NULL: a file in the data folder */
	enum config_xorbs xorbs;
	char *store;             /* "files", "memory", or the URL of a store elsewhere */
	char *store_credentials; /* a file or a service; NULL: the environment has them */
	char *index;             /* a URL; NULL: a file in the data folder */
	bool hub;                /* serve the routes of server/hub and server/page */
	bool hub_anonymous;      /* requests without an API key see public repositories */
	bool hub_lfs_create;     /* a Git LFS push creates its repository */
	char *hub_private;       /* accounts whose new repositories are private by default; NULL: none */
	char *hub_user_header, *hub_trusted_proxies; /* NULL: no proxy names users */
	char *mirror, *mirror_ca, *mirror_proxy;     /* NULL: no hub is mirrored; the system's authorities; no proxy */
	char *mirror_hosts;                          /* NULL: the default hosts of a known hub */
	char *mirror_rules;                          /* NULL: everything of the mirrored hub may be mirrored */
	char *mirror_pin;                            /* NULL: any key that an authority has signed is accepted */
	bool mirror_offline;                         /* never ask the mirrored hub */
	bool strict;
	uint64_t mirror_refresh_s, mirror_spool_max, mirror_rate_max; /* mirror_rate_max 0: no limit */
	uint64_t mirror_bytes_max;                                    /* 0: all free space but twice the reserve */
	uint64_t shard_bytes_max, xorb_bytes_max, spool_bytes_max, spool_share_percent, reserve_bytes, answer_bytes_max,
		cache_bytes_max, unregistered_bytes_max;
	uint64_t xorb_chunks_max, files_max, terms_max, xorbs_max, term_chunks_max, list_chunks_max, edit_chunks_max;
	uint64_t epoch_s;
	uint64_t gc_grace_s, hub_upload_grace_s, token_ttl_s, telemetry_rows;
	uint64_t scrub_period_s; /* 0: no scrubbing */
	uint64_t proof_rate;     /* bytes a second; 0: no proving */
	struct schedule gc_schedule;
	uint64_t telemetry_age_s; /* 0: any age */
	bool fetch_from_store;
	bool prove_reads; /* see cas/verify_read.h */
	uint64_t fetch_ttl_s, fetch_ranges_max, plan_bytes_max;
	uint64_t connections_max, connections_per_address_max, idle_timeout_s, head_timeout_s, request_timeout_s,
		head_bytes_max;
	uint64_t rate_per_address, rate_per_token, rate_burst_s;
	uint64_t workers; /* 0: processors + 2 */
	uint64_t worker_queue_max;
	uint64_t drain_s; /* how long a stop waits for requests in flight */
	enum log_level log_level;
	bool access_log, access_log_probes;
	uint64_t slow_request_ms; /* 0: no request counts as slow */
	char *file;               /* not a setting: the file that was read; NULL: none */
	char *test_clock;
};

#endif
