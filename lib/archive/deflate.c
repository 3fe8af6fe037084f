#include "archive/deflate.h"

#include <zlib.h>

enum cairn_status cairn_deflate_unpack(uint8_t *out, size_t n_out, const uint8_t *bytes, size_t len,
				       struct cairn_diag *diag)
{
	uLongf got = n_out;
	uLong used = len;
	uint8_t nothing; /* zlib needs a pointer even for 0 bytes */
	int rc = uncompress2(n_out ? out : &nothing, &got, bytes, &used);
	if (rc == Z_MEM_ERROR)
		return CAIRN_E_NOMEM;
	if (rc != Z_OK)
		return cairn_fail(diag, CAIRN_E_FORMAT, "zlib.stream", CAIRN_NO_OFFSET, "%s", zError(rc));
	if (got == n_out && used == len)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "zlib.length", CAIRN_NO_OFFSET,
			 "the content has the wrong length, or bytes follow the stream");
	cairn_diag_numbers(diag, n_out, got);
	return CAIRN_E_FORMAT;
}
