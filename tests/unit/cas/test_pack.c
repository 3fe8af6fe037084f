/* Packed xorbs are read, collected, repaired and uploaded again like those in the object folder, even after a kill. */
#include "archive/readshard/delete.h"
#include "cas/internal.h"
#include "cas/keep/pack.h"
#include "cas/put/put_xorb.h"
#include "support/gc_fixture.h"
#include "support/run.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cairn_pack_report pack_as(struct gc_stock *s, const char *name, int64_t older_than_s)
{
	struct cairn_pack_report report;
	struct cairn_diag diag = {0};
	const struct cairn_pack_options options = {.name = name, .older_than_s = older_than_s};
	enum cairn_status status = cairn_cas_pack(s->g.f.cas, &options, &report, &diag);
	ck_assert_msg(status == CAIRN_OK, "%s: %s", cairn_status_name(status), diag.text);
	return report;
}

static void count_files(struct gc_stock *s, int loose, int packs)
{
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "objects"), loose);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "packs"), packs);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "tmp"), 0);
}

static void is_whole(struct gc_stock *s)
{
	ck_assert_uint_eq(gc_problems(s->g.f.cas), 0);
	ck_assert_int_eq(gc_read_back(s->g.f.cas, &s->file.hash), CAIRN_OK);
	ck_assert_int_eq(gc_read_back(s->g.f.cas, &s->other_file.hash), CAIRN_OK);
}

static enum cairn_status repair(struct gc_stock *s, struct cairn_check_report *report)
{
	const struct cairn_check_options options = {.repair = true};
	return cairn_cas_check(s->g.f.cas, &options, report);
}

static char *pack_path(struct gc_stock *s, const char *name)
{
	char relative[160];
	(void)snprintf(relative, sizeof(relative), "packs/%s", name);
	return tempdir_path(&s->g.f.dir, relative);
}

static uint64_t count_objects(struct gc_stock *s)
{
	struct cairn_check_report report;
	const struct cairn_check_options options = {.skip_data = true};
	ck_assert_int_eq(cairn_cas_check(s->g.f.cas, &options, &report), CAIRN_OK);
	return report.n_objects;
}

START_TEST(packed_xorbs_are_no_different)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	uint64_t stored_bytes;
	bool inserted = true;
	gc_stock_init(&s);
	struct cairn_pack_report r = pack_as(&s, "a.shard", 0);
	ck_assert_uint_eq(r.n_packed, 2);
	ck_assert_uint_eq(r.n_moved, 2);
	ck_assert_uint_eq(r.bytes_packed, s.x.body.len + s.other.body.len);
	ck_assert_uint_eq(r.total_bytes, r.bytes_packed);
	count_files(&s, 0, 1);
	is_whole(&s);
	ck_assert_uint_eq(count_objects(&s), 2);
	ck_assert_int_eq(cairn_cas_xorb(s.g.f.cas, &s.x.made.hash, &stored_bytes), CAIRN_OK);
	ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &s.x, &inserted), CAIRN_OK);
	ck_assert(!inserted);
	count_files(&s, 0, 1);
	cas_fixture_reopen(&s.g.f, gc_fixture_times);
	is_whole(&s);
}
END_TEST

START_TEST(only_old_xorbs_are_packed)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	CLEANUP(gc_xorb_fini) struct gc_xorb young;
	bool inserted;
	gc_stock_init(&s);
	gc_pass(&s.g, 500);
	gc_xorb_init(&young, 3, 3);
	ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &young, &inserted), CAIRN_OK);
	ck_assert_uint_eq(pack_as(&s, "none.shard", 600).n_packed, 0);
	count_files(&s, 3, 0);
	ck_assert_uint_eq(pack_as(&s, "a.shard", 400).n_packed, 2);
	count_files(&s, 1, 1);
	ck_assert_uint_eq(pack_as(&s, "b.shard", 0).n_packed, 1);
	count_files(&s, 0, 2);
	ck_assert_uint_eq(pack_as(&s, "c.shard", 0).n_packed, 0);
	count_files(&s, 0, 2);
	is_whole(&s);
}
END_TEST

