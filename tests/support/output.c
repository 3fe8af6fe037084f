#include "support/output.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void output_flush(void)
{
	ck_assert_int_eq(fflush(stdout), 0);
	ck_assert_int_eq(fflush(stderr), 0);
}

void output_begin(struct output *o)
{
	output_flush();
	for (int i = 0; i < 2; i++) {
		char path[] = "/tmp/cairn_output_XXXXXX";
		o->files[i] = mkstemp(path);
		ck_assert_int_ge(o->files[i], 0);
		ck_assert_int_eq(unlink(path), 0);
		o->kept[i] = dup(STDOUT_FILENO + i);
		ck_assert_int_ge(o->kept[i], 0);
		ck_assert_int_ge(dup2(o->files[i], STDOUT_FILENO + i), 0);
	}
}

void output_end(struct output *o)
{
	char *const texts[2] = {o->out, o->err};
	output_flush();
	for (int i = 0; i < 2; i++) {
		ck_assert_int_ge(dup2(o->kept[i], STDOUT_FILENO + i), 0);
		ssize_t n = pread(o->files[i], texts[i], OUTPUT_BYTES, 0);
		ck_assert_int_ge(n, 0);
		ck_assert_int_lt(n, OUTPUT_BYTES);
		texts[i][n] = 0;
		ck_assert_int_eq(close(o->files[i]), 0);
		ck_assert_int_eq(close(o->kept[i]), 0);
	}
}
