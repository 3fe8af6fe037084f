/* GET /health: does the process answer? GET /ready: can it take uploads? GET /metrics: its counters. These routes need
 * no token: probes and scrapers have none, and the answers have only counts and the version. */
#include "server/ask/route_job.h"

#include "cas/losses.h"
#include "cas/stats.h"
#include "server/ask/jobs.h"
#include "server/log/log_writer.h"
#include "server/process_stats.h"
#include "server/ready.h"
#include "server/route/routes.h"

#include <stdlib.h>

enum {
	METRICS_TEXT_BYTES_MAX = 1024 * 1024,
	METRICS_GAUGES_MAX = 160,
};

/* --- /health ------------------------------------------------------------------------------------------------------ */

static void health_get(struct http_request *req)
{
	http_reply_header(req, "Cache-Control", "no-store");
	http_reply_json(req, 200, "{\"status\":\"ok\",\"version\":\"" CAIRN_VERSION "\"}\n");
}

/* --- /ready ------------------------------------------------------------------------------------------------------- */

struct ready_request {
	struct route_job job;
	enum cairn_status status;
	struct cairn_diag diag;
};

static void ready_reply(struct http_request *req, enum cairn_status status, const struct cairn_diag *diag)
{
	http_reply_header(req, "Cache-Control", "no-store");
	if (status == CAIRN_OK) {
		http_reply_json(req, 200, "{\"status\":\"ready\"}\n");
		return;
	}
	http_reply_header(req, "Retry-After", "5");
	http_reply_error(req, 503, "not_ready", "uploads cannot be taken now", diag);
}

static void ready_run(struct route_job *job)
{
	struct ready_request *r = (struct ready_request *)job;
	r->status = ready_check(job->app, &r->diag);
}

static void ready_job_reply(struct http_request *req, struct route_job *job)
{
	const struct ready_request *r = (const struct ready_request *)job;
	ready_reply(req, r->status, &r->diag);
}

/* Starts the check on the long workers. If an engine is silent, all usual workers may wait for it, and /ready must
 * report the engine, not busy workers. The check is the only quick work there, so no long job delays it. */
static void ready_begin(struct http_request *req)
{
	struct route_job *job = route_job_new(req, sizeof(struct ready_request), ready_run, ready_job_reply);
	if (!job)
		return;
	job->workers = job->app->long_workers;
	route_job_start(req);
}

static void ready_get(struct http_request *req)
{
	enum cairn_status status;
	struct cairn_diag diag = {0};
	if (atomic_load(&app_of(req)->stopping))
		ready_reply(req,
			    cairn_fail(&diag, CAIRN_E_BUSY, "stopping", CAIRN_NO_OFFSET,
				       "the server is stopping; try again when it runs"),
			    &diag);
	else if (ready_cached(app_of(req), &status, &diag))
		ready_reply(req, status, &diag);
	else
		ready_begin(req);
}

/* --- /metrics ----------------------------------------------------------------------------------------------------- */

struct metrics_list {
	size_t n;
	struct metrics_gauge gauges[METRICS_GAUGES_MAX];
};

static void metrics_list_value(struct metrics_list *list, const char *type, const char *name, double value,
			       const char *help)
{
	if (list->n < METRICS_GAUGES_MAX)
		list->gauges[list->n++] =
			(struct metrics_gauge){.name = name, .type = type, .help = help, .value = value};
}

static void metrics_list_add(struct metrics_list *list, const char *type, const char *name, uint64_t value,
			     const char *help)
{
	metrics_list_value(list, type, name, (double)value, help);
}

