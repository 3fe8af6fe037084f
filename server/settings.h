/* The one table of the daemon's settings, and texts that are made from it. Internal to the configuration (config.h). */
#ifndef CAIRN_SERVER_SETTINGS_H
#define CAIRN_SERVER_SETTINGS_H

#include "base/buf.h"
#include "server/config_values.h"

enum setting_kind {
	SETTING_TEXT,    /* char *; NULL if absent */
	SETTING_FLAG,    /* bool */
	SETTING_COUNT,   /* uint64_t, digits */
	SETTING_BYTES,   /* uint64_t, digits and K, M or G (powers of 1,024) */
	SETTING_SECONDS, /* uint64_t, digits and s, m, h or d */
	SETTING_CHOICE,  /* unsigned, or an enum: the index of the word in choices */
	SETTING_SCHEDULE /* struct schedule */
};

struct setting {
	const char *name; /* name in the file; the option and the variable are derived from it */
	enum setting_kind kind;
	const char *start;    /* the default as text; NULL: none */
	uint64_t min, max;    /* limits of a number, both allowed */
	const char *choices;  /* "one|two", in the order of the enum */
	const char *argument; /* name of the value in --help */
	const char *help;     /* NULL: neither in --help nor in the documents */
	size_t offset;        /* offset of the member in struct config */
	bool live;            /* SIGHUP changes it while the daemon runs: struct app_live */
};

extern const struct setting SETTINGS[];
extern const size_t N_SETTINGS;

enum {
	SETTING_NAME_BYTES = 48,           /* room for any name derived from a setting's, with a zero */
	CONFIG_TEXT_BYTES_MAX = 64 * 1024, /* longest text of --help and the like */
};

/** Finds a setting by its name in the file (with '_'), of len bytes. @return NULL: not found */
const struct setting *setting_find(const char *name, size_t len);

/** Finds the setting closest to a mistyped name. @return NULL: none is close */
const struct setting *setting_near(const char *name, size_t len);

/** Writes the setting's name on the command line: '-' for '_', without the leading dashes. */
void setting_option_name(char out[static SETTING_NAME_BYTES], const struct setting *s);

/** Sets a setting from text. @param[out] why  the fault and the allowed values, for the end of a message
 * @return false: nothing was changed */
bool setting_apply(struct config *config, const struct setting *s, const char *text, char *why, size_t why_len);

/** Describes the allowed values: "4K to 1G", "global, namespace or repository". */
void setting_allowed(const struct setting *s, char *out, size_t out_len);

/** Appends the settings that differ, separated by blanks: names with new values. @param live  true: only settings that
 * may change while the daemon runs; false: only the others */
void settings_changed(struct cairn_buf *out, const struct config *before, const struct config *now, bool live);

/** Releases the text of a text setting. */
void setting_clear(struct config *config, const struct setting *s);

/** Appends a setting as a line of a file, "name = value". Appends nothing if it has no value. */
void setting_print(struct cairn_buf *out, const struct config *config, const struct setting *s);

/** Appends the text of --help, at most 80 columns wide. */
void settings_help(struct cairn_buf *out);

/** Appends the table of docs/operations.md, in Markdown. */
void settings_table(struct cairn_buf *out);

/** Appends a file with all settings and these values; values equal to defaults are commented out. */
void settings_file(struct cairn_buf *out, const struct config *config, const struct config *defaults);

#endif
