/* Backups and restores that are interrupted, and stores that change before a backup continues. */
#include "backup/backup.h"
#include "backup/backup_prune.h"
#include "backup/bundle.h"
#include "backup/restore.h"
#include "support/gc_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { XORBS = 9, BUNDLE_BYTES = 20000 }; /* three or four xorbs fit into a bundle (one chunk of the archive) */

struct backup_fixture {
	struct gc_fixture g;
	struct tempdir dir; /* contains the backup and the restored folder */
	char *data, *out, *restored;
	struct gc_xorb xorbs[XORBS];
	struct gc_file files[XORBS];
};

static void backup_fixture_init(struct backup_fixture *b)
{
	gc_fixture_init(&b->g);
	b->dir = tempdir_new();
	b->data = strdup(b->g.f.dir.path);
	b->out = tempdir_path(&b->dir, "b.fold");
	b->restored = tempdir_path(&b->dir, "data");
	for (unsigned i = 0; i < XORBS; i++) {
		gc_xorb_init(&b->xorbs[i], 100 + i, 3 + i % 2);
		gc_put_whole(b->g.f.cas, &b->xorbs[i], &b->files[i]);
	}
}

static void backup_fixture_fini(struct backup_fixture *b)
{
	for (unsigned i = 0; i < XORBS; i++) {
		gc_file_fini(&b->files[i]);
		gc_xorb_fini(&b->xorbs[i]);
	}
	free(b->data);
	free(b->out);
	free(b->restored);
	tempdir_fini(&b->dir);
	gc_fixture_fini(&b->g);
}

static bool backup_stop_after(void *ctx, const struct cairn_backup_report *so_far)
{
	const unsigned *n_chunks = ctx;
	return so_far->n_chunks < *n_chunks;
}

/* Makes a backup. @param n_chunks  stop after this many chunks; 0: never */
static enum cairn_status backup_try(const struct backup_fixture *b, unsigned n_chunks, unsigned parity,
				    struct cairn_backup_report *report)
{
	struct cairn_diag diag = {0};
	const struct cairn_backup_options options = {
		.data_dir = b->data,
		.out = b->out,
		.zstd_level = 1,
		.parity = parity,
		.bundle_bytes = BUNDLE_BYTES,
		.progress = n_chunks > 0 ? backup_stop_after : NULL,
		.ctx = &n_chunks,
	};
	enum cairn_status status = cairn_backup(&options, report, &diag);
	ck_assert_msg(status == CAIRN_OK || status == CAIRN_E_BUSY || diag.rule, "no reason");
	return status;
}

static bool restore_stop_after(void *ctx, const struct cairn_restore_report *so_far)
{
	const unsigned *n_objects = ctx;
	return so_far->n_objects < *n_objects;
}

static enum cairn_status restore_try(const struct backup_fixture *b, unsigned n_objects,
				     struct cairn_restore_report *report, struct cairn_diag *diag)
{
	const struct cairn_restore_options options = {
		.path = b->out,
		.data_dir = b->restored,
		.progress = n_objects > 0 ? restore_stop_after : NULL,
		.ctx = &n_objects,
	};
	*diag = (struct cairn_diag){0};
	return cairn_restore(&options, report, diag);
}

/* Opens the restored folder. A check must find nothing wrong, and n files must be readable. */
static void backup_check_restored(struct backup_fixture *b, unsigned n_files)
{
	CLEANUP(cairn_data_dir_freep) struct cairn_data_dir *data = NULL;
	CLEANUP(cairn_cas_freep) struct cairn_cas *cas = NULL;
	struct cairn_cas_options options = CAIRN_CAS_DEFAULTS;
	struct cairn_diag diag = {0};
	unsigned n = 0;
	options.reserve_bytes = 0;
	ck_assert_msg(cas_open_folder(b->restored, &options, &data, &cas, &diag) == CAIRN_OK, "%s", diag.text);
	ck_assert_uint_eq(gc_problems(cas), 0);
	for (unsigned i = 0; i < XORBS; i++)
		n += gc_read_back(cas, &b->files[i].hash) == CAIRN_OK;
	ck_assert_uint_eq(n, n_files);
}

/* Forgets the first n files, and removes their xorbs. */
static void backup_collect(struct backup_fixture *b, unsigned n)
{
	bool forgotten;
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(cairn_cas_forget(b->g.f.cas, &b->files[i].hash, NULL, &forgotten), CAIRN_OK);
	ck_assert_uint_eq(gc_collect_all(&b->g).n_swept, n);
}

