/* Processor time of planning a file, with the JSON: the cost of a reconstruction before its first byte is sent.
 *     bench_plan DATA-DIR FILE-HASH ROUNDS      DATA-DIR of a daemon that has been stopped */
#include "cas/serve/plan.h"
#include "data_dir/data_dir.h"
#include "server/route/plan_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void plan_must(enum cairn_status status, const char *what)
{
	if (status == CAIRN_OK)
		return;
	(void)fprintf(stderr, "bench_plan: %s: %s\n", what, cairn_status_name(status));
	exit(EXIT_FAILURE);
}

static double plan_now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Plans a file once, with its JSON. @param[out] plan_ms  without the JSON */
static double plan_round(struct cairn_cas *cas, const struct cairn_hash *file, bool v1, double *plan_ms)
{
	struct plan_urls urls = {
		.cas = cas, .base = "http://localhost:8080", .expires_unix_s = 2000000000, .ranges_max = 64};
	struct cairn_byte_range all = {.kind = CAIRN_RANGE_ALL};
	struct cairn_plan plan;
	struct cairn_spill out;
	double began = plan_now_ms();
	plan_must(cairn_cas_plan(cas, NULL, file, &all, &plan), "plan");
	*plan_ms = plan_now_ms() - began;
	cairn_spill_init(&out, cas, &(struct cairn_hash){0}, UINT64_C(1) << 30);
	v1 ? plan_write_v1(&out, &plan, &urls) : plan_write_v2(&out, &plan, &urls);
	plan_must(out.status, "write");
	cairn_spill_fini(&out);
	cairn_plan_fini(&plan);
	return plan_now_ms() - began;
}

int main(int argc, char **argv)
{
	struct cairn_cas_options options = CAIRN_CAS_DEFAULTS;
	struct cairn_diag diag = {0};
	struct cairn_data_dir *data;
	struct cairn_cas *cas;
	struct cairn_hash file;
	if (argc != 4)
		plan_must(CAIRN_E_USAGE, "usage: bench_plan DATA-DIR FILE-HASH ROUNDS");
	plan_must(cairn_hash_parse(&file, argv[2], strlen(argv[2])), "hash");
	plan_must(cairn_data_dir_open(&data, &(struct cairn_data_dir_options){.path = argv[1]}, &diag), diag.text);
	const struct cairn_cas_parts parts = cairn_cas_parts_of(data);
	plan_must(cairn_cas_open(&cas, &parts, &options, &diag), diag.text);
	for (int v1 = 0; v1 < 2; v1++) {
		double least = 1e9, least_plan = 1e9;
		for (long i = strtol(argv[3], NULL, 10); i > 0; i--) {
			double plan_ms, ms = plan_round(cas, &file, v1, &plan_ms);
			least = ms < least ? ms : least;
			least_plan = plan_ms < least_plan ? plan_ms : least_plan;
		}
		printf("%s %.3f %.3f\n", v1 ? "v1" : "v2", least, least_plan);
	}
	cairn_cas_free(cas);
	cairn_data_dir_free(data);
	return EXIT_SUCCESS;
}
