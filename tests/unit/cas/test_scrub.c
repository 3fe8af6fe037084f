/* A scrub of a real folder finds each kind of damage, has it repaired, and leaves sound objects alone. */
#include "cas/keep/pack.h"
#include "cas/keep/scrub.h"
#include "cas/put/put_xorb.h"
#include "cas/stats.h"
#include "support/gc_fixture.h"
#include "support/run.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The results of a pass over all objects. */
struct pass {
	unsigned n, n_damaged, n_suspect, n_sound, n_lost, n_known_lost, n_unread;
	uint64_t bytes;
	unsigned stop_after; /* stop after this many blocks; 0: never */
};

static bool go_on(void *ctx, size_t bytes)
{
	struct pass *p = ctx;
	ck_assert_uint_gt(bytes, 0);
	return p->stop_after == 0 || --p->stop_after > 0;
}

static void count_end(struct pass *p, enum cairn_scrub_end end)
{
	p->n_sound += end == CAIRN_SCRUB_SOUND;
	p->n_lost += end == CAIRN_SCRUB_LOST;
	p->n_unread += end == CAIRN_SCRUB_UNREAD;
}

static struct pass scrub_all(struct gc_stock *s)
{
	struct pass p = {0};
	const struct cairn_scrub_pace pace = {go_on, &p};
	struct cairn_scrub_result look;
	enum cairn_status status;
	for (int64_t id = 0; (status = cairn_cas_scrub_next(s->g.f.cas, id, &pace, &look)) == CAIRN_OK; id = look.id) {
		enum cairn_scrub_end end;
		ck_assert_int_gt(look.id, id);
		p.n++;
		p.n_damaged += look.n_damaged;
		p.n_suspect += look.suspect;
		p.n_known_lost += look.lost;
		p.n_unread += look.unread;
		p.bytes += look.bytes;
		if (!look.suspect)
			continue;
		ck_assert_int_eq(cairn_cas_scrub_mend(s->g.f.cas, &look.xorb, &end), CAIRN_OK);
		count_end(&p, end);
	}
	ck_assert_int_eq(status, CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(p.n, 2);
	return p;
}

static void is_whole(struct gc_stock *s)
{
	struct pass p = scrub_all(s);
	ck_assert_uint_eq(p.n_suspect + p.n_known_lost + p.n_unread + p.n_damaged, 0);
	ck_assert_uint_eq(gc_problems(s->g.f.cas), 0);
}

static uint64_t noticed(struct gc_stock *s)
{
	struct cairn_cas_stats stats;
	cairn_cas_stats(s->g.f.cas, &stats);
	return stats.objects_damaged * 100 + stats.xorbs_lost * 10 + stats.xorbs_found;
}

START_TEST(sound_objects_stay)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	ck_assert_uint_eq(scrub_all(&s).bytes, s.x.body.len + s.other.body.len);
	is_whole(&s);
	ck_assert_uint_eq(noticed(&s), 0);
}
END_TEST

START_TEST(a_flipped_byte_is_lost_and_comes_back)
{
	static const off_t AT[] = {0, 2000};
	CLEANUP(gc_stock_fini) struct gc_stock s;
	uint64_t stored_bytes;
	bool inserted;
	gc_stock_init(&s);
	cas_flip_bit(&s.g.f, &s.x.made.hash, AT[_i]);
	struct pass p = scrub_all(&s);
	ck_assert_uint_eq(p.n_damaged, 1);
	ck_assert_uint_eq(p.n_suspect, 1);
	ck_assert_uint_eq(p.n_lost, 1);
	ck_assert_uint_eq(noticed(&s), 110);
	ck_assert_int_eq(cairn_cas_xorb(s.g.f.cas, &s.x.made.hash, &stored_bytes), CAIRN_E_NOT_FOUND);
	p = scrub_all(&s); /* the damage remains, but is known */
	ck_assert_uint_eq(p.n_lost, 1);
	ck_assert_uint_eq(noticed(&s), 110);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), 0); /* some chunks can be read, so the object stays */
	ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &s.x, &inserted), CAIRN_OK);
	ck_assert(inserted);
	is_whole(&s);
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &s.file.hash), CAIRN_OK);
}
END_TEST

START_TEST(a_missing_object)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
	ck_assert_int_eq(unlink(path), 0);
	struct pass p = scrub_all(&s);
	ck_assert_uint_eq(p.n_damaged, 0);
	ck_assert_uint_eq(p.n_lost, 1);
	p = scrub_all(&s);
	ck_assert_uint_eq(p.n_suspect, 0);
	ck_assert_uint_eq(p.n_known_lost, 1);
	ck_assert_uint_eq(noticed(&s), 10);
}
END_TEST

