#include "cli/push/ahead.h"

#include "base/fd.h"
#include "chunk/chunker.h"
#include "cli/common/answer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	AHEAD_FILES = AHEAD_MAX + 1,              /* the files after the current one, and the current one */
	AHEAD_SHORT_BYTES = 16 * 1024,            /* a shorter answer hardly covers other files */
	AHEAD_ANSWER_BYTES_MAX = 4 * 1024 * 1024, /* limit of kept answers; for longer ones the push asks itself */
};

enum ahead_stage { STAGE_FREE, STAGE_READ, STAGE_ASKED, STAGE_ANSWERED };

/* A file, from reading its first chunk until the push has the answer or has passed the file. */
struct ahead_file {
	enum ahead_stage stage;
	size_t file;
	struct cairn_hash chunk; /* valid from STAGE_ASKED on */
	bool found;
	struct cairn_buf answer; /* owned */
};

struct ahead {
	const struct client *like; /* borrowed */
	struct ahead_push push;
	size_t n;
	atomic_bool stop;
	unsigned n_threads;
	pthread_t threads[AHEAD_MAX];
	struct client *clients[AHEAD_MAX]; /* owned; one for each thread */
	pthread_mutex_t lock;              /* guards all members below */
	pthread_cond_t more, changed;      /* more: there is a file to ask about; changed: there is a result */
	size_t begun, next;                /* the current file of the push, and the next file to ask about */
	unsigned width;                    /* how many files after the current one may be asked about */
	uint64_t queries;
	struct ahead_file files[AHEAD_FILES]; /* indexed by the file's number */
};

struct ahead_thread {
	struct ahead *a;
	struct client *client;
	uint8_t bytes[CAIRN_CHUNK_CUT_BYTES_MAX];
};

/* Reads the first chunk of a file. @return false: there is none */
static bool ahead_read(struct ahead_thread *own, size_t file, struct cairn_hash *chunk)
{
	size_t n = 0;
	const struct ahead_push *push = &own->a->push;
	CLEANUP(cairn_fd_closep) int fd = push->open(push->open_ctx, file);
	if (fd < 0 || cairn_fd_read_upto(fd, own->bytes, sizeof(own->bytes), &n) != CAIRN_OK || n == 0)
		return false;
	cairn_hash_chunk(chunk, own->bytes, cairn_chunk_cut(own->bytes, n));
	return true;
}

/* Asks the server about a file's first chunk. @return false: there is no answer */
static bool ahead_ask(struct client *client, struct ahead_file *f)
{
	struct cairn_diag diag = {0};
	f->answer = cairn_buf_init(AHEAD_ANSWER_BYTES_MAX);
	enum cairn_status status = answer_ask(client, &f->chunk, &f->answer, &diag);
	f->found = status == CAIRN_OK;
	return status == CAIRN_OK || status == CAIRN_E_NOT_FOUND;
}

/* Returns a file to ask about. Call with the lock held. @return NULL: none now */
static struct ahead_file *ahead_next(struct ahead *a)
{
	struct ahead_file *f = &a->files[a->next % AHEAD_FILES];
	/* if the file's place is in use, it still belongs to an earlier file */
	if (a->next >= a->n || a->next > a->begun + a->width || f->stage != STAGE_FREE)
		return NULL;
	f->file = a->next++;
	f->stage = STAGE_READ;
	return f;
}

/* Frees the place of a file. Call with the lock held. */
static void ahead_drop(struct ahead_file *f)
{
	cairn_buf_fini(&f->answer);
	f->stage = STAGE_FREE;
}

/* Reads a file and asks about it. Call with the lock held; it is released while doing so. */
static void ahead_do(struct ahead_thread *own, struct ahead_file *f)
{
	struct ahead *a = own->a;
	struct cairn_hash chunk;
	pthread_mutex_unlock(&a->lock);
	bool good = ahead_read(own, f->file, &chunk) && !a->push.knows(a->push.knows_ctx, &chunk);
	pthread_mutex_lock(&a->lock);
	if (good && f->file >= a->begun) {
		f->chunk = chunk;
		f->stage = STAGE_ASKED;
		a->queries++;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
		good = ahead_ask(own->client, f);
		pthread_mutex_lock(&a->lock);
	}
	if (good && f->file >= a->begun)
		f->stage = STAGE_ANSWERED;
	else
		ahead_drop(f);
	pthread_cond_signal(&a->changed);
}

