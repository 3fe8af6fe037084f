/* Bytes on a connection to the daemon in this process: HTTP library, gate, routes, workers, index and store. The store
 * has a xorb and a file. The secret is fixed, so a signed address stays valid. Any reply must be HTTP, not a 500. */
#include "fuzz/files.h"
#include "fuzz/fuzz.h"
#include "server/daemon.h"
#include "server/log/log.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 20000,
	FIRST_BYTE_MS = FUZZ_REPLAYS ? PATIENCE_MS : 5,
	NEXT_BYTE_MS = 1,
	ANSWER_BYTES_MAX = 1 << 20
};

static struct app app;
static struct sockaddr_un app_address;
static socklen_t app_address_len;

/* Makes an abstract socket, so that parallel runs do not collide. */
static int http_listen(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	app_address.sun_family = AF_UNIX;
	int n = snprintf(app_address.sun_path + 1, sizeof(app_address.sun_path) - 1, "cairn-fuzz-%d", (int)getpid());
	app_address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	fuzz_must(fd >= 0 && bind(fd, (const struct sockaddr *)&app_address, app_address_len) == 0);
	fuzz_must(listen(fd, 64) == 0);
	return fd;
}

/* Sends the bytes, and reads until nothing comes for a moment. A replay waits for the first byte: the daemon must
 * answer or close, because idle_timeout ends an incomplete request. @return the status of the first reply; 0: none */
static unsigned http_say(const uint8_t *bytes, size_t len, int first_ms)
{
	char answer[4096], status[16] = {0};
	size_t total = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fuzz_must(fd >= 0 && connect(fd, (const struct sockaddr *)&app_address, app_address_len) == 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	(void)!send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (total < ANSWER_BYTES_MAX) {
		int ready = poll(&p, 1, total ? NEXT_BYTE_MS : first_ms);
		fuzz_must(ready > 0 || total || !FUZZ_REPLAYS);
		if (ready <= 0)
			break;
		ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
		if (n <= 0)
			break;
		for (size_t i = 0; i < (size_t)n && total + i < sizeof(status) - 1; i++)
			status[total + i] = answer[i];
		total += (size_t)n;
	}
	close(fd);
	fuzz_must(total < 12 || strncmp(status, "HTTP/1.", 7) == 0);
	return total < 12 ? 0 : (unsigned)strtoul(status + 9, NULL, 10);
}

static void http_stop(void)
{
	(void)daemon_stop(&app);
	daemon_close(&app);
	config_fini(&app.config);
	files_remove();
}

static void http_seed(const char *path, const char *file)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(1 << 20);
	CLEANUP(cairn_buf_fini) struct cairn_buf request = cairn_buf_init(1 << 20);
	files_add_data(&body, file);
	cairn_buf_printf(&request, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", path, body.len);
	cairn_buf_add(&request, body.bytes, body.len);
	fuzz_must(http_say(request.bytes, request.len, PATIENCE_MS) == 200);
}

static void http_start(void)
{
	static const char SETTINGS_TEXT[] = "workers = 1\nconnections_max = 200\nhead_bytes_max = 4K\n"
					    "reserve_bytes = 0\naccess_log = no\nlog_level = error\n"
					    "idle_timeout = 1s\nhead_timeout = 1s\n"
					    "public_url = http://x\n"; /* the Host header in most inputs */
	static const char SECRET[] = "a secret of the fuzz target, and nothing else";
	const char *folder = files_folder();
	char file[256];
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(4096);
	(void)snprintf(file, sizeof(file), "%s/settings", folder);
	cairn_buf_printf(&text, "data_dir = %s/data\nsecret_file = %s/secret\n%s", folder, folder, SETTINGS_TEXT);
	files_write("settings", text.bytes, text.len);
	files_write("secret", SECRET, sizeof(SECRET));
	static char name[] = "cairnd", option[] = "--config";
	struct cairn_diag diag = {0};
	(void)signal(SIGPIPE, SIG_IGN);
	fuzz_must(config_load(&app.config, 3, (char *[]){name, option, file, NULL}) == CONFIG_RUN);
	log_set_level(LOG_ERROR);
	fuzz_must(daemon_open(&app, &diag) == CAIRN_OK && daemon_serve(&app, http_listen(), &diag) == CAIRN_OK);
	(void)atexit(http_stop);
	http_seed("/v1/xorbs/default/7ebdf5546bf761e3d39c4894c50cf36287ff73231d6e699360569b0fb09fc951",
		  "xorbs/7ebdf5546bf761e3d39c4894c50cf36287ff73231d6e699360569b0fb09fc951");
	http_seed("/v1/shards", "shards/small.shard");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!app.http)
		http_start();
	unsigned status = http_say(bytes, len, FIRST_BYTE_MS);
	fuzz_must(status == 0 || (status >= 100 && status < 600 && status != 500));
	return 0;
}
