#include "cli/push/senders.h"

#include "base/cond.h"
#include "base/json.h"
#include "cli/push/push_answer.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SENDERS_ANSWER_BYTES_MAX = 64 * 1024,
	SENDERS_KERNEL_BYTES = 4 * 1024 * 1024, /* bytes that a socket may not have sent yet: net.ipv4.tcp_wmem */
};

enum sender_place { PLACE_FREE, PLACE_LENT, PLACE_WAITS, PLACE_SENT };

/* A xorb, from its first chunk until the server has stored it. */
struct senders_slot {
	enum sender_place place;
	struct cairn_xorb_writer *writer; /* owned; NULL before its first use */
	struct cairn_hash xorb;
	uint64_t raw_bytes;
	size_t len;              /* bytes to send */
	_Atomic uint64_t handed; /* bytes of these that the kernel has taken */
};

struct senders {
	const struct client *like; /* borrowed */
	unsigned n_max;
	unsigned n, n_idle; /* number of threads */
	pthread_t threads[SENDERS_MAX];
	struct client *clients[SENDERS_MAX]; /* owned; one for each thread */
	pthread_mutex_t lock;                /* guards all members below, and n_idle */
	pthread_cond_t changed;
	struct watch watch;
	struct senders_slot slots[SENDERS_MAX + 1];
	struct senders_sums sums;
	bool stop;
	enum cairn_status status; /* the first failure */
	struct cairn_diag diag;
};

struct sender {
	struct senders *s;
	struct client *client;
};

static enum cairn_status sender_post(struct client *client, const char *path, const uint8_t *bytes, size_t len,
				     struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(SENDERS_ANSWER_BYTES_MAX);
	bool inserted = false;
	enum cairn_status status = client_request(client, CLIENT_POST, path, bytes, len, &answer, diag);
	if (status != CAIRN_OK)
		return status;
	if (client_json(&json, &answer) != CAIRN_OK || !cairn_json_bool_of(json, "was_inserted", &inserted))
		return push_not_a_store(diag, path, "was_inserted");
	return CAIRN_OK;
}

/* Sends a xorb. @param[out] sent  false: the server had it */
static enum cairn_status sender_send(struct client *client, const struct senders_slot *slot, bool *sent,
				     struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf none = cairn_buf_init(0);
	struct cairn_diag absent = {0};
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	size_t len = 0;
	const uint8_t *bytes = cairn_xorb_writer_bytes(slot->writer, &len);
	*sent = false;
	cairn_hash_text(text, &slot->xorb);
	(void)snprintf(path, sizeof(path), "/v1/xorbs/default/%s", text);
	enum cairn_status status = client_request(client, CLIENT_HEAD, path, NULL, 0, &none, &absent);
	if (status == CAIRN_E_NOT_FOUND) {
		*sent = true;
		return sender_post(client, path, bytes, len, diag);
	}
	if (status != CAIRN_OK)
		*diag = absent;
	return status;
}

static struct senders_slot *senders_find(struct senders *s, enum sender_place place)
{
	for (unsigned i = 0; i <= s->n_max; i++)
		if (s->slots[i].place == place)
			return &s->slots[i];
	return NULL;
}

/* Stores a failure. Call with the lock held. */
static void senders_fail(struct senders *s, enum cairn_status status, const struct cairn_diag *diag)
{
	if (s->status == CAIRN_OK) {
		s->status = status;
		s->diag = *diag;
	}
}

/* Sends the xorb of a slot. Call with the lock held; it is released while sending. */
static void sender_do(struct senders *s, struct client *client, struct senders_slot *slot)
{
	struct cairn_diag diag = {0};
	bool sent = false;
	(void)cairn_xorb_writer_bytes(slot->writer, &slot->len);
	atomic_store(&slot->handed, 0);
	slot->place = PLACE_SENT;
	pthread_mutex_unlock(&s->lock);
	client_watch(client, &slot->handed);
	enum cairn_status status = sender_send(client, slot, &sent, &diag);
	client_watch(client, NULL);
	pthread_mutex_lock(&s->lock);
	cairn_xorb_writer_reset(slot->writer);
	slot->place = PLACE_FREE;
	if (status != CAIRN_OK) {
		senders_fail(s, status, &diag);
	} else {
		s->sums.bytes += sent ? slot->len : 0;
		s->sums.xorbs += sent;
		s->sums.raw_bytes += slot->raw_bytes;
	}
	pthread_cond_broadcast(&s->changed);
}

