/* Ends main() of a Check program. */
#ifndef CAIRN_TEST_RUN_H
#define CAIRN_TEST_RUN_H

#include <check.h>
#include <stdlib.h>

/* Check would end each test after 4 seconds, which a busy machine may need. meson ends a program that hangs. */
__attribute__((constructor)) static inline void set_no_time_limit(void)
{
	setenv("CK_DEFAULT_TIMEOUT", "0", 0);
}

/** Runs a suite and frees it. CK_VERBOSITY selects how much is printed. @return the exit status of main() */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
