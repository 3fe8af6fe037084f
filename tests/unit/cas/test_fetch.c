/* Fetches of a stored xorb: which can be verified at once with a cached list, and which cannot. */
#include "cas/internal.h"
#include "cas/object/mend.h"
#include "cas/serve/fetch.h"
#include "cas/stats.h"
#include "support/cas_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DENSE_XORB "40dc23e4e7c5709f17d8a426431ba954d49b84c15b2bd75483c327a1d1dc5304"

enum {
	PIECE_BYTES = 1000,
	STEP_BYTES = 300 * 1000, /* no chunk, and no block of marks, spans two pieces this far apart */
};

static struct cairn_hash the_xorb(void)
{
	return vec_hash_text(CAS_FIXTURE_XORB);
}

static struct cairn_cas_stats stats(const struct cas_fixture *f)
{
	struct cairn_cas_stats out;
	cairn_cas_stats(f->cas, &out);
	return out;
}

/* Makes a fetch of all granted bytes, for end_fetch(). */
static struct cairn_fetch *new_fetch(struct cairn_hash xorb, uint64_t first, uint64_t bytes)
{
	struct cairn_fetch *fetch = calloc(1, sizeof(*fetch));
	ck_assert_ptr_nonnull(fetch);
	fetch->xorb = xorb;
	fetch->granted.n = 1;
	fetch->granted.range[0] = (struct cairn_fetch_range){first, first + bytes - 1};
	return fetch;
}

static enum cairn_status end_fetch(struct cairn_fetch *fetch, enum cairn_status status)
{
	ck_assert((fetch->source.object != NULL) == (status == CAIRN_OK));
	cairn_fetch_source_fini(&fetch->source);
	free(fetch);
	return status;
}

/* Opens a fetch of these bytes, without a worker. */
static enum cairn_status open_bytes(const struct cas_fixture *f, uint32_t piece, uint64_t bytes)
{
	struct cairn_fetch *fetch = new_fetch(the_xorb(), (uint64_t)piece * STEP_BYTES, bytes);
	return end_fetch(fetch, cairn_fetch_open(f->cas, fetch, true, NULL));
}

static enum cairn_status open_piece(const struct cas_fixture *f, uint32_t piece)
{
	return open_bytes(f, piece, PIECE_BYTES);
}

static enum cairn_status verify_piece(const struct cas_fixture *f, uint32_t piece)
{
	struct cairn_fetch *fetch = new_fetch(the_xorb(), (uint64_t)piece * STEP_BYTES, PIECE_BYTES);
	return end_fetch(fetch, cairn_fetch_verify(f->cas, fetch, NULL, NULL, NULL));
}

static char *object_path(const struct cas_fixture *f)
{
	struct cairn_hash xorb = the_xorb();
	return cas_object_path(f, &xorb);
}

/* Replaces the object with another file of its length, with one byte changed in piece n. */
static void swap_object(const struct cas_fixture *f, uint32_t n, uint8_t change)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	CLEANUP(tempdir_textp) char *path = object_path(f);
	char other[600];
	(void)snprintf(other, sizeof(other), "%s/other", f->dir.path);
	body.bytes[(size_t)n * STEP_BYTES + PIECE_BYTES / 2] ^= change;
	int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, body.bytes, body.len), (ssize_t)body.len);
	close(fd);
	ck_assert_int_eq(rename(other, path), 0);
}

static void damage_list(const struct cas_fixture *f)
{
	fx_sql(f->dir.path, "UPDATE list SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB)");
}

/* The first fetch reads and verifies the chunk list. Later fetches only verify their own bytes, and need no worker. */
START_TEST(a_list_is_verified_once)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(open_piece(&f, 0), CAIRN_E_BUSY);
	ck_assert_int_eq(verify_piece(&f, 0), CAIRN_OK);
	ck_assert_int_eq(open_piece(&f, 0), CAIRN_OK);
	ck_assert_uint_eq(stats(&f).verified_lists_hits, 0);
	damage_list(&f);
	ck_assert_int_eq(open_piece(&f, 1), CAIRN_OK);
	ck_assert_int_eq(verify_piece(&f, 2), CAIRN_OK);
	ck_assert_uint_eq(stats(&f).verified_lists_hits, 2);
	ck_assert_uint_eq(stats(&f).verified_lists_added, 1);
	ck_assert_uint_eq(stats(&f).xorbs_found, 0);
}
END_TEST

/* A list whose root is not the hash of the xorb is never trusted. Here the object's own list replaces it. */
START_TEST(a_damaged_list_is_noticed)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	if (_i == 1)
		ck_assert_int_eq(verify_piece(&f, 0), CAIRN_OK);
	damage_list(&f);
	if (_i == 1)
		swap_object(&f, 0, 0); /* after a replacement by a file with the same bytes, the list is read again */
	ck_assert_int_eq(open_piece(&f, 1), CAIRN_E_BUSY);
	ck_assert_int_eq(verify_piece(&f, 1), CAIRN_OK);
	ck_assert_uint_eq(stats(&f).xorbs_found, 1);
	ck_assert_uint_eq(stats(&f).objects_damaged, 0);
}
END_TEST

