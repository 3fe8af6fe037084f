/* The state of the process, which all routes share. */
#ifndef CAIRN_SERVER_APP_H
#define CAIRN_SERVER_APP_H

#include "base/workers.h"
#include "cas/cas.h"
#include "data_dir/data_dir.h"
#include "hub/hub.h"
#include "mirror/mirror.h"
#include "server/config.h"
#include "server/growth.h"
#include "server/http/auth.h"
#include "server/http/cors.h"
#include "server/http/hosts.h"
#include "server/http/http.h"
#include "server/http/proxies.h"
#include "server/http/tls.h"
#include "server/index_check.h"
#include "server/metrics.h"
#include "server/prover.h"
#include "server/recent.h"
#include "server/rest.h"
#include "server/sandbox/sandbox.h"
#include "server/scrub.h"
#include "server/traffic.h"
#include "server/watchdog.h"

#include <stdatomic.h>

#include <pthread.h>

/** The last answer of /ready, cached for a second: the check writes to the disk, and anybody may ask. */
struct app_ready {
	pthread_mutex_t lock; /* guards the other members */
	bool checking;        /* a worker is checking now; it does not hold the lock */
	int64_t checked_ms;   /* when it was last checked, on cairn_clock_mono_ms(); 0: never */
	enum cairn_status status;
	struct cairn_diag diag;
};

/** Settings that SIGHUP changes while requests are served. */
struct app_live {
	atomic_bool access_log, access_log_probes, prove_reads;
	_Atomic uint64_t slow_request_ms, telemetry_rows, token_ttl_s, fetch_ttl_s, fetch_ranges_max, drain_s,
		scrub_period_s, telemetry_age_s, proof_rate;
	_Atomic struct schedule gc_schedule;
};

/** How the last reading at SIGHUP went. */
struct app_reload {
	atomic_bool failed;          /* at least one file could not be read */
	_Atomic int64_t good_unix_s; /* when all files were last read, or the start */
};

/** Figures of garbage: the first two lines survive a restart, the others count since the start. */
struct app_garbage {
	_Atomic int64_t ran_unix_s, good_unix_s; /* end of the last collection, and of the last good one; 0: none */
	atomic_bool failed;                      /* the last collection failed */
	_Atomic uint64_t n_retired, n_swept, n_left_over, freed_bytes;
	_Atomic int64_t counted_unix_s; /* when the next two figures were counted; 0: never */
	_Atomic uint64_t bytes, retired_bytes;
};

/** Counts about mirrored repositories, for the metrics. */
struct app_mirror {
	_Atomic uint64_t bytes, n_files;  /* bytes and files of mirrored repositories that are stored here */
	_Atomic uint64_t withdrawn_bytes; /* stored bytes of xorbs that are offered to nobody */
	_Atomic uint64_t bound_bytes;     /* bytes that are offered, or were within gc_grace */
	_Atomic uint64_t evicted_bytes;   /* evicted since the start */
	_Atomic uint64_t here_bytes;      /* bytes announced in replies with files that were stored here */
	_Atomic uint64_t passed_on_bytes; /* bytes read by replies with files that were still being fetched */
	_Atomic uint64_t n_stale;         /* replies with possibly stale data: the upstream could not be asked */
	atomic_uint n_waiting;            /* requests that wait for the upstream, without a reply so far */
};

/** The notes that the command cairn backup left about the last backups. 0: unknown. */
struct app_backup {
	_Atomic int64_t ran_unix_s, good_unix_s, good_bytes;
	atomic_bool failed;
	/* About the backup that began last. If that one was killed, it neither runs nor has ended. */
	atomic_bool running;
	_Atomic int64_t started_unix_s, done_bytes, total_bytes;
	_Atomic int64_t seen_unix_s; /* time of its last note; later than ran_unix_s: it has not ended */
};

/** The state of the process. Immutable, except where members have their own locks. */
struct app {
	struct config config;            /* settings as at the start; those that SIGHUP changes are in live */
	char who[CAIRN_INDEX_WHO_BYTES]; /* this daemon and its machine, for people; other daemons show it */
	struct app_live live;
	struct app_reload reload;
	struct app_garbage garbage;
	struct app_backup backup;
	struct growth growth;
	struct auth_options auth;
	struct cors cors;
	struct hosts hosts; /* Host headers that are accepted where no tokens are needed */
	struct proxies proxies;
	struct sessions *sessions;   /* sign-ins of browsers */
	struct api_keys *api_keys;   /* API keys that were valid recently */
	struct rate *telemetry_rate; /* limits the telemetry messages that are kept of each sender */
	struct rate *device_polls;   /* limits the polls of each program that waits for its approval */
	struct rate *device_lookups; /* limits each account's lookups of codes that wait for a browser */
	struct hub_usage *usage;
	void (*collected)(struct app *app); /* called after each successful collection; may be NULL */
	atomic_bool usage_wanted; /* newer figures of disk usage are wanted; another daemon may be computing them */
	struct cairn_data_dir *data_dir;
	struct cairn_cas *cas; /* owned; borrows data_dir */
	struct cairn_hub hub;  /* borrows cas */
	struct cairn_workers *workers;
	struct cairn_workers *disk_workers; /* many threads, for work that only waits for the disk */
	struct cairn_workers *long_workers; /* for heavy work, which would delay the others, and for /ready */
	struct cairn_mirror *mirror;        /* NULL: no hub is mirrored here */
	struct app_mirror mirror_counts;
	struct metrics *metrics;
	struct recent recent;     /* requests that failed or were slow */
	struct traffic traffic;   /* counts all requests, and how long each of their steps took */
	struct http_server *http; /* set once serving; used by the metrics route and the stop only */
	struct app_ready ready;
	struct index_check index_check;
	struct scrub scrub;
	struct housekeeping *housekeeping; /* NULL: not serving so far */
	struct prover_counts proofs;
	struct prover *prover;              /* NULL: not serving yet, or the xorbs are kept elsewhere */
	struct rest rest;                   /* wakes housekeeping, which then searches for work at once */
	_Atomic uint64_t telemetry_trimmed; /* telemetry messages that were removed since the start */
	struct sandbox_report sandbox;
	struct tls *tls;        /* NULL: HTTP */
	atomic_bool stopping;   /* the daemon stops: long work must end early */
	bool logged_checkpoint; /* the sweeper's: it has logged that a checkpoint of the index failed */
	bool logged_held;       /* the sweeper's: it has logged that a read holds the index's log */
	bool logged_writes;     /* the sweeper's: it has logged that the index cannot be written, or is damaged */
	atomic_bool drained;    /* the time for stopping is over: work for requests must end, too */
	int64_t started_unix_s;
	struct watchdog *watchdog;      /* NULL: systemd asks for none */
	struct cairn_workers_ask pulse; /* used by the watchdog alone */
};

static inline struct app *app_of(const struct http_request *req)
{
	return http_app(req);
}

#endif