START_TEST(backup_goes_on_after_every_chunk)
{
	for (unsigned parity = 0; parity <= 16; parity += 16) {
		CLEANUP(backup_fixture_fini) struct backup_fixture b;
		struct cairn_backup_report report;
		struct cairn_restore_report restored;
		struct cairn_diag diag;
		unsigned n_stops = 0;
		backup_fixture_init(&b);
		for (unsigned stop = 1; backup_try(&b, stop, parity, &report) == CAIRN_E_BUSY; stop++) {
			ck_assert_int_ne(access(b.out, F_OK), 0);
			n_stops++;
		}
		ck_assert_uint_ge(n_stops, 3);
		ck_assert_uint_eq(report.n_objects, XORBS);
		ck_assert_uint_eq(report.n_kept, XORBS);
		ck_assert_int_eq(tempdir_count(&b.dir, ""), 1); /* no other file is left in the folder */
		for (unsigned stop = 1; restore_try(&b, stop, &restored, &diag) == CAIRN_E_BUSY; stop += 3) {
			struct cairn_data_dir *data;
			const struct cairn_data_dir_options options = {.path = b.restored};
			diag = (struct cairn_diag){0};
			ck_assert_int_eq(cairn_data_dir_open(&data, &options, &diag), CAIRN_E_CONFLICT);
			ck_assert_str_eq(diag.rule, "data_dir.restoring");
		}
		ck_assert_uint_eq(restored.n_objects, XORBS);
		ck_assert_uint_ge(restored.n_found, 3);
		backup_check_restored(&b, XORBS);
	}
}
END_TEST

static enum cairn_status backup_try_folder(const struct backup_fixture *b, unsigned n_chunks, unsigned parity,
					   struct cairn_backup_report *report)
{
	struct cairn_diag diag = {0};
	const struct cairn_backup_options options = {
		.data_dir = b->data,
		.out = b->out,
		.incremental = true,
		.zstd_level = 1,
		.parity = parity,
		.bundle_bytes = BUNDLE_BYTES,
		.progress = n_chunks > 0 ? backup_stop_after : NULL,
		.ctx = &n_chunks,
	};
	enum cairn_status status = cairn_backup(&options, report, &diag);
	ck_assert_msg(status == CAIRN_OK || status == CAIRN_E_BUSY, "%s", diag.text);
	return status;
}

/* The backup is stopped after each chunk, of objects and of the index. The objects have their final name by then. */
START_TEST(backup_into_a_folder_goes_on_after_every_chunk)
{
	for (unsigned parity = 0; parity <= 16; parity += 16) {
		CLEANUP(backup_fixture_fini) struct backup_fixture b;
		struct cairn_backup_report report;
		struct cairn_restore_report restored;
		struct cairn_diag diag;
		unsigned n_stops = 0;
		backup_fixture_init(&b);
		for (unsigned stop = 1; backup_try_folder(&b, stop, parity, &report) == CAIRN_E_BUSY; stop++)
			n_stops++;
		ck_assert_uint_ge(n_stops, 3);
		ck_assert_uint_eq(report.n_kept + report.n_earlier, XORBS);
		ck_assert_str_ne(report.moment, "");
		for (unsigned stop = 1; restore_try(&b, stop, &restored, &diag) == CAIRN_E_BUSY; stop += 3)
			ck_assert_uint_gt(restored.n_objects, 0);
		ck_assert_uint_eq(restored.n_objects, XORBS);
		ck_assert_str_eq(restored.moment, report.moment);
		backup_check_restored(&b, XORBS);
		/* another backup finds all objects in the folder */
		ck_assert_int_eq(backup_try_folder(&b, 0, parity, &report), CAIRN_OK);
		ck_assert_uint_eq(report.n_earlier, XORBS);
		ck_assert_uint_eq(report.n_objects, 0);
	}
}
END_TEST