START_TEST(names_are_checked)
{
	static const char *const BAD[] = {"a", ".shard", ".a.shard", "a/b.shard", "../a.shard", "a b.shard", ""};
	CLEANUP(gc_stock_fini) struct gc_stock s;
	struct cairn_pack_report report;
	gc_stock_init(&s);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		struct cairn_diag diag = {0};
		const struct cairn_pack_options options = {.name = BAD[i]};
		ck_assert_int_eq(cairn_cas_pack(s.g.f.cas, &options, &report, &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "pack.name");
	}
	(void)pack_as(&s, "a.shard", 0);
	struct cairn_diag diag = {0};
	const struct cairn_pack_options options = {.name = "a.shard"};
	ck_assert_int_eq(cairn_cas_pack(s.g.f.cas, &options, &report, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "pack.exists");
	is_whole(&s);
}
END_TEST

static bool stop_at(void *ctx, const struct cairn_pack_report *so_far)
{
	(void)so_far;
	int *left = ctx;
	return --*left > 0;
}

/* A packing has five steps: two copies, the pack, two removals. */
START_TEST(stopped_at_any_step_nothing_is_lost)
{
	for (int at = 1; at <= 5; at++) {
		CLEANUP(gc_stock_fini) struct gc_stock s;
		struct cairn_pack_report report;
		int left = at;
		gc_stock_init(&s);
		const struct cairn_pack_options options = {.name = "a.shard", .progress = stop_at, .ctx = &left};
		ck_assert_int_eq(cairn_cas_pack(s.g.f.cas, &options, &report, NULL), CAIRN_E_BUSY);
		count_files(&s, at <= 3 ? 2 : 5 - at, at > 2);
		is_whole(&s);
		ck_assert_uint_eq(count_objects(&s), 2);
		/* the next packing removes the remains */
		(void)pack_as(&s, "b.shard", 0);
		count_files(&s, 0, 1);
		is_whole(&s);
	}
}
END_TEST

/* A remaining object is removed only if the pack has the same bytes. */
START_TEST(left_overs_are_compared)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
	(void)pack_as(&s, "a.shard", 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, s.x.body.bytes, s.x.body.len), (ssize_t)s.x.body.len);
	ck_assert_int_eq(pwrite(fd, "X", 1, (off_t)s.x.body.len - 1), 1);
	ck_assert_uint_eq(pack_as(&s, "b.shard", 0).n_packed, 0);
	count_files(&s, 1, 1);
	ck_assert_int_eq(pwrite(fd, s.x.body.bytes + s.x.body.len - 1, 1, (off_t)s.x.body.len - 1), 1);
	(void)close(fd);
	(void)pack_as(&s, "b.shard", 0);
	count_files(&s, 0, 1);
	is_whole(&s);
}
END_TEST

static bool collect_meanwhile(void *ctx, const struct cairn_pack_report *so_far)
{
	struct gc_stock *s = ctx;
	struct cairn_gc_report report;
	struct cairn_pack_report nested;
	const struct cairn_pack_options options = {.name = "b.shard"};
	enum cairn_status want = so_far->durable ? CAIRN_OK : CAIRN_E_BUSY;
	ck_assert_int_eq(cairn_cas_gc(s->g.f.cas, NULL, NULL, &report), want);
	ck_assert_int_eq(cairn_cas_pack(s->g.f.cas, &options, &nested, NULL), want);
	ck_assert_uint_eq(nested.n_packed, 0);
	return true;
}

/* Other packings and collections are refused until the pack is durable. The removals that follow do not block them. */
START_TEST(one_packing_or_collection_at_a_time)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	struct cairn_pack_report report;
	gc_stock_init(&s);
	const struct cairn_pack_options options = {.name = "a.shard", .progress = collect_meanwhile, .ctx = &s};
	ck_assert_int_eq(cairn_cas_pack(s.g.f.cas, &options, &report, NULL), CAIRN_OK);
	(void)gc_collect(&s.g);
	is_whole(&s);
}
END_TEST

/* --- packs added and removed -------------------------------------------------------------------------------------- */

START_TEST(packs_are_noticed_without_a_restart)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	uint64_t bytes;
	gc_stock_init(&s);
	(void)pack_as(&s, "a.shard", 0);
	CLEANUP(tempdir_textp) char *in = pack_path(&s, "a.shard");
	CLEANUP(tempdir_textp) char *out = tempdir_path(&s.g.f.dir, "elsewhere");
	struct cairn_store *store = s.g.f.cas->store;
	struct cairn_store_object *object;
	ck_assert_int_eq(rename(in, out), 0);
	ck_assert_int_eq(cairn_store_get(store, &s.x.made.hash, &object), CAIRN_E_NOT_FOUND);
	/* if an object is not found, the folder of packs is listed again */
	struct cairn_hash nothing = {{1}};
	ck_assert_int_eq(cairn_store_stat(store, &nothing, &bytes), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_store_stat(store, &s.x.made.hash, &bytes), CAIRN_E_NOT_FOUND);
	CLEANUP(tempdir_textp) char *other = pack_path(&s, "other.shard");
	ck_assert_int_eq(rename(out, in), 0);
	is_whole(&s);
	ck_assert_int_eq(rename(in, other), 0);
	is_whole(&s);
}
END_TEST

