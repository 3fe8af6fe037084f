#include "base/clock.h"

#include "base/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const volatile uint8_t *shift_bytes; /* set once, before threads start */

static int64_t clock_shift_s(void)
{
	if (!shift_bytes)
		return 0;
	uint8_t now[8];
	for (int i = 0; i < 8; i++)
		now[i] = shift_bytes[i];
	return (int64_t)cairn_get_u64le(now);
}

int64_t cairn_clock_unix_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME_COARSE, &t); /* as of the kernel's last tick: cheaper, and these are seconds */
	return (int64_t)t.tv_sec + clock_shift_s();
}

int64_t cairn_clock_unix_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return ((int64_t)t.tv_sec + clock_shift_s()) * 1000 + t.tv_nsec / 1000000;
}

int64_t cairn_clock_mono_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return CAIRN_E_IO;
	struct stat st;
	void *map = MAP_FAILED;
	if (fstat(fd, &st) == 0 && st.st_size >= 8)
		map = mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return CAIRN_E_IO;
	shift_bytes = map;
	return CAIRN_OK;
}
