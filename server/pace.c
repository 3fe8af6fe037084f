#include "server/pace.h"

#include "base/clock.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PACE_BEHIND_US_MAX = 1000 * 1000,
	PACE_NICE = 10, /* at 19 the thread would hardly ever run on a busy machine */
};

int64_t pace_pay(struct pace *pace, size_t bytes, uint64_t bytes_per_s)
{
	int64_t now_us = cairn_clock_mono_ms() * 1000;
	if (pace->due_us < now_us - PACE_BEHIND_US_MAX)
		pace->due_us = now_us - PACE_BEHIND_US_MAX;
	pace->due_us += (int64_t)(bytes * 1000000 / bytes_per_s);
	return pace->due_us > now_us ? pace->due_us - now_us : 0;
}

void pace_be_idle(bool idle)
{
	enum { IOPRIO_WHO_PROCESS = 1, IOPRIO_CLASS_NONE = 0, IOPRIO_CLASS_IDLE = 3, IOPRIO_CLASS_SHIFT = 13 };
	int class = idle ? IOPRIO_CLASS_IDLE : IOPRIO_CLASS_NONE;
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, class << IOPRIO_CLASS_SHIFT);
}

void pace_be_last(void)
{
	(void)setpriority(PRIO_PROCESS, 0, PACE_NICE); /* on Linux this affects only this thread */
}
