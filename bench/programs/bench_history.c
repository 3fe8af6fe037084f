/* Commits of a hub's repository in an index alone: large ones, small ones in a large repository, and pages of a
 * listing.
 *     bench_history FOLDER N-FILES N-SMALL
 * FOLDER must be empty. Files are in folders of 1,000. A small commit has ten files. */
#include "index/hub/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { BATCH = 10000, FOLDER = 1000, SMALL = 10, PAGE = 1000, PAGES = 50, PATH_BYTES = 48 };

static struct cairn_index *history_index;
static int64_t history_repo;
static char history_path[BATCH][PATH_BYTES];
static struct cairn_index_operation history_operation[BATCH];
static const struct cairn_index_message HISTORY_MESSAGE = {
	.author = "ann", .email = "a@b", .title = "x", .message = ""};

static void history_must(enum cairn_status status, const char *what)
{
	if (status == CAIRN_OK)
		return;
	(void)fprintf(stderr, "bench_history: %s: %s\n", what, cairn_status_name(status));
	exit(EXIT_FAILURE);
}

static void history_open(const char *folder)
{
	char url[512];
	struct cairn_diag diag = {0};
	int from, to;
	(void)snprintf(url, sizeof(url), "sqlite:%s", folder);
	history_must(cairn_index_migrate(url, &diag, &from, &to), diag.text);
	history_must(cairn_index_open(&history_index, url, NULL, &diag), diag.text);
}

static int64_t history_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns the size of the index, after closing it. */
static long long history_bytes(const char *folder)
{
	char path[512];
	struct stat st;
	cairn_index_free(history_index);
	(void)snprintf(path, sizeof(path), "%s/index.sqlite", folder);
	history_must(stat(path, &st) == 0 ? CAIRN_OK : CAIRN_E_IO, path);
	history_open(folder);
	return (long long)st.st_size;
}

static void history_name(uint8_t out[static 32], uint64_t number)
{
	for (size_t i = 0; i < 4; i++) {
		uint64_t word = (number * 4 + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		word = (word ^ word >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
		memcpy(out + 8 * i, &word, sizeof(word));
	}
}

/* Registers files as a shard does, each with its SHA-256. */
static void history_register(uint64_t first, uint32_t n)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_index_new_file *files = calloc(n, sizeof(*files));
	if (!files)
		history_must(CAIRN_E_NOMEM, "files");
	for (uint32_t i = 0; i < n; i++) {
		files[i] = (struct cairn_index_new_file){.size_bytes = 4096, .has_sha256 = true};
		history_name(files[i].hash.b, first + i);
		history_name(files[i].sha256, first + i);
	}
	struct cairn_index_new_shard shard = {.files = files, .n_files = n};
	cairn_index_repo_owner(owner, history_repo);
	struct cairn_index_put_shard put = {.shard = &shard, .scope = owner, .owner = owner};
	history_name(put.body.b, ~first);
	history_must(cairn_index_put_shard(history_index, &put), put.write.diag.text);
	free(files);
}

/* Makes a commit. @return milliseconds that it took */
static double history_commit(uint32_t n)
{
	struct cairn_index_add_commit commit = {.repo = history_repo,
						.kind = CAIRN_INDEX_BRANCH,
						.ref = "main",
						.message = HISTORY_MESSAGE,
						.operations = history_operation,
						.n = n};
	int64_t began = history_now_ns();
	history_must(cairn_index_add_commit(history_index, &commit), commit.write.diag.text);
	return (double)(history_now_ns() - began) / 1e6;
}

static void history_set(uint32_t at, uint64_t place, uint64_t file)
{
	struct cairn_index_operation *o = &history_operation[at];
	(void)snprintf(history_path[at], PATH_BYTES, "data/%06llu/part-%06llu.bin",
		       (unsigned long long)(place / FOLDER), (unsigned long long)place);
	*o = (struct cairn_index_operation){.kind = CAIRN_INDEX_PUT_FILE, .path = history_path[at]};
	history_name(o->sha256, file);
}

static bool history_count(void *ctx, const struct cairn_index_entry *entry)
{
	uint32_t *n = ctx;
	(void)entry;
	return ++*n < PAGE;
}

static double history_page(const struct cairn_index_commit *commit, uint64_t place)
{
	char folder[PATH_BYTES];
	uint32_t n = 0;
	(void)snprintf(folder, sizeof(folder), "data/%06llu", (unsigned long long)(place / FOLDER));
	const struct cairn_index_listing listing = {.folder = folder, .after = ""};
	int64_t began = history_now_ns();
	history_must(cairn_index_each_entry(history_index, commit, &listing, history_count, &n), "list");
	return (double)(history_now_ns() - began) / 1e6;
}

static int history_compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;
	return one < other ? -1 : one > other;
}

static void history_print(const char *what, double *ms, uint32_t n)
{
	qsort(ms, n, sizeof(*ms), history_compare);
	printf("%s: median %.2f ms, worst %.2f ms of %u\n", what, ms[n / 2], ms[n - 1], n);
}

static void history_make(void)
{
	struct cairn_index_add_account account = {.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = "", .email = ""};
	history_must(cairn_index_add_account(history_index, &account), "account");
	struct cairn_index_add_repo repo = {
		.kind = CAIRN_INDEX_MODEL, .account = account.id, .name = "large", .first = HISTORY_MESSAGE};
	history_must(cairn_index_add_repo(history_index, &repo), "repository");
	history_repo = repo.id;
}

static void history_small(const char *folder, uint64_t n_files, uint32_t n_small)
{
	double *ms = calloc(n_small, sizeof(*ms));
	uint64_t random = 1;
	if (!ms)
		history_must(CAIRN_E_NOMEM, "times");
	for (uint32_t i = 0; i < n_small * SMALL; i += BATCH)
		history_register(n_files + i, BATCH);
	long long before = history_bytes(folder);
	for (uint32_t i = 0; i < n_small; i++) {
		for (uint32_t k = 0; k < SMALL; k++) {
			random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			history_set(k, (random >> 33) % n_files, n_files + (uint64_t)i * SMALL + k);
		}
		ms[i] = history_commit(SMALL);
	}
	history_print("commit of 10 files in 10 folders of 1,000", ms, n_small);
	printf("growth: %.0f bytes a commit\n", (double)(history_bytes(folder) - before) / n_small);
	free(ms);
}

int main(int argc, char **argv)
{
	static double ms[PAGES];
	struct cairn_index_commit head;
	if (argc != 4)
		history_must(CAIRN_E_USAGE, "usage: bench_history FOLDER N-FILES N-SMALL");
	uint64_t n_files = strtoull(argv[2], NULL, 10);
	history_open(argv[1]);
	history_make();
	double *large = calloc(n_files / BATCH + 1, sizeof(*large));
	uint32_t n = 0;
	for (uint64_t first = 0; large && first < n_files; first += BATCH) {
		history_register(first, BATCH);
		for (uint32_t i = 0; i < BATCH; i++)
			history_set(i, first + i, first + i);
		large[n++] = history_commit(BATCH);
	}
	history_print("commit of 10,000 files", large, n);
	free(large);
	history_small(argv[1], n_files, (uint32_t)strtoul(argv[3], NULL, 10));
	history_must(cairn_index_ref(history_index, history_repo, CAIRN_INDEX_BRANCH, "main", &head), "head");
	for (uint32_t i = 0; i < PAGES; i++)
		ms[i] = history_page(&head, n_files / PAGES * i);
	history_print("page of 1,000", ms, PAGES);
	cairn_index_free(history_index);
	return EXIT_SUCCESS;
}