static void note_fault(void *ctx, const struct cairn_store_pack *pack)
{
	if (pack->fault)
		(void)snprintf(ctx, 80, "%s %s", pack->name, pack->fault->rule);
}

START_TEST(a_malformed_pack_is_reported_and_ignored)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	char fault[80] = "";
	gc_stock_init(&s);
	tempdir_write(&s.g.f.dir, "packs/bad.shard", "SWHShard", 8);
	tempdir_write(&s.g.f.dir, "packs/readme.txt", "hello", 5);
	(void)pack_as(&s, "a.shard", 0);
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &s.file.hash), CAIRN_OK);
	ck_assert_uint_eq(gc_problems(s.g.f.cas), 1);
	ck_assert_int_eq(cairn_store_each_pack(s.g.f.cas->store, note_fault, fault), CAIRN_OK);
	ck_assert_str_eq(fault, "bad.shard readshard.short");
}
END_TEST

/* Another program that deletes in a pack must take the lock that the daemon keeps. */
START_TEST(packs_are_locked_while_they_are_served)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	(void)pack_as(&s, "a.shard", 0);
	CLEANUP(tempdir_textp) char *path = pack_path(&s, "a.shard");
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_ne(flock(fd, LOCK_EX | LOCK_NB), 0);
	(void)close(fd);
}
END_TEST

/* Is the body of x still in the pack? */
static bool pack_has_bytes(struct gc_stock *s, const struct gc_xorb *x)
{
	CLEANUP(tempdir_textp) char *path = pack_path(s, "a.shard");
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	uint8_t *bytes = malloc((size_t)st.st_size);
	ck_assert_int_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
	bool has = memmem(bytes, (size_t)st.st_size, x->body.bytes + 8, x->body.len - 8) != NULL;
	free(bytes);
	(void)close(fd);
	return has;
}

/* Makes a pack read-only for this process. root could still write it, so becomes another user. */
static void pack_is_given_away(struct gc_stock *s, const char *name)
{
	CLEANUP(tempdir_textp) char *path = pack_path(s, name);
	CLEANUP(tempdir_textp) char *folder = tempdir_path(&s->g.f.dir, ".");
	CLEANUP(tempdir_textp) char *clock = tempdir_path(&s->g.clock_dir, ".");
	ck_assert_int_eq(chmod(path, 0444), 0);
	if (geteuid() != 0)
		return;
	char command[1024];
	(void)snprintf(command, sizeof(command), "chown -R 65534:65534 '%s' '%s' && chown 0:0 '%s'", folder, clock,
		       path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(setegid(65534), 0);
	ck_assert_int_eq(seteuid(65534), 0);
}

/* A pack on a disk mounted read-only keeps a swept xorb's bytes, and the xorb can be uploaded again. */
START_TEST(packs_may_be_read_only)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	bool forgotten, inserted;
	gc_stock_init(&s);
	(void)pack_as(&s, "a.shard", 0);
	pack_is_given_away(&s, "a.shard");
	cas_fixture_reopen(&s.g.f, gc_fixture_times);
	is_whole(&s);
	ck_assert_int_eq(cairn_cas_forget(s.g.f.cas, &s.file.hash, NULL, &forgotten), CAIRN_OK);
	ck_assert_uint_eq(gc_collect_all(&s.g).n_swept, 1);
	ck_assert(pack_has_bytes(&s, &s.x));
	count_files(&s, 0, 1);
	ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &s.x, &inserted), CAIRN_OK);
	ck_assert(inserted);
	count_files(&s, 1, 1);
	ck_assert_int_eq(cas_put_shard(s.g.f.cas, &CAS_OPERATOR, &s.file.shard, &inserted, NULL), CAIRN_OK);
	is_whole(&s);
	if (getuid() == 0) {
		ck_assert_int_eq(seteuid(0), 0);
		ck_assert_int_eq(setegid(0), 0);
	}
}
END_TEST

START_TEST(packed_xorbs_are_collected)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	bool forgotten, inserted;
	gc_stock_init(&s);
	(void)pack_as(&s, "a.shard", 0);
	ck_assert(pack_has_bytes(&s, &s.x));
	ck_assert_int_eq(cairn_cas_forget(s.g.f.cas, &s.file.hash, NULL, &forgotten), CAIRN_OK);
	struct cairn_gc_report r = gc_collect_all(&s.g);
	ck_assert_uint_eq(r.n_swept, 1);
	ck_assert_uint_eq(r.bytes_freed, s.x.body.len);
	ck_assert(!pack_has_bytes(&s, &s.x));
	ck_assert(pack_has_bytes(&s, &s.other));
	ck_assert_uint_eq(count_objects(&s), 1);
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &s.other_file.hash), CAIRN_OK);
	ck_assert_uint_eq(gc_problems(s.g.f.cas), 0);
	/* The xorb can be uploaded again. */
	ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &s.x, &inserted), CAIRN_OK);
	ck_assert(inserted);
	count_files(&s, 1, 1);
	ck_assert_uint_eq(pack_as(&s, "b.shard", 0).n_packed, 1);
	ck_assert_uint_eq(gc_problems(s.g.f.cas), 0);
}
END_TEST