/* A xorb in the file of an interrupted backup is collected, and uploaded again after the other xorbs. */
START_TEST(backup_into_a_folder_of_a_store_that_changed)
{
	CLEANUP(backup_fixture_fini) struct backup_fixture b;
	struct cairn_backup_report report;
	struct cairn_restore_report restored;
	struct cairn_diag diag;
	backup_fixture_init(&b);
	ck_assert_int_eq(backup_try_folder(&b, 2, 0, &report), CAIRN_E_BUSY);
	backup_collect(&b, 1);
	ck_assert_int_eq(backup_try_folder(&b, 0, 0, &report), CAIRN_OK);
	ck_assert_uint_gt(report.n_kept, 0);
	gc_file_fini(&b.files[0]);
	gc_put_whole(b.g.f.cas, &b.xorbs[0], &b.files[0]);
	ck_assert_int_eq(backup_try_folder(&b, 0, 0, &report), CAIRN_OK);
	ck_assert_uint_eq(report.n_objects, 1);
	ck_assert_uint_eq(report.n_earlier, XORBS - 1);
	ck_assert_int_eq(restore_try(&b, 0, &restored, &diag), CAIRN_OK);
	backup_check_restored(&b, XORBS);
}
END_TEST

static bool prune_stop_after(void *ctx, uint64_t done_bytes, uint64_t total_bytes)
{
	unsigned *n_calls = ctx;
	ck_assert_uint_le(done_bytes, total_bytes);
	return --*n_calls > 0;
}

/* Prunes all backups but the last. @param n_calls  stop after this many calls of progress; 0: never */
static enum cairn_status prune_try(const struct backup_fixture *b, unsigned max_unused_percent, unsigned n_calls,
				   struct cairn_backup_prune_report *report)
{
	CLEANUP(cairn_backup_set_close) struct cairn_backup_set set = {.dir_fd = -1, .lock_fd = -1};
	struct cairn_diag diag = {0};
	const struct cairn_backup_prune_options options = {
		.rules = {.last = 1},
		.max_unused_percent = max_unused_percent,
		.progress = n_calls > 0 ? prune_stop_after : NULL,
		.ctx = &n_calls,
	};
	ck_assert_int_eq(cairn_backup_set_open(&set, b->out, true, &diag), CAIRN_OK);
	enum cairn_status status = cairn_backup_prune(&set, &options, report, &diag);
	ck_assert_msg(status == CAIRN_OK || status == CAIRN_E_BUSY, "%s", diag.text);
	return status;
}

static void backup_bad(void *ctx, const struct cairn_backup_archive *archive, const struct cairn_diag *why)
{
	(void)ctx;
	(void)archive;
	ck_abort_msg("%s", why->text);
}

/* Verifies the backup. @return the only archive of objects that is left */
static struct cairn_backup_archive backup_one_archive(const struct backup_fixture *b)
{
	CLEANUP(cairn_backup_set_close) struct cairn_backup_set set = {.dir_fd = -1, .lock_fd = -1};
	struct cairn_backup_verify_report report;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_backup_set_open(&set, b->out, true, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_backup_verify(&set, backup_bad, NULL, NULL, &report, &diag), CAIRN_OK);
	ck_assert_uint_eq(set.n, 2);
	struct cairn_backup_archive found = set.archives[set.archives[0].is_moment];
	ck_assert(!found.is_moment);
	return found;
}

/* The first bundle is no longer needed, the second is needed in part, the third as a whole. */
START_TEST(pruning_copies_needed_objects)
{
	enum { FORGOTTEN = 5 }; /* these fill bundles of three, three and three, or of four, four and one */
	for (unsigned parity = 0; parity <= 16; parity += 16) {
		CLEANUP(backup_fixture_fini) struct backup_fixture b;
		struct cairn_backup_report report;
		struct cairn_backup_prune_report pruned;
		struct cairn_restore_report restored;
		struct cairn_diag diag;
		backup_fixture_init(&b);
		ck_assert_int_eq(backup_try_folder(&b, 0, parity, &report), CAIRN_OK);
		backup_collect(&b, FORGOTTEN);
		ck_assert_int_eq(backup_try_folder(&b, 0, parity, &report), CAIRN_OK);
		ck_assert_int_eq(prune_try(&b, 100, 0, &pruned), CAIRN_OK);
		ck_assert_uint_eq(pruned.n_archives_rewritten, 0);
		ck_assert_uint_gt(pruned.unused_bytes, 0);
		struct cairn_backup_archive before = backup_one_archive(&b);
		/* a pruning that was stopped leaves the archive unchanged */
		ck_assert_int_eq(prune_try(&b, 50, 1, &pruned), CAIRN_E_BUSY);
		ck_assert_uint_eq(pruned.freed_bytes, 0);
		ck_assert_str_eq(backup_one_archive(&b).time, before.time);
		ck_assert_int_eq(prune_try(&b, 50, 0, &pruned), CAIRN_OK);
		ck_assert_uint_eq(pruned.n_archives_rewritten, 1);
		ck_assert_uint_eq(pruned.unused_bytes, 0);
		struct cairn_backup_archive after = backup_one_archive(&b);
		ck_assert_str_gt(after.time, before.time);
		ck_assert_uint_eq(pruned.freed_bytes, before.bytes - after.bytes);
		ck_assert_uint_lt(after.bytes, before.bytes / 2 + before.bytes / 10);
		ck_assert_int_eq(restore_try(&b, 0, &restored, &diag), CAIRN_OK);
		backup_check_restored(&b, XORBS - FORGOTTEN);
		ck_assert_int_eq(prune_try(&b, 0, 0, &pruned), CAIRN_OK);
		ck_assert_uint_eq(pruned.n_archives_rewritten, 0);
	}
}
END_TEST

