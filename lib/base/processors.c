#include "base/processors.h"

#include <sched.h>
#include <unistd.h>

unsigned cairn_n_processors(void)
{
	cpu_set_t mine;
	if (sched_getaffinity(0, sizeof(mine), &mine) == 0)
		return (unsigned)CPU_COUNT(&mine);
	long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than the set has room for */
	return online > 0 ? (unsigned)online : 1;
}
