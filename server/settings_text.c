#include "server/settings.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMNS = 80, HELP_TEXT_BYTES = 640 };

/* Appends a text, wrapped; each line begins with the indent. */
static void help_wrap(struct cairn_buf *out, const char *indent, const char *text)
{
	size_t column = 0;
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " ");
		if (column == 0 || column + 1 + n > HELP_COLUMNS) {
			cairn_buf_printf(out, "%s%s", column ? "\n" : "", indent);
			column = strlen(indent);
		} else {
			cairn_buf_add(out, " ", 1);
			column++;
		}
		cairn_buf_add(out, p, n);
		column += n;
		p += n + strspn(p + n, " ");
	}
	cairn_buf_add(out, "\n", 1);
}

static const char *help_argument(const struct setting *s)
{
	if (s->argument)
		return s->argument;
	if (s->kind == SETTING_BYTES)
		return "SIZE";
	return s->kind == SETTING_SECONDS ? "TIME" : "N";
}

/* Describes a setting: effect, allowed values and default. */
static void help_text(char out[static HELP_TEXT_BYTES], const struct setting *s)
{
	char allowed[128] = "";
	if (s->kind != SETTING_TEXT && s->kind != SETTING_FLAG)
		setting_allowed(s, allowed, sizeof(allowed));
	(void)snprintf(out, HELP_TEXT_BYTES, "%s [%s%s%s%s]", s->help, allowed, *allowed ? "; " : "",
		       s->start ? "default " : "not set", s->start ? s->start : "");
}

static void help_setting(struct cairn_buf *out, const struct setting *s)
{
	char option[SETTING_NAME_BYTES], text[HELP_TEXT_BYTES];
	setting_option_name(option, s);
	if (s->kind == SETTING_FLAG)
		cairn_buf_printf(out, "  --%s, --no-%s\n", option, option);
	else
		cairn_buf_printf(out, "  --%s %s\n", option, help_argument(s));
	help_text(text, s);
	help_wrap(out, "        ", text);
}

void settings_help(struct cairn_buf *out)
{
	cairn_buf_printf(out, "Usage: cairnd [OPTION...]\n"
			      "Take verified uploads of Xet shards and xorbs, and answer chunk queries.\n"
			      "\n"
			      "  --config FILE\n"
			      "        Read settings from FILE: lines \"name = value\", # begins a comment.\n"
			      "  --check\n"
			      "        Say whether it would start: look at the settings, the keys and the\n"
			      "        data folder, and change nothing.\n"
			      "  --help, --version\n"
			      "\n"
			      "Each setting below can be an option (--shard-bytes-max 64M), a line of the\n"
			      "file (shard_bytes_max = 64M) or a variable (CAIRN_SHARD_BYTES_MAX=64M). An\n"
			      "option wins over a variable, a variable over the file. Sizes take K, M, G\n"
			      "(powers of 1,024); times take s, m, h, d and are seconds without a unit.\n"
			      "\n");
	for (size_t i = 0; i < N_SETTINGS; i++)
		if (SETTINGS[i].help)
			help_setting(out, &SETTINGS[i]);
	cairn_buf_printf(out, "\n"
			      "Exit status: 0 stopped in order, 1 could not start, 64 wrong settings.\n"
			      "More: man cairnd, docs/operations.md.\n");
}

void settings_table(struct cairn_buf *out)
{
	cairn_buf_printf(out, "| setting | default | allowed | what it does |\n|---|---|---|---|\n");
	for (size_t i = 0; i < N_SETTINGS; i++) {
		const struct setting *s = &SETTINGS[i];
		char allowed[128];
		if (!s->help)
			continue;
		setting_allowed(s, allowed, sizeof(allowed));
		cairn_buf_printf(out, "| `%s` | %s%s%s | %s | %s |\n", s->name, s->start ? "`" : "",
				 s->start ? s->start : "not set", s->start ? "`" : "", allowed, s->help);
	}
}

void settings_changed(struct cairn_buf *out, const struct config *before, const struct config *now, bool live)
{
	for (size_t i = 0; i < N_SETTINGS; i++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf old = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
		CLEANUP(cairn_buf_fini) struct cairn_buf new = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
		const struct setting *s = &SETTINGS[i];
		setting_print(&old, before, s);
		setting_print(&new, now, s);
		bool same = old.len == new.len && (old.len == 0 || memcmp(old.bytes, new.bytes, old.len) == 0);
		if (same || s->live != live)
			continue;
		if (out->len > 0)
			cairn_buf_add(out, " ", 1);
		const char *value = new.len > 0 ? strstr((const char *)new.bytes, " = ") : NULL;
		size_t len = value ? new.len - (size_t)(value + 3 - (const char *)new.bytes) - 1 : 0;
		cairn_buf_printf(out, "%s=%.*s", s->name, (int)len, value ? value + 3 : "");
	}
}

static void file_setting(struct cairn_buf *out, const struct setting *s, const struct config *config,
			 const struct config *defaults)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf line = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf otherwise = cairn_buf_init(CONFIG_TEXT_BYTES_MAX);
	setting_print(&line, config, s);
	setting_print(&otherwise, defaults, s);
	bool is_default =
		line.len == otherwise.len && (line.len == 0 || memcmp(line.bytes, otherwise.bytes, line.len) == 0);
	if (s->help) {
		char text[HELP_TEXT_BYTES];
		help_text(text, s);
		cairn_buf_add(out, "\n", 1);
		help_wrap(out, "# ", text);
	}
	if (line.len == 0 && s->help)
		cairn_buf_printf(out, "#%s =\n", s->name);
	else if (s->help || !is_default)
		cairn_buf_printf(out, "%s%.*s", is_default ? "#" : "", (int)line.len, (const char *)line.bytes);
}

void settings_file(struct cairn_buf *out, const struct config *config, const struct config *defaults)
{
	cairn_buf_printf(out, "# Settings of cairnd(8), lines \"name = value\". Those with a # in front are the\n"
			      "# defaults: remove it and change the value. Sizes take K, M, G (powers of\n"
			      "# 1,024); times take s, m, h, d and are seconds without a unit.\n");
	for (size_t i = 0; i < N_SETTINGS; i++)
		file_setting(out, &SETTINGS[i], config, defaults);
}
