/* Runs a fuzz target over every file of the given folders, so that its corpus is a test even without libFuzzer. */
#include "base/folder.h"

#include <fcntl.h>
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
	/* exactly as long as the file, so that a sanitizer notices a read past the end */
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

/* Runs the files of a folder. @return their number; -1: the folder or a file cannot be read */
static int replay_folder(const char *folder)
{
	CLEANUP(cairn_folder_close) struct cairn_folder dir = {0};
	enum cairn_status status = cairn_folder_open(&dir, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const char *name = NULL;
	int n = 0;
	while (status == CAIRN_OK && n >= 0 && (status = cairn_folder_next(&dir, &name)) == CAIRN_OK && name) {
		char path[4096];
		if (name[0] == '.')
			continue;
		int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
		n = len > 0 && (size_t)len < sizeof(path) && replay_file(path) ? n + 1 : -1;
	}
	if (status != CAIRN_OK)
		perror(folder);
	return status == CAIRN_OK ? n : -1;
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