static void *sender_work(void *ctx)
{
	struct sender own = *(struct sender *)ctx;
	struct senders *s = own.s;
	free(ctx);
	pthread_mutex_lock(&s->lock);
	while (!s->stop && s->status == CAIRN_OK) {
		struct senders_slot *slot = senders_find(s, PLACE_WAITS);
		if (slot) {
			sender_do(s, own.client, slot);
			continue;
		}
		s->n_idle++;
		pthread_cond_wait(&s->changed, &s->lock);
		s->n_idle--;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

enum cairn_status senders_new(struct senders **out, const struct client *like, unsigned n)
{
	struct senders *s = calloc(1, sizeof(*s));
	*out = s;
	if (!s)
		return CAIRN_E_NOMEM;
	assert(n >= 1 && n <= SENDERS_MAX);
	s->like = like;
	s->n_max = n;
	pthread_mutex_init(&s->lock, NULL);
	cairn_cond_init(&s->changed);
	return CAIRN_OK;
}

void senders_watch(struct senders *s, const struct watch *watch)
{
	s->watch = *watch;
}

void senders_freep(struct senders **out)
{
	struct senders *s = *out;
	*out = NULL;
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->n; i++) {
		(void)pthread_join(s->threads[i], NULL);
		client_freep(&s->clients[i]);
	}
	for (unsigned i = 0; i <= s->n_max; i++)
		cairn_xorb_writer_free(s->slots[i].writer);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct cairn_xorb_writer *senders_take(struct senders *s)
{
	struct senders_slot *slot = NULL;
	pthread_mutex_lock(&s->lock);
	while (s->status == CAIRN_OK && !(slot = senders_find(s, PLACE_FREE)))
		pthread_cond_wait(&s->changed, &s->lock);
	if (slot && !slot->writer)
		slot->writer = cairn_xorb_writer_new();
	struct cairn_xorb_writer *writer = slot ? slot->writer : NULL;
	if (writer)
		slot->place = PLACE_LENT;
	pthread_mutex_unlock(&s->lock);
	return writer;
}

/* Starts one more thread. Call with the lock held. @return CAIRN_OK, even if it cannot start but others run */
static enum cairn_status senders_start(struct senders *s)
{
	struct sender *own = malloc(sizeof(*own));
	enum cairn_status status = own ? client_new_like(&s->clients[s->n], s->like) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK) {
		*own = (struct sender){.s = s, .client = s->clients[s->n]};
		if (pthread_create(&s->threads[s->n], NULL, sender_work, own) == 0) {
			s->n++;
			return CAIRN_OK;
		}
		client_freep(&s->clients[s->n]);
	}
	free(own);
	return s->n > 0 ? CAIRN_OK : CAIRN_E_NOMEM;
}

enum cairn_status senders_send(struct senders *s, struct cairn_xorb_writer *writer, const struct cairn_hash *xorb,
			       uint64_t raw_bytes, struct cairn_diag *diag)
{
	pthread_mutex_lock(&s->lock);
	struct senders_slot *slot = senders_find(s, PLACE_LENT);
	assert(slot && slot->writer == writer);
	slot->xorb = *xorb;
	slot->raw_bytes = raw_bytes;
	slot->place = PLACE_WAITS;
	if (s->n_idle == 0 && s->n < s->n_max && senders_start(s) != CAIRN_OK)
		senders_fail(s, CAIRN_E_NOMEM, &(struct cairn_diag){0});
	pthread_cond_broadcast(&s->changed);
	enum cairn_status status = s->status;
	if (status != CAIRN_OK)
		*diag = s->diag;
	pthread_mutex_unlock(&s->lock);
	return status;
}

enum cairn_status senders_end(struct senders *s, struct cairn_diag *diag)
{
	pthread_mutex_lock(&s->lock);
	while (s->status == CAIRN_OK && (senders_find(s, PLACE_WAITS) || senders_find(s, PLACE_SENT)))
		watch_wait(&s->watch, &s->changed, &s->lock);
	enum cairn_status status = s->status;
	if (status != CAIRN_OK)
		*diag = s->diag;
	pthread_mutex_unlock(&s->lock);
	return status;
}

enum cairn_status senders_failure(struct senders *s, struct cairn_diag *diag)
{
	pthread_mutex_lock(&s->lock);
	enum cairn_status status = s->status;
	if (status != CAIRN_OK)
		*diag = s->diag;
	pthread_mutex_unlock(&s->lock);
	return status;
}

/* Adds the bytes of a xorb that is being sent. Call with the lock held. */
static void senders_add_out(const struct senders_slot *slot, struct senders_sums *sums)
{
	uint64_t handed = atomic_load_explicit(&slot->handed, memory_order_relaxed);
	if (slot->place != PLACE_SENT || handed <= SENDERS_KERNEL_BYTES || handed > slot->len)
		return;
	uint64_t out = handed - SENDERS_KERNEL_BYTES;
	sums->out_bytes += out;
	sums->out_raw_bytes += (uint64_t)((double)slot->raw_bytes * (double)out / (double)slot->len);
}

struct senders_sums senders_sums(struct senders *s)
{
	pthread_mutex_lock(&s->lock);
	struct senders_sums sums = s->sums;
	for (unsigned i = 0; i <= s->n_max; i++)
		senders_add_out(&s->slots[i], &sums);
	pthread_mutex_unlock(&s->lock);
	return sums;
}
