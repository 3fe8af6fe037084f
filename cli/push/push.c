#include "cli/push/push.h"

#include "base/clock.h"
#include "base/json.h"
#include "cli/common/answer.h"
#include "cli/common/cli.h"
#include "cli/common/scan.h"
#include "cli/push/push_answer.h"
#include "dedupe/shards.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PUSH_ANSWER_BYTES_MAX = 1024 * 1024 };

void push_fini(struct push *p)
{
	progress_clear(&p->progress);
	ahead_freep(&p->ahead);
	cairn_placer_fini(&p->placer);
	pthread_mutex_destroy(&p->lock);
	compressor_freep(&p->compressor);
	senders_freep(&p->senders);
	client_freep(&p->client);
	cairn_buf_fini(&p->answer);
	cairn_buf_fini(&p->dedupe_answer);
}

static enum cairn_status push_learn(struct cairn_placer *placer, const struct answer *answer)
{
	struct cairn_shard_reader reader = answer->xorbs;
	struct cairn_shard_xorb xorb;
	bool more = true;
	enum cairn_status status = CAIRN_OK;
	while (status == CAIRN_OK) {
		uint32_t ordinal = 0;
		status = cairn_shard_next_xorb(&reader, &xorb, &more, NULL);
		if (status != CAIRN_OK || !more)
			break;
		status = cairn_placer_learn_xorb(placer, &xorb.hash, &ordinal);
		for (uint32_t i = 0; status == CAIRN_OK && i < xorb.n_chunks; i++) {
			struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(&xorb, i);
			status = cairn_placer_learn_chunk(placer, &answer->footer.chunk_hash_key, ordinal, i,
							  &chunk.hash);
		}
	}
	return status == CAIRN_E_LIMIT ? CAIRN_OK : status; /* no failure: chunks that are not noted are sent again */
}

/* Asks the server about a chunk; p->dedupe_answer gets the answer. */
static enum cairn_status push_ask(struct push *p, const struct cairn_hash *chunk, bool *found, struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	p->queries++;
	enum cairn_status status = answer_ask(p->client, chunk, &p->dedupe_answer, &why);
	*found = status == CAIRN_OK;
	if (status == CAIRN_OK || status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	*diag = why;
	return status;
}

/* Looks up a chunk. @param[out] known  false: the answer is empty or useless */
static enum cairn_status push_find(struct push *p, const struct cairn_hash *chunk, struct answer *answer, bool *known,
				   struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status = CAIRN_OK;
	bool found = false;
	*known = false;
	if (!p->ahead || !ahead_take(p->ahead, chunk, &p->dedupe_answer, &found))
		status = push_ask(p, chunk, &found, diag);
	if (status != CAIRN_OK)
		return status;
	if (p->ahead)
		ahead_learn(p->ahead, found ? p->dedupe_answer.len : 0);
	if (!found)
		return CAIRN_OK;
	if (answer_read(answer, p->dedupe_answer.bytes, p->dedupe_answer.len, &why) == CAIRN_OK) {
		*known = answer_is_fresh(answer, cairn_clock_unix_s());
		return CAIRN_OK;
	}
	progress_clear(&p->progress);
	cli_error("an answer to a chunk query is not usable, going on without it: %s", why.text);
	return CAIRN_OK;
}

static enum cairn_status push_query(void *ctx, struct cairn_placer *placer, const struct cairn_hash *chunk,
				    struct cairn_diag *diag)
{
	struct push *p = ctx;
	struct answer answer;
	bool known;
	pthread_mutex_unlock(&p->lock);
	enum cairn_status status = push_find(p, chunk, &answer, &known, diag);
	pthread_mutex_lock(&p->lock);
	if (status != CAIRN_OK || !known)
		return status;
	p->hits++;
	return push_learn(placer, &answer);
}

static bool push_has_chunk(void *ctx, const struct cairn_hash *chunk)
{
	struct push *p = ctx;
	pthread_mutex_lock(&p->lock);
	bool known = cairn_placer_find(&p->placer, chunk) != NULL;
	pthread_mutex_unlock(&p->lock);
	return known;
}

static enum cairn_status push_add(void *ctx, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				  struct cairn_diag *diag)
{
	struct push *p = ctx;
	p->new_bytes += len;
	pthread_mutex_unlock(&p->lock);
	enum cairn_status status = compressor_add(p->compressor, chunk, raw, len, diag);
	pthread_mutex_lock(&p->lock);
	return status;
}

static enum cairn_status push_close(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list,
				    struct cairn_diag *diag)
{
	struct push *p = ctx;
	(void)list;
	pthread_mutex_unlock(&p->lock);
	enum cairn_status status = compressor_close(p->compressor, xorb, diag);
	pthread_mutex_lock(&p->lock);
	return status;
}

static enum cairn_status push_shard(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	struct push *p = ctx;
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	static const char path[] = "/v1/shards";
	int64_t result = 0;
	enum cairn_status status = client_request(p->client, CLIENT_POST, path, bytes, len, &p->answer, diag);
	if (status != CAIRN_OK)
		return status;
	if (client_json(&json, &p->answer) != CAIRN_OK || !cairn_json_i64_of(json, "result", &result))
		return push_not_a_store(diag, path, "result");
	p->shards_sent++;
	p->shards_new += result == 1;
	return CAIRN_OK;
}

static uint64_t push_done(const struct push *p, const struct senders_sums *sums)
{
	return p->read_bytes - (p->new_bytes - sums->raw_bytes - sums->out_raw_bytes);
}

/* Draws the progress by the bytes that the server has: much of the data read may not have been sent. */
static void push_draw(void *ctx)
{
	struct push *p = ctx;
	if (!p->progress.shown)
		return;
	struct senders_sums sums = senders_sums(p->senders);
	progress_draw(&p->progress, push_done(p, &sums), client_bytes_sent(p->client) + sums.bytes + sums.out_bytes);
}

void push_init(struct push *p, bool dedupe)
{
	static const struct cairn_placer_ops ask = {.query = push_query, .add = push_add, .close = push_close};
	static const struct cairn_placer_ops ask_not = {.add = push_add, .close = push_close};
	*p = (struct push){.answer = cairn_buf_init(PUSH_ANSWER_BYTES_MAX),
			   .dedupe_answer = cairn_buf_init(ANSWER_BYTES_MAX)};
	cairn_placer_init(&p->placer, dedupe ? &ask : &ask_not, p);
	pthread_mutex_init(&p->lock, NULL);
}

enum cairn_status push_ask_ahead(struct push *p, size_t n, int (*open_file)(void *ctx, size_t file), void *ctx)
{
	const struct ahead_push push = {.open = open_file, .open_ctx = ctx, .knows = push_has_chunk, .knows_ctx = p};
	return p->placer.ops->query ? ahead_new(&p->ahead, p->client, n, &push) : CAIRN_OK;
}

void push_next(struct push *p, size_t file)
{
	if (p->ahead)
		ahead_begin(p->ahead, file);
}

uint64_t push_queries(const struct push *p)
{
	return p->queries + (p->ahead ? ahead_queries(p->ahead) : 0);
}

enum cairn_status push_open(struct push *p, const struct server_options *server, unsigned jobs, struct cairn_diag *diag)
{
	enum cairn_status status = server_options_open(server, &p->client, diag);
	if (status == CAIRN_OK)
		status = senders_new(&p->senders, p->client, jobs);
	if (status == CAIRN_OK)
		status = compressor_new(&p->compressor, p->senders);
	if (status != CAIRN_OK)
		return status;
	const struct watch watch = {.look = push_draw, .ctx = p};
	senders_watch(p->senders, &watch);
	compressor_watch(p->compressor, &watch);
	return CAIRN_OK;
}

uint64_t push_sent_bytes(const struct push *p)
{
	return client_bytes_sent(p->client) + senders_sums(p->senders).bytes;
}

uint64_t push_sent_xorbs(const struct push *p)
{
	return senders_sums(p->senders).xorbs;
}

static enum cairn_status push_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				    struct cairn_diag *diag)
{
	struct push *p = ctx;
	p->read_bytes += len;
	pthread_mutex_lock(&p->lock); /* the callbacks of the questions release the lock while they work */
	enum cairn_status status = cairn_placer_chunk(&p->placer, hash, raw, len, diag);
	pthread_mutex_unlock(&p->lock);
	push_draw(p);
	p->broken |= status != CAIRN_OK;
	return status;
}

