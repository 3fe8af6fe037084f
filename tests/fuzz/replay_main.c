/* Runs a fuzz target over every file of the folders given, so that its corpus is a test wherever libFuzzer is not. */
#include "base/status.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void replay_freep(uint8_t **bytes)
{
	free(*bytes);
}

static void replay_closep(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

static bool replay_file(const char *path)
{
	CLEANUP(replay_closep) FILE *f = fopen(path, "rb");
	struct stat st;
	if (!f || fstat(fileno(f), &st) != 0) {
		perror(path);
		return false;
	}
	size_t len = (size_t)st.st_size;
	/* Exactly as long as the file, so that a sanitizer sees a read past the end. */
	CLEANUP(replay_freep) uint8_t *bytes = malloc(len ? len : 1);
	if (!bytes || fread(bytes, 1, len, f) != len) {
		(void)fprintf(stderr, "%s: cannot read all %zu bytes\n", path, len);
		return false;
	}
	(void)printf("%s\n", path);
	(void)fflush(stdout); /* the last line names the input that ended the program */
	(void)LLVMFuzzerTestOneInput(bytes, len);
	return true;
}

/* @return files run; -1 when the folder or a file cannot be read */
static int replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	if (!dir) {
		perror(folder);
		return -1;
	}
	int n = 0;
	for (const struct dirent *entry = readdir(dir); entry && n >= 0; entry = readdir(dir)) {
		char path[4096];
		if (entry->d_name[0] == '.')
			continue;
		int len = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		n = len > 0 && (size_t)len < sizeof(path) && replay_file(path) ? n + 1 : -1;
	}
	(void)closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int total = 0;
	for (int i = 1; i < argc; i++) {
		int n = replay_folder(argv[i]);
		if (n < 0)
			return EXIT_FAILURE;
		total += n;
	}
	if (total == 0) {
		(void)fprintf(stderr, "nothing to replay; name a folder with files\n");
		return EXIT_FAILURE;
	}
	(void)printf("%d inputs\n", total);
	return EXIT_SUCCESS;
}
