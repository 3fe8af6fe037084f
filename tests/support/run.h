/* Ends main() of a Check program. */
#ifndef CAIRN_TEST_RUN_H
#define CAIRN_TEST_RUN_H

#include <check.h>
#include <stdlib.h>

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