static void metrics_list_process(struct metrics_list *list, const struct http_request *req)
{
	const struct app *app = app_of(req);
	struct http_server_stats http;
	http_server_stats(http_server_of(req), &http);
	metrics_list_add(list, "gauge", "cairn_build_info{version=\"" CAIRN_VERSION "\"}", 1, "The version that runs.");
	static const char SANDBOX[] = "1 for each part of the sandbox that is on.";
	metrics_list_add(list, "gauge", "cairn_sandbox{part=\"files\"}", app->sandbox.files, SANDBOX);
	metrics_list_add(list, "gauge", "cairn_sandbox{part=\"calls\"}", app->sandbox.calls, SANDBOX);
	metrics_list_add(list, "gauge", "cairn_sandbox{part=\"code\"}", app->sandbox.code, SANDBOX);
	if (app->tls)
		metrics_list_add(list, "gauge", "cairn_tls_certificate_expires_seconds",
				 (uint64_t)tls_expires_unix_s(app->tls),
				 "When the certificate in use expires, in seconds since 1970.");
	metrics_list_add(list, "gauge", "cairn_start_time_seconds", (uint64_t)app->started_unix_s,
			 "When the daemon started, in seconds since 1970.");
	metrics_list_add(list, "gauge", "cairn_http_connections", http.connections, "Open connections.");
	metrics_list_add(list, "gauge", "cairn_http_requests_in_flight", http.requests, "Requests under way.");
	metrics_list_add(list, "counter", "cairn_http_connections_refused_total", http.connections_refused,
			 "Connections over connections_per_address_max.");
	metrics_list_add(list, "counter", "cairn_http_over_address_rate_total", http.over_address_rate,
			 "Requests refused because of rate_per_address.");
	metrics_list_add(list, "counter", "cairn_http_over_token_rate_total", http.over_token_rate,
			 "Requests refused because of rate_per_token.");
	uint64_t lines, dropped;
	log_writer_counts(&lines, &dropped);
	metrics_list_add(list, "counter", "cairn_log_lines_total", lines, "Lines of the log.");
	metrics_list_add(list, "counter", "cairn_log_lines_dropped_total", dropped,
			 "Log lines dropped because the reader of the log was too slow.");
	metrics_list_add(list, "gauge", "cairn_workers_pending",
			 cairn_workers_pending(app->workers) + cairn_workers_pending(app->disk_workers) +
				 cairn_workers_pending(app->long_workers),
			 "Pieces of work that wait for a worker or run on one.");
}

/* Lists metrics of the process, named as in the Prometheus client libraries. */
static void metrics_list_kernel(struct metrics_list *list)
{
	struct process_stats p;
	process_stats_read(&p);
	metrics_list_value(list, "counter", "process_cpu_seconds_total", p.cpu_s, "Processor time of user and system.");
	if (p.start_unix_s > 0)
		metrics_list_value(list, "gauge", "process_start_time_seconds", p.start_unix_s,
				   "When the process started, in seconds since 1970.");
	if (p.resident_bytes > 0) {
		metrics_list_add(list, "gauge", "process_resident_memory_bytes", p.resident_bytes, "Resident memory.");
		metrics_list_add(list, "gauge", "process_virtual_memory_bytes", p.virtual_bytes, "Virtual memory.");
	}
	if (p.open_fds > 0)
		metrics_list_add(list, "gauge", "process_open_fds", p.open_fds, "Open file descriptors.");
	if (p.max_fds > 0)
		metrics_list_add(list, "gauge", "process_max_fds", p.max_fds, "Maximum of open file descriptors.");
}

static void metrics_list_reload(struct metrics_list *list, const struct app_reload *r)
{
	metrics_list_add(list, "gauge", "cairn_config_last_reload_successful", !atomic_load(&r->failed),
			 "Whether the last reload by SIGHUP succeeded.");
	metrics_list_add(list, "gauge", "cairn_config_last_reload_success_timestamp_seconds",
			 (uint64_t)atomic_load(&r->good_unix_s),
			 "When a reload last succeeded, in seconds since 1970.");
}