static void *ahead_work(void *ctx)
{
	struct ahead_thread *own = ctx;
	struct ahead *a = own->a;
	pthread_mutex_lock(&a->lock);
	while (!atomic_load(&a->stop)) {
		struct ahead_file *f = ahead_next(a);
		if (f)
			ahead_do(own, f);
		else
			pthread_cond_wait(&a->more, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	free(own);
	return NULL;
}

/* Starts another thread. Call with the lock held. If it cannot be started, the running threads do the work. */
static void ahead_start(struct ahead *a)
{
	struct ahead_thread *own = malloc(sizeof(*own));
	struct client **client = &a->clients[a->n_threads];
	if (own && client_new_like(client, a->like) == CAIRN_OK) {
		client_give_up_at_once(*client, &a->stop);
		own->a = a;
		own->client = *client;
		if (pthread_create(&a->threads[a->n_threads], NULL, ahead_work, own) == 0) {
			a->n_threads++;
			return;
		}
		client_freep(client);
	}
	free(own);
}

enum cairn_status ahead_new(struct ahead **out, const struct client *like, size_t n, const struct ahead_push *push)
{
	struct ahead *a = calloc(1, sizeof(*a));
	*out = a;
	if (!a)
		return CAIRN_E_NOMEM;
	a->like = like;
	a->push = *push;
	a->n = n;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->more, NULL);
	pthread_cond_init(&a->changed, NULL);
	return CAIRN_OK;
}

void ahead_freep(struct ahead **out)
{
	struct ahead *a = *out;
	*out = NULL;
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	atomic_store(&a->stop, true);
	pthread_cond_broadcast(&a->more);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->n_threads; i++) {
		(void)pthread_join(a->threads[i], NULL);
		client_freep(&a->clients[i]);
	}
	for (unsigned i = 0; i < AHEAD_FILES; i++)
		cairn_buf_fini(&a->files[i].answer);
	pthread_cond_destroy(&a->more);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void ahead_begin(struct ahead *a, size_t file)
{
	pthread_mutex_lock(&a->lock);
	a->begun = file;
	a->next = a->next > file ? a->next : file + 1;
	for (unsigned i = 0; i < AHEAD_FILES; i++)
		if (a->files[i].stage == STAGE_ANSWERED && a->files[i].file < file)
			ahead_drop(&a->files[i]);
	pthread_cond_signal(&a->more); /* one more file may be asked about */
	pthread_mutex_unlock(&a->lock);
}

/* Waits for the result about a file. Call with the lock held. @return false: nobody asks about it */
static bool ahead_wait(struct ahead *a, const struct ahead_file *f, const struct cairn_hash *chunk)
{
	if (f->file != a->begun)
		return false;
	while (f->stage == STAGE_READ)
		pthread_cond_wait(&a->changed, &a->lock);
	if (f->stage == STAGE_FREE || !cairn_hash_equal(&f->chunk, chunk))
		return false;
	while (f->stage == STAGE_ASKED)
		pthread_cond_wait(&a->changed, &a->lock);
	return f->stage == STAGE_ANSWERED;
}

bool ahead_take(struct ahead *a, const struct cairn_hash *chunk, struct cairn_buf *answer, bool *found)
{
	pthread_mutex_lock(&a->lock);
	struct ahead_file *f = &a->files[a->begun % AHEAD_FILES];
	bool taken = ahead_wait(a, f, chunk);
	if (taken) {
		*found = f->found;
		answer->len = 0;
		cairn_buf_add(answer, f->answer.bytes, f->answer.len);
		taken = answer->status == CAIRN_OK;
		ahead_drop(f);
	}
	pthread_mutex_unlock(&a->lock);
	return taken;
}

void ahead_learn(struct ahead *a, size_t answer_bytes)
{
	pthread_mutex_lock(&a->lock);
	if (answer_bytes > AHEAD_SHORT_BYTES)
		a->width = 0;
	else if (a->width < AHEAD_MAX)
		a->width++;
	if (a->n_threads < a->width && a->n_threads < AHEAD_MAX && a->begun + a->n_threads + 1 < a->n)
		ahead_start(a);
	pthread_cond_signal(&a->more);
	pthread_mutex_unlock(&a->lock);
}

uint64_t ahead_queries(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	uint64_t n = a->queries;
	pthread_mutex_unlock(&a->lock);
	return n;
}
