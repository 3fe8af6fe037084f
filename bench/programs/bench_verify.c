/* How fast a large shard is verified, as a ratio to BLAKE3 alone over the same messages (merkle nodes and term
 * ranges), on one core. Prints one JSON line. See bench/RESULTS.md.
 *     bench_verify [ROUNDS] */
#include "hash/merkle.h"
#include "support/made.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	N_XORBS = 400,
	N_CHUNKS = 1000,
	N_FILES = 200,
	TERMS_A_FILE = 100,
	CHUNK_BYTES = 65000,
	SHARD_BYTES_MAX = 64 * 1024 * 1024,
	MESSAGES_BYTES_MAX = 512 * 1024 * 1024,
	MESSAGES_MAX = 1000 * 1000,
};

/* Prepared messages: one buffer, and the offset at which each message ends. */
struct messages {
	struct cairn_buf bytes;
	size_t *ends;
	size_t n;
};

static void bench_must(bool right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "bench_verify: %s\n", what);
	exit(EXIT_FAILURE);
}

static void messages_init(struct messages *m)
{
	*m = (struct messages){.bytes = cairn_buf_init(MESSAGES_BYTES_MAX),
			       .ends = calloc(MESSAGES_MAX, sizeof(*m->ends))};
	bench_must(m->ends, "no memory");
}

static void messages_fini(struct messages *m)
{
	cairn_buf_fini(&m->bytes);
	free(m->ends);
}

static void messages_end(struct messages *m)
{
	bench_must(m->bytes.status == CAIRN_OK && m->n < MESSAGES_MAX, "too many messages");
	m->ends[m->n++] = m->bytes.len;
}

/* Hashes the tree level by level, written anew from the protocol. Overwrites hashes and lengths. */
static struct cairn_hash messages_tree(struct messages *m, struct cairn_hash *hashes, uint64_t *lengths, size_t n)
{
	while (n > 1) {
		size_t n_above = 0;
		for (size_t i = 0; i < n;) {
			size_t most = n - i < CAIRN_MERKLE_GROUP_MAX ? n - i : CAIRN_MERKLE_GROUP_MAX, take = most;
			for (size_t k = 2; k + 1 < most && take == most; k++)
				if (cairn_hash_tail(&hashes[i + k]) % 4 == 0)
					take = k + 1;
			size_t start = m->bytes.len;
			uint64_t sum = 0;
			for (size_t k = i; k < i + take; k++) {
				char text[CAIRN_HASH_TEXT_BYTES];
				cairn_hash_text(text, &hashes[k]);
				cairn_buf_printf(&m->bytes, "%s : %" PRIu64 "\n", text, lengths[k]);
				sum += lengths[k];
			}
			messages_end(m);
			cairn_hash_node(&hashes[n_above], m->bytes.bytes + start, m->bytes.len - start);
			lengths[n_above++] = sum;
			i += take;
		}
		n = n_above;
	}
	return hashes[0];
}

/* Prepares the messages of a list of terms: of each range if wanted, and of the tree over all chunks. */
static struct cairn_hash bench_prepare(struct messages *nodes, struct messages *ranges, const struct made_term *terms,
				       size_t n_terms)
{
	size_t n = 0;
	for (size_t i = 0; i < n_terms; i++)
		n += terms[i].end - terms[i].start;
	struct cairn_hash *hashes = calloc(n, sizeof(*hashes));
	uint64_t *lengths = calloc(n, sizeof(*lengths));
	bench_must(hashes && lengths, "no memory");
	size_t at = 0;
	for (size_t i = 0; i < n_terms; i++) {
		for (uint32_t k = terms[i].start; k < terms[i].end; k++) {
			hashes[at] = terms[i].xorb->list.hashes[k];
			lengths[at++] = terms[i].xorb->list.spans[k].unpacked_bytes;
		}
		if (!ranges)
			continue;
		uint32_t n_range = terms[i].end - terms[i].start;
		cairn_buf_add(&ranges->bytes, terms[i].xorb->list.hashes + terms[i].start, n_range * sizeof(*hashes));
		messages_end(ranges);
	}
	struct cairn_hash root = messages_tree(nodes, hashes, lengths, n);
	free(hashes);
	free(lengths);
	return root;
}

/* Makes terms of 1 to 39 chunks that alternate between xorbs, as in files that share parts with others. */
static void bench_terms(struct made_term *terms, const struct made_xorb *xorbs, uint64_t *state)
{
	for (size_t i = 0; i < TERMS_A_FILE; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		uint32_t start = (uint32_t)(*state >> 33) % (N_CHUNKS - 40), n = 1 + (uint32_t)(*state >> 20) % 39;
		terms[i] = (struct made_term){&xorbs[(*state >> 45) % N_XORBS], start, start + n};
	}
}

