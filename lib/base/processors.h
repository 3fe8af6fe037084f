/* How many threads can run at once. */
#ifndef CAIRN_BASE_PROCESSORS_H
#define CAIRN_BASE_PROCESSORS_H

/** Processors that this process may use, at least 1: those that its mask leaves it (taskset, a container's cpuset), not
 * all that the machine has. What a mask set later takes away is not noticed. Source: sched_setaffinity(2). */
unsigned cairn_n_processors(void);

#endif
