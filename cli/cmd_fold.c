/* cairn fold: lists, verifies, extracts and repairs chunks of FOLD files. */
#include "base/decimal.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/fold/fold.h"

#include <string.h>

static const char FOLD_HELP[] = "Usage: cairn fold list FILE\n"
				"       cairn fold verify FILE\n"
				"       cairn fold extract FILE CHUNK -o OUT\n"
				"       cairn fold repair FILE -o OUT\n"
				"FOLD files (.fold, .mind), as cairn backup and pyfolds write them. list shows\n"
				"the chunks; verify reads all of them, parity included; extract reads one,\n"
				"repairs it if need be, and writes it to OUT (- is standard output); repair\n"
				"writes a sound copy with new parity, or names what is damaged beyond repair.\n"
				"\n"
				"  -o, --output OUT  the file to write; it must not exist\n"
				"      --parity N    repair: N parity bytes in each 255, 0 to 128; else as before\n"
				"  -q, --quiet       no progress bar\n"
				"      --json        one JSON object, for programs\n"
				"  -h, --help        this help\n"
				"\n"
				"Examples:\n"
				"  cairn fold verify monday.fold\n"
				"  cairn fold repair monday.fold -o sound.fold\n"
				"\n"
				"Exit codes: 0 done, or sound; 64 usage; 65 damaged, or not a FOLD file; 66 no\n"
				"such file or chunk; 73 OUT cannot be made; 74 input/output error.\n";

enum { FOLD_PARITY_MAX = 128 };

static int fold_run(const struct cli_command *command, int argc, char **argv)
{
	static const struct {
		const char *verb;
		int n_arguments;
		bool has_output;
		int (*run)(const struct fold_options *o);
	} verbs[] = {
		{"list", 1, false, fold_list},
		{"verify", 1, false, fold_verify},
		{"extract", 2, true, fold_extract},
		{"repair", 1, true, fold_repair},
	};
	struct fold_options o = {0};
	const char *parity = NULL;
	uint64_t n = 0;
	int first = 0;
	const struct cli_option options[] = {
		{"output", NULL, &o.output},
		{"parity", NULL, &parity},
		{"quiet", &o.quiet, NULL},
		{"json", &o.json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (parity && !cairn_decimal_parse(parity, 0, FOLD_PARITY_MAX, &n))
		return cli_usage_error(command, "--parity takes 0 to 128, not \"%s\"", parity);
	o.has_parity = parity != NULL;
	o.parity = (unsigned)n;
	for (size_t i = 0; first < argc && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[first], verbs[i].verb) != 0)
			continue;
		if (argc - first - 1 != verbs[i].n_arguments || (o.output != NULL) != verbs[i].has_output)
			return cli_usage_error(command, "%s takes FILE%s%s", verbs[i].verb,
					       verbs[i].n_arguments > 1 ? " and CHUNK" : "",
					       verbs[i].has_output ? ", and -o OUT" : " alone");
		o.path = argv[first + 1];
		o.chunk = verbs[i].n_arguments > 1 ? argv[first + 2] : NULL;
		return verbs[i].run(&o);
	}
	return cli_usage_error(command, "say list, verify, extract or repair");
}

const struct cli_command CLI_FOLD = {"fold", "show, verify, unpack and repair FOLD files", FOLD_HELP, fold_run};
