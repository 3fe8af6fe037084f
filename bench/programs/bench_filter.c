/* Measures the filter of the index alone: memory, time and false positives.
 *     bench_filter PREFIXES [ROOM]
 * The filter has room for ROOM prefixes, by default for all that are added. A smaller ROOM shows a filter that grew
 * with its index. Prints one line of JSON. */
#include "index/sqlite/filter.h"
#include "synthetic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_ASKED = 4000000 };

static double bench_cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static struct cairn_filter f;
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, n_false = 0;
	if (n == 0) {
		(void)fprintf(stderr, "usage: bench_filter PREFIXES [ROOM]\n");
		return 64;
	}
	cairn_filter_init(&f, argc > 2 ? strtoull(argv[2], NULL, 10) : n);
	double began = bench_cpu_s();
	for (uint64_t i = 0; i < n; i++)
		cairn_filter_add(&f, synthetic_mix(i));
	double added = bench_cpu_s();
	cairn_filter_complete(&f);
	for (uint64_t i = 0; i < N_ASKED; i++)
		n_false += cairn_filter_maybe(&f, synthetic_mix(n + i));
	double asked = bench_cpu_s();
	printf("{\"prefixes\": %" PRIu64 ", \"layers\": %u, \"bytes\": %" PRIu64
	       ", \"add_ns\": %.1f, \"ask_ns\": %.1f, \"false\": %.5f}\n",
	       n, atomic_load(&f.n_layers), (uint64_t)atomic_load(&f.bytes), 1e9 * (added - began) / (double)n,
	       1e9 * (asked - added) / N_ASKED, (double)n_false / N_ASKED);
	cairn_filter_fini(&f);
	return EXIT_SUCCESS;
}
