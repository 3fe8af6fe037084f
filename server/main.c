/* cairnd: settings, signals, and the order of starting and stopping. All else is in the library of this folder. */
#include "base/clock.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "server/check.h"
#include "server/daemon.h"
#include "server/http/listen.h"
#include "server/log/log.h"
#include "server/privileges.h"
#include "server/process_stats.h"
#include "server/sandbox/sandbox.h"
#include "server/service.h"
#include "server/settings.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAIN_LARGE_BLOCK_BYTES = 1024 * 1024 }; /* freed blocks of at least this size go back to the system */
enum { EXIT_STOPPED = 0, EXIT_CANNOT_START = 1, EXIT_WRONG_SETTINGS = 64 }; /* 64: EX_USAGE of sysexits */

static int main_fail(int exit_code, const struct cairn_diag *diag)
{
	log_refusal(diag->text);
	return exit_code;
}

/* Returns a listening socket, from systemd or as the setting says; -1: an error was reported, and *exit_code is set. */
static int main_listen(const struct config *config, struct listen_address *bound, int *exit_code)
{
	struct cairn_diag diag = {0};
	static const unsigned MODES[] = {0600, 0660, 0666};
	struct listen_address wanted = {0};
	int fd = -1;
	*exit_code = EXIT_CANNOT_START;
	enum cairn_status status = listen_inherited(&fd, &diag);
	if (status == CAIRN_OK && fd < 0) {
		status = listen_parse(config->listen, &wanted, &diag);
		wanted.mode = MODES[config->listen_mode];
		if (status != CAIRN_OK)
			*exit_code = EXIT_WRONG_SETTINGS;
		else
			status = listen_open(&wanted, &fd, &diag);
	}
	if (status == CAIRN_OK)
		status = listen_address_of(fd, bound);
	bound->mode = wanted.mode;
	if (status == CAIRN_OK) {
		status = check_tokens(config, bound, &diag);
		if (status != CAIRN_OK)
			*exit_code = EXIT_WRONG_SETTINGS;
	}
	if (status == CAIRN_OK)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	(void)main_fail(*exit_code, &diag);
	return -1;
}

/* Warns if tokens are not bound to this service: other services may sign their tokens with the same key. */
static void main_warn_unbound(const struct config *c)
{
	const char *issuer = c->token_issuer ? NULL : "token_issuer";
	const char *missing = c->token_audience ? issuer : issuer ? "token_audience token_issuer" : "token_audience";
	if (c->token_key && missing)
		LOG(LOG_WARNING, "tokens_not_bound", LOG_T("missing", missing),
		    LOG_T("message", "tokens of another service with the same key are accepted here, unless "
				     "they name that service; set these"));
}

/* Warns if gc_grace is too short. Clients remember for three weeks which xorbs they sent, and do not send them again. A
 * xorb that no file needs is removed after twice gc_grace. */
static void main_warn_grace(const struct config *c)
{
	enum { CLIENT_CACHE_S = 21 * 24 * 3600 };
	if (2 * c->gc_grace_s < CLIENT_CACHE_S)
		LOG(LOG_WARNING, "gc_grace_short", LOG_N("gc_grace_s", c->gc_grace_s),
		    LOG_N("wanted_s", CLIENT_CACHE_S / 2),
		    LOG_T("message", "clients that upload again what was deleted and collected may be refused "
				     "(term.unknown_xorb), since they remember for three weeks what they sent"));
}

static void main_notify_ready(const struct listen_address *bound, bool encrypted)
{
	char text[LISTEN_TEXT_BYTES], status[LISTEN_TEXT_BYTES + 32];
	listen_text(bound, text);
	(void)snprintf(status, sizeof(status), "serving %s://%s", encrypted ? "https" : "http", text);
	service_ready(status);
}

