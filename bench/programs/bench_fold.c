/* The least work of a backup: reading, compressing and hashing, without writing.
 *     bench_fold LEVEL FILE...     processor seconds of zstd at LEVEL and SHA-256 of its output, file by file */
#include "hash/crypto.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

static void fold_must(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "bench_fold: %s\n", what);
	exit(EXIT_FAILURE);
}

static double fold_cpu_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	fold_must(argc > 2, "give a level and files");
	int level = (int)strtol(argv[1], NULL, 10);
	ZSTD_CCtx *c = ZSTD_createCCtx();
	uint8_t *raw = NULL, *compressed = NULL;
	double began = fold_cpu_s();
	for (int i = 2; i < argc; i++) {
		struct stat st;
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		fold_must(c && fd >= 0 && fstat(fd, &st) == 0, argv[i]);
		size_t len = (size_t)st.st_size, cap = ZSTD_compressBound(len), got = 0;
		raw = realloc(raw, len + 1);
		compressed = realloc(compressed, cap);
		fold_must(raw && compressed, "no memory");
		for (ssize_t n = 1; n > 0 && got < len; got += (size_t)n) {
			n = read(fd, raw + got, len - got);
			fold_must(n > 0, "cannot read");
		}
		(void)close(fd);
		size_t n = ZSTD_compressCCtx(c, compressed, cap, raw, len, level);
		fold_must(!ZSTD_isError(n), "cannot compress");
		struct cairn_sha256 *digest = cairn_sha256_new();
		uint8_t sha256[CAIRN_SHA256_BYTES];
		fold_must(digest != NULL, "no memory");
		cairn_sha256_add(digest, compressed, n);
		cairn_sha256_end(digest, sha256);
		cairn_sha256_free(digest);
	}
	(void)printf("%.6f\n", fold_cpu_s() - began);
	free(raw);
	free(compressed);
	(void)ZSTD_freeCCtx(c);
	return EXIT_SUCCESS;
}
