#include "hub/path.h"

#include "base/utf8.h"
#include "index/hub.h"

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

/* Behind characters that the file system of macOS leaves out of names, as git's utf8.c lists them (next_hfs_char). */
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
	/* Windows leaves blanks and dots at an end out, and takes what is behind a colon for another stream of the
	 * file. */
	while (*p == '.' || *p == ' ')
		p = path_behind_unseen(p + 1);
	return *p == '\0' || *p == '/' || *p == '\\' || *p == ':';
}

const char *cairn_hub_file_fault(const char *path)
{
	const char *fault = cairn_hub_path_fault(path);
	if (fault)
		return fault;
	for (const char *part = path; part; part = strpbrk(part, "/\\")) {
		part += *part == '/' || *part == '\\';
		if (path_begins_as(part, ".git") || path_begins_as(part, "git~1"))
			return "no name of a path is \".git\", nor one that a file system takes for it: git believes what is there";
	}
	return NULL;
}

static int path_hex(char c)
{
	static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(DIGITS, c) : NULL;
	return at ? (int)((at - DIGITS) % 16) : -1;
}

bool cairn_hub_unescape(char *out, size_t size, const char *text)
{
	size_t n = 0;
	for (const char *p = text; *p && n + 1 < size; p++) {
		int high = *p == '%' ? path_hex(p[1]) : 0, low = *p == '%' && high >= 0 ? path_hex(p[2]) : 0;
		if (high < 0 || low < 0 || (*p == '%' && high == 0 && low == 0))
			break;
		out[n++] = *p == '%' ? (char)(high * 16 + low) : *p;
		if (*p == '%')
			p += 2;
		if (p[1] == '\0') {
			out[n] = '\0';
			return true;
		}
	}
	out[0] = '\0';
	return *text == '\0';
}

void cairn_hub_escape(char *out, const char *text, bool slashes)
{
	static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	static const char HEX[] = "0123456789ABCDEF";
	for (const char *p = text; *p; p++) {
		if (strchr(PLAIN, *p) || (slashes && *p == '/')) {
			*out++ = *p;
			continue;
		}
		*out++ = '%';
		*out++ = HEX[(uint8_t)*p >> 4];
		*out++ = HEX[*p & 15];
	}
	*out = '\0';
}