START_TEST(backup_goes_on_with_a_store_that_changed)
{
	CLEANUP(backup_fixture_fini) struct backup_fixture b;
	struct cairn_backup_report report;
	struct cairn_restore_report restored;
	struct cairn_diag diag;
	backup_fixture_init(&b);
	ck_assert_int_eq(backup_try(&b, 2, 0, &report), CAIRN_E_BUSY);
	/* A xorb in the interrupted backup's file is collected before the backup continues. */
	backup_collect(&b, 1);
	ck_assert_int_eq(backup_try(&b, 0, 0, &report), CAIRN_OK);
	ck_assert_uint_gt(report.n_kept, 0);
	ck_assert_uint_eq(report.n_objects, XORBS - 1);
	ck_assert_int_eq(restore_try(&b, 0, &restored, &diag), CAIRN_OK);
	ck_assert_uint_eq(restored.n_objects, XORBS - 1);
	backup_check_restored(&b, XORBS - 1);
}
END_TEST

static int backup_swap_byte(const char *path, int byte)
{
	FILE *file = fopen(path, "r+b");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, 100, SEEK_SET), 0);
	int before = fgetc(file);
	ck_assert_int_eq(fseek(file, 100, SEEK_SET), 0);
	ck_assert_int_ne(fputc(byte, file), EOF);
	ck_assert_int_eq(fclose(file), 0);
	return before;
}

/* An object of the same name and length has other bytes. It is read again, and left out because it is damaged. */
START_TEST(a_continued_backup_reads_a_changed_object_again)
{
	CLEANUP(backup_fixture_fini) struct backup_fixture b;
	struct cairn_backup_report report;
	struct cairn_hash hash;
	backup_fixture_init(&b);
	ck_assert_int_eq(backup_try(&b, 2, 0, &report), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_hash_parse(&hash, b.xorbs[0].text, 64), CAIRN_OK);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&b.g.f, &hash);
	int before = backup_swap_byte(path, 'x');
	ck_assert_int_eq(backup_try(&b, 0, 0, &report), CAIRN_E_MISMATCH);
	ck_assert_uint_eq(report.n_kept, 0); /* the changed object is in the first chunk */
	ck_assert_uint_eq(report.n_objects, XORBS - 1);
	ck_assert_uint_eq(report.n_damaged, 1);
	ck_assert_int_eq(backup_swap_byte(path, before), 'x');
	ck_assert_int_eq(backup_try(&b, 0, 0, &report), CAIRN_OK);
	ck_assert_uint_eq(report.n_kept, XORBS - 1);
	ck_assert_uint_eq(report.n_objects, XORBS);
}
END_TEST

START_TEST(backup_survives_a_torn_end)
{
	CLEANUP(backup_fixture_fini) struct backup_fixture b;
	struct cairn_backup_report report, whole;
	struct cairn_restore_report restored;
	struct cairn_diag diag;
	char part[4200];
	backup_fixture_init(&b);
	ck_assert_int_eq(backup_try(&b, 2, 16, &report), CAIRN_E_BUSY);
	(void)snprintf(part, sizeof(part), "%s.part", b.out);
	ck_assert_int_eq(truncate(part, (off_t)report.file_bytes - 1), 0);
	ck_assert_int_eq(backup_try(&b, 0, 16, &whole), CAIRN_OK);
	ck_assert_uint_gt(whole.n_kept, 0);
	ck_assert_uint_lt(whole.n_kept, report.n_objects);
	ck_assert_int_eq(restore_try(&b, 0, &restored, &diag), CAIRN_OK);
	backup_check_restored(&b, XORBS);
}
END_TEST

