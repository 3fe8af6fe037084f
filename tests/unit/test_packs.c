/* Packs as the store of files finds objects in them: how much is read for one, and what a page does that the disk does
 * not return. */
#include "base/fd.h"
#include "cas/internal.h"
#include "cas/pack.h"
#include "store/files/packs.h"
#include "support/gc_fixture.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

/* A store with one pack, and its packs opened once more. */
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

/* Its slot and its length; and once it is held the slot again. */
START_TEST(an_object_takes_three_reads)
{
	CLEANUP(fixture_fini) struct fixture f;
	fixture_init(&f);
	n_reads = 0;
	ck_assert_int_eq(get(&f), CAIRN_OK);
	ck_assert_uint_eq(n_reads, 3);
}
END_TEST

/* The folder is not looked through for each object that is asked for: the file is the one that it was. */
START_TEST(a_pack_that_the_disk_does_not_return)
{
	CLEANUP(fixture_fini) struct fixture f;
	fixture_init(&f);
	f.packs.scan_again = false; /* the folder was changed long ago */
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

int main(void)
{
	Suite *s = suite_create("packs");
	TCase *t = tcase_create("packs");
	tcase_add_test(t, an_object_takes_three_reads);
	tcase_add_test(t, a_pack_that_the_disk_does_not_return);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