static void metrics_list_garbage(struct metrics_list *list, const struct app_garbage *g)
{
	int64_t ran = atomic_load(&g->ran_unix_s), good = atomic_load(&g->good_unix_s);
	metrics_list_add(list, "counter", "cairn_gc_retired_xorbs_total", atomic_load(&g->n_retired),
			 "Xorbs that collections retired.");
	metrics_list_add(list, "counter", "cairn_gc_swept_xorbs_total", atomic_load(&g->n_swept),
			 "Xorbs that collections removed.");
	metrics_list_add(list, "counter", "cairn_gc_left_overs_total", atomic_load(&g->n_left_over),
			 "Copies in an S3 service that killed uploads had left, and collections removed.");
	metrics_list_add(list, "counter", "cairn_gc_freed_bytes_total", atomic_load(&g->freed_bytes),
			 "Bytes that collections freed.");
	if (ran != 0) {
		metrics_list_add(list, "gauge", "cairn_gc_last_run_timestamp_seconds", (uint64_t)ran,
				 "When the last collection ended, in seconds since 1970.");
		metrics_list_add(list, "gauge", "cairn_gc_last_run_successful", !atomic_load(&g->failed),
				 "Whether the last collection succeeded.");
	}
	if (good != 0)
		metrics_list_add(list, "gauge", "cairn_gc_last_success_timestamp_seconds", (uint64_t)good,
				 "When a collection last succeeded, in seconds since 1970.");
	if (atomic_load(&g->counted_unix_s) == 0)
		return;
	metrics_list_add(list, "gauge", "cairn_garbage_bytes", atomic_load(&g->bytes),
			 "Stored bytes that no file needs, as of the last collection or look at the statistics.");
	metrics_list_add(list, "gauge", "cairn_garbage_retired_bytes", atomic_load(&g->retired_bytes),
			 "Stored bytes of retired xorbs, which wait to be removed.");
}

static void metrics_list_backup(struct metrics_list *list, const struct app_backup *b)
{
	int64_t ran = atomic_load(&b->ran_unix_s), good = atomic_load(&b->good_unix_s);
	if (ran == 0)
		return;
	metrics_list_add(list, "gauge", "cairn_backup_last_run_timestamp_seconds", (uint64_t)ran,
			 "When cairn backup last ended, in seconds since 1970.");
	metrics_list_add(list, "gauge", "cairn_backup_last_run_successful", !atomic_load(&b->failed),
			 "Whether the last run of cairn backup made a backup.");
	if (good == 0)
		return;
	metrics_list_add(list, "gauge", "cairn_backup_last_success_timestamp_seconds", (uint64_t)good,
			 "When a backup was last made, in seconds since 1970.");
	metrics_list_add(list, "gauge", "cairn_backup_last_success_bytes", (uint64_t)atomic_load(&b->good_bytes),
			 "Size of the last backup.");
}

static void metrics_list_proofs(struct metrics_list *list, const struct prover_counts *p)
{
	metrics_list_add(list, "counter", "cairn_proof_read_bytes_total", atomic_load(&p->read_bytes),
			 "Bytes of files read to compare a SHA-256; files read before count again, as "
			 "proving them takes as long.");
	metrics_list_add(list, "counter", "cairn_claims_proved_total", atomic_load(&p->n_proved),
			 "Claims of a SHA-256 that were found true.");
	metrics_list_add(list, "counter", "cairn_claims_false_total", atomic_load(&p->n_false),
			 "Claims of a SHA-256 that were found false.");
	metrics_list_add(list, "counter", "cairn_claims_unread_total", atomic_load(&p->n_unread),
			 "Claims of a SHA-256 that were postponed because the bytes could not be read.");
	if (atomic_load(&p->counted_unix_s) == 0)
		return;
	metrics_list_add(list, "gauge", "cairn_claims_unproved", atomic_load(&p->due),
			 "Claims of a SHA-256 that wait to be compared, as of the last minute.");
	metrics_list_add(list, "gauge", "cairn_claims_unproved_bytes", atomic_load(&p->due_bytes),
			 "Bytes of files whose claims wait to be compared.");
	metrics_list_add(list, "gauge", "cairn_claims_false", atomic_load(&p->lies),
			 "Claims of a SHA-256 that are known to be false.");
}

