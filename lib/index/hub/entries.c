#include "index/hub/entries.h"

#include <string.h>

static const char ENTRIES_LAST[] = "\xff"; /* sorts after all UTF-8 */

const char *cairn_entries_split(const char *path, char folder[static CAIRN_INDEX_PATH_MAX + 1])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	if (strlen(path) > CAIRN_INDEX_PATH_MAX)
		return NULL;
	memcpy(folder, path, len);
	folder[len] = '\0';
	return slash ? slash + 1 : path;
}

void cairn_entries_below(struct cairn_entries_range *out, const char *folder)
{
	size_t len = strlen(folder);
	*out = (struct cairn_entries_range){0};
	memcpy(out->folder, folder, len);
	memcpy(out->folder + len, "/", 2);
	memcpy(out->last_folder, out->folder, len + 1);
	memcpy(out->last_folder + len + 1, ENTRIES_LAST, sizeof(ENTRIES_LAST));
}

static void entries_set(struct cairn_entries_range *out, const char *folder, const char *name)
{
	(void)memccpy(out->folder, folder, '\0', CAIRN_INDEX_PATH_MAX + 1);
	(void)memccpy(out->name, name, '\0', CAIRN_INDEX_PATH_MAX + 1);
}

unsigned cairn_entries_listed(struct cairn_entries_range out[static 2], const struct cairn_index_listing *listing)
{
	char after[CAIRN_INDEX_PATH_MAX + 1];
	const char *name = cairn_entries_split(listing->after, after);
	unsigned n = 0;
	if (!name || strlen(listing->folder) > CAIRN_INDEX_PATH_MAX)
		return 0;
	bool in_folder = listing->after[0] == '\0' || strcmp(after, listing->folder) == 0;
	if (in_folder) {
		out[n] = (struct cairn_entries_range){0};
		entries_set(&out[n], listing->folder, name);
		(void)memccpy(out[n].last_folder, listing->folder, '\0', CAIRN_INDEX_PATH_MAX + 1);
		n++;
	}
	if (!listing->recursive)
		return n;
	if (listing->folder[0]) {
		cairn_entries_below(&out[n], listing->folder);
	} else { /* below the top folder are all entries whose folder is not empty */
		out[n] = (struct cairn_entries_range){.folder = "\x01"};
		memcpy(out[n].last_folder, ENTRIES_LAST, sizeof(ENTRIES_LAST));
	}
	if (!in_folder)
		entries_set(&out[n], after, name);
	return n + 1;
}

bool cairn_entries_oid_range(const char *prefix, struct cairn_git_oid *low, struct cairn_git_oid *high)
{
	char text[CAIRN_GIT_OID_CHARS + 1];
	size_t len = strlen(prefix);
	if (len < CAIRN_INDEX_COMMIT_DIGITS_MIN || len > CAIRN_GIT_OID_CHARS)
		return false;
	memset(text, '0', sizeof(text) - 1);
	memcpy(text, prefix, len);
	text[CAIRN_GIT_OID_CHARS] = '\0';
	bool ok = cairn_git_oid_parse(text, low);
	memset(text + len, 'f', CAIRN_GIT_OID_CHARS - len);
	return cairn_git_oid_parse(text, high) && ok;
}
