#include "index/sqlite/sys_vfs.h"

#include "base/sys.h"
#include "index/sqlite/util.h"

#include <errno.h>
#include <pthread.h>

/* Tables of methods: the system has one for each kind of lock. */
enum { SYS_KINDS_MAX = 8 };

struct sys_kind {
	sqlite3_io_methods ours; /* first: files point to it. The system's methods, except xSync */
	const sqlite3_io_methods *system;
};

static struct sys_kind sys_kinds[SYS_KINDS_MAX];
static unsigned sys_n_kinds;
static pthread_mutex_t sys_lock = PTHREAD_MUTEX_INITIALIZER; /* guards both variables below */
static sqlite3_vfs sys_vfs;                                  /* the system's VFS, except xOpen */
static sqlite3_vfs *sys_system;

static int sys_sync(sqlite3_file *file, int flags)
{
	const sqlite3_io_methods *system = ((const struct sys_kind *)(const void *)file->pMethods)->system;
	int rc, error;
	do {
		error = 0;
		rc = system->xSync(file, flags);
		if (rc == SQLITE_IOERR_FSYNC)
			(void)system->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
	} while (error == EINTR);
	return rc;
}

/* @return the system's own methods if there is no room for another kind */
static const sqlite3_io_methods *sys_methods(const sqlite3_io_methods *system)
{
	const sqlite3_io_methods *found = NULL;
	pthread_mutex_lock(&sys_lock);
	for (unsigned i = 0; i < sys_n_kinds && !found; i++)
		found = sys_kinds[i].system == system ? &sys_kinds[i].ours : NULL;
	if (!found && sys_n_kinds < SYS_KINDS_MAX) {
		struct sys_kind *kind = &sys_kinds[sys_n_kinds++];
		*kind = (struct sys_kind){.ours = *system, .system = system};
		kind->ours.xSync = sys_sync;
		found = &kind->ours;
	}
	pthread_mutex_unlock(&sys_lock);
	return found ? found : system;
}

static int sys_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *flags_out)
{
	(void)vfs;
	int rc = sys_system->xOpen(sys_system, path, file, flags, flags_out);
	if (rc == SQLITE_OK)
		file->pMethods = sys_methods(file->pMethods);
	return rc;
}

void cairn_sql_sys_register(void)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} CALLS[] = {
		{"access", (sqlite3_syscall_ptr)cairn_sys_access}, {"fchmod", (sqlite3_syscall_ptr)cairn_sys_fchmod},
		{"fstat", (sqlite3_syscall_ptr)cairn_sys_fstat},   {"lstat", (sqlite3_syscall_ptr)cairn_sys_lstat},
		{"stat", (sqlite3_syscall_ptr)cairn_sys_stat},     {"unlink", (sqlite3_syscall_ptr)cairn_sys_unlink},
	};
	sys_system = sqlite3_vfs_find(NULL);
	if (!sys_system)
		return;
	for (unsigned i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++)
		(void)sys_system->xSetSystemCall(sys_system, CALLS[i].name, CALLS[i].call);
	sys_vfs = *sys_system;
	sys_vfs.pNext = NULL;
	sys_vfs.zName = "cairn-sys";
	sys_vfs.xOpen = sys_open;
	(void)sqlite3_vfs_register(&sys_vfs, 1);
}
