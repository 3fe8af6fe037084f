/* Reads the kernel's figures about this process, for the metrics process_*. The files in /proc are opened before the
 * sandbox, which blocks /proc. */
#ifndef CAIRN_SERVER_PROCESS_STATS_H
#define CAIRN_SERVER_PROCESS_STATS_H

#include <stdint.h>

/** Opens the files. Call before the sandbox. Figures whose file cannot be opened stay unknown. */
void process_stats_open(void);

/** The figures. Plain value; 0: unknown. */
struct process_stats {
	double start_unix_s, cpu_s;
	uint64_t resident_bytes, virtual_bytes;
	uint64_t open_fds, max_fds;
};

/** Reads the current figures. Any thread. */
void process_stats_read(struct process_stats *out);

#endif
