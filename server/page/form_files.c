#include "server/page/form_files.h"

#include <string.h>
#include <strings.h>

enum { FILES_BOUNDARY_MAX = 70, FILES_MARK_MAX = FILES_BOUNDARY_MAX + 4 };

static const char FILES_TYPE[] = "multipart/form-data", FILES_DISPOSITION[] = "content-disposition:";

/* Makes the delimiter before each part and after the last: "\r\n--" and the boundary. @return its length; 0: none */
static size_t files_mark(char out[static FILES_MARK_MAX], const char *type)
{
	const char *boundary = type ? strcasestr(type, "boundary=") : NULL;
	if (!boundary || strncasecmp(type, FILES_TYPE, sizeof(FILES_TYPE) - 1) != 0)
		return 0;
	boundary += strlen("boundary=");
	bool quoted = *boundary == '"';
	boundary += quoted;
	size_t len = strcspn(boundary, quoted ? "\"" : " ;,\t\"");
	if (len == 0 || len > FILES_BOUNDARY_MAX)
		return 0;
	memcpy(out, "\r\n--", 4);
	memcpy(out + 4, boundary, len);
	return len + 4;
}

/* Reads a quoted parameter; browsers escape quotes and line ends as "%22". @return false: too long, or no end */
static bool files_quoted(char *out, size_t room, const char *at, const char *end)
{
	size_t n = 0;
	for (; at < end && *at != '"'; n++) {
		bool is_quote = end - at >= 3 && memcmp(at, "%22", 3) == 0;
		if (n == room || *at == '\0')
			return false;
		out[n] = is_quote ? '"' : *at;
		at += is_quote ? 3 : 1;
	}
	out[n] = '\0';
	return at < end;
}

/* Finds the value of a parameter in a header line, "; name=\"…\"". @return NULL: absent */
static const char *files_parameter(const char *line, const char *end, const char *name)
{
	size_t len = strlen(name);
	bool in_quotes = false;
	for (const char *at = line; at < end; at++) {
		in_quotes = in_quotes != (*at == '"');
		if (!in_quotes && *at == ';') {
			const char *value = at + 1;
			while (value < end && *value == ' ')
				value++;
			if ((size_t)(end - value) > len + 2 && strncasecmp(value, name, len) == 0 &&
			    value[len] == '=' && value[len + 1] == '"')
				return value + len + 2;
		}
	}
	return NULL;
}

static bool files_head_line(struct form_part *part, const char *line, const char *end)
{
	size_t len = sizeof(FILES_DISPOSITION) - 1;
	if ((size_t)(end - line) < len || strncasecmp(line, FILES_DISPOSITION, len) != 0)
		return true;
	const char *name = files_parameter(line, end, "name"), *file = files_parameter(line, end, "filename");
	if (part->name[0]) /* a second name makes the part ambiguous */
		return false;
	part->is_file = file != NULL;
	return name && files_quoted(part->name, FORM_NAME_MAX, name, end) && part->name[0] &&
	       (!file || files_quoted(part->file, FORM_FILE_MAX, file, end));
}

/* Reads the header lines of a part. @return the part's bytes; NULL: malformed */
static const char *files_head(struct form_part *part, const char *at, const char *end)
{
	for (;;) {
		const char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
		if (!line)
			return NULL;
		if (line == at)
			return part->name[0] ? line + 2 : NULL;
		if (!files_head_line(part, at, line))
			return NULL;
		at = line + 2;
	}
}

bool form_files_read(struct form_files *out, const char *type, const uint8_t *bytes, size_t len)
{
	char mark[FILES_MARK_MAX];
	size_t mark_len = files_mark(mark, type);
	const char *at = (const char *)bytes, *end = at + len;
	*out = (struct form_files){0};
	/* The first delimiter may lack its line end. */
	if (mark_len == 0 || len < mark_len || memcmp(at, mark + 2, mark_len - 2) != 0)
		return false;
	for (at += mark_len - 2; end - at >= 2 && memcmp(at, "\r\n", 2) == 0;) {
		if (out->n == FORM_PARTS_MAX)
			return false;
		struct form_part *part = &out->parts[out->n++];
		at = files_head(part, at + 2, end);
		/* The delimiter after an empty part begins with the end of the part's head. */
		const char *next = at ? memmem(at - 2, (size_t)(end - at) + 2, mark, mark_len) : NULL;
		if (!next)
			return false;
		part->bytes = (const uint8_t *)at;
		part->len = next > at ? (size_t)(next - at) : 0;
		at = next + mark_len;
	}
	return end - at >= 2 && memcmp(at, "--", 2) == 0;
}

bool form_files_value(const struct form_files *files, const char *name, char *out, size_t size)
{
	out[0] = '\0';
	for (unsigned i = 0; i < files->n; i++) {
		const struct form_part *part = &files->parts[i];
		if (part->is_file || strcmp(part->name, name) != 0)
			continue;
		if (part->len >= size || memchr(part->bytes, '\0', part->len))
			return false;
		memcpy(out, part->bytes, part->len);
		out[part->len] = '\0';
		return true;
	}
	return true;
}
