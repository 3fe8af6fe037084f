/* PostgreSQL used without a daemon, as a reference for cairnd: one connection, everything pipelined.
 *     bench_postgres shards URL SECONDS SHARDS_A_COMMIT FILES
 *     bench_postgres misses URL SECONDS IN_FLIGHT
 * URL names the schema of an index that cairnd made and that is no longer in use. "shards" adds the rows that the
 * daemon adds for shards of one xorb and FILES files of one term each, as the same arrays. Each commit has
 * SHARDS_A_COMMIT shards and a record of the log. "misses" looks up unknown chunks. The program numbers the rows
 * itself, so that no statement waits for another's answer. Prints one line of JSON. */
#include <libpq-fe.h>

#include <endian.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HASH_BYTES = 32, TERM_BYTES = 24, ARGS_MAX = 5, COMMITS_AHEAD = 2, XORBS = 64, FILES_MAX = 1000 };
enum { OID_BYTEA = 17, OID_INT8 = 20, OID_INT8S = 1016, OID_BYTEAS = 1001, OID_TEXT = 25 };
enum { ARRAY_HEAD_BYTES = 20, ARRAY_BYTES_MAX = ARRAY_HEAD_BYTES + FILES_MAX * (4 + HASH_BYTES) };

static const char ADD_XORBS[] =
	"INSERT INTO xorb(hash, chunks, unpacked, stored, at) SELECT decode(md5(random()::text) || "
	"md5(random()::text), 'hex'), 1000, 64000, 65000, 1 FROM generate_series(1, $1) RETURNING id";
static const char LAST_IDS[] =
	"SELECT (SELECT coalesce(max(id), 0) FROM shard), (SELECT coalesce(max(id), 0) FROM file)";
static const char BEGIN[] = "BEGIN";
static const char STATE[] = "SELECT * FROM state FOR NO KEY UPDATE";
static const char SHARD[] = "INSERT INTO shard(id, hash, scope, owner, collection, at) VALUES($1, $2, 0, 0, 0, 1)";
static const char MEMBER[] =
	"INSERT INTO member(shard, xorb) SELECT $1, x FROM unnest($2::bigint[]) x ON CONFLICT DO NOTHING";
static const char FILES[] = "INSERT INTO file(id, hash, size, terms, at) SELECT k.id, k.hash, 1, k.terms, 1"
			    " FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) k(id, hash, terms)";
static const char REFERENCES[] =
	"INSERT INTO reference(xorb, file) SELECT k.xorb, k.file FROM unnest($1::bigint[], $2::bigint[])"
	" k(xorb, file) ON CONFLICT DO NOTHING";
static const char OWNERS[] = "INSERT INTO file_owner(file, scope, sha256, at) SELECT k.file, 0, k.sha256, 1"
			     " FROM unnest($1::bigint[], $2::bytea[]) k(file, sha256)";
static const char DEDUPE[] = "INSERT INTO dedupe(prefix, scope, xorb, place, shard) SELECT k.prefix, 0, k.xorb, 1, $1"
			     " FROM unnest($2::bigint[], $3::bigint[]) k(prefix, xorb) ON CONFLICT DO NOTHING";
static const char COUNTS[] = "UPDATE state SET files = files + $1, shards = shards + $2";
static const char RECORD[] = "SELECT pg_logical_emit_message(true, 'cairn', '')";
static const char COMMIT[] = "COMMIT";
static const char LOOK[] =
	"SELECT xorb, place, shard, scope FROM dedupe WHERE prefix = $1 AND scope = 0 ORDER BY xorb LIMIT 8";

struct array {
	uint8_t bytes[ARRAY_BYTES_MAX];
	size_t len;
	uint32_t n, type;
};

struct args {
	const char *values[ARGS_MAX];
	int lengths[ARGS_MAX], formats[ARGS_MAX];
	Oid types[ARGS_MAX];
	int64_t numbers[ARGS_MAX]; /* in network byte order */
	int n;
};

struct bare {
	PGconn *conn;
	const char *known[16];
	int n_known;
	uint64_t random;
	int64_t shard, file, xorbs[XORBS]; /* numbers of the next rows */
	unsigned n_syncs;                  /* syncs that have no answer yet */
	uint64_t n_done;
};

static void bare_die(const struct bare *b, const char *what)
{
	(void)fprintf(stderr, "bench_postgres: %s: %s\n", what, b->conn ? PQerrorMessage(b->conn) : "");
	exit(EXIT_FAILURE);
}

