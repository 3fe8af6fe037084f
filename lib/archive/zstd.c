#include "archive/zstd.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct cairn_zstd {
	ZSTD_CCtx *c; /* made at first use */
	ZSTD_DCtx *d; /* made at first use */
};

struct cairn_zstd *cairn_zstd_new(void)
{
	return calloc(1, sizeof(struct cairn_zstd));
}

void cairn_zstd_free(struct cairn_zstd *z)
{
	if (!z)
		return;
	(void)ZSTD_freeCCtx(z->c);
	(void)ZSTD_freeDCtx(z->d);
	free(z);
}

void cairn_zstd_freep(struct cairn_zstd **z)
{
	cairn_zstd_free(*z);
	*z = NULL;
}

size_t cairn_zstd_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

enum cairn_status cairn_zstd_compress(struct cairn_zstd *z, uint8_t *out, size_t cap, size_t *n_out,
				      const uint8_t *bytes, size_t len, int level)
{
	*n_out = 0;
	if (!z->c)
		z->c = ZSTD_createCCtx();
	if (!z->c)
		return CAIRN_E_NOMEM;
	size_t n = ZSTD_compressCCtx(z->c, out, cap, bytes, len, level);
	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall ? CAIRN_E_LIMIT : CAIRN_E_NOMEM;
	*n_out = n;
	return CAIRN_OK;
}

static enum cairn_status zstd_refuse(struct cairn_diag *diag, const char *reason)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, "zstd.frame", CAIRN_NO_OFFSET, "not one whole zstd frame: %s", reason);
}

/* Checks that the input is exactly one frame that states n_out bytes of content. */
static enum cairn_status zstd_check(size_t n_out, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	size_t frame_bytes = ZSTD_findFrameCompressedSize(bytes, len);
	if (ZSTD_isError(frame_bytes))
		return zstd_refuse(diag, ZSTD_getErrorName(frame_bytes));
	if (frame_bytes != len) {
		(void)zstd_refuse(diag, "bytes follow it");
		cairn_diag_numbers(diag, len, frame_bytes);
		return CAIRN_E_FORMAT;
	}
	/* A skippable frame counts as one without content. */
	unsigned long long content = ZSTD_getFrameContentSize(bytes, len);
	if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR)
		return zstd_refuse(diag, "it does not state the length of its content");
	if (content == n_out)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "zstd.length", CAIRN_NO_OFFSET,
			 "the zstd frame states another length of content than its entry");
	cairn_diag_numbers(diag, n_out, content);
	return CAIRN_E_FORMAT;
}

enum cairn_status cairn_zstd_decompress(struct cairn_zstd *z, uint8_t *out, size_t n_out, const uint8_t *bytes,
					size_t len, struct cairn_diag *diag)
{
	enum cairn_status status = zstd_check(n_out, bytes, len, diag);
	if (status != CAIRN_OK)
		return status;
	if (!z->d)
		z->d = ZSTD_createDCtx();
	if (!z->d)
		return CAIRN_E_NOMEM;
	size_t n = ZSTD_decompressDCtx(z->d, out, n_out, bytes, len);
	if (!ZSTD_isError(n) && n == n_out)
		return CAIRN_OK;
	if (ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		return CAIRN_E_NOMEM;
	return zstd_refuse(diag, ZSTD_isError(n) ? ZSTD_getErrorName(n) : "it has less content than it states");
}
