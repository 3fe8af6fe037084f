/* Parses and writes names with times: "__T1_T2_UUID_VERSION". */
#include "archive/tiledb/array.h"
#include "hash/hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads digits up to an underscore or the end. @return the rest; NULL: no digits, or too many */
static const char *name_number(const char *text, uint64_t *out)
{
	const char *p = text;
	*out = 0;
	for (; isdigit((unsigned char)*p) && p - text < 19; p++)
		*out = *out * 10 + (uint64_t)(*p - '0');
	return p == text || (*p != '_' && *p != '\0') ? NULL : p;
}

bool cairn_tiledb_name_parse(struct cairn_tiledb_name *out, const char *text)
{
	uint64_t version = 0;
	*out = (struct cairn_tiledb_name){0};
	if (strncmp(text, "__", 2) != 0)
		return false;
	const char *p = name_number(text + 2, &out->first_ms);
	p = p && *p == '_' ? name_number(p + 1, &out->last_ms) : NULL;
	if (!p || *p != '_' || out->first_ms > out->last_ms)
		return false;
	size_t uuid = strspn(p + 1, "0123456789abcdef");
	p += 1 + uuid;
	if (uuid != (size_t)2 * CAIRN_TILEDB_UUID_BYTES || (*p != '_' && *p != '\0'))
		return false;
	if (*p == '_') {
		p = name_number(p + 1, &version);
		if (!p || *p != '\0' || version == 0 || version > UINT32_MAX)
			return false;
	}
	out->version = (uint32_t)version;
	return true;
}

void cairn_tiledb_name_text(char out[static CAIRN_TILEDB_NAME_TEXT_BYTES], uint64_t ms,
			    const uint8_t uuid[static CAIRN_TILEDB_UUID_BYTES], uint32_t version)
{
	char hex[2 * CAIRN_TILEDB_UUID_BYTES + 1], suffix[16] = "";
	cairn_hex_text(hex, uuid, CAIRN_TILEDB_UUID_BYTES);
	if (version)
		(void)snprintf(suffix, sizeof(suffix), "_%" PRIu32, version);
	(void)snprintf(out, CAIRN_TILEDB_NAME_TEXT_BYTES, "__%" PRIu64 "_%" PRIu64 "_%s%s", ms, ms, hex, suffix);
}

void cairn_tiledb_file_name(char out[static CAIRN_TILEDB_FILE_NAME_BYTES], const struct cairn_tiledb_schema *schema,
			    uint32_t slot, enum cairn_tiledb_file file)
{
	static const char *const suffix[CAIRN_TILEDB_FILES] = {"", "_var", "_validity"};
	bool is_attr = slot < schema->n_attrs;
	(void)snprintf(out, CAIRN_TILEDB_FILE_NAME_BYTES, "%c%" PRIu32 "%s.tdb", is_attr ? 'a' : 'd',
		       is_attr ? slot : slot - schema->n_attrs - 1, suffix[file]);
}
