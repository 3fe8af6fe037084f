#include "cli/common/record.h"

#include "cli/common/cli.h"

#include <inttypes.h>
#include <stdio.h>

void record_begin(struct report *r, unsigned depth, const char *kind, uint64_t offset)
{
	if (!r->is_json) {
		(void)printf("%*s%s @%" PRIu64, (int)(2 * depth), "", kind, offset);
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "record", kind);
	cairn_json_put_u64(&r->json, "offset", offset);
}

void record_u64(struct report *r, const char *name, uint64_t value)
{
	if (r->is_json)
		cairn_json_put_u64(&r->json, name, value);
	else
		(void)printf(" %s=%" PRIu64, name, value);
}

void record_flags(struct report *r, const char *name, uint32_t value)
{
	if (r->is_json)
		cairn_json_put_u64(&r->json, name, value);
	else
		(void)printf(" %s=0x%08" PRIx32, name, value);
}

void record_text(struct report *r, const char *name, const char *text)
{
	if (r->is_json) {
		cairn_json_put_text(&r->json, name, text);
		return;
	}
	(void)printf(" %s=", name);
	cli_put_text(stdout, text);
}

void record_hash(struct report *r, const char *name, const struct cairn_hash *hash)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, hash);
	record_text(r, name, text);
}

void record_hex(struct report *r, const char *name, const uint8_t *bytes, size_t n)
{
	char text[2 * 64 + 1];
	cairn_hex_text(text, bytes, n <= 64 ? n : 64);
	record_text(r, name, text);
}

void record_end(struct report *r)
{
	if (r->is_json)
		cairn_json_close(&r->json);
	else
		(void)printf("\n");
	report_flush(r);
}
