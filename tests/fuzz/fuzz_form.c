/* A form with files: the first line is its Content-Type, the rest is the body. Parts lie within the body, and their
 * names fit. Writing the parts as a form and reading that gives the same parts. */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "server/page/form_files.h"

#include <stdio.h>

enum { FORM_VALUE_BYTES = 64, FORM_WRITTEN_MAX = 1 << 24 };

static void form_put_quoted(struct cairn_buf *out, const char *text)
{
	cairn_buf_add(out, "\"", 1);
	for (; *text; text++)
		cairn_buf_add(out, *text == '"' ? "%22" : text, *text == '"' ? 3 : 1);
	cairn_buf_add(out, "\"", 1);
}

static void form_put_part(struct cairn_buf *out, const char *boundary, const struct form_part *part)
{
	cairn_buf_printf(out, "--%s\r\nContent-Disposition: form-data; name=", boundary);
	form_put_quoted(out, part->name);
	if (part->is_file) {
		cairn_buf_printf(out, "; filename=");
		form_put_quoted(out, part->file);
	}
	cairn_buf_printf(out, "\r\n\r\n");
	cairn_buf_add(out, part->bytes, part->len);
	cairn_buf_printf(out, "\r\n");
}

/* Makes a boundary that occurs in no part. */
static void form_boundary(char out[static 16], const uint8_t *bytes, size_t len)
{
	for (unsigned n = 0;; n++) {
		int room = snprintf(out, 16, "b%u", n);
		if (!memmem(bytes, len, out, (size_t)room))
			return;
	}
}

static void form_write_again(const struct form_files *files, const uint8_t *bytes, size_t len)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(FORM_WRITTEN_MAX);
	struct form_files *again = malloc(sizeof(*again));
	char boundary[16], type[64];
	form_boundary(boundary, bytes, len);
	for (unsigned i = 0; i < files->n; i++)
		form_put_part(&out, boundary, &files->parts[i]);
	cairn_buf_printf(&out, "--%s--\r\n", boundary);
	(void)snprintf(type, sizeof(type), "multipart/form-data; boundary=%s", boundary);
	fuzz_must(again && out.status == CAIRN_OK && form_files_read(again, type, out.bytes, out.len));
	fuzz_must(again->n == files->n);
	for (unsigned i = 0; i < files->n; i++) {
		const struct form_part *a = &files->parts[i], *b = &again->parts[i];
		fuzz_must(strcmp(a->name, b->name) == 0 && a->is_file == b->is_file && strcmp(a->file, b->file) == 0);
		fuzz_must(a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0);
	}
	free(again);
}

static void form_judge(const struct form_files *files, const uint8_t *bytes, size_t len)
{
	char value[FORM_VALUE_BYTES];
	const uint8_t *behind = bytes;
	fuzz_must(files->n <= FORM_PARTS_MAX);
	for (unsigned i = 0; i < files->n; i++) {
		const struct form_part *part = &files->parts[i];
		fuzz_must(part->name[0] && strlen(part->name) <= FORM_NAME_MAX && strlen(part->file) <= FORM_FILE_MAX);
		fuzz_must(part->is_file || !part->file[0]);
		fuzz_must(part->bytes > behind && part->len <= (size_t)(bytes + len - part->bytes));
		behind = part->bytes + part->len;
		if (form_files_value(files, part->name, value, sizeof(value)))
			fuzz_must(strlen(value) < sizeof(value));
		else
			fuzz_must(value[0] == '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *end = memchr(bytes, '\n', len);
	size_t type_len = end ? (size_t)(end - bytes) : len, body_len = end ? len - type_len - 1 : 0;
	CLEANUP(fuzz_textp) char *type = fuzz_text(bytes, type_len);
	struct form_files *files = malloc(sizeof(*files));
	uint8_t *body = malloc(body_len + (body_len == 0)); /* exactly as long as the body, for the sanitizer */
	fuzz_must(files && body);
	memcpy(body, end ? end + 1 : bytes, body_len);
	if (form_files_read(files, type, body, body_len)) {
		form_judge(files, body, body_len);
		form_write_again(files, body, body_len);
	}
	free(files);
	free(body);
	return 0;
}