static void metrics_list_scrub(struct metrics_list *list, struct app *app)
{
	struct scrub_status s;
	scrub_status(app, &s);
	const struct scrub_pass *last = &s.kept.last;
	metrics_list_add(list, "counter", "cairn_scrub_xorbs_total", atomic_load(&app->scrub.n_xorbs),
			 "Xorbs that the scrub has read.");
	metrics_list_add(list, "counter", "cairn_scrub_read_bytes_total", atomic_load(&app->scrub.n_bytes),
			 "Bytes that the scrub has read.");
	metrics_list_add(list, "gauge", "cairn_scrub_running", s.state == SCRUB_RUNNING,
			 "Whether a scrub is under way, at any of the daemons that share the index.");
	metrics_list_add(list, "gauge", "cairn_scrub_paused", s.state == SCRUB_PAUSED, "Whether the scrub is paused.");
	if (s.kept.good_unix_s != 0)
		metrics_list_add(list, "gauge", "cairn_scrub_last_success_timestamp_seconds",
				 (uint64_t)s.kept.good_unix_s,
				 "When a scrub that read everything last ended, in seconds since 1970.");
	if (last->started_unix_s == 0)
		return;
	metrics_list_add(list, "gauge", "cairn_scrub_last_run_timestamp_seconds", (uint64_t)last->ended_unix_s,
			 "When the last scrub ended, in seconds since 1970.");
	metrics_list_add(list, "gauge", "cairn_scrub_last_run_successful", last->whole && last->unread == 0,
			 "Whether the last scrub could read everything.");
	metrics_list_add(list, "gauge", "cairn_scrub_last_run_xorbs", (uint64_t)last->xorbs,
			 "Xorbs that the last scrub read.");
	metrics_list_add(list, "gauge", "cairn_scrub_last_run_damaged_objects", (uint64_t)last->damaged,
			 "Damaged copies that the last scrub found.");
	metrics_list_add(list, "gauge", "cairn_scrub_last_run_lost_xorbs", (uint64_t)last->lost,
			 "Xorbs without a sound copy that the last scrub found.");
	metrics_list_add(list, "gauge", "cairn_scrub_last_run_unread_xorbs", (uint64_t)last->unread,
			 "Xorbs that the last scrub could not read.");
}

/* Lists jobs. Lines of one family must be adjacent. */
static void metrics_list_jobs(struct metrics_list *list, struct app *app)
{
	static const char *const NAMES[JOBS][2] = {
		[JOB_COLLECTION] = {"cairn_job_running{job=\"collection\"}",
				    "cairn_job_done_ratio{job=\"collection\"}"},
		[JOB_PACKING] = {"cairn_job_running{job=\"packing\"}", "cairn_job_done_ratio{job=\"packing\"}"},
		[JOB_SCRUB] = {"cairn_job_running{job=\"scrub\"}", "cairn_job_done_ratio{job=\"scrub\"}"},
		[JOB_BACKUP] = {"cairn_job_running{job=\"backup\"}", "cairn_job_done_ratio{job=\"backup\"}"},
	};
	struct job jobs[JOBS];
	jobs_read(app, jobs);
	for (size_t i = 0; i < JOBS; i++)
		metrics_list_add(list, "gauge", NAMES[i][0], jobs[i].running && !jobs[i].elsewhere,
				 "1 for each job that is under way here.");
	for (size_t i = 0; i < JOBS; i++)
		if (jobs[i].running && !jobs[i].elsewhere && jobs[i].total > 0)
			metrics_list_value(list, "gauge", NAMES[i][1], (double)jobs[i].done / (double)jobs[i].total,
					   "The finished part of the job's step, from 0 to 1, if known.");
}