static void main_announce(const struct app *app, const struct listen_address *bound)
{
	char text[LISTEN_TEXT_BYTES];
	listen_text(bound, text);
	LOG(LOG_INFO, "listening", LOG_T("address", text), LOG_T("version", CAIRN_VERSION),
	    LOG_T("data_dir", app->config.data_dir), LOG_T("tokens", app->auth.keys ? "needed" : "not needed"),
	    LOG_T("index", app->config.index ? app->config.index : "data folder"),
	    LOG_T("xorbs", app->config.xorbs == CONFIG_XORBS_EXTERNAL ? "external" : "store"),
	    LOG_T("sandbox", app->sandbox.text));
	if (app->sandbox.missing[0])
		LOG(LOG_WARNING, "sandbox", LOG_T("on", app->sandbox.text), LOG_T("missing", app->sandbox.missing),
		    LOG_T("message", "the kernel lacks parts of the sandbox; the daemon runs with the other parts"));
	/* A first trial often runs as root on loopback. If other machines can connect, running as root is a risk that a
	 * setting removes. */
	if (geteuid() == 0)
		LOG(listen_is_loopback(bound) ? LOG_INFO : LOG_WARNING, "root",
		    LOG_T("message", "runs as root; the setting \"user\" names the user to become"));
	/* All clients of a proxy on this machine come from loopback, so warn in this case, too. */
	if (!app->auth.keys && (!listen_is_loopback(bound) || app->config.public_url))
		LOG(LOG_WARNING, "no_tokens", LOG_T("message", "everybody who reaches this port may write"));
	main_warn_unbound(&app->config);
	main_warn_grace(&app->config);
	log_flush(); /* print the warnings before the line that follows */
	(void)printf("cairnd listening on %s://%s\n", app->tls ? "https" : "http", text);
	(void)fflush(stdout);
	main_notify_ready(bound, app->tls != NULL);
}

/* Returns the path of a socket that this process has made. A socket passed by systemd keeps its owner. */
static const char *main_made_socket(const struct listen_address *bound)
{
	return bound->mode ? listen_path(bound) : NULL;
}

enum { MAIN_PORTS = CAIRN_INDEX_REACH_PORTS + 3, MAIN_READABLE = 12 };

/* Finds the addresses that the sandbox must allow to reach store, index, keys and upstream on other machines.
 * @param[out] ports of all these */