START_TEST(an_object_that_is_swapped_is_verified_anew)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(verify_piece(&f, 0), CAIRN_OK);
	ck_assert_int_eq(open_piece(&f, 1), CAIRN_OK);
	swap_object(&f, 1, 1);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(open_piece(&f, i), CAIRN_E_BUSY);
	ck_assert_int_eq(verify_piece(&f, 0), CAIRN_OK);
	ck_assert_int_eq(open_piece(&f, 1), CAIRN_E_BUSY);
	ck_assert_int_eq(verify_piece(&f, 1), CAIRN_E_DAMAGED);
	ck_assert_uint_eq(stats(&f).objects_damaged, 1);
	ck_assert_uint_eq(stats(&f).xorbs_lost, 1);
}
END_TEST

/* The same holds with a cached list. */
START_TEST(an_object_that_is_written_to_is_verified_anew)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(tempdir_textp) char *path = object_path(&f);
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(verify_piece(&f, 0), CAIRN_OK);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "x", 1, STEP_BYTES + PIECE_BYTES / 2), 1);
	close(fd);
	ck_assert_int_eq(open_piece(&f, 1), CAIRN_E_BUSY);
	ck_assert_int_eq(verify_piece(&f, 1), CAIRN_E_DAMAGED);
}
END_TEST

/* A sound object that counts as lost is recorded again, even if its list is cached. */
START_TEST(a_sound_object_that_counts_as_lost_is_recorded_again)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_hash xorb = the_xorb();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(verify_piece(&f, 0), CAIRN_OK);
	ck_assert_int_eq(cas_lose(f.cas, &xorb, &(struct cairn_copy_id){0}), CAIRN_OK);
	ck_assert_int_eq(open_piece(&f, 1), CAIRN_E_BUSY);
	ck_assert_int_eq(verify_piece(&f, 1), CAIRN_OK);
	ck_assert_uint_eq(stats(&f).xorbs_found, 1);
	ck_assert_int_eq(open_piece(&f, 2), CAIRN_OK);
}
END_TEST

/* The thread that opens the fetch serves other clients, so a longer verification is left to a worker. */
START_TEST(only_little_is_verified_at_once)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert_int_eq(verify_piece(&f, 0), CAIRN_OK);
	ck_assert_int_eq(open_bytes(&f, 1, CAIRN_FETCH_OPEN_BYTES + 1), CAIRN_E_BUSY);
	ck_assert_int_eq(open_bytes(&f, 1, CAIRN_FETCH_OPEN_BYTES), CAIRN_OK);
}
END_TEST

/* 88 chunks of 128 KiB, each 548 bytes in the object: verifying a block of 32 KiB takes as long as 7 MiB of others. */
START_TEST(many_chunks_in_few_bytes_are_not_verified_at_once)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" DENSE_XORB);
	struct cairn_fetch *fetch = new_fetch(vec_hash_text(DENSE_XORB), 0, 1);
	bool inserted;
	ck_assert_int_eq(cas_put_xorb(f.cas, DENSE_XORB, &body, &inserted, NULL), CAIRN_OK);
	ck_assert_int_eq(end_fetch(fetch, cairn_fetch_verify(f.cas, fetch, NULL, NULL, NULL)), CAIRN_OK);
	fetch = new_fetch(vec_hash_text(DENSE_XORB), 40 * 1000, 1);
	ck_assert_int_eq(end_fetch(fetch, cairn_fetch_open(f.cas, fetch, true, NULL)), CAIRN_E_BUSY);
	fetch = new_fetch(vec_hash_text(DENSE_XORB), 40 * 1000, 1);
	ck_assert_int_eq(end_fetch(fetch, cairn_fetch_verify(f.cas, fetch, NULL, NULL, NULL)), CAIRN_OK);
	ck_assert_uint_eq(stats(&f).verified_lists_added, 1);
}
END_TEST

static Suite *fetch_suite(void)
{
	Suite *s = suite_create("fetch");
	TCase *t = tcase_create("fetch");
	tcase_add_test(t, a_list_is_verified_once);
	tcase_add_loop_test(t, a_damaged_list_is_noticed, 0, 2);
	tcase_add_test(t, an_object_that_is_swapped_is_verified_anew);
	tcase_add_test(t, an_object_that_is_written_to_is_verified_anew);
	tcase_add_test(t, a_sound_object_that_counts_as_lost_is_recorded_again);
	tcase_add_test(t, only_little_is_verified_at_once);
	tcase_add_test(t, many_chunks_in_few_bytes_are_not_verified_at_once);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(fetch_suite());
}
