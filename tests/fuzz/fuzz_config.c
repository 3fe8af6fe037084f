/* A settings file and, after its first empty line, command-line options, one on each line. Accepted settings are
 * within their limits. A refusal leaves nothing behind. */
#include "fuzz/fuzz.h"
#include "server/config.h"
#include "server/settings.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ARGS_MAX = 32 };

static void config_check_limits(const struct config *config)
{
	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *s = &SETTINGS[i];
		if (s->kind != SETTING_COUNT && s->kind != SETTING_BYTES && s->kind != SETTING_SECONDS)
			continue;
		uint64_t value;
		memcpy(&value, (const char *)config + s->offset, sizeof(value));
		fuzz_must(value >= s->min && value <= s->max);
	}
	fuzz_must(config->data_dir && config->listen && config->xorbs <= CONFIG_XORBS_EXTERNAL &&
		  config->log_level <= LOG_DEBUG);
	fuzz_must(config->spool_bytes_max >= config->shard_bytes_max);
}

/* Makes a file without a name, which disappears when closed. */
static int config_file(char path[static 32], const char *text, size_t len)
{
	int fd = memfd_create("settings", MFD_CLOEXEC);
	fuzz_must(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	(void)snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static FILE *silent;
	CLEANUP(fuzz_textp) char *text = fuzz_text(bytes, len);
	char *options = strstr(text, "\n\n"), path[32];
	static char name[] = "cairnd", config_option[] = "--config";
	char *argv[ARGS_MAX + 4] = {name, config_option, path, NULL};
	int argc = 3;
	struct config config;
	size_t file_len = options ? (size_t)(options - text) + 1 : strlen(text);
	int fd = config_file(path, text, file_len);
	for (options = options ? options + 2 : NULL; options && argc < ARGS_MAX;)
		argv[argc++] = strsep(&options, "\n");
	if (!silent)
		silent = fopen("/dev/null", "w");
	FILE *out = stdout, *err = stderr;
	stdout = stderr = silent; /* drops complaints, and the answer to --help */
	enum config_result result = config_load(&config, argc, argv);
	stdout = out;
	stderr = err;
	close(fd);
	if (result == CONFIG_RUN || result == CONFIG_CHECK)
		config_check_limits(&config);
	else
		fuzz_must(!config.data_dir && !config.listen && !config.token_key && !config.public_url);
	config_fini(&config);
	return 0;
}