static enum cairn_status main_reach(const struct config *c, struct cairn_index_reach *index,
				    struct cairn_store_reach *store, uint16_t ports[MAIN_PORTS], size_t *n_ports,
				    struct cairn_diag *diag)
{
	enum cairn_status status = cairn_data_dir_store_reach(daemon_store_url(c), c->store_credentials, store, diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_index_reach(c->index, index, diag);
	const struct cairn_mirror_options mirror = config_mirror_options(c);
	uint16_t upstream_port = 0;
	if (status == CAIRN_OK && mirror.upstream && !mirror.is_offline)
		status = cairn_mirror_port(&mirror, &upstream_port, diag);
	*n_ports = 0;
	if (status != CAIRN_OK)
		return status;
	for (size_t i = 0; i < index->n_ports; i++)
		ports[(*n_ports)++] = index->ports[i];
	if (store->port > 0)
		ports[(*n_ports)++] = store->port;
	if (store->keys_port > 0)
		ports[(*n_ports)++] = store->keys_port;
	if (upstream_port > 0)
		ports[(*n_ports)++] = upstream_port;
	return CAIRN_OK;
}

/* Drops privileges and enters the sandbox. The data folder must exist, so that access to it can be kept. */
static enum cairn_status main_confine(struct app *app, const struct listen_address *bound, struct cairn_diag *diag)
{
	const struct config *c = &app->config;
	bool made;
	/* Make the folder durable now: its parent cannot be opened later. If this fails, daemon_open() reports it. */
	enum cairn_status status = cairn_fd_make_folder(c->data_dir, &made);
	if (made && status != CAIRN_OK)
		return cairn_fail(diag, status, "data_dir.make", CAIRN_NO_OFFSET, "cannot make the data folder %s: %s",
				  c->data_dir, strerror(errno));
	const char *const owned[] = {made ? c->data_dir : NULL, main_made_socket(bound)};
	status = privileges_drop(c->user, c->group, owned, sizeof(owned) / sizeof(owned[0]), diag);
	struct cairn_index_reach index = {.n_ports = 0};
	struct cairn_store_reach store = {.port = 0};
	uint16_t ports[MAIN_PORTS];
	size_t n_ports = 0;
	if (status == CAIRN_OK)
		status = main_reach(c, &index, &store, ports, &n_ports, diag);
	CLEANUP(cairn_mirror_token_files_fini) struct cairn_mirror_token_files tokens = {.n = 0};
	if (status == CAIRN_OK)
		status = cairn_mirror_token_files(c->mirror_rules, &tokens, diag);
	const char *readable[MAIN_READABLE + CAIRN_INDEX_REACH_FILES + CAIRN_MIRROR_TOKEN_FILES_MAX] = {
		c->token_key,
		c->secret_file,
		c->tls_certificate,
		c->tls_key,
		c->store_credentials,
		getenv("AWS_SHARED_CREDENTIALS_FILE"),
		c->file,
		cairn_crash_point_file(),
		store.ca[0] ? store.ca : NULL,
		getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
		c->mirror_ca,
		c->mirror_rules,
	};
	for (size_t i = 0; i < index.n_files; i++)
		readable[MAIN_READABLE + i] = index.files[i];
	for (size_t i = 0; i < tokens.n; i++)
		readable[MAIN_READABLE + CAIRN_INDEX_REACH_FILES + i] = tokens.path[i];
	const struct sandbox_options options = {
		.mode = c->sandbox,
		.data_dir = c->data_dir,
		.readable = readable,
		.n_readable = sizeof(readable) / sizeof(readable[0]),
		.ports = ports,
		.n_ports = n_ports,
		.by_socket = index.by_socket,
	};
	return status == CAIRN_OK ? sandbox_enter(&options, &app->sandbox, diag) : status;
}

/* The sources of the settings, and the settings as last read. */
struct main_settings {
	int argc;
	char **argv;
	struct config now;
};

static void main_reloaded(enum cairn_status status, const struct cairn_diag *diag, const char *what)
{
	if (status == CAIRN_OK)
		LOG(LOG_INFO, "reload", LOG_T("what", what), LOG_T("message", "was read again"));
	else
		LOG(LOG_ERROR, "reload_failed", LOG_T("what", what), LOG_T("rule", diag->rule),
		    LOG_T("cause", diag->text), LOG_T("message", "what was read before stays in use"));
}

/* Reloads the settings from their sources. Replaces settings->now, the settings in use, if they are valid. */
static enum cairn_status main_reload_settings(struct app *app, struct main_settings *settings, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf changed = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf restart = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
	struct config now;
	enum cairn_status status = config_load_again(&now, settings->argc, settings->argv, diag);
	if (status != CAIRN_OK)
		return status;
	settings_changed(&changed, settings->now.data_dir ? &settings->now : &app->config, &now, true);
	settings_changed(&restart, &app->config, &now, false);
	cairn_buf_add(&changed, "", 1);
	cairn_buf_add(&restart, "", 1);
	bool quieter = now.log_level < LOG_INFO; /* before the log gets quieter, or this line would be lost */
	if (!quieter)
		daemon_set_live(app, &now);
	LOG(LOG_INFO, "reload", LOG_T("what", "settings"), LOG_T("file", now.file),
	    LOG_T("changed", changed.len > 1 ? (const char *)changed.bytes : "nothing"),
	    LOG_T("needs_restart", restart.len > 1 ? (const char *)restart.bytes : NULL));
	if (quieter)
		daemon_set_live(app, &now);
	config_fini(&settings->now);
	settings->now = now;
	return CAIRN_OK;
}

/* Reloads settings, keys and certificate. Each alone: a wrong certificate must not keep a token key in use. */
static void main_reload(struct app *app, struct main_settings *settings)
{
	struct cairn_diag of_settings = {0}, of_keys = {0}, of_tls = {0}, of_store = {0}, of_rules = {0};
	enum cairn_status keys = CAIRN_OK, tls = CAIRN_OK, file = CAIRN_OK, store = CAIRN_OK, rules = CAIRN_OK;
	if (!app->auth.keys && !app->tls && !app->config.file && !app->config.store_credentials &&
	    !app->config.mirror_rules)
		LOG(LOG_INFO, "reload",
		    LOG_T("message",
			  "there are no token keys, no certificate, no credentials of a store, no rules of a mirror "
			  "and no file of settings to read again"));
	if (app->config.file)
		file = main_reload_settings(app, settings, &of_settings);
	if (file != CAIRN_OK)
		main_reloaded(file, &of_settings, "settings");
	if (app->auth.keys) {
		keys = auth_keys_reload(app->auth.keys, &of_keys);
		main_reloaded(keys, &of_keys, "token_key");
	}
	if (app->tls) {
		tls = tls_reload(app->tls, &of_tls);
		main_reloaded(tls, &of_tls, "tls_certificate");
	}
	if (app->config.store_credentials) {
		store = cairn_cas_reload(app->cas, &of_store);
		main_reloaded(store, &of_store, "store_credentials");
	}
	if (app->config.mirror_rules) {
		rules = cairn_mirror_reload(app->mirror, &of_rules);
		main_reloaded(rules, &of_rules, "mirror_rules");
	}
	bool failed = file != CAIRN_OK || keys != CAIRN_OK || tls != CAIRN_OK || store != CAIRN_OK || rules != CAIRN_OK;
	atomic_store(&app->reload.failed, failed);
	if (!failed)
		atomic_store(&app->reload.good_unix_s, cairn_clock_unix_s());
}

static void main_exit_now(int number)
{
	(void)number;
	log_flush();
	_exit(EXIT_CANNOT_START);
}

/* Lets a second signal end the process at once. Uncommitted work is lost, as after a crash. */
static void main_let_signals_kill(const sigset_t *signals)
{
	struct sigaction action = {.sa_handler = main_exit_now};
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGHUP, &action, NULL);
	(void)pthread_sigmask(SIG_UNBLOCK, signals, NULL);
}

