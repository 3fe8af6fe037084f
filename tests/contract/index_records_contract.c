/* How records read the rows of statements, the same over each engine. */
#include "index/records.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

CAIRN_SQL(THREE, "SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT $1 + 2 ORDER BY n");
CAIRN_SQL(ECHO, "SELECT CAST($1 AS bigint), $2, $3");
CAIRN_SQL(NONE, "SELECT 1 WHERE $1 = 2");

#define ONE CAIRN_ARGS(cairn_db_int(1))

START_TEST(rows_come_one_by_one)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	ck_assert_int_eq(cairn_records_find(fx_index, &rows, &THREE, ONE), CAIRN_OK);
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_eq(cairn_db_get_int(&rows, 0), i);
		ck_assert_int_eq(cairn_db_next(&rows), i < 3 ? CAIRN_OK : CAIRN_E_NOT_FOUND);
	}
}
END_TEST

START_TEST(no_row_is_not_found)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	ck_assert_int_eq(cairn_records_find(fx_index, &rows, &NONE, ONE), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(columns_are_the_arguments)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char text[8];
	uint8_t bytes[3];
	ck_assert_int_eq(cairn_records_find(fx_index, &rows, &ECHO,
					    CAIRN_ARGS(cairn_db_int(INT64_MIN), cairn_db_text("a \xc3\xa9"),
						       cairn_db_bytes("\0\1\2", 3))),
			 CAIRN_OK);
	ck_assert(cairn_db_get_int(&rows, 0) == INT64_MIN);
	cairn_db_get_text(&rows, 1, text, sizeof(text));
	cairn_db_get_fixed(&rows, 2, bytes, sizeof(bytes));
	ck_assert_int_eq(cairn_db_whole(&rows), CAIRN_OK);
	ck_assert_str_eq(text, "a \xc3\xa9");
	ck_assert_mem_eq(bytes, "\0\1\2", 3);
}
END_TEST

START_TEST(null_is_null)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	ck_assert_int_eq(
		cairn_records_find(fx_index, &rows, &ECHO,
				   CAIRN_ARGS(cairn_db_int_or_null(0), cairn_db_text(NULL), cairn_db_int_if(false, 7))),
		CAIRN_OK);
	for (int i = 0; i < 3; i++)
		ck_assert(cairn_db_is_null(&rows, i));
	ck_assert_int_eq(cairn_db_get_int(&rows, 0), 0);
	ck_assert_str_eq(cairn_db_borrow_text(&rows, 1), "");
}
END_TEST

/* The first text fits its buffer exactly; the second is a byte too long. */
START_TEST(a_value_that_does_not_fit_is_damaged)
{
	char four[4], five[5];
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	ck_assert_int_eq(cairn_records_find(fx_index, &rows, &ECHO,
					    CAIRN_ARGS(cairn_db_int(1), cairn_db_text("four"), cairn_db_text(""))),
			 CAIRN_OK);
	cairn_db_get_text(&rows, 1, five, sizeof(five));
	ck_assert_int_eq(cairn_db_whole(&rows), CAIRN_OK);
	cairn_db_get_text(&rows, 1, four, sizeof(four));
	ck_assert_str_eq(four, "");
	ck_assert_int_eq(cairn_db_whole(&rows), CAIRN_E_DAMAGED);
	ck_assert_int_eq(cairn_db_next(&rows), CAIRN_E_DAMAGED);
}
END_TEST

START_TEST(bytes_of_another_length_are_damaged)
{
	uint8_t bytes[2] = {7, 7};
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	ck_assert_int_eq(cairn_records_find(fx_index, &rows, &ECHO,
					    CAIRN_ARGS(cairn_db_int(1), cairn_db_text(""), cairn_db_bytes("abc", 3))),
			 CAIRN_OK);
	cairn_db_get_fixed(&rows, 2, bytes, sizeof(bytes));
	ck_assert_int_eq(cairn_db_whole(&rows), CAIRN_E_DAMAGED);
	ck_assert_uint_eq(bytes[0], 7);
}
END_TEST

/* Each statement of an exchange has its own rows, even if the same statement comes twice. */
START_TEST(two_answers_of_one_exchange)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows first = {0}, second = {0};
	ck_assert_int_eq(cairn_records_take(fx_index, &first), CAIRN_OK);
	struct cairn_db *db = first.db;
	cairn_db_queue(db, &first, &THREE, ONE);
	cairn_db_queue(db, &second, &THREE, CAIRN_ARGS(cairn_db_int(5)));
	ck_assert_int_eq(cairn_db_exchange(db), CAIRN_OK);
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_eq(cairn_db_next(&first), CAIRN_OK);
		ck_assert_int_eq(cairn_db_next(&second), CAIRN_OK);
		ck_assert_int_eq(cairn_db_get_int(&first, 0), i);
		ck_assert_int_eq(cairn_db_get_int(&second, 0), i < 3 ? i : 7);
	}
	ck_assert_int_eq(cairn_db_next(&first), CAIRN_E_NOT_FOUND);
	cairn_db_end(&second); /* ends before the rows that borrowed the connection */
}
END_TEST

START_TEST(rows_are_stale_after_the_next_statement)
{
	char text[8] = "x";
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0}, later = {0};
	ck_assert_int_eq(cairn_records_find(fx_index, &rows, &THREE, ONE), CAIRN_OK);
	ck_assert_int_eq(cairn_db_find(rows.db, &later, &THREE, ONE), CAIRN_OK);
	ck_assert(cairn_db_is_null(&rows, 0));
	ck_assert_int_eq(cairn_db_get_int(&rows, 0), 0);
	ck_assert_str_eq(cairn_db_borrow_text(&rows, 0), "");
	cairn_db_get_text(&rows, 0, text, sizeof(text));
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(cairn_db_whole(&rows), CAIRN_E_DAMAGED);
	ck_assert_int_eq(cairn_db_next(&rows), CAIRN_E_DAMAGED);
	ck_assert_int_eq(cairn_db_get_int(&later, 0), 1);
	cairn_db_end(&later);
}
END_TEST

/* tried before and after the statement is prepared */
START_TEST(a_wrong_number_of_arguments_is_refused)
{
	const struct cairn_db_args *wrong[] = {CAIRN_ARGS(cairn_db_int(1), cairn_db_int(2)), NULL};
	for (int i = 0; i < 4; i++) {
		CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0}, right = {0};
		ck_assert_int_eq(cairn_records_find(fx_index, &rows, &THREE, wrong[i / 2]), CAIRN_E_LIMIT);
		ck_assert_int_eq(cairn_records_find(fx_index, &right, &THREE, ONE), CAIRN_OK);
		ck_assert_int_eq(cairn_db_get_int(&right, 0), 1);
		cairn_db_end(&rows);
	}
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_records_contract");
	TCase *t = tcase_create("all");
	tcase_add_checked_fixture(t, fx_set_up, fx_tear_down);
	tcase_add_test(t, rows_come_one_by_one);
	tcase_add_test(t, no_row_is_not_found);
	tcase_add_test(t, columns_are_the_arguments);
	tcase_add_test(t, null_is_null);
	tcase_add_test(t, a_value_that_does_not_fit_is_damaged);
	tcase_add_test(t, bytes_of_another_length_are_damaged);
	tcase_add_test(t, two_answers_of_one_exchange);
	tcase_add_test(t, rows_are_stale_after_the_next_statement);
	tcase_add_test(t, a_wrong_number_of_arguments_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
