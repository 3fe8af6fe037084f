/* Packs. Prints one line of JSON.
 *
 *     bench_pack create FOLDER N BYTES copy-first|pack-first
 *
 * Moves N objects of BYTES bytes into a pack, and copies their bytes into one file with fsync: wall time.
 *
 *     bench_pack find FOLDER N
 *
 * Writes a pack of N small objects and looks them up: processor time and memory. */
#include "archive/readshard/reader.h"
#include "archive/readshard/writer.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "store/pack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OBJECT_BYTES = 64, BLOCK_BYTES = 1 << 20, LOOKUPS = 2000000, GETS = 200000 };

static void must(enum cairn_status status, const char *what)
{
	if (status == CAIRN_OK)
		return;
	(void)fprintf(stderr, "bench_pack: %s: %s\n", what, cairn_status_name(status));
	exit(EXIT_FAILURE);
}

static void must_be(bool right, const char *what)
{
	must(right ? CAIRN_OK : CAIRN_E_IO, what);
}

static double now_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static struct cairn_hash key_of(uint64_t i)
{
	struct cairn_hash key;
	uint64_t state = i;
	for (int at = 0; at < CAIRN_HASH_BYTES; at += 8)
		cairn_put_u64le(key.b + at, next_random(&state));
	return key;
}

static int make_file(const char *folder, const char *name)
{
	char path[4200];
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must_be(fd >= 0, path);
	return fd;
}

static uint8_t block[BLOCK_BYTES];

static void put_objects(struct cairn_store *store, uint64_t n, uint64_t bytes)
{
	uint64_t state = 1;
	for (size_t i = 0; i < sizeof(block); i += 8)
		cairn_put_u64le(block + i, next_random(&state));
	for (uint64_t i = 0; i < n; i++) {
		struct cairn_store_put *put;
		struct cairn_hash key = key_of(i);
		bool existed;
		must(cairn_store_put_begin(store, &put), "put");
		for (uint64_t at = 0; at < bytes; at += sizeof(block))
			must(cairn_store_put_write(put, block, bytes - at < sizeof(block) ? bytes - at : sizeof(block)),
			     "write");
		must(cairn_store_put_commit(put, &key, &existed), "commit");
	}
}

/* Copies all objects into one file, as cp does. */
static double copy_objects(struct cairn_store *store, const char *folder, uint64_t n, uint64_t bytes)
{
	double began = now_s(CLOCK_MONOTONIC);
	int to = make_file(folder, "copy");
	for (uint64_t i = 0; i < n; i++) {
		struct cairn_store_object *object;
		struct cairn_hash key = key_of(i);
		must(cairn_store_get(store, &key, &object), "get");
		for (uint64_t at = 0; at < bytes; at += sizeof(block)) {
			size_t part = bytes - at < sizeof(block) ? (size_t)(bytes - at) : sizeof(block);
			must(cairn_store_object_read(object, at, block, part), "read");
			must(cairn_fd_write_all(to, block, part), "write");
		}
		cairn_store_object_free(object);
	}
	must_be(fsync(to) == 0, "fsync");
	double took = now_s(CLOCK_MONOTONIC) - began;
	(void)close(to);
	return took;
}

static enum cairn_status drop_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	(void)bytes;
	return cairn_store_packing_drop(ctx, hash);
}

/* Moves the objects into a pack. @param[out] durable_s  time until the pack is durable and served */
static double pack_objects(struct cairn_store *store, uint64_t n, uint64_t bytes, double *durable_s)
{
	struct cairn_store_packing *p;
	double began = now_s(CLOCK_MONOTONIC);
	must(cairn_store_packing_begin(store, "bench.shard", &p, NULL), "begin");
	for (uint64_t i = 0; i < n; i++) {
		struct cairn_hash key = key_of(i);
		bool added;
		must(cairn_store_packing_add(p, &key, bytes, &added), "add");
		must_be(added, "add");
	}
	must(cairn_store_packing_commit(p, NULL), "commit");
	*durable_s = now_s(CLOCK_MONOTONIC) - began;
	must(cairn_store_packing_each(p, drop_object, p), "drop");
	double took = now_s(CLOCK_MONOTONIC) - began;
	cairn_store_packing_free(p);
	return took;
}

static struct cairn_store *open_store(const char *folder)
{
	struct cairn_store *store;
	char url[4096];
	(void)snprintf(url, sizeof(url), "files:%s", folder);
	must(cairn_store_open(&store, url, NULL, NULL), "open");
	return store;
}

static void create(const char *folder, uint64_t n, uint64_t bytes, bool copy_first)
{
	static const struct timespec AGE = {.tv_sec = 4}; /* older objects do not have to be compared again */
	double copy_s = 0, durable_s;
	struct cairn_store *store = open_store(folder);
	put_objects(store, n, bytes);
	sync(); /* earlier writes must not slow down the timed ones */
	(void)nanosleep(&AGE, NULL);
	if (copy_first)
		copy_s = copy_objects(store, folder, n, bytes);
	double pack_s = pack_objects(store, n, bytes, &durable_s);
	if (!copy_first)
		copy_s = copy_objects(store, folder, n, bytes);
	cairn_store_free(store);
	printf("{\"copy_s\":%.4f,\"durable_s\":%.4f,\"pack_s\":%.4f}\n", copy_s, durable_s, pack_s);
}

