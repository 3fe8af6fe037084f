/* Copies objects from one store to another. Each is unpacked and hashed, and stored only if it is sound. */
#include "cas/move/move_work.h"
#include "cas/object/stored.h"

#include "base/crash_point.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOVE_THREADS = 4 };

/* Objects that the threads take one by one. */
struct move_queue {
	struct move *m;
	struct move_object *objects;
	size_t n;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t done;
	size_t next, n_done;
	bool stop;
};

static enum cairn_status move_open_copy(struct move *m, const struct move_object *object, unsigned n,
					struct cairn_store_object **out)
{
	if (!m->names_source)
		return cairn_store_get_copy(m->source, &object->hash, n, out);
	return n == 0 ? cairn_store_get_named(m->source, &object->hash, &object->copy, out) : CAIRN_E_NOT_FOUND;
}

/* Reads and verifies a whole object. @param put  its bytes are also written there; may be NULL */
static enum cairn_status move_read(const struct move_object *object, struct cairn_store_object *copy,
				   struct cairn_store_put *put, uint8_t *block, struct cairn_diag *diag)
{
	CLEANUP(cairn_xorb_verifier_freep)
	struct cairn_xorb_verifier *v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	struct cairn_xorb_summary summary;
	uint64_t bytes = cairn_store_object_bytes(copy);
	enum cairn_status status = v ? CAIRN_OK : CAIRN_E_NOMEM;
	if (bytes != object->bytes)
		return cairn_fail(diag, CAIRN_E_DAMAGED, "object.length", CAIRN_NO_OFFSET,
				  "it has another length than the index says");
	for (uint64_t at = 0; at < bytes && status == CAIRN_OK;) {
		size_t n = bytes - at < CAS_BLOCK_BYTES ? (size_t)(bytes - at) : CAS_BLOCK_BYTES, n_data;
		status = cairn_store_object_read(copy, at, block, n);
		if (status == CAIRN_OK)
			status = cairn_xorb_verifier_feed(v, block, n, &n_data, diag);
		if (status == CAIRN_OK && put)
			status = cairn_store_put_write(put, block, n);
		at += n;
	}
	if (status == CAIRN_OK)
		status = cairn_xorb_verifier_end(v, &object->hash, &summary, diag);
	const struct cairn_chunk_list *list = cairn_xorb_verifier_list(v);
	if (status == CAIRN_OK && object->list &&
	    (!cairn_chunk_list_same_chunks(object->list, list) || !cairn_chunk_list_same_places(object->list, list)))
		status = cairn_fail(diag, CAIRN_E_DAMAGED, "object.layout", CAIRN_NO_OFFSET,
				    "it is laid out otherwise than the index says");
	return cas_is_damage(status) ? CAIRN_E_DAMAGED : status;
}

/* The target already has an object with that name: is it sound and the same? Sets a damaged one aside. */
static enum cairn_status move_judge_there(struct move *m, const struct move_object *object, uint8_t *block, bool *sound)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
	struct cairn_diag why = {0};
	enum cairn_status status = cairn_store_get(m->target, &object->hash, &copy);
	if (status == CAIRN_OK)
		status = move_read(object, copy, NULL, block, &why);
	*sound = status == CAIRN_OK;
	if (status == CAIRN_OK)
		return cairn_store_confirm(m->target, &object->hash, 0);
	return status == CAIRN_E_DAMAGED ? cairn_store_set_aside(m->target, &object->hash) : status;
}

static enum cairn_status move_put(struct move *m, struct move_object *object, struct cairn_store_object *copy,
				  uint8_t *block)
{
	bool sound = false;
	for (unsigned n_tries = 0; n_tries < 2 && !sound; n_tries++) {
		CLEANUP(cairn_store_put_abortp) struct cairn_store_put *put = NULL;
		bool existed = false;
		enum cairn_status status = cairn_store_put_begin(m->target, &put);
		if (status == CAIRN_OK)
			status = move_read(object, copy, put, block, &object->diag);
		if (status != CAIRN_OK)
			return status;
		if (m->names_target)
			status = cairn_store_put_copy(put, &object->hash, &object->moved);
		else
			status = cairn_store_put_commit(put, &object->hash, &existed);
		put = NULL; /* used up */
		sound = !existed;
		if (status == CAIRN_OK && existed)
			status = move_judge_there(m, object, block, &sound);
		if (status != CAIRN_OK)
			return status == CAIRN_E_DAMAGED || status == CAIRN_E_NOT_FOUND ? CAIRN_E_IO : status;
	}
	cairn_crash_point(CAIRN_CRASH_MOVE_OBJECT);
	return sound ? CAIRN_OK : CAIRN_E_IO;
}

/* Copies the object from its first sound copy. */
static void move_object(struct move *m, struct move_object *object, uint8_t *block)
{
	enum cairn_status failed = CAIRN_E_NOT_FOUND;
	for (unsigned n = 0;; n++) {
		CLEANUP(cairn_store_object_freep) struct cairn_store_object *copy = NULL;
		enum cairn_status status = move_open_copy(m, object, n, &copy);
		if (status == CAIRN_E_NOT_FOUND) {
			object->status = failed;
			return;
		}
		if (status == CAIRN_OK)
			status = move_put(m, object, copy, block);
		object->status = status;
		if (status != CAIRN_E_DAMAGED)
			return;
		failed = status;
	}
}

static void *move_objects_thread(void *arg)
{
	struct move_queue *q = arg;
	uint8_t *block = malloc(CAS_BLOCK_BYTES);
	pthread_mutex_lock(&q->lock);
	while (q->next < q->n && !q->stop && block) {
		struct move_object *object = &q->objects[q->next++];
		pthread_mutex_unlock(&q->lock);
		move_object(q->m, object, block);
		pthread_mutex_lock(&q->lock);
		q->n_done++;
		if (object->status == CAIRN_OK) {
			q->m->report->n_objects++;
			q->m->report->object_bytes += object->bytes;
		}
		pthread_cond_signal(&q->done);
	}
	q->stop = q->stop || !block;
	pthread_cond_signal(&q->done);
	pthread_mutex_unlock(&q->lock);
	free(block);
	return NULL;
}

static bool move_goes_on(struct move *m)
{
	return !m->options->progress || m->options->progress(m->options->ctx, m->report);
}

/* Waits for the threads, and reports the progress on the caller's thread. */
static void move_objects_wait(struct move_queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->n_done < q->n && !q->stop) {
		pthread_cond_wait(&q->done, &q->lock);
		q->stop = q->stop || !move_goes_on(q->m);
	}
	pthread_mutex_unlock(&q->lock);
}

enum cairn_status move_objects(struct move *m, struct move_object *objects, size_t n)
{
	struct move_queue q = {.m = m, .objects = objects, .n = n};
	pthread_t threads[MOVE_THREADS];
	size_t n_threads = 0;
	if (n == 0)
		return CAIRN_OK;
	pthread_mutex_init(&q.lock, NULL);
	pthread_cond_init(&q.done, NULL);
	while (n_threads < MOVE_THREADS && n_threads < n &&
	       pthread_create(&threads[n_threads], NULL, move_objects_thread, &q) == 0)
		n_threads++;
	if (n_threads > 0)
		move_objects_wait(&q);
	for (size_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&q.done);
	pthread_mutex_destroy(&q.lock);
	if (n_threads == 0)
		return CAIRN_E_NOMEM;
	return q.stop ? cairn_fail(m->diag, CAIRN_E_BUSY, "move.stopped", CAIRN_NO_OFFSET, "it was stopped") : CAIRN_OK;
}