/* Waits until SIGTERM or SIGINT, and reloads on SIGHUP. */
static void main_wait(struct app *app, struct main_settings *settings, const struct listen_address *bound,
		      const sigset_t *signals)
{
	int number = 0;
	while (sigwait(signals, &number) != 0 || number == SIGHUP)
		if (number == SIGHUP) {
			service_reloading();
			main_reload(app, settings);
			main_notify_ready(bound, app->tls != NULL);
		}
	LOG(LOG_INFO, "stopping", LOG_T("signal", number == SIGTERM ? "SIGTERM" : "SIGINT"));
}

/* Runs the daemon, from opening the data folder to the last write. */
static int main_serve(struct app *app, struct main_settings *settings, int listen_fd,
		      const struct listen_address *bound, const sigset_t *signals)
{
	struct cairn_diag diag = {0};
	if (daemon_open(app, &diag) != CAIRN_OK) {
		(void)close(listen_fd);
		return main_fail(EXIT_CANNOT_START, &diag);
	}
	if (daemon_serve(app, listen_fd, &diag) != CAIRN_OK) {
		daemon_close(app);
		return main_fail(EXIT_CANNOT_START, &diag);
	}
	main_announce(app, bound);
	main_wait(app, settings, bound, signals);
	main_let_signals_kill(signals);
	if (!daemon_stop(app)) {
		LOG(LOG_ERROR, "stop_failed",
		    LOG_T("message", "the disk does not answer, or requests still wait; exiting all the same"));
		log_flush();
		_exit(EXIT_CANNOT_START);
	}
	daemon_close(app);
	log_event(LOG_INFO, "stopped", NULL, 0);
	return EXIT_STOPPED;
}

