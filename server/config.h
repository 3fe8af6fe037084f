/* Loads the settings of the daemon: defaults, file, environment, command line. Each overrides the ones before. */
#ifndef CAIRN_SERVER_CONFIG_H
#define CAIRN_SERVER_CONFIG_H

#include "mirror/mirror.h"
#include "server/config_values.h"

/** The settings of the mirror. They are borrowed; upstream is NULL: none. */
struct cairn_mirror_options config_mirror_options(const struct config *config);

enum config_result {
	CONFIG_RUN,
	CONFIG_CHECK, /* --check: look whether it would run */
	CONFIG_EXIT_OK,
	CONFIG_EXIT_USAGE,
	CONFIG_EXIT_FAILED, /* the answer cannot be written to standard output */
};

/**
 * Reads everything: the file of --config or CAIRN_CONFIG, CAIRN_* variables, options. --help and --version are answered
 * here (CONFIG_EXIT_OK). Unknown CAIRN_* variables are logged and ignored; all else that is unknown is an error.
 * --print-settings prints the settings in effect, --print-settings-file prints them as a file that lists all settings.
 * @param[out] out  CONFIG_RUN, CONFIG_CHECK: owned by the caller, config_fini(); else empty
 * @return CONFIG_EXIT_USAGE, CONFIG_EXIT_FAILED: one clear line was written to standard error */
enum config_result config_load(struct config *out, int argc, char **argv);
/** Reads everything again, while the daemon runs: the file may have changed. @param argc, argv  as at the start
 *  @return CAIRN_OK: out is owned by the caller; CAIRN_E_USAGE: a setting is wrong; the first one is in diag (rule
 * settings) */
CAIRN_MUST_USE enum cairn_status config_load_again(struct config *out, int argc, char **argv, struct cairn_diag *diag);
void config_fini(struct config *config);

#endif
