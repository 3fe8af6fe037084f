#include "hub/path.h"

#include "base/utf8.h"
#include "index/hub/hub.h"

#include <stdint.h>
#include <string.h>

static bool path_is_text(const char *path)
{
	const uint8_t *p = (const uint8_t *)path;
	for (size_t left = strlen(path); left > 0;) {
		size_t n = cairn_utf8_sequence(p, left);
		if (n == 0 || *p < 0x20 || *p == 0x7f)
			return false;
		p += n;
		left -= n;
	}
	return true;
}

static bool path_has_bad_segment(const char *path)
{
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, "/");
		if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
			return true;
		at += len;
		if (*at == '\0')
			return false;
	}
}

const char *cairn_hub_path_fault(const char *path)
{
	if (strlen(path) > CAIRN_INDEX_PATH_MAX)
		return "a path has at most 1,024 bytes";
	if (!path_is_text(path))
		return "a path is UTF-8 without control characters";
	if (path_has_bad_segment(path) || strncmp(path, "..\\", 3) == 0)
		return "a path is names between slashes, none of them empty, \".\" or \"..\"";
	return NULL;
}

/* On Windows, a name with a drive ("C:x") or a leading backslash leaves the folder that it is joined to. Some programs
 * treat any character before a colon as a drive. */
static bool path_is_anchored(const char *part)
{
	size_t n = cairn_utf8_sequence((const uint8_t *)part, strlen(part));
	return part[0] == '\\' || part[n] == ':';
}

const char *cairn_hub_new_path_fault(const char *path)
{
	const char *fault = cairn_hub_path_fault(path);
	for (const char *part = path; part && !fault; part = strchr(part, '/')) {
		part += *part == '/';
		if (strcspn(part, "/") > CAIRN_HUB_NAME_BYTES_MAX)
			fault = "no name of a path has more than 255 bytes: file systems take no longer ones";
		else if (path_is_anchored(part))
			fault = "no name of a path begins with a drive (\"C:\") or a backslash: on Windows it leads out of its folder";
	}
	for (const char *part = path; part && !fault; part = strpbrk(part, "/\\")) {
		part += *part == '/' || *part == '\\';
		if (strcspn(part, "/\\") == 2 && part[0] == '.' && part[1] == '.')
			fault = "no path has \"..\" between backslashes: on Windows it leads out of its folder";
	}
	return fault;
}

/* Skips the characters that HFS+ ignores in names, as listed in git's utf8.c (next_hfs_char). */
static const char *path_behind_unseen(const char *p)
{
	for (;;) {
		const uint8_t *b = (const uint8_t *)p;
		bool marks = b[0] == 0xe2 && b[1] == 0x80 &&
			     ((b[2] >= 0x8c && b[2] <= 0x8f) || (b[2] >= 0xaa && b[2] <= 0xae));
		bool shapes = b[0] == 0xe2 && b[1] == 0x81 && b[2] >= 0xaa && b[2] <= 0xaf;
		bool order = b[0] == 0xef && b[1] == 0xbb && b[2] == 0xbf;
		if (!marks && !shapes && !order)
			return p;
		p += 3;
	}
}

static bool path_begins_as(const char *part, const char *name)
{
	const char *p = path_behind_unseen(part);
	for (; *name; name++) {
		char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
		if (c != *name)
			return false;
		p = path_behind_unseen(p + 1);
	}
	/* Windows drops trailing blanks and dots, and takes text after a colon for the name of a stream of the file. */
	while (*p == '.' || *p == ' ')
		p = path_behind_unseen(p + 1);
	return *p == '\0' || *p == '/' || *p == '\\' || *p == ':';
}

const char *cairn_hub_file_fault(const char *path)
{
	const char *fault = cairn_hub_new_path_fault(path);
	if (fault)
		return fault;
	for (const char *part = path; part; part = strpbrk(part, "/\\")) {
		part += *part == '/' || *part == '\\';
		if (path_begins_as(part, ".git") || path_begins_as(part, "git~1"))
			return "no name of a path is \".git\", nor one that a file system takes for it: git believes what is there";
	}
	return NULL;
}