START_TEST(bytes_that_are_being_read_are_zeroed_by_a_later_collection)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	bool forgotten;
	uint64_t offset;
	uint8_t first[64];
	struct cairn_store_object *object;
	gc_stock_init(&s);
	(void)pack_as(&s, "a.shard", 0);
	ck_assert_int_eq(cairn_store_get(s.g.f.cas->store, &s.x.made.hash, &object), CAIRN_OK);
	int fd = cairn_store_object_take_fd(object, &offset);
	cairn_store_object_free(object);
	ck_assert_int_eq(cairn_cas_forget(s.g.f.cas, &s.file.hash, NULL, &forgotten), CAIRN_OK);
	ck_assert_uint_eq(gc_collect_all(&s.g).n_swept, 1);
	ck_assert_int_eq(pread(fd, first, sizeof(first), (off_t)offset), (ssize_t)sizeof(first));
	ck_assert_mem_eq(first, s.x.body.bytes, sizeof(first));
	ck_assert(pack_has_bytes(&s, &s.x));
	(void)close(fd);
	(void)gc_collect(&s.g);
	ck_assert(!pack_has_bytes(&s, &s.x));
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &s.other_file.hash), CAIRN_OK);
}
END_TEST

/* Damages every chunk of x in its pack. Nothing of a xorb is removed while some of its chunks can be read. */
static void damage(struct gc_stock *s)
{
	CLEANUP(tempdir_textp) char *path = pack_path(s, "a.shard");
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *shard = NULL;
	struct cairn_readshard_slot slot;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(cairn_readshard_open(&shard, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_find(shard, s->x.made.hash.b, &slot, NULL), CAIRN_OK);
	for (size_t i = 0; i < s->x.body.len; i++) {
		uint8_t byte = (uint8_t)~s->x.body.bytes[i];
		ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)(slot.bytes_at + i)), 1);
	}
	(void)close(fd);
}

START_TEST(a_damaged_packed_xorb_is_set_aside_and_comes_back)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	struct cairn_check_report report;
	bool inserted;
	gc_stock_init(&s);
	(void)pack_as(&s, "a.shard", 0);
	damage(&s);
	ck_assert_uint_eq(gc_problems(s.g.f.cas), 2); /* the xorb and its file are problems */
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), 0);
	ck_assert_int_eq(repair(&s, &report), CAIRN_OK);
	ck_assert_uint_eq(report.n_repaired, 1);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), 1);
	char text[CAIRN_HASH_TEXT_BYTES], name[80];
	struct stat st;
	cairn_hash_text(text, &s.x.made.hash);
	(void)snprintf(name, sizeof(name), "damaged/%s", text);
	CLEANUP(tempdir_textp) char *aside = tempdir_path(&s.g.f.dir, name);
	ck_assert_int_eq(stat(aside, &st), 0);
	ck_assert_uint_eq((uint64_t)st.st_size, s.x.body.len);
	ck_assert_uint_eq(count_objects(&s), 1);
	ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &s.x, &inserted), CAIRN_OK);
	ck_assert(inserted);
	count_files(&s, 1, 1);
	is_whole(&s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pack");
	TCase *tc = tcase_create("pack");
	tcase_add_test(tc, packed_xorbs_are_no_different);
	tcase_add_test(tc, only_old_xorbs_are_packed);
	tcase_add_test(tc, names_are_checked);
	tcase_add_test(tc, stopped_at_any_step_nothing_is_lost);
	tcase_add_test(tc, left_overs_are_compared);
	tcase_add_test(tc, one_packing_or_collection_at_a_time);
	tcase_add_test(tc, packs_are_noticed_without_a_restart);
	tcase_add_test(tc, a_malformed_pack_is_reported_and_ignored);
	tcase_add_test(tc, packs_are_locked_while_they_are_served);
	tcase_add_test(tc, packed_xorbs_are_collected);
	tcase_add_test(tc, packs_may_be_read_only);
	tcase_add_test(tc, bytes_that_are_being_read_are_zeroed_by_a_later_collection);
	tcase_add_test(tc, a_damaged_packed_xorb_is_set_aside_and_comes_back);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
