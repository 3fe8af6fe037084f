#include "mirror/mirror.h"

#include "base/clock.h"
#include "mirror/ahead.h"
#include "mirror/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A repository that does not exist. A hub that reports so works, just as one that describes it. */
static const char MIRROR_PROBE[] = "/api/models/cairn/is-the-line-up/revision/main";

/* @param[out] port  as cairn_mirror_port() */
static enum cairn_status mirror_parse(struct mirror_upstream *upstream, uint16_t *port,
				      const struct cairn_mirror_options *options, struct cairn_diag *diag)
{
	enum cairn_status status = mirror_upstream_parse(upstream, options->upstream, diag);
	*port = upstream->port;
	upstream->hosts = options->hosts;
	if (status == CAIRN_OK && options->hosts)
		status = mirror_hosts_check(options->hosts, diag);
	if (status == CAIRN_OK && options->pin)
		status = mirror_pin_check(options->pin, upstream, diag);
	return status == CAIRN_OK && options->proxy ? mirror_proxy_parse(port, options->proxy, diag) : status;
}

enum cairn_status cairn_mirror_port(const struct cairn_mirror_options *options, uint16_t *port, struct cairn_diag *diag)
{
	struct mirror_upstream upstream;
	return mirror_parse(&upstream, port, options, diag);
}

static int mirror_tick(void *mirror)
{
	mirror_join_tick(mirror);
	int next_ms = mirror_streams_tick(mirror);
	mirror_ahead_tick(mirror);
	return next_ms;
}

enum cairn_status cairn_mirror_open(struct cairn_mirror **out, const struct cairn_mirror_options *options,
				    struct cairn_diag *diag)
{
	*out = NULL;
	struct cairn_mirror *m = calloc(1, sizeof(*m));
	if (!m)
		return CAIRN_E_NOMEM;
	pthread_mutex_init(&m->lock, NULL);
	uint16_t port;
	enum cairn_status status = mirror_policy_init(&m->policy, options->rules);
	if (status == CAIRN_OK)
		status = cairn_random(m->new_senders.key, sizeof(m->new_senders.key));
	memcpy(m->admit_senders.key, m->new_senders.key, sizeof(m->admit_senders.key));
	if (status == CAIRN_OK)
		status = mirror_parse(&m->upstream, &port, options, diag);
	const struct mirror_net_options net = {.upstream = &m->upstream,
					       .ca = options->ca,
					       .pin = options->pin,
					       .proxy = options->proxy,
					       .is_offline = options->is_offline,
					       .rate_max = options->rate_max,
					       .tick = mirror_tick,
					       .ctx = m};
	m->room.bytes = m->room.offers = UINT64_MAX;
	m->hub = options->hub;
	m->workers = options->workers;
	m->refresh_s = options->refresh_s;
	m->is_offline = options->is_offline;
	m->spool_bytes_max = options->spool_bytes_max;
	m->tell = options->tell;
	int n = snprintf(m->spool_dir, sizeof(m->spool_dir), "%s/tmp", options->data_dir);
	if (status == CAIRN_OK && (n < 0 || (size_t)n >= sizeof(m->spool_dir)))
		status = cairn_fail(diag, CAIRN_E_USAGE, "mirror.spool", CAIRN_NO_OFFSET,
				    "the data folder's name is too long");
	if (status == CAIRN_OK)
		status = mirror_policy_read(&m->policy, diag);
	if (status == CAIRN_OK)
		status = mirror_net_start(&m->net, &net);
	if (status == CAIRN_OK)
		*out = m;
	else
		cairn_mirror_free(m);
	return status;
}

void cairn_mirror_stop(struct cairn_mirror *mirror)
{
	if (!mirror || mirror->stopped)
		return;
	mirror->stopped = true;
	pthread_mutex_lock(&mirror->lock);
	mirror->is_stopping = true;
	pthread_mutex_unlock(&mirror->lock);
	if (mirror->net)
		mirror_net_stop(mirror->net);
	mirror_ahead_stop(mirror);
	mirror_streams_stop(mirror);
	mirror_join_stop(mirror);
}

void cairn_mirror_free(struct cairn_mirror *mirror)
{
	if (!mirror)
		return;
	cairn_mirror_stop(mirror);
	mirror_net_free(mirror->net);
	mirror_ahead_free(mirror);
	cairn_codec_free(mirror->codec);
	mirror_policy_fini(&mirror->policy);
	pthread_mutex_destroy(&mirror->lock);
	free(mirror);
}

/* --- the connection to the upstream ------------------------------------------------------------------------------- */

/* Ends all tests that wait. The call may be reused when the lock is released. */
static void mirror_line_tell(struct cairn_mirror *m, const struct cairn_mirror_line *line)
{
	mirror_call_fini(&m->call);
	pthread_mutex_lock(&m->lock);
	struct cairn_mirror_look *waiting = m->waiting, *next;
	m->waiting = NULL;
	m->looked_ms = cairn_clock_mono_ms();
	m->line = *line;
	pthread_mutex_unlock(&m->lock);
	for (struct cairn_mirror_look *look = waiting; look; look = next) {
		next = look->next;
		look->line = *line;
		look->done(look);
	}
}

static void mirror_answered(struct mirror_call *call)
{
	struct cairn_mirror *m = (struct cairn_mirror *)((char *)call - offsetof(struct cairn_mirror, call));
	struct cairn_mirror_line line = {.asked_unix_s = cairn_clock_unix_s(),
					 .took_ms = (uint64_t)call->took_ms,
					 .code = call->code,
					 .diag = call->diag};
	struct mirror_repo repo;
	enum cairn_status status = call->status;
	if (status == CAIRN_OK)
		status = mirror_read_repo(&repo, call, &line.diag);
	line.up = status == CAIRN_OK || (status == CAIRN_E_NOT_FOUND && call->status == CAIRN_OK);
	mirror_line_tell(m, &line);
}

static void mirror_probe(struct cairn_mirror *m)
{
	struct cairn_mirror_line line = {.asked_unix_s = cairn_clock_unix_s()};
	m->call = (struct mirror_call){.path = MIRROR_PROBE, .done = mirror_answered};
	mirror_ask_repo(&m->call);
	if (mirror_net_ask(m->net, &m->call, &line.diag) != CAIRN_OK)
		mirror_line_tell(m, &line);
}

void cairn_mirror_look(struct cairn_mirror *mirror, struct cairn_mirror_look *look)
{
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&mirror->lock);
	bool fresh = mirror->looked_ms != 0 && now_ms - mirror->looked_ms < CAIRN_MIRROR_FRESH_MS;
	bool first = !fresh && !mirror->waiting;
	look->line = mirror->line;
	if (!fresh) {
		look->next = mirror->waiting;
		mirror->waiting = look;
	}
	pthread_mutex_unlock(&mirror->lock);
	if (fresh)
		look->done(look);
	else if (first)
		mirror_probe(mirror);
}

const char *cairn_mirror_upstream(const struct cairn_mirror *mirror)
{
	return mirror->upstream.url;
}
