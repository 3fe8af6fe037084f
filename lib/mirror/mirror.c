#include "mirror/mirror.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "mirror/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A repository that nobody has. The answer that it does not exist shows a working hub as well as a description does. */
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
	return status == CAIRN_OK && options->proxy ? mirror_proxy_parse(port, options->proxy, diag) : status;
}

enum cairn_status cairn_mirror_port(const struct cairn_mirror_options *options, uint16_t *port, struct cairn_diag *diag)
{
	struct mirror_upstream upstream;
	return mirror_parse(&upstream, port, options, diag);
}

/* Reads the file whole, once. */
static enum cairn_status mirror_read_rules(struct cairn_mirror *m, const char *path, struct cairn_diag *diag)
{
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t len = 0;
	m->rules_text = malloc(MIRROR_RULES_BYTES_MAX + 1);
	if (!m->rules_text)
		return CAIRN_E_NOMEM;
	if (fd < 0 || cairn_fd_read_upto(fd, m->rules_text, MIRROR_RULES_BYTES_MAX, &len) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET, "cannot read %.120s: %s", path,
				  strerror(errno));
	m->rules_text[len] = '\0';
	if (len == MIRROR_RULES_BYTES_MAX || strlen(m->rules_text) < len)
		return cairn_fail(diag, CAIRN_E_USAGE, "mirror.rules", CAIRN_NO_OFFSET,
				  "%.120s has %d bytes or more, or a zero byte", path, MIRROR_RULES_BYTES_MAX);
	return mirror_rules_parse(&m->rules, m->rules_text, diag);
}

bool mirror_lets_in(const struct cairn_mirror *m, const struct cairn_mirror_want *want)
{
	const char *type = cairn_mirror_type(want->kind);
	return type && mirror_rules_allow(&m->rules, type, want->name);
}

static void mirror_tick(void *mirror)
{
	mirror_join_tick(mirror);
	mirror_streams_tick(mirror);
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
	enum cairn_status status = mirror_parse(&m->upstream, &port, options, diag);
	const struct mirror_net_options net = {
		.upstream = &m->upstream, .ca = options->ca, .proxy = options->proxy, .tick = mirror_tick, .ctx = m};
	m->hub = options->hub;
	m->workers = options->workers;
	m->spool_bytes_max = options->spool_bytes_max;
	int n = snprintf(m->spool_dir, sizeof(m->spool_dir), "%s/tmp", options->data_dir);
	if (status == CAIRN_OK && (n < 0 || (size_t)n >= sizeof(m->spool_dir)))
		status = cairn_fail(diag, CAIRN_E_USAGE, "mirror.spool", CAIRN_NO_OFFSET,
				    "the data folder's name is too long");
	if (status == CAIRN_OK && options->rules)
		status = mirror_read_rules(m, options->rules, diag);
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
	mirror_streams_stop(mirror);
	mirror_join_stop(mirror);
}

void cairn_mirror_free(struct cairn_mirror *mirror)
{
	if (!mirror)
		return;
	cairn_mirror_stop(mirror);
	mirror_net_free(mirror->net);
	mirror_rules_fini(&mirror->rules);
	free(mirror->rules_text);
	pthread_mutex_destroy(&mirror->lock);
	free(mirror);
}

/* --- the line ----------------------------------------------------------------------------------------------------- */

/* Tells all who wait. The call may be used anew once the lock is given up. */
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