/* Lists readiness, for operators who monitor only Prometheus. */
static void metrics_list_ready(struct metrics_list *list, struct app *app)
{
	struct cairn_cas_health health;
	cairn_cas_health(app->cas, &health);
	metrics_list_add(
		list, "gauge", "cairn_ready", ready_last_answer(app),
		"Whether /ready, asked within five minutes, said that uploads can be taken, and the index is well.");
	metrics_list_add(list, "gauge", "cairn_index_failing", health.writes.rule != NULL,
			 "Whether the index was found damaged, or its last writes failed.");
}

/* Lists the mirrored hub. Lines of one family must be adjacent. */
static void metrics_list_mirror(struct metrics_list *list, const struct http_request *req, const struct app *app)
{
	static const char *const WHY[CAIRN_MIRROR_WHYS] = {
		[CAIRN_MIRROR_WHY_UNREACHABLE] = "cairn_mirror_failures_total{why=\"unreachable\"}",
		[CAIRN_MIRROR_WHY_SILENT] = "cairn_mirror_failures_total{why=\"silent\"}",
		[CAIRN_MIRROR_WHY_BUSY] = "cairn_mirror_failures_total{why=\"busy\"}",
		[CAIRN_MIRROR_WHY_WRONG] = "cairn_mirror_failures_total{why=\"wrong\"}",
		[CAIRN_MIRROR_WHY_ROOM] = "cairn_mirror_failures_total{why=\"room\"}",
		[CAIRN_MIRROR_WHY_OTHER] = "cairn_mirror_failures_total{why=\"other\"}",
	};
	static const char FILES[] = "Files of the mirrored hub in the store, and on their way.";
	static const char FETCHED[] =
		"Bytes received from the mirrored hub, by whether they were compressed ranges of xorbs.";
	static const char SERVED[] = "Bytes of mirrored files sent to clients, by whether the file was here.";
	const struct app_mirror *counts = &app->mirror_counts;
	struct cairn_mirror_stats mirror;
	struct http_server_stats http;
	cairn_mirror_stats(app->mirror, &mirror);
	http_server_stats(http_server_of(req), &http);
	if (!mirror.is_offline) /* while offline the upstream is not asked, so an alarm would never end */
		metrics_list_add(list, "gauge", "cairn_mirror_up", mirror.up,
				 "Whether the mirrored hub answered the last call.");
	metrics_list_add(list, "gauge", "cairn_mirror_bytes", atomic_load(&counts->bytes),
			 "Bytes that repositories of the mirrored hub hold.");
	metrics_list_add(list, "gauge", "cairn_mirror_files{state=\"here\"}", atomic_load(&counts->n_files), FILES);
	metrics_list_add(list, "gauge", "cairn_mirror_files{state=\"fetching\"}", mirror.n_fetching, FILES);
	metrics_list_add(list, "gauge", "cairn_mirror_withdrawn_bytes", atomic_load(&counts->withdrawn_bytes),
			 "Stored bytes of mirrored files whose chunks nobody is offered.");
	metrics_list_add(list, "gauge", "cairn_mirror_offered_bytes", atomic_load(&counts->bound_bytes),
			 "Bytes of mirrored files that uploaders are offered, or may rely on from an earlier offer.");
	metrics_list_add(list, "counter", "cairn_mirror_evicted_bytes_total", atomic_load(&counts->evicted_bytes),
			 "Bytes of mirrored files that were evicted.");
	metrics_list_add(list, "counter", "cairn_mirror_fetched_bytes_total{source=\"plain\"}", mirror.plain_bytes,
			 FETCHED);
	metrics_list_add(list, "counter", "cairn_mirror_fetched_bytes_total{source=\"xet\"}", mirror.packed_bytes,
			 FETCHED);
	metrics_list_add(list, "counter", "cairn_mirror_spared_bytes_total", mirror.copied_bytes,
			 "Bytes of mirrored files that were in other files here, and were not fetched.");
	metrics_list_add(list, "counter", "cairn_mirror_served_bytes_total{from=\"here\"}",
			 atomic_load(&counts->here_bytes), SERVED);
	metrics_list_add(list, "counter", "cairn_mirror_served_bytes_total{from=\"upstream\"}",
			 atomic_load(&counts->passed_on_bytes), SERVED);
	metrics_list_add(list, "gauge", "cairn_mirror_waiting_clients", atomic_load(&counts->n_waiting) + http.waiting,
			 "Requests that wait for the mirrored hub.");
	metrics_list_add(list, "counter", "cairn_mirror_stale_answers_total", atomic_load(&counts->n_stale),
			 "Answers from what is here, because the mirrored hub could not be asked.");
	for (size_t i = 0; i < CAIRN_MIRROR_WHYS; i++)
		metrics_list_add(list, "counter", WHY[i], mirror.n_failures[i],
				 "Fetches from the mirrored hub that failed, by why.");
}