static enum cairn_status bundle_count(void *ctx, const struct cairn_bundle_object *object)
{
	uint64_t *sum = ctx;
	for (uint64_t i = 0; i < object->len; i++)
		*sum += object->bytes[i];
	return CAIRN_OK;
}

START_TEST(backup_bundles_are_checked)
{
	enum { DATA_BYTES = 18 };
	CLEANUP(cairn_buf_fini) struct cairn_buf data = cairn_buf_init(1000);
	CLEANUP(cairn_buf_fini) struct cairn_buf entries = cairn_buf_init(1000);
	struct cairn_hash hash = {{1}};
	uint64_t sum = 0;
	cairn_buf_add(&data, "\1\2\3\4\5\1\2\3\4\5\1\2\3\4\5\1\2\3", DATA_BYTES);
	cairn_bundle_entry(&entries, &hash, 8);
	cairn_bundle_entry(&entries, &hash, 10);
	cairn_bundle_end(&data, &entries);
	ck_assert_int_eq(cairn_bundle_each(data.bytes, data.len, bundle_count, &sum, NULL), CAIRN_OK);
	ck_assert_uint_eq(sum, 51);
	for (size_t cut = 1; cut <= data.len; cut++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_copy(data.bytes + cut, data.len - cut);
		struct cairn_diag diag = {0};
		ck_assert_int_eq(cairn_bundle_each(b.bytes, b.len, bundle_count, &sum, &diag), CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "backup.bundle");
	}
	for (size_t at = DATA_BYTES; at < data.len; at++) { /* length, count and name */
		CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_copy(data.bytes, data.len);
		size_t field = (at - DATA_BYTES) % CAIRN_BUNDLE_ENTRY_BYTES;
		if (at < DATA_BYTES + 2 * CAIRN_BUNDLE_ENTRY_BYTES && field < 32)
			continue; /* any bytes may be a hash */
		b.bytes[at] ^= 0x81;
		ck_assert_int_eq(cairn_bundle_each(b.bytes, b.len, bundle_count, &sum, NULL), CAIRN_E_FORMAT);
	}
}
END_TEST

/* No object may be shorter than a xorb's header: each would be written durably, although it cannot be a xorb. */
START_TEST(objects_of_a_bundle_are_no_shorter_than_a_header)
{
	for (uint64_t len = 0; len <= 8; len++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf data = cairn_buf_init(1000);
		CLEANUP(cairn_buf_fini) struct cairn_buf entries = cairn_buf_init(1000);
		struct cairn_hash hash = {{1}};
		struct cairn_diag diag = {0};
		uint64_t sum = 0;
		cairn_buf_fill(&data, 1, len);
		cairn_bundle_entry(&entries, &hash, len);
		cairn_bundle_end(&data, &entries);
		enum cairn_status expected = len < 8 ? CAIRN_E_FORMAT : CAIRN_OK;
		ck_assert_int_eq(cairn_bundle_each(data.bytes, data.len, bundle_count, &sum, &diag), expected);
		ck_assert_uint_eq(sum, len < 8 ? 0 : len);
	}
}
END_TEST

START_TEST(an_index_that_cannot_be_read_leaves_no_file)
{
	struct backup_fixture b;
	struct cairn_backup_report report;
	char part[4096];
	backup_fixture_init(&b);
	(void)snprintf(part, sizeof(part), "%s.part", b.out);
	fx_sql(b.data, "PRAGMA user_version = 99");
	ck_assert_int_eq(backup_try(&b, 0, 0, &report), CAIRN_E_CONFLICT);
	ck_assert_int_ne(access(part, F_OK), 0);
	backup_fixture_fini(&b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backup");
	TCase *tcase = tcase_create("backup");
	tcase_add_test(tcase, backup_goes_on_after_every_chunk);
	tcase_add_test(tcase, backup_goes_on_with_a_store_that_changed);
	tcase_add_test(tcase, backup_into_a_folder_goes_on_after_every_chunk);
	tcase_add_test(tcase, backup_into_a_folder_of_a_store_that_changed);
	tcase_add_test(tcase, pruning_copies_needed_objects);
	tcase_add_test(tcase, a_continued_backup_reads_a_changed_object_again);
	tcase_add_test(tcase, backup_survives_a_torn_end);
	tcase_add_test(tcase, backup_bundles_are_checked);
	tcase_add_test(tcase, objects_of_a_bundle_are_no_shorter_than_a_header);
	tcase_add_test(tcase, an_index_that_cannot_be_read_leaves_no_file);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