/* Records the result of reading the current file. */
static enum cairn_status push_take(struct push *p, enum cairn_status status, const struct cairn_cutter_file *result)
{
	if (status != CAIRN_OK) {
		p->broken |= status == CAIRN_E_NOMEM;
		cairn_placer_file_drop(&p->placer);
		return status;
	}
	status = cairn_placer_file_end(&p->placer, &result->hash, result->sha256);
	p->broken |= status != CAIRN_OK;
	return status;
}

enum cairn_status push_fd(struct push *p, int fd, struct cairn_diag *diag)
{
	struct cairn_cutter_file result;
	cairn_placer_file_begin(&p->placer);
	return push_take(p, scan_fd(fd, push_chunk, p, &result, diag), &result);
}

enum cairn_status push_file(struct push *p, const char *path, struct cairn_diag *diag)
{
	struct cairn_cutter_file result;
	if (strcmp(path, "-") != 0) {
		cairn_placer_file_begin(&p->placer);
		return push_take(p, scan_file(path, push_chunk, p, &result, diag), &result);
	}
	int flags = fcntl(STDIN_FILENO, F_GETFL); /* replaced by cairn_fd_keep_standard() */
	int fd = flags < 0 || (flags & O_ACCMODE) == O_WRONLY ? -1 : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET,
				  "standard input cannot be read");
	return push_fd(p, fd, diag);
}

enum cairn_status push_end(struct push *p, struct cairn_diag *diag)
{
	p->progress.name = "waiting for the server";
	pthread_mutex_lock(&p->lock); /* send xorbs before shards, because shards refer to them */
	enum cairn_status status = cairn_placer_end(&p->placer, diag);
	pthread_mutex_unlock(&p->lock);
	if (status == CAIRN_OK)
		status = compressor_end(p->compressor, diag);
	if (status == CAIRN_OK)
		status = senders_end(p->senders, diag);
	p->progress.name = "naming the files to the server";
	push_draw(p);
	if (status == CAIRN_OK)
		status = cairn_shards_write(&p->placer, CAIRN_SHARDS_BYTES_MAX, push_shard, p, diag);
	p->progress.name = NULL;
	return status;
}
