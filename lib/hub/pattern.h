/* What .gitattributes and .gitignore say of a path. Pure. */
#ifndef CAIRN_HUB_PATTERN_H
#define CAIRN_HUB_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The lines of such a file, as git reads them: "*" and "?" within a name, "**" over folders, "[a-z]", "\" before what
 * stands for itself. Borrows the text. Looking costs steps: for each line, each name, and what is read of them. Once
 * none are left, which comes of no text that is meant, each look ends at once and what it says is worth nothing.
 */
struct cairn_hub_patterns {
	const char *text;
	size_t len;
	uint64_t steps_left;
};

/** Steps for the paths of one request: some tenths of a second. */
#define CAIRN_HUB_PATTERN_STEPS UINT64_C(50000000)

/** Does a .gitattributes give the path "filter=lfs"? The last line that says something of its filter decides. */
bool cairn_hub_pattern_is_lfs(struct cairn_hub_patterns *attributes, const char *path);

/** Does a .gitignore leave the path out, or a folder that it is in? The last line that matches decides, at each folder
 * from the top. */
bool cairn_hub_pattern_is_ignored(struct cairn_hub_patterns *ignore, const char *path);

#endif