static void metrics_list_index(struct metrics_list *list, const struct cairn_index_stats *s)
{
	metrics_list_add(list, "counter", "cairn_index_commits_total", s->n_commits, "Transactions made durable.");
	metrics_list_add(list, "counter", "cairn_index_writes_total", s->n_writes,
			 "Uploads committed; divided by commits, the mean size of a batch.");
	metrics_list_add(list, "gauge", "cairn_index_queue", s->n_queued, "Writes that wait for their commit.");
	metrics_list_add(list, "gauge", "cairn_index_files", s->n_files, "Files known.");
	metrics_list_add(list, "gauge", "cairn_index_xorbs", s->n_xorbs, "Xorbs known.");
	metrics_list_add(list, "gauge", "cairn_index_shards", s->n_shards, "Shards accepted.");
	metrics_list_add(list, "gauge", "cairn_index_eligible_chunks", s->n_eligible, "Chunks that queries can find.");
	metrics_list_add(list, "gauge", "cairn_index_filter_bytes", s->filter_bytes,
			 "Memory of the filter that answers most misses of chunk queries.");
	metrics_list_add(list, "gauge", "cairn_index_filter_complete", s->filter_complete,
			 "Whether the filter is complete; before, misses ask the index.");
	metrics_list_add(list, "gauge", "cairn_store_bytes", s->stored_bytes, "Size of the stored xorbs.");
	metrics_list_add(list, "gauge", "cairn_index_bytes", s->file_bytes, "Size of the index and its log.");
	metrics_list_add(list, "gauge", "cairn_index_log_bytes", s->log.bytes, "Size of the index's log of commits.");
	metrics_list_value(
		list, "gauge", "cairn_index_log_held_seconds", (double)s->log.held_ms / 1e3,
		"For how long a read has kept that log from being used anew, so that it grows; 0: none does.");
}

static void metrics_list_server(struct metrics_list *list, const struct cairn_index_stats *s)
{
	metrics_list_add(list, "counter", "cairn_index_requests_total", s->n_asked,
			 "Exchanges with the server that keeps the index.");
	metrics_list_value(list, "counter", "cairn_index_request_seconds_total", (double)s->asked_ms / 1e3,
			   "Total duration of these requests.");
	metrics_list_add(list, "counter", "cairn_index_request_failures_total", s->n_asked_failed,
			 "Exchanges with the index's server that it refused or did not answer.");
	metrics_list_value(list, "gauge", "cairn_index_clock_ahead_seconds", (double)s->clock_ahead_ms / 1e3,
			   "Seconds by which this machine's clock is ahead of the index's server, if several "
			   "daemons share it.");
}