static double write_pack(int fd, uint64_t n)
{
	struct cairn_readshard_writer *w;
	uint8_t object[OBJECT_BYTES] = {1};
	double began = now_s(CLOCK_PROCESS_CPUTIME_ID);
	must(cairn_readshard_writer_new(&w, fd), "writer");
	for (uint64_t i = 0; i < n; i++) {
		struct cairn_hash key = key_of(i);
		must(cairn_readshard_writer_add(w, key.b, object, sizeof(object)), "add");
	}
	must(cairn_readshard_writer_end(w, NULL), "end");
	cairn_readshard_writer_free(w);
	return now_s(CLOCK_PROCESS_CPUTIME_ID) - began;
}

/* Returns lookups a second. If want is CAIRN_OK the keys exist, and the first byte of each object is read. */
static double find_rate(const struct cairn_readshard *s, uint64_t n, enum cairn_status want)
{
	uint64_t state = 7, sum = 0;
	double began = now_s(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t i = 0; i < LOOKUPS; i++) {
		struct cairn_readshard_slot slot;
		struct cairn_hash key = key_of(next_random(&state) % n + (want == CAIRN_OK ? 0 : n));
		must_be(cairn_readshard_find(s, key.b, &slot, NULL) == want, "find");
		uint8_t byte = 0;
		if (want == CAIRN_OK)
			must(cairn_readshard_read(s, slot.bytes_at, &byte, 1, NULL), "read");
		sum += byte;
	}
	double took = now_s(CLOCK_PROCESS_CPUTIME_ID) - began;
	must_be(sum == (want == CAIRN_OK ? LOOKUPS : 0), "read");
	return LOOKUPS / took;
}

/* Looks up through the store: searches the object folder first, opens, holds, and reads one byte. */
static double get_rate(struct cairn_store *store, uint64_t n)
{
	uint64_t state = 7;
	double began = now_s(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t i = 0; i < GETS; i++) {
		struct cairn_store_object *object;
		struct cairn_hash key = key_of(next_random(&state) % n);
		uint8_t byte = 0;
		must(cairn_store_get(store, &key, &object), "get");
		must(cairn_store_object_read(object, 0, &byte, 1), "read");
		cairn_store_object_free(object);
	}
	return GETS / (now_s(CLOCK_PROCESS_CPUTIME_ID) - began);
}

static double stat_rate(struct cairn_store *store, uint64_t n)
{
	uint64_t state = 7, bytes;
	double began = now_s(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t i = 0; i < GETS; i++) {
		struct cairn_hash key = key_of(next_random(&state) % n);
		must(cairn_store_stat(store, &key, &bytes), "stat");
	}
	return GETS / (now_s(CLOCK_PROCESS_CPUTIME_ID) - began);
}

/* Returns the peak memory of this program alone: getrusage() would include the peak of its parent. */
static double peak_mib(void)
{
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");
	must_be(f != NULL, "/proc/self/status");
	while (fgets(line, sizeof(line), f) && strncmp(line, "VmHWM:", 6) != 0)
		;
	double kib = strtod(line + 6, NULL);
	(void)fclose(f);
	return kib / 1024;
}

static void find(const char *folder, uint64_t n)
{
	struct cairn_readshard *s;
	double before_mib = peak_mib();
	struct cairn_store *store = open_store(folder);
	int fd = make_file(folder, "packs/bench.shard");
	double write_s = write_pack(fd, n), write_mib = peak_mib() - before_mib;
	double began = now_s(CLOCK_PROCESS_CPUTIME_ID);
	must(cairn_readshard_open(&s, fd, NULL), "read");
	double open_ms = (now_s(CLOCK_PROCESS_CPUTIME_ID) - began) * 1e3;
	(void)close(fd);
	(void)find_rate(s, n, CAIRN_OK); /* warms up */
	double hits = find_rate(s, n, CAIRN_OK), misses = find_rate(s, n, CAIRN_E_NOT_FOUND);
	double gets = get_rate(store, n), stats = stat_rate(store, n);
	printf("{\"write_cpu_s\":%.3f,\"write_mib\":%.1f,\"open_ms\":%.2f,\"hits\":%.0f,\"misses\":%.0f,\"gets\":%.0f,"
	       "\"stats\":%.0f}\n",
	       write_s, write_mib, open_ms, hits, misses, gets, stats);
	cairn_readshard_free(s);
	cairn_store_free(store);
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "create") == 0)
		create(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
		       strcmp(argv[5], "copy-first") == 0);
	else if (argc == 4 && strcmp(argv[1], "find") == 0)
		find(argv[2], strtoull(argv[3], NULL, 10));
	else
		must(CAIRN_E_USAGE, "usage: bench_pack create FOLDER N BYTES copy-first|pack-first, or find FOLDER N");
	return EXIT_SUCCESS;
}
