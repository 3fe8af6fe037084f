#include "base/clock.h"

#include "base/bytes.h"
#include "base/fd.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static int shift_fd = -1;           /* set once, before threads start */
static atomic_int_fast64_t shift_s; /* last value read */

/* Reads the shift. Does not use mmap(): a disk's read error would end the process. After an error the shift stays. */
static int64_t clock_shift_s(void)
{
	uint8_t bytes[8];
	if (shift_fd >= 0 && cairn_fd_read_at(shift_fd, 0, bytes, sizeof(bytes)) == CAIRN_OK)
		atomic_store(&shift_s, (int64_t)cairn_get_u64le(bytes));
	return atomic_load(&shift_s);
}

int64_t cairn_clock_unix_s(void)
{
	struct timespec t;
	/* time of the kernel's last tick: cheaper, and exact enough for seconds */
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (int64_t)t.tv_sec + clock_shift_s();
}

int64_t cairn_clock_unix_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return ((int64_t)t.tv_sec + clock_shift_s()) * 1000 + t.tv_nsec / 1000000;
}

const char *cairn_time_text(char out[static CAIRN_TIME_TEXT_BYTES], int64_t unix_s)
{
	time_t t = (time_t)unix_s;
	struct tm utc;
	if (!gmtime_r(&t, &utc) || strftime(out, CAIRN_TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		out[0] = '\0';
	return out;
}

const char *cairn_time_basic(char out[static CAIRN_TIME_BASIC_BYTES], int64_t unix_s)
{
	time_t t = (time_t)unix_s;
	struct tm utc;
	if (!gmtime_r(&t, &utc) || strftime(out, CAIRN_TIME_BASIC_BYTES, "%Y%m%dT%H%M%SZ", &utc) == 0)
		out[0] = '\0';
	return out;
}

enum cairn_status cairn_clock_use_file(const char *path)
{
	int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return CAIRN_E_IO;
	uint8_t bytes[8];
	if (cairn_fd_read_at(fd, 0, bytes, sizeof(bytes)) != CAIRN_OK) {
		cairn_fd_closep(&fd);
		return CAIRN_E_IO;
	}
	shift_fd = fd;
	return CAIRN_OK;
}