static void metrics_list_lost(struct metrics_list *list, const struct app *app)
{
	struct cairn_losses_sum lost;
	cairn_losses_sum(app->cas, &lost);
	metrics_list_add(list, "gauge", "cairn_lost_xorbs", lost.n_xorbs, "Lost xorbs that files need now.");
	metrics_list_add(list, "gauge", "cairn_lost_files", lost.n_files, "Files that need a lost xorb now.");
	metrics_list_add(list, "gauge", "cairn_lost_stale", lost.is_stale,
			 "1: cairn_lost_xorbs and cairn_lost_files may be too low, as no search has "
			 "succeeded since the start or the last loss.");
}

static void metrics_list_store(struct metrics_list *list, const struct app *app, const struct cairn_cas_stats *s)
{
	metrics_list_add(list, "counter", "cairn_chunks_verified_total", s->chunks_verified,
			 "Chunks of uploads that were verified.");
	metrics_list_add(list, "counter", "cairn_xorbs_stored_total", s->xorbs_stored, "Xorbs newly stored.");
	metrics_list_add(list, "counter", "cairn_xorb_stored_bytes_total", s->xorb_bytes_stored,
			 "Bytes of newly stored xorbs.");
	metrics_list_add(list, "counter", "cairn_objects_damaged_total", s->objects_damaged,
			 "Stored objects found damaged.");
	metrics_list_add(list, "counter", "cairn_contents_damaged_total", s->contents_damaged,
			 "Reads of small files that the index keeps and that were found damaged.");
	metrics_list_add(list, "counter", "cairn_xorbs_lost_total", s->xorbs_lost,
			 "Xorbs that lost their last sound object.");
	metrics_list_add(list, "counter", "cairn_xorbs_found_total", s->xorbs_found,
			 "Lost xorbs that got a sound object again.");
	metrics_list_lost(list, app);
	metrics_list_add(list, "counter", "cairn_slow_writes_total", s->slow_writes,
			 "Writes of bodies that waited for the disk for 5 ms or longer.");
	metrics_list_add(list, "counter", "cairn_answer_cache_hits_total", s->cache_hits,
			 "Chunk queries answered from the cache.");
	metrics_list_add(list, "counter", "cairn_answer_cache_misses_total", s->cache_misses,
			 "Chunk queries whose answer was built.");
	metrics_list_add(list, "gauge", "cairn_answer_cache_bytes", s->cache_bytes, "Memory of the cached answers.");
	metrics_list_add(list, "gauge", "cairn_answer_cache_entries", s->cache_entries, "Cached answers.");
	metrics_list_add(list, "counter", "cairn_verified_lists_hits_total", s->verified_lists_hits,
			 "Fetches verified with a kept chunk list.");
	metrics_list_add(list, "counter", "cairn_verified_lists_added_total", s->verified_lists_added,
			 "Chunk lists that were verified and kept.");
	metrics_list_add(list, "gauge", "cairn_verified_lists_bytes", s->verified_lists_bytes,
			 "Memory of the kept chunk lists.");
	metrics_list_add(list, "gauge", "cairn_verified_lists", s->verified_lists, "Kept chunk lists.");
	metrics_list_add(list, "gauge", "cairn_spool_bytes", s->spool_bytes,
			 "Bodies of uploads and long answers under way.");
	metrics_list_add(list, "gauge", "cairn_spool_reserved_bytes", s->spool_reserved_bytes,
			 "Bytes that uploads under way have announced and not sent yet.");
	metrics_list_add(list, "gauge", "cairn_spool_bytes_max", app->config.spool_bytes_max,
			 "Maximum of cairn_spool_bytes and cairn_spool_reserved_bytes together.");
	metrics_list_add(list, "gauge", "cairn_spool_kept_bytes", s->spool_kept_bytes,
			 "Memory that waits for the body of the next upload.");
	metrics_list_add(list, "gauge", "cairn_reserve_bytes", app->config.reserve_bytes,
			 "Free space below which uploads are refused.");
	if (s->room.bytes != UINT64_MAX)
		metrics_list_add(list, "gauge", "cairn_store_free_bytes", s->room.bytes, "Free space for objects.");
	if (s->room.files != UINT64_MAX)
		metrics_list_add(list, "gauge", "cairn_store_free_files", s->room.files,
				 "Files that can still be created where objects are (inodes).");
}

