/* Loads the daemon's settings: defaults, overridden by file, environment and command line, in this order. */
#ifndef CAIRN_SERVER_CONFIG_H
#define CAIRN_SERVER_CONFIG_H

#include "mirror/mirror.h"
#include "server/config_values.h"

/** Returns the settings of the mirror, borrowed from config. Member upstream is NULL if no hub is mirrored. */
struct cairn_mirror_options config_mirror_options(const struct config *config);

enum config_result {
	CONFIG_RUN,
	CONFIG_CHECK, /* --check: only test whether the daemon would start */
	CONFIG_EXIT_OK,
	CONFIG_EXIT_USAGE,
	CONFIG_EXIT_FAILED, /* the answer cannot be written to standard output */
};

/**
 * Reads all sources: the file of --config or CAIRN_CONFIG, CAIRN_* variables, options. Answers --help and --version
 * (CONFIG_EXIT_OK). Logs and ignores unknown CAIRN_* variables; everything else that is unknown is an error.
 * --print-settings prints the settings in effect, --print-settings-file prints a file that lists all settings.
 * @param[out] out  CONFIG_RUN, CONFIG_CHECK: owned by the caller, config_fini(); else empty
 * @return CONFIG_EXIT_USAGE, CONFIG_EXIT_FAILED: one clear line was written to standard error */
enum config_result config_load(struct config *out, int argc, char **argv);
/** Reads all sources again while the daemon runs, because the file may have changed. @param argc, argv  as at the start
 * @return CAIRN_OK: out is owned by the caller; CAIRN_E_USAGE: diag names the first wrong setting (rule settings) */
CAIRN_MUST_USE enum cairn_status config_load_again(struct config *out, int argc, char **argv, struct cairn_diag *diag);
void config_fini(struct config *config);

#endif
