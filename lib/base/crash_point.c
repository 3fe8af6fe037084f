#include "base/crash_point.h"

#ifdef CAIRN_CRASH_POINTS

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { CRASH_POINT_WANTED_BYTES = 256 };

static const char CRASH_POINT_HOLD[] = "hold ", CRASH_POINT_DELAY[] = "delay ";

static const char *const CRASH_POINT_NAMES[] = {
	[CAIRN_CRASH_FOLDER_LOCKED] = "folder-locked",
	[CAIRN_CRASH_SECRET_WRITTEN] = "secret-written",
	[CAIRN_CRASH_SECRET_NAMED] = "secret-named",
	[CAIRN_CRASH_FOLDERS_MADE] = "folders-made",
	[CAIRN_CRASH_MIGRATE_BEGUN] = "migrate-begun",
	[CAIRN_CRASH_MIGRATE_RUN] = "migrate-run",
	[CAIRN_CRASH_MIGRATE_STAMPED] = "migrate-stamped",
	[CAIRN_CRASH_MIGRATE_DONE] = "migrate-done",
	[CAIRN_CRASH_PUT_BEGUN] = "put-begun",
	[CAIRN_CRASH_PUT_WRITTEN] = "put-written",
	[CAIRN_CRASH_XORB_VERIFIED] = "xorb-verified",
	[CAIRN_CRASH_XORB_DISOWNED] = "xorb-disowned",
	[CAIRN_CRASH_XORB_CLEARED] = "xorb-cleared",
	[CAIRN_CRASH_PUT_SYNCED] = "put-synced",
	[CAIRN_CRASH_PUT_FOLDER_MADE] = "put-folder-made",
	[CAIRN_CRASH_PUT_LINKED] = "put-linked",
	[CAIRN_CRASH_PUT_DURABLE] = "put-durable",
	[CAIRN_CRASH_XORB_STORED] = "xorb-stored",
	[CAIRN_CRASH_SHARD_SPOOLED] = "shard-spooled",
	[CAIRN_CRASH_SHARD_VERIFIED] = "shard-verified",
	[CAIRN_CRASH_COMMIT_EDITED] = "commit-edited",
	[CAIRN_CRASH_PULL_OPENED] = "pull-opened",
	[CAIRN_CRASH_MERGE_COMMITTED] = "merge-committed",
	[CAIRN_CRASH_INDEX_BEGUN] = "index-begun",
	[CAIRN_CRASH_INDEX_APPLIED] = "index-applied",
	[CAIRN_CRASH_INDEX_AHEAD] = "index-ahead",
	[CAIRN_CRASH_INDEX_COMMITTED] = "index-committed",
	[CAIRN_CRASH_INDEX_ANSWERED] = "index-answered",
	[CAIRN_CRASH_GC_MARKED] = "gc-marked",
	[CAIRN_CRASH_GC_LISTED] = "gc-listed",
	[CAIRN_CRASH_GC_SWEPT] = "gc-swept",
	[CAIRN_CRASH_REMOVE_UNLINKED] = "remove-unlinked",
	[CAIRN_CRASH_GC_REMOVED] = "gc-removed",
	[CAIRN_CRASH_ASIDE_MOVED] = "aside-moved",
	[CAIRN_CRASH_ASIDE_DURABLE] = "aside-durable",
	[CAIRN_CRASH_PACK_COPIED] = "pack-copied",
	[CAIRN_CRASH_PACK_WRITTEN] = "pack-written",
	[CAIRN_CRASH_PACK_LINKED] = "pack-linked",
	[CAIRN_CRASH_PACK_DURABLE] = "pack-durable",
	[CAIRN_CRASH_PACK_MOVED] = "pack-moved",
	[CAIRN_CRASH_PACK_BURIED] = "pack-buried",
	[CAIRN_CRASH_PACK_ZEROED] = "pack-zeroed",
	[CAIRN_CRASH_PRUNE_WRITTEN] = "prune-written",
	[CAIRN_CRASH_PRUNE_NAMED] = "prune-named",
	[CAIRN_CRASH_PRUNE_REMOVED] = "prune-removed",
	[CAIRN_CRASH_MOVE_OBJECT] = "move-object",
	[CAIRN_CRASH_MOVE_ROWS] = "move-rows",
	[CAIRN_CRASH_MOVE_FROZEN] = "move-frozen",
	[CAIRN_CRASH_MOVE_ENDED] = "move-ended",
	[CAIRN_CRASH_CHECK_ROW] = "check-row",
	[CAIRN_CRASH_NOTE_WRITTEN] = "note-written",
};

const char *cairn_crash_point_file(void)
{
	return getenv("CAIRND_CRASH_FILE");
}

/* Reads the file each time: a test may change it while the process runs. */
static void crash_point_wanted(char *out, size_t size)
{
	const char *path = cairn_crash_point_file();
	int fd = path ? cairn_sys_open(path, O_RDONLY | O_CLOEXEC, 0) : -1;
	ssize_t n = fd < 0 ? 0 : cairn_sys_read(fd, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	cairn_fd_closep(&fd);
}

/* Waits until the test gives up its lock on the file. */
static void crash_point_hold(void)
{
	int fd = cairn_sys_open(cairn_crash_point_file(), O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0)
		(void)cairn_sys_flock(fd, LOCK_SH);
	cairn_fd_closep(&fd);
}

/* Waits at random. @param how  "PER_CENT MS": the share of calls that wait, and for how long at most */
static void crash_point_delay(const char *how)
{
	static _Thread_local uint64_t state;
	char *at = NULL;
	uint64_t per_cent = strtoul(how, &at, 10), max_ms = strtoul(at, NULL, 10);
	if (state == 0)
		state = (uint64_t)cairn_clock_mono_ms() ^ (uint64_t)(uintptr_t)&state;
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	if ((state >> 33) % 100 < per_cent)
		cairn_sys_sleep_ms((int64_t)((state >> 40) % (max_ms + 1)));
}

/* Is a name in a list of words? @param names  the first word is CRASH_POINT_HOLD */
static bool crash_point_is_held(char *names, const char *name)
{
	char *at = NULL;
	for (char *word = strtok_r(names, " ", &at); word; word = strtok_r(NULL, " ", &at))
		if (strcmp(word, name) == 0)
			return true;
	return false;
}

void cairn_crash_point(enum cairn_crash_point point)
{
	static atomic_long n_passed;
	char wanted[CRASH_POINT_WANTED_BYTES];
	int before = errno;
	const char *name = CRASH_POINT_NAMES[point];
	size_t len = strlen(name);
	crash_point_wanted(wanted, sizeof(wanted));
	if (strncmp(wanted, CRASH_POINT_HOLD, strlen(CRASH_POINT_HOLD)) == 0 && crash_point_is_held(wanted, name))
		crash_point_hold();
	if (strncmp(wanted, CRASH_POINT_DELAY, strlen(CRASH_POINT_DELAY)) == 0)
		crash_point_delay(wanted + strlen(CRASH_POINT_DELAY));
	errno = before;
	if (strncmp(wanted, name, len) != 0 || (wanted[len] != '\0' && wanted[len] != ':'))
		return;
	char *rest = wanted + len;
	long which = *rest == ':' ? strtol(rest + 1, &rest, 10) : 1;
	if (atomic_fetch_add(&n_passed, 1) + 1 == which || which == 0)
		(void)raise(strcmp(rest, ":stop") == 0 ? SIGSTOP : SIGKILL);
}

#endif