#define METRICS_OF_REQUESTS(family)                                                                                    \
	{                                                                                                              \
		family "{request=\"put\"}", family "{request=\"get\"}", family "{request=\"list\"}",                   \
			family "{request=\"delete\"}"                                                                  \
	}

/* Lists metrics of the store's service. Lines of one family must be adjacent. */
static void metrics_list_traffic(struct metrics_list *list, const struct cairn_store_traffic *t)
{
	static const char *const NAMES[][CAIRN_STORE_REQUESTS] = {
		METRICS_OF_REQUESTS("cairn_store_requests_total"),
		METRICS_OF_REQUESTS("cairn_store_request_seconds_total"),
		METRICS_OF_REQUESTS("cairn_store_request_failures_total"),
	};
	for (size_t i = 0; i < CAIRN_STORE_REQUESTS; i++)
		metrics_list_add(list, "counter", NAMES[0][i], t->requests[i].n,
				 "Requests to the service that keeps the objects.");
	for (size_t i = 0; i < CAIRN_STORE_REQUESTS; i++)
		metrics_list_value(list, "counter", NAMES[1][i], (double)t->requests[i].ms / 1e3,
				   "Total duration of these requests.");
	for (size_t i = 0; i < CAIRN_STORE_REQUESTS; i++)
		metrics_list_add(list, "counter", NAMES[2][i], t->requests[i].n_failed,
				 "Requests that the object store refused, was too busy for, or did not answer.");
}

static void metrics_release(void *bytes)
{
	free(bytes);
}

static void metrics_get_route(struct http_request *req)
{
	struct app *app = app_of(req);
	struct metrics_list list = {0};
	struct cairn_buf text = cairn_buf_init(METRICS_TEXT_BYTES_MAX);
	struct cairn_cas_stats stats;
	cairn_cas_stats(app->cas, &stats);
	metrics_list_process(&list, req);
	metrics_list_kernel(&list);
	metrics_list_reload(&list, &app->reload);
	metrics_list_garbage(&list, &app->garbage);
	metrics_list_scrub(&list, app);
	metrics_list_proofs(&list, &app->proofs);
	metrics_list_backup(&list, &app->backup);
	metrics_list_jobs(&list, app);
	if (app->mirror)
		metrics_list_mirror(&list, req, app);
	metrics_list_add(&list, "counter", "cairn_telemetry_trimmed_total", atomic_load(&app->telemetry_trimmed),
			 "Telemetry messages that were dropped for their age.");
	metrics_list_ready(&list, app);
	metrics_list_index(&list, &stats.index);
	metrics_list_store(&list, app, &stats);
	if (app->config.index)
		metrics_list_server(&list, &stats.index);
	if (stats.has_traffic)
		metrics_list_traffic(&list, &stats.traffic);
	metrics_write(app->metrics, &text, list.gauges, list.n);
	if (text.status != CAIRN_OK) {
		cairn_buf_fini(&text);
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	http_reply_header(req, "Cache-Control", "no-store");
	http_reply_bytes(req, 200, "text/plain; version=0.0.4; charset=utf-8", text.bytes, text.len, metrics_release,
			 text.bytes);
}

const struct http_route ROUTES_HEALTH[] = {
	{.method = "GET", .pattern = "/health", .name = "health", .probe = true, .done = health_get},
	{.method = "GET", .pattern = "/ready", .name = "ready", .probe = true, .done = ready_get, .free = free},
	{.method = "GET", .pattern = "/metrics", .name = "metrics", .done = metrics_get_route},
	{0},
};