static uint64_t bench_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t bench_blake3(const struct messages *nodes, const struct messages *ranges)
{
	uint64_t began = bench_now_ns();
	struct cairn_hash out;
	uint8_t all = 0;
	size_t start = 0;
	for (size_t i = 0; i < nodes->n; i++) {
		cairn_hash_node(&out, nodes->bytes.bytes + start, nodes->ends[i] - start);
		all |= out.b[0];
		start = nodes->ends[i];
	}
	start = 0;
	for (size_t i = 0; i < ranges->n; i++) {
		/* A node's hash costs as much as a range's: the function is the same except for its key. */
		cairn_hash_node(&out, ranges->bytes.bytes + start, ranges->ends[i] - start);
		all |= out.b[0];
		start = ranges->ends[i];
	}
	bench_must(all != 0, "no hash was computed");
	return bench_now_ns() - began;
}

static uint64_t bench_verify(const struct cairn_buf *shard, struct made_store *store, bool external)
{
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	options.xorbs_external = external;
	struct cairn_verify_resolver resolver = made_resolver(store);
	struct cairn_verify_summary sum;
	struct cairn_diag diag = {0};
	uint64_t began = bench_now_ns();
	enum cairn_status status = cairn_verify_shard(shard->bytes, shard->len, &options, &resolver, &sum, &diag);
	uint64_t took = bench_now_ns() - began;
	bench_must(status == CAIRN_OK, diag.text);
	return took;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Measures the best of several rounds of each kind. The kinds alternate, so a slow moment affects all of them. */
static void bench_run(const struct cairn_buf *shard, const struct made_xorb *xorbs, const struct messages *nodes,
		      const struct messages *ranges, long rounds)
{
	struct made_store full = {.xorbs = xorbs, .n = N_XORBS}, none = {0};
	uint64_t blake3 = UINT64_MAX, stored = UINT64_MAX, external = UINT64_MAX;
	for (long i = 0; i < rounds; i++) {
		blake3 = least(blake3, bench_blake3(nodes, ranges));
		stored = least(stored, bench_verify(shard, &full, false));
		external = least(external, bench_verify(shard, &none, true));
	}
	printf("{\"bench\":\"verify\",\"shard_bytes\":%zu,\"node_messages\":%zu,\"range_messages\":%zu,"
	       "\"blake3_ms\":%.2f,\"verify_ms\":%.2f,\"verify_external_ms\":%.2f,\"ratio\":%.3f,\"ratio_external\":%."
	       "3f}\n",
	       shard->len, nodes->n, ranges->n, (double)blake3 / 1e6, (double)stored / 1e6, (double)external / 1e6,
	       (double)blake3 / (double)stored, (double)blake3 / (double)external);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 7;
	bench_must(rounds > 0, "usage: bench_verify [ROUNDS]");
	static struct made_xorb xorbs[N_XORBS];
	struct messages nodes, ranges;
	messages_init(&nodes);
	messages_init(&ranges);
	for (uint64_t i = 0; i < N_XORBS; i++)
		made_xorb_init(&xorbs[i], i, N_CHUNKS, CHUNK_BYTES);
	struct cairn_shard_writer w;
	cairn_shard_writer_init(&w, SHARD_BYTES_MAX);
	uint64_t state = 1;
	for (size_t i = 0; i < N_FILES; i++) {
		struct made_term terms[TERMS_A_FILE];
		bench_terms(terms, xorbs, &state);
		made_write_file(&w, terms, TERMS_A_FILE,
				CAIRN_SHARD_FILE_WITH_VERIFICATION | CAIRN_SHARD_FILE_WITH_METADATA);
		bench_prepare(&nodes, &ranges, terms, TERMS_A_FILE);
	}
	for (size_t i = 0; i < N_XORBS; i++) {
		struct made_term all = {&xorbs[i], 0, N_CHUNKS};
		made_write_xorb(&w, &xorbs[i]);
		struct cairn_hash root = bench_prepare(&nodes, NULL, &all, 1);
		bench_must(cairn_hash_equal(&root, &xorbs[i].hash), "the prepared tree is not the xorb's");
	}
	bench_must(cairn_shard_writer_end(&w) == CAIRN_OK, "the shard does not fit");
	bench_run(&w.buf, xorbs, &nodes, &ranges, rounds);
	cairn_shard_writer_fini(&w);
	for (size_t i = 0; i < N_XORBS; i++)
		made_xorb_fini(&xorbs[i]);
	messages_fini(&nodes);
	messages_fini(&ranges);
	return EXIT_SUCCESS;
}