START_TEST(a_truncated_object)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
	ck_assert_int_eq(truncate(path, (off_t)(_i ? s.x.body.len - 1 : 0)), 0);
	struct pass p = scrub_all(&s);
	ck_assert_uint_eq(p.n_damaged, 1);
	ck_assert_uint_eq(p.n_lost, 1);
}
END_TEST

/* A copy that cannot be opened shows nothing about the xorb. */
START_TEST(an_object_that_cannot_be_read)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
	ck_assert_int_eq(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(symlink(path, path), 0); /* ELOOP before reaching the object */
	struct pass p = scrub_all(&s);
	ck_assert_uint_eq(p.n_unread, 1);
	ck_assert_uint_eq(p.n_lost + p.n_suspect, 0);
	ck_assert_uint_eq(noticed(&s), 0);
}
END_TEST

/* Packs all objects. Then writes a copy of xorb x back to the object folder. */
static void pack_and_unpack(struct gc_stock *s)
{
	struct cairn_pack_report report;
	struct cairn_diag diag = {0};
	struct vec_bytes *body = &s->x.body;
	const struct cairn_pack_options options = {.name = "a.shard"};
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s->g.f, &s->x.made.hash);
	ck_assert_int_eq(cairn_cas_pack(s->g.f.cas, &options, &report, &diag), CAIRN_OK);
	ck_assert_int_ne(access(path, F_OK), 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, body->bytes, body->len), (ssize_t)body->len);
	close(fd);
}

START_TEST(every_copy_is_read)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	pack_and_unpack(&s);
	struct pass p = scrub_all(&s);
	ck_assert_uint_eq(p.bytes, 2 * s.x.body.len + s.other.body.len);
	ck_assert_uint_eq(p.n_suspect, 0);
}
END_TEST

START_TEST(a_damaged_copy_before_a_sound_one_goes_aside)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	pack_and_unpack(&s);
	cas_flip_bit(&s.g.f, &s.x.made.hash, 2000);
	struct pass p = scrub_all(&s);
	ck_assert_uint_eq(p.n_damaged, 1);
	ck_assert_uint_eq(p.n_sound, 1);
	ck_assert_uint_eq(noticed(&s), 100);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), 1);
	is_whole(&s);
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &s.file.hash), CAIRN_OK);
}
END_TEST

/* The damaged copy is reported, but blocks nothing. */
START_TEST(a_damaged_copy_behind_a_sound_one_stays)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	pack_and_unpack(&s);
	CLEANUP(tempdir_textp) char *pack = tempdir_path(&s.g.f.dir, "packs/a.shard");
	for (off_t at = 700; at < (off_t)(s.x.body.len + s.other.body.len); at += 1000)
		tempdir_flip_bit(pack, at);
	struct pass p = scrub_all(&s);
	ck_assert_uint_eq(p.n_damaged, 2);
	ck_assert_uint_eq(p.n_sound, 1); /* x counts; the other xorb is in the pack only */
	ck_assert_uint_eq(p.n_lost, 1);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "objects"), 1);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), 0);
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &s.file.hash), CAIRN_OK);
}
END_TEST

START_TEST(a_lost_xorb_is_found_again)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
	CLEANUP(tempdir_textp) char *away = tempdir_path(&s.g.f.dir, "away");
	ck_assert_int_eq(rename(path, away), 0);
	ck_assert_uint_eq(scrub_all(&s).n_lost, 1);
	ck_assert_int_eq(rename(away, path), 0);
	ck_assert_uint_eq(scrub_all(&s).n_sound, 1);
	ck_assert_uint_eq(noticed(&s), 11);
	is_whole(&s);
}
END_TEST

START_TEST(a_scrub_stops_when_asked)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	struct pass p = {.stop_after = 1};
	const struct cairn_scrub_pace pace = {go_on, &p};
	struct cairn_scrub_result look;
	gc_stock_init(&s);
	ck_assert_int_eq(cairn_cas_scrub_next(s.g.f.cas, 0, &pace, &look), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_cas_scrub_next(s.g.f.cas, 0, &pace, &look), CAIRN_OK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scrub");
	TCase *tc = tcase_create("scrub");
	tcase_add_test(tc, sound_objects_stay);
	tcase_add_loop_test(tc, a_flipped_byte_is_lost_and_comes_back, 0, 2);
	tcase_add_test(tc, a_missing_object);
	tcase_add_loop_test(tc, a_truncated_object, 0, 2);
	tcase_add_test(tc, an_object_that_cannot_be_read);
	tcase_add_test(tc, every_copy_is_read);
	tcase_add_test(tc, a_damaged_copy_before_a_sound_one_goes_aside);
	tcase_add_test(tc, a_damaged_copy_behind_a_sound_one_stays);
	tcase_add_test(tc, a_lost_xorb_is_found_again);
	tcase_add_test(tc, a_scrub_stops_when_asked);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