static int main_run(struct app *app, struct main_settings *settings, int listen_fd, const struct listen_address *bound)
{
	struct cairn_diag diag = {0};
	sigset_t signals;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	/* Before any thread starts: all threads must leave these signals to sigwait(). */
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	service_open();
	process_stats_open();
	enum cairn_status status = main_confine(app, bound, &diag);
	if (status == CAIRN_OK && log_start() != CAIRN_OK)
		status = cairn_fail(&diag, CAIRN_E_NOMEM, "start", CAIRN_NO_OFFSET,
				    "cannot start the thread that writes the log");
	if (status != CAIRN_OK) {
		(void)close(listen_fd);
		return main_fail(status == CAIRN_E_USAGE ? EXIT_WRONG_SETTINGS : EXIT_CANNOT_START, &diag);
	}
	int exit_code = main_serve(app, settings, listen_fd, bound, &signals);
	log_stop();
	service_close();
	return exit_code;
}

/* Makes glibc give freed memory back. glibc raises this threshold to the largest block ever freed, and keeps smaller
 * blocks: each worker would keep the tables of the largest shard it verified. (Does nothing with other C libraries.) */
static void main_give_memory_back(void)
{
#ifdef M_MMAP_THRESHOLD
	(void)mallopt(M_MMAP_THRESHOLD, MAIN_LARGE_BLOCK_BYTES);
#endif
}

/* Sets the clock that a test controls. @return false: its file is not usable; an error was reported */
static bool main_set_clock(const struct config *config)
{
	if (!config->test_clock || cairn_clock_use_file(config->test_clock) == CAIRN_OK)
		return true;
	(void)fprintf(stderr, "cairnd: test_clock: %s is not a file of 8 bytes\n", config->test_clock);
	return false;
}

/* Ends a process that does not serve: checks the settings, if told to, and frees them. @return the exit code */
static int main_leave(struct config *config, enum config_result loaded)
{
	static const int EXITS[] = {
		[CHECK_GOOD] = EXIT_STOPPED,
		[CHECK_WRONG_SETTINGS] = EXIT_WRONG_SETTINGS,
		[CHECK_CANNOT_START] = EXIT_CANNOT_START,
		[CHECK_FAILED] = EXIT_CANNOT_START,
	};
	if (loaded != CONFIG_CHECK)
		return loaded == CONFIG_EXIT_OK       ? EXIT_STOPPED
		       : loaded == CONFIG_EXIT_FAILED ? EXIT_CANNOT_START
						      : EXIT_WRONG_SETTINGS;
	int exit_code = main_set_clock(config) ? EXITS[check_run(config)] : EXIT_CANNOT_START;
	config_fini(config);
	return exit_code;
}

int main(int argc, char **argv)
{
	struct app app = {0};
	struct main_settings settings = {.argc = argc, .argv = argv};
	struct listen_address bound;
	int exit_code = EXIT_CANNOT_START;
	if (!cairn_fd_keep_standard())
		return EXIT_CANNOT_START; /* without standard descriptors, a message might have nowhere to go */
	main_give_memory_back();
	enum config_result loaded = config_load(&app.config, argc, argv);
	if (loaded != CONFIG_RUN)
		return main_leave(&app.config, loaded);
	log_set_level(app.config.log_level);
	(void)umask(077);
	if (main_set_clock(&app.config)) {
		int fd = main_listen(&app.config, &bound, &exit_code);
		if (fd >= 0)
			exit_code = main_run(&app, &settings, fd, &bound);
	}
	config_fini(&settings.now);
	config_fini(&app.config);
	return exit_code;
}
