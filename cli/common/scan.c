#include "cli/common/scan.h"

#include "base/fd.h"
#include "chunk/chunker.h"
#include "hash/merkle.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SCAN_WINDOW_BYTES = 1024 * 1024 };

struct scan {
	int fd;
	uint8_t *window; /* owned */
	size_t at, end;  /* bytes of the window not yet cut */
	bool ended;      /* the window reaches the end of the file */
	struct cairn_sha256 *sha256;
	struct cairn_merkle merkle;
};

static void scan_fini(struct scan *s)
{
	cairn_fd_closep(&s->fd);
	free(s->window);
	cairn_sha256_free(s->sha256);
}

static enum cairn_status scan_begin(struct scan *s)
{
	(void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	s->window = malloc(SCAN_WINDOW_BYTES);
	s->sha256 = cairn_sha256_new();
	cairn_merkle_init(&s->merkle);
	return s->window && s->sha256 ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Have a whole chunk in the window, or the rest of the file. */
static enum cairn_status scan_fill(struct scan *s, uint64_t bytes_so_far, struct cairn_diag *diag)
{
	if (s->ended || s->end - s->at >= CAIRN_CHUNK_CUT_BYTES_MAX)
		return CAIRN_OK;
	size_t n = 0;
	assert(s->window); /* of scan_begin() */
	memmove(s->window, s->window + s->at, s->end - s->at);
	s->end -= s->at;
	s->at = 0;
	if (cairn_fd_read_upto(s->fd, s->window + s->end, SCAN_WINDOW_BYTES - s->end, &n) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "file.read", bytes_so_far, "%s", strerror(errno));
	cairn_sha256_add(s->sha256, s->window + s->end, n);
	s->ended = n < SCAN_WINDOW_BYTES - s->end;
	s->end += n;
	return CAIRN_OK;
}

enum cairn_status scan_fd(int fd, scan_visit *visit, void *ctx, struct scan_result *out, struct cairn_diag *diag)
{
	CLEANUP(scan_fini) struct scan s = {.fd = fd};
	memset(out, 0, sizeof(*out));
	enum cairn_status status = scan_begin(&s);
	if (status != CAIRN_OK)
		return status;
	for (;;) {
		status = scan_fill(&s, out->bytes, diag);
		size_t len = status == CAIRN_OK ? cairn_chunk_cut(s.window + s.at, s.end - s.at) : 0;
		if (len == 0)
			break;
		struct cairn_hash hash;
		cairn_hash_chunk(&hash, s.window + s.at, len);
		cairn_merkle_add(&s.merkle, &hash, len);
		out->bytes += len;
		out->n_chunks++;
		if (out->bytes > SCAN_FILE_BYTES_MAX)
			return cairn_fail(diag, CAIRN_E_LIMIT, "file.size", CAIRN_NO_OFFSET,
					  "longer than 1 TiB; split it");
		status = visit ? visit(ctx, &hash, s.window + s.at, len, diag) : CAIRN_OK;
		if (status != CAIRN_OK)
			break;
		s.at += len;
	}
	if (status != CAIRN_OK)
		return status;
	struct cairn_hash root;
	cairn_merkle_root(&s.merkle, &root);
	cairn_hash_file(&out->file, &root);
	cairn_sha256_end(s.sha256, out->sha256);
	return CAIRN_OK;
}

enum cairn_status scan_file(const char *path, scan_visit *visit, void *ctx, struct scan_result *out,
			    struct cairn_diag *diag)
{
	struct stat st;
	memset(out, 0, sizeof(*out));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
		cairn_fd_closep(&fd);
		return CAIRN_E_NOT_FOUND;
	}
	if (S_ISDIR(st.st_mode)) {
		cairn_fd_closep(&fd);
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "is a folder; name its files");
	}
	return scan_fd(fd, visit, ctx, out, diag);
}
