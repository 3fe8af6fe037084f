/* Objects in packs of the store of files: how many reads each takes, even when the disk cannot read a page. */
#include "base/clock.h"
#include "base/fd.h"
#include "cas/internal.h"
#include "cas/keep/pack.h"
#include "cas/object/sound_copy.h"
#include "store/files/packs.h"
#include "support/gc_fixture.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t __real_pread64(int fd, void *bytes, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *bytes, size_t len, off_t offset);

static unsigned n_reads;
static bool fails;

ssize_t __wrap_pread64(int fd, void *bytes, size_t len, off_t offset)
{
	n_reads++;
	if (!fails)
		return __real_pread64(fd, bytes, len, offset);
	errno = EIO;
	return -1;
}

/* A store with one pack, and a second instance of its packs. */
struct fixture {
	struct gc_stock s;
	struct store_packs packs;
};

static void fixture_init(struct fixture *f)
{
	struct cairn_pack_report report;
	const struct cairn_pack_options options = {.name = "a.shard"};
	gc_stock_init(&f->s);
	ck_assert_int_eq(cairn_cas_pack(f->s.g.f.cas, &options, &report, NULL), CAIRN_OK);
	CLEANUP(tempdir_textp) char *path = tempdir_path(&f->s.g.f.dir, "packs");
	int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	ck_assert_int_eq(store_packs_open(&f->packs, dir_fd), CAIRN_OK);
}

static void fixture_fini(struct fixture *f)
{
	fails = false;
	store_packs_fini(&f->packs);
	gc_stock_fini(&f->s);
}

static enum cairn_status get(struct fixture *f)
{
	struct cairn_readshard_slot slot;
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = -1;
	return store_packs_get(&f->packs, &f->s.x.made.hash, 0, &slot, &fd, &st);
}

/* The first read is for the slot, the second for the length. When the object is held, the slot is read again. */
START_TEST(an_object_takes_three_reads)
{
	CLEANUP(fixture_fini) struct fixture f;
	fixture_init(&f);
	n_reads = 0;
	ck_assert_int_eq(get(&f), CAIRN_OK);
	ck_assert_uint_eq(n_reads, 3);
}
END_TEST

/* The folder is not listed for each request, as long as the pack's file stays the same. */
START_TEST(a_pack_that_the_disk_does_not_return)
{
	CLEANUP(fixture_fini) struct fixture f;
	fixture_init(&f);
	f.packs.scan_again = false; /* the folder's last change is long ago */
	unsigned before = atomic_load(&f.packs.n_scans);
	fails = true;
	for (unsigned i = 0; i < 100; i++)
		ck_assert_int_eq(get(&f), CAIRN_E_IO);
	ck_assert_uint_eq(atomic_load(&f.packs.n_scans), before);
	CLEANUP(tempdir_textp) char *path = tempdir_path(&f.s.g.f.dir, "packs/a.shard");
	ck_assert_int_eq(truncate(path, 4096), 0);
	fails = false;
	ck_assert_int_eq(get(&f), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(atomic_load(&f.packs.n_scans), before + 1);
}
END_TEST

/* An object that may still exist is not removed. */
START_TEST(nothing_is_removed_while_the_disk_fails)
{
	CLEANUP(fixture_fini) struct fixture f;
	const struct cairn_hash *hash;
	struct stat st;
	fixture_init(&f);
	hash = &f.s.x.made.hash;
	CLEANUP(tempdir_textp) char *path = tempdir_path(&f.s.g.f.dir, "packs/a.shard");
	ck_assert_int_eq(stat(path, &st), 0);
	fails = true;
	ck_assert_int_eq(store_packs_remove(&f.packs, hash), CAIRN_E_IO);
	ck_assert_int_eq(store_packs_remove_from(&f.packs, hash, &st), CAIRN_E_IO);
	fails = false;
	ck_assert_int_eq(get(&f), CAIRN_OK);
	ck_assert_int_eq(store_packs_remove_from(&f.packs, hash, &st), CAIRN_OK);
	ck_assert_int_eq(get(&f), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(store_packs_remove(&f.packs, hash), CAIRN_OK);
}
END_TEST

START_TEST(a_collection_counts_only_removed_objects)
{
	CLEANUP(fixture_fini) struct fixture f;
	struct cairn_gc_report report;
	bool forgotten;
	fixture_init(&f);
	ck_assert_int_eq(cairn_cas_forget(f.s.g.f.cas, &f.s.file.hash, NULL, &forgotten), CAIRN_OK);
	gc_pass(&f.s.g, GC_GRACE_S + 1);
	(void)gc_collect(&f.s.g); /* retires the xorb */
	gc_pass(&f.s.g, GC_GRACE_S + 1);
	(void)cairn_clock_unix_s(); /* the test clock's file is read, too */
	fails = true;
	ck_assert_int_eq(cairn_cas_gc(f.s.g.f.cas, NULL, NULL, &report), CAIRN_E_IO);
	fails = false;
	ck_assert_uint_eq(report.n_unremoved, 1);
	ck_assert_uint_eq(report.bytes_freed, 0);
	ck_assert_str_eq(report.diag.rule, "gc.unremoved");
	ck_assert_int_eq(get(&f), CAIRN_OK);
}
END_TEST

/* If the folder cannot be listed, the object may be in it. So the object must not count as lost. */
START_TEST(a_folder_that_the_disk_does_not_list)
{
	CLEANUP(fixture_fini) struct fixture f;
	struct cairn_hash other = {.b = {1}};
	struct store_packed packed;
	fixture_init(&f);
	int folder_fd = f.packs.dir_fd;
	f.packs.dir_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(store_packs_find(&f.packs, &other, (struct store_packs_which){0}, &packed),
				 CAIRN_E_IO);
		ck_assert_int_eq(store_packs_remove(&f.packs, &other), CAIRN_E_IO);
		ck_assert_int_eq(get(&f), CAIRN_E_IO);
	}
	close(f.packs.dir_fd);
	f.packs.dir_fd = folder_fd;
	ck_assert_int_eq(get(&f), CAIRN_OK);
	ck_assert_int_eq(store_packs_remove(&f.packs, &other), CAIRN_OK);
}
END_TEST

/* The disk cannot say how many copies there are. A lookup of a copy by its number returns an error. */
START_TEST(a_fetch_ends_while_the_disk_fails)
{
	CLEANUP(fixture_fini) struct fixture f;
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
	const struct cairn_fetch_range range = {0, 9};
	struct cairn_diag diag = {0};
	fixture_init(&f);
	fails = true;
	ck_assert_int_eq(cas_sound_copy(f.s.g.f.cas, &f.s.x.made.hash, &range, 1, NULL, NULL, &copy, &diag),
			 CAIRN_E_IO);
	fails = false;
	ck_assert_int_eq(cas_sound_copy(f.s.g.f.cas, &f.s.x.made.hash, &range, 1, NULL, NULL, &copy, &diag), CAIRN_OK);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("packs");
	TCase *t = tcase_create("packs");
	tcase_add_test(t, an_object_takes_three_reads);
	tcase_add_test(t, a_pack_that_the_disk_does_not_return);
	tcase_add_test(t, nothing_is_removed_while_the_disk_fails);
	tcase_add_test(t, a_collection_counts_only_removed_objects);
	tcase_add_test(t, a_folder_that_the_disk_does_not_list);
	tcase_add_test(t, a_fetch_ends_while_the_disk_fails);
	suite_add_tcase(s, t);
	return run_suite(s);
}