static uint64_t bare_random(struct bare *b)
{
	b->random += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t x = b->random;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void bare_random_hash(struct bare *b, uint8_t hash[static HASH_BYTES])
{
	for (size_t i = 0; i < HASH_BYTES; i += sizeof(uint64_t))
		memcpy(hash + i, &(uint64_t){bare_random(b)}, sizeof(uint64_t));
}

static double bare_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- arguments, as PostgreSQL's binary format has them ------------------------------------------------------------ */

static void args_bytes(struct args *a, const void *bytes, size_t len, Oid type)
{
	a->values[a->n] = bytes;
	a->lengths[a->n] = (int)len;
	a->formats[a->n] = 1;
	a->types[a->n++] = type;
}

static void args_number(struct args *a, int64_t number)
{
	a->numbers[a->n] = (int64_t)htobe64((uint64_t)number);
	args_bytes(a, &a->numbers[a->n], sizeof(int64_t), OID_INT8);
}

static void array_put(struct array *a, uint32_t number)
{
	number = htobe32(number);
	memcpy(a->bytes + a->len, &number, sizeof(number));
	a->len += sizeof(number);
}

static void array_begin(struct array *a, uint32_t element)
{
	a->len = ARRAY_HEAD_BYTES;
	a->n = 0;
	a->type = element;
}

static void array_add(struct array *a, const void *bytes, size_t len)
{
	array_put(a, (uint32_t)len);
	memcpy(a->bytes + a->len, bytes, len);
	a->len += len;
	a->n++;
}

static void array_add_number(struct array *a, int64_t number)
{
	array_add(a, &(uint64_t){htobe64((uint64_t)number)}, sizeof(uint64_t));
}

/* An array of one dimension, without NULL, with lower bound 1. */
static void args_array(struct args *args, struct array *a)
{
	size_t len = a->len;
	a->len = 0;
	array_put(a, 1);
	array_put(a, 0);
	array_put(a, a->type);
	array_put(a, a->n);
	array_put(a, 1);
	a->len = len;
	args_bytes(args, a->bytes, a->len, a->type == OID_INT8 ? OID_INT8S : OID_BYTEAS);
}

static void bare_send(struct bare *b, const char *sql, const struct args *args)
{
	static const struct args NONE = {.n = 0};
	char name[16];
	int i = 0;
	args = args ? args : &NONE;
	while (i < b->n_known && b->known[i] != sql)
		i++;
	(void)snprintf(name, sizeof(name), "s%d", i);
	if (i == b->n_known) {
		b->known[b->n_known++] = sql;
		if (PQsendPrepare(b->conn, name, sql, args->n, args->types) != 1)
			bare_die(b, "prepare");
	}
	if (PQsendQueryPrepared(b->conn, name, args->n, args->values, args->lengths, args->formats, 1) != 1)
		bare_die(b, sql);
}

static void bare_sync(struct bare *b)
{
	if (PQpipelineSync(b->conn) != 1)
		bare_die(b, "sync");
	b->n_syncs++;
}

/* Takes answers until only `left` syncs have none. */
static void bare_take(struct bare *b, unsigned left)
{
	while (b->n_syncs > left) {
		int unsent = PQflush(b->conn);
		if (PQisBusy(b->conn)) {
			struct pollfd p = {.fd = PQsocket(b->conn), .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
			if (poll(&p, 1, 60000) <= 0 || PQconsumeInput(b->conn) != 1)
				bare_die(b, "no answer");
			continue;
		}
		PGresult *r = PQgetResult(b->conn);
		ExecStatusType status = PQresultStatus(r);
		b->n_syncs -= status == PGRES_PIPELINE_SYNC;
		if (r && status != PGRES_PIPELINE_SYNC && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
			bare_die(b, PQresultErrorMessage(r));
		PQclear(r);
	}
	if (PQflush(b->conn) < 0)
		bare_die(b, "flush");
}

/* Runs a statement outside of the pipeline, in text format. */
static PGresult *bare_ask(struct bare *b, const char *sql, const char *argument)
{
	PGresult *r = PQexecParams(b->conn, sql, argument != NULL, NULL, &argument, NULL, NULL, 0);
	if (PQresultStatus(r) != PGRES_TUPLES_OK)
		bare_die(b, sql);
	return r;
}

static void shards_prepare(struct bare *b)
{
	char n[16];
	(void)snprintf(n, sizeof(n), "%d", XORBS);
	PGresult *r = bare_ask(b, ADD_XORBS, n);
	for (int i = 0; i < XORBS; i++)
		b->xorbs[i] = strtoll(PQgetvalue(r, i, 0), NULL, 10);
	PQclear(r);
	r = bare_ask(b, LAST_IDS, NULL);
	b->shard = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
	b->file = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
	PQclear(r);
}

static void shards_send_files(struct bare *b, int64_t xorb, unsigned n_files)
{
	static struct array ids, hashes, terms, xorbs, words;
	struct args files = {0}, references = {0}, owners = {0};
	uint8_t bytes[HASH_BYTES];
	array_begin(&ids, OID_INT8);
	array_begin(&hashes, OID_BYTEA);
	array_begin(&terms, OID_BYTEA);
	array_begin(&xorbs, OID_INT8);
	array_begin(&words, OID_BYTEA);
	for (unsigned i = 0; i < n_files; i++) {
		array_add_number(&ids, ++b->file);
		bare_random_hash(b, bytes);
		array_add(&hashes, bytes, sizeof(bytes));
		array_add(&terms, bytes, TERM_BYTES);
		array_add_number(&xorbs, xorb);
		bare_random_hash(b, bytes); /* the SHA-256, which clients always send */
		array_add(&words, bytes, sizeof(bytes));
	}
	args_array(&files, &ids);
	args_array(&files, &hashes);
	args_array(&files, &terms);
	bare_send(b, FILES, &files);
	args_array(&references, &xorbs);
	args_array(&references, &ids);
	bare_send(b, REFERENCES, &references);
	args_array(&owners, &ids);
	args_array(&owners, &words);
	bare_send(b, OWNERS, &owners);
}

/* Adds the first chunk of the xorb, and of each file. */
static void shards_send_dedupe(struct bare *b, int64_t xorb, unsigned n)
{
	static struct array prefixes, xorbs;
	struct args args = {0};
	array_begin(&prefixes, OID_INT8);
	array_begin(&xorbs, OID_INT8);
	for (unsigned i = 0; i < n; i++) {
		array_add_number(&prefixes, (int64_t)bare_random(b));
		array_add_number(&xorbs, xorb);
	}
	args_number(&args, b->shard);
	args_array(&args, &prefixes);
	args_array(&args, &xorbs);
	bare_send(b, DEDUPE, &args);
}

static void shards_send(struct bare *b, unsigned n_files)
{
	static struct array members;
	struct args shard = {0}, member = {0};
	uint8_t hash[HASH_BYTES];
	int64_t xorb = b->xorbs[++b->shard % XORBS];
	bare_random_hash(b, hash);
	args_number(&shard, b->shard);
	args_bytes(&shard, hash, sizeof(hash), OID_BYTEA);
	bare_send(b, SHARD, &shard);
	array_begin(&members, OID_INT8);
	array_add_number(&members, xorb);
	args_number(&member, b->shard);
	args_array(&member, &members);
	bare_send(b, MEMBER, &member);
	shards_send_files(b, xorb, n_files);
	shards_send_dedupe(b, xorb, 1 + n_files);
}

static void shards_commit(struct bare *b, unsigned n_shards, unsigned n_files)
{
	struct args counts = {0};
	bare_send(b, BEGIN, NULL);
	bare_send(b, STATE, NULL);
	for (unsigned i = 0; i < n_shards; i++)
		shards_send(b, n_files);
	args_number(&counts, (int64_t)n_shards * n_files);
	args_number(&counts, n_shards);
	bare_send(b, COUNTS, &counts);
	bare_send(b, RECORD, NULL);
	bare_send(b, COMMIT, NULL);
	bare_sync(b);
	b->n_done += n_shards;
}

static void misses_send(struct bare *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct args args = {0};
		args_number(&args, (int64_t)bare_random(b));
		bare_send(b, LOOK, &args);
	}
	bare_sync(b);
	b->n_done += n;
}

int main(int argc, char **argv)
{
	struct bare b = {.random = (uint64_t)time(NULL) << 32 | (uint32_t)clock()};
	bool shards = argc == 6 && strcmp(argv[1], "shards") == 0;
	if (!shards && (argc != 5 || strcmp(argv[1], "misses") != 0))
		bare_die(
			&b,
			"usage: bench_postgres shards URL SECONDS SHARDS_A_COMMIT FILES | misses URL SECONDS IN_FLIGHT");
	double seconds = strtod(argv[3], NULL);
	unsigned n = (unsigned)strtoul(argv[4], NULL, 10), n_files = shards ? (unsigned)strtoul(argv[5], NULL, 10) : 1;
	b.conn = PQconnectdb(argv[2]);
	if (PQstatus(b.conn) != CONNECTION_OK || n_files < 1 || n_files >= FILES_MAX || n < 2)
		bare_die(&b, "connect");
	if (shards)
		shards_prepare(&b);
	if (PQsetnonblocking(b.conn, 1) != 0 || PQenterPipelineMode(b.conn) != 1)
		bare_die(&b, "pipeline");
	double began = bare_now_s();
	while (bare_now_s() < began + seconds) {
		if (shards)
			shards_commit(&b, n, n_files);
		else
			misses_send(&b, n / COMMITS_AHEAD);
		bare_take(&b, COMMITS_AHEAD - 1);
	}
	bare_take(&b, 0);
	printf("{\"requests\":%" PRIu64 ",\"seconds\":%.4f}\n", b.n_done, bare_now_s() - began);
	PQfinish(b.conn);
	return EXIT_SUCCESS;
}
