/* Counts the processors of this process. */
#ifndef CAIRN_BASE_PROCESSORS_H
#define CAIRN_BASE_PROCESSORS_H

/** Returns the number of processors that this process may use, at least 1: those in its mask (taskset, a container's
 * cpuset), not all of the machine's. Does not see later changes of the mask. Source: sched_setaffinity(2). */
unsigned cairn_n_processors(void);

#endif
