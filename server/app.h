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
	pthread_mutex_t lock; /* guards the rest */
	bool checking;        /* on one worker, without the lock */
	int64_t checked_ms;   /* of cairn_clock_mono_ms(); 0: never */
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
	atomic_bool failed;          /* of at least one file */
	_Atomic int64_t good_unix_s; /* when all files were last read, or the start */
};

/** Figures of garbage: the first two lines survive a restart, the others count since the start. */
struct app_garbage {
	_Atomic int64_t ran_unix_s, good_unix_s; /* the last collection, and the last that ended well; 0: none */
	atomic_bool failed;                      /* the last one */
	_Atomic uint64_t n_retired, n_swept, n_left_over, freed_bytes;
	_Atomic int64_t counted_unix_s; /* when the next two were; 0: never */
	_Atomic uint64_t bytes, retired_bytes;
};

/** Replies about repositories of the mirrored hub, since the start. */
struct app_mirror {
	_Atomic uint64_t here_bytes;      /* of files that were here, as announced */
	_Atomic uint64_t passed_on_bytes; /* of files on their way, as read */
	_Atomic uint64_t n_stale;         /* the upstream could not be asked whether they are still right */
	atomic_uint n_waiting;            /* requests that wait for the upstream, and have no reply yet */
};

/** The notes that the command cairn backup left about the last backups; 0: not known. */
struct app_backup {
	_Atomic int64_t ran_unix_s, good_unix_s, good_bytes;
	atomic_bool failed;
	/* The backup that began last. If it was killed, it neither runs nor has ended. */
	atomic_bool running;
	_Atomic int64_t started_unix_s, done_bytes, total_bytes;
	_Atomic int64_t seen_unix_s; /* when its note was last written; later than ran_unix_s: it has not ended */
};

/** The state of the process. Immutable, except where members have their own locks. */
struct app {
	struct config config;            /* as at the start; settings that change are in live */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where this daemon runs, for people; daemons that share its index show it */
	struct app_live live;
	struct app_reload reload;
	struct app_garbage garbage;
	struct app_backup backup;
	struct growth growth;
	struct auth_options auth;
	struct cors cors;
	struct hosts hosts; /* where no tokens are needed */
	struct proxies proxies;
	struct sessions *sessions;   /* of browsers */
	struct api_keys *api_keys;   /* recently valid ones */
	struct rate *telemetry_rate; /* of each sender's messages that are kept */
	struct rate *device_polls;   /* of each program that waits to be let in */
	struct rate *device_looks;   /* of each account at the codes of programs that wait for a browser */
	struct hub_usage *usage;
	void (*collected)(struct app *app); /* to be called after a collection that ended well; NULL: nobody asked */
	atomic_bool usage_wanted;           /* newer figures are wanted; another daemon may be computing them */
	struct cairn_data_dir *data_dir;
	struct cairn_cas *cas; /* borrows data_dir */
	struct cairn_hub hub;  /* of cas */
	struct cairn_workers *workers;
	struct cairn_workers *disk_workers; /* many, for work that only waits for the disk */
	struct cairn_workers *long_workers; /* for heavy work, which would delay the others, and for /ready */
	struct cairn_mirror *mirror;        /* NULL: no hub is mirrored here */
	struct app_mirror mirror_counts;
	struct metrics *metrics;
	struct recent recent;     /* requests that failed or were slow */
	struct traffic traffic;   /* all of them, step by step */
	struct http_server *http; /* set once serving; used by the metrics route and the stop only */
	struct app_ready ready;
	struct index_check index_check;
	struct scrub scrub;
	struct housekeeping *housekeeping; /* NULL: not serving so far */
	struct prover_counts proofs;
	struct prover *prover;              /* NULL: not serving yet, or others keep the bytes */
	struct rest rest;                   /* housekeeping's; waking it makes housekeeping look for work at once */
	_Atomic uint64_t telemetry_trimmed; /* messages, since the start */
	struct sandbox_report sandbox;
	struct tls *tls;        /* NULL: HTTP */
	atomic_bool stopping;   /* long work is to end early */
	bool logged_checkpoint; /* the sweeper's: it has logged that a checkpoint of the index failed */
	bool logged_held;       /* the sweeper's: it has logged that a read holds the index's log */
	bool logged_writes;     /* the sweeper's: it has logged that the index cannot be written, or is damaged */
	atomic_bool drained;    /* work for requests is to end, too: their time is over */
	int64_t started_unix_s;
	struct watchdog *watchdog;      /* NULL: systemd asks for none */
	struct cairn_workers_ask pulse; /* the watchdog's */
};

static inline struct app *app_of(const struct http_request *req)
{
	return http_app(req);
}

#endif
