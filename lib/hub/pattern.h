/* Matches paths against .gitattributes and .gitignore. Pure. */
#ifndef CAIRN_HUB_PATTERN_H
#define CAIRN_HUB_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The lines of a.gitattributes or.gitignore, as git reads them: "*" and "?" within a name, "**" across folders,
 * "[a-z]", "\" to escape a character. Borrows the text. Matching uses steps for each line, each name, and their bytes.
 * When no steps are left, every match ends at once and its result is meaningless. Only hostile texts need so many. */
struct cairn_hub_patterns {
	const char *text;
	size_t len;
	uint64_t steps_left;
};

/** Steps for the paths of one request: some tenths of a second. */
#define CAIRN_HUB_PATTERN_STEPS UINT64_C(50000000)

/** Does a .gitattributes give the path "filter=lfs"? The last matching line that sets or unsets a filter decides. */
bool cairn_hub_pattern_is_lfs(struct cairn_hub_patterns *attributes, const char *path);

/** Does a .gitignore exclude the path, or a folder above? At each folder, from the top, the last match decides. */
bool cairn_hub_pattern_is_ignored(struct cairn_hub_patterns *ignore, const char *path);

#endif
