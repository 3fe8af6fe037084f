/* Fixtures for tests of mirrored repositories: files whose bytes come later, states, and the operator's settings. For
 * indexes of history_fixture.h. */
#ifndef CAIRN_TESTS_SUPPORT_INDEX_MIRRORED_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_INDEX_MIRRORED_FIXTURE_H

#include "index/hub/mirror_list.h"
#include "index/hub/mirror_state.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"

/** Makes an operation that puts a file whose bytes come later: a text, or file `number` of the store. */
struct cairn_index_operation mx_absent(const char *path, const char *text);
struct cairn_index_operation mx_absent_file(const char *path, uint64_t number, uint64_t size_bytes);

/** Makes a repository of a new account of the mirrored hub, "Far". Its first commit has the id 0x11… and these files.
 * @return its number */
int64_t mx_mirrored(const char *name, const struct cairn_index_operation *operations, uint32_t n);
/** Makes another repository of the account that mx_mirrored() made. */
int64_t mx_mirrored_too(const char *name, const struct cairn_index_operation *operations, uint32_t n);
/** Makes a mirrored repository with a text and two files of the store, "one" and "two". All their bytes have come. */
int64_t mx_mirrored_with_files(void);
/** Adds a file of the store whose bytes have come. */
void mx_add_file(int64_t repo, const char *path, uint64_t number);

/** Finds a file of main, which must be there. */
struct cairn_index_entry mx_entry(int64_t repo, const char *path);
/** Gives a file its bytes: a text, or file `number` of the store. @return as cairn_index_fill_content() */
enum cairn_status mx_fill(int64_t repo, const char *path, const char *text);
enum cairn_status mx_fill_file(int64_t repo, const char *path, uint64_t number);
/** Notes that a content was read on a day since 1970. */
void mx_use(int64_t content, int64_t day);

/** @return as cairn_index_set_mirror_state() */
enum cairn_status mx_set_state(int64_t repo, enum cairn_index_mirror_state state, int64_t looked_unix_s);
/** @return as cairn_index_set_ahead() */
enum cairn_status mx_set_ahead(int64_t repo, int64_t every_s, bool keeps, const char *include);

#endif
