/* POST /v1/shards, /v2/shards and older paths of the first: an upload is spooled while it arrives, verified on a
 * worker, and answered when durable. /v2 reports progress in NDJSON frames (source: protocol document). */
#include "cas/put/put_shard.h"
#include "server/app.h"

#include "base/clock.h"
#include "base/json_text.h"
#include "server/ask/route_args.h"
#include "server/ask/route_piece.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* interval of progress frames; a verification that fails before the first frame gets a plain status */
	SHARD_PROGRESS_EVERY_MS = 1000,
	SHARD_HEARTBEAT_MS = 15000, /* longest pause between frames; clients expect one every 20 s */
	SHARD_FRAME_BYTES = 1024,
};

/* An upload. The request, the worker and the index's writer use it in turn. A /v2 client may leave while they work, so
 * references are counted: the request has one (route->free), the work has another. */
struct shard_request {
	struct cairn_work work;
	struct app *app;
	struct cairn_shard_upload *upload;
	struct route_piece piece; /* passes on the body while it arrives */
	bool framed;              /* the request came by /v2, so frames are sent */

	pthread_mutex_t lock; /* guards the members below */
	unsigned refs;
	struct http_request *req; /* the suspended request; NULL once resumed */
	struct http_stream *stream;
	bool left;     /* the stream's client has gone */
	bool begun;    /* a worker has begun */
	bool ended;    /* status and the following members are final */
	bool verified; /* the upload was verified, so status is that of its registration */
	bool added;
	enum cairn_status status;
	struct cairn_diag diag;
	uint64_t n_verified, n_total;
	int64_t frame_at_ms;                /* when the last frame was sent, or the work began */
	struct shard_request *next, **prev; /* in streams, under streams_lock */
};

/* Uploads whose stream is open, for the heartbeat. streams_lock is taken before a request's lock. */
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shard_request *streams;

static void shard_unref(struct shard_request *s)
{
	pthread_mutex_lock(&s->lock);
	unsigned left = --s->refs;
	pthread_mutex_unlock(&s->lock);
	if (left > 0)
		return;
	cairn_shard_upload_free(s->upload);
	route_piece_fini(&s->piece);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

/* Should the client retry? Not if it lacks a right or the disk is full: clients would retry for minutes. */
static bool shard_can_retry(enum cairn_status status, bool verified)
{
	if (status == CAIRN_E_DENIED)
		return false;
	return verified || status == CAIRN_E_IO || status == CAIRN_E_NOMEM || status == CAIRN_E_FULL ||
	       status == CAIRN_E_BUSY || status == CAIRN_E_DAMAGED;
}

/* Sends a progress frame. Call with the lock held, as for all frames. */
static void shard_send_validating(struct shard_request *s)
{
	char frame[SHARD_FRAME_BYTES];
	int n = snprintf(frame, sizeof(frame),
			 "{\"type\":\"validating\",\"verified\":%" PRIu64 ",\"total\":%" PRIu64 "}\n", s->n_verified,
			 s->n_total);
	s->left = !http_stream_frame(s->stream, frame, (size_t)n);
	s->frame_at_ms = cairn_clock_mono_ms();
}

static void shard_send_committing(struct shard_request *s)
{
	static const char FRAME[] = "{\"type\":\"committing\",\"stage\":\"syncing\"}\n";
	(void)http_stream_frame(s->stream, FRAME, sizeof(FRAME) - 1);
	s->frame_at_ms = cairn_clock_mono_ms();
}

/* Sends the result. The stream is finished and must not be used again. */
static void shard_send_result(struct shard_request *s)
{
	struct cairn_buf frame = cairn_buf_init((size_t)SHARD_FRAME_BYTES * 4);
	if (s->status == CAIRN_OK) {
		cairn_buf_printf(&frame, "{\"type\":\"result\",\"result\":%d}\n", s->added);
	} else {
		cairn_buf_printf(&frame, "{\"type\":\"error\",\"message\":");
		cairn_json_text(&frame, s->diag.rule ? s->diag.text : cairn_status_name(s->status), SIZE_MAX);
		cairn_buf_printf(&frame, ",\"code\":\"%s\",\"retryable\":%s}\n",
				 s->diag.rule ? s->diag.rule : "internal",
				 shard_can_retry(s->status, s->verified) ? "true" : "false");
	}
	http_stream_finish(s->stream, (const char *)frame.bytes, frame.len);
	s->stream = NULL;
	cairn_buf_fini(&frame);
}

/* Adds an open stream to the list for heartbeats, unless it has ended meanwhile. */
static void streams_watch(struct shard_request *s)
{
	pthread_mutex_lock(&streams_lock);
	pthread_mutex_lock(&s->lock);
	if (s->stream) {
		s->next = streams;
		s->prev = &streams;
		if (streams)
			streams->prev = &s->next;
		streams = s;
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&streams_lock);
}

/* Removes a stream from the list for heartbeats. Call with both locks held. */
static void streams_forget(struct shard_request *s)
{
	if (!s->prev)
		return;
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->prev = NULL;
}

void route_shards_tick(void)
{
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&streams_lock);
	for (struct shard_request *s = streams; s; s = s->next) {
		pthread_mutex_lock(&s->lock);
		if (now_ms - s->frame_at_ms >= SHARD_HEARTBEAT_MS)
			s->verified ? shard_send_committing(s) : shard_send_validating(s);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams_lock);
}

/* Releases the lock and resumes the request, which must not be touched afterwards. */
static void shard_unlock_and_resume(struct shard_request *s)
{
	struct http_request *req = s->req;
	s->req = NULL;
	pthread_mutex_unlock(&s->lock);
	if (req)
		http_resume(req);
}

static void shard_end(struct shard_request *s, enum cairn_status status, bool added, const struct cairn_diag *diag)
{
	pthread_mutex_lock(&streams_lock);
	pthread_mutex_lock(&s->lock);
	streams_forget(s);
	pthread_mutex_unlock(&streams_lock);
	s->ended = true;
	s->status = status;
	s->added = added;
	if (diag)
		s->diag = *diag;
	if (s->stream)
		shard_send_result(s);
	shard_unlock_and_resume(s);
	shard_unref(s);
}

static void shard_registered(void *ctx, enum cairn_status status, bool added, const struct cairn_diag *diag)
{
	/* Data that the shard refers to was removed after the verification. A retry is verified anew. */
	shard_end(ctx, status == CAIRN_E_CONFLICT ? CAIRN_E_BUSY : status, added, diag);
}

/* Has the client left? Then the work may stop: the client sends the shard again if needed. Call with the lock held. */
static bool shard_is_left(const struct shard_request *s)
{
	return s->stream ? s->left : s->req && http_client_gone(s->req);
}

static bool shard_progress(void *ctx, uint64_t verified, uint64_t total)
{
	struct shard_request *s = ctx;
	int64_t now_ms = cairn_clock_mono_ms();
	pthread_mutex_lock(&s->lock);
	bool left = shard_is_left(s);
	s->n_verified = verified;
	s->n_total = total;
	bool late = s->framed && now_ms - s->frame_at_ms >= SHARD_PROGRESS_EVERY_MS;
	if (late && s->stream)
		shard_send_validating(s);
	if (late && s->req)
		shard_unlock_and_resume(s);
	else
		pthread_mutex_unlock(&s->lock);
	return !left;
}

static void shard_work(struct cairn_work *work)
{
	struct shard_request *s = (struct shard_request *)work;
	struct cairn_diag diag = {0};
	pthread_mutex_lock(&s->lock);
	s->begun = true;
	route_explain_busy(s->req);
	pthread_mutex_unlock(&s->lock);
	enum cairn_status status = route_piece_check_wait(&s->piece, s->app, work->queued_us, &diag);
	if (status == CAIRN_OK)
		status = cairn_shard_upload_verify(s->upload, shard_progress, s, &diag);
	if (status != CAIRN_OK) {
		shard_end(s, status, false, &diag);
		return;
	}
	const struct cairn_verify_summary *summary = cairn_shard_upload_summary(s->upload);
	pthread_mutex_lock(&s->lock);
	s->verified = true;
	s->n_verified = s->n_total = summary->n_terms + summary->n_chunks;
	if (s->stream)
		shard_send_committing(s);
	if (s->framed)
		shard_unlock_and_resume(s);
	else
		pthread_mutex_unlock(&s->lock);
	status = cairn_shard_upload_commit(s->upload, shard_registered, s);
	if (status != CAIRN_OK)
		shard_end(s, status, false, NULL);
}

static uint64_t shards_body_max(void *app)
{
	return ((struct app *)app)->config.shard_bytes_max;
}

static void shards_free(void *state)
{
	if (state)
		shard_unref(state);
}

static enum cairn_status shards_take(void *ctx, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	return cairn_shard_upload_write(((struct shard_request *)ctx)->upload, bytes, len, diag);
}

static void shards_head(struct http_request *req, bool framed, bool footer_may_be_cut)
{
	struct cairn_cas_who who = auth_cas_identity(http_identity(req));
	struct cairn_diag diag = {0};
	http_sender(req, &who.sender);
	struct shard_request *s = calloc(1, sizeof(*s));
	if (!s) {
		http_reply_status(req, CAIRN_E_NOMEM, NULL);
		return;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->refs = 1;
	s->app = app_of(req);
	s->framed = framed;
	s->piece = (struct route_piece){.take = shards_take, .ctx = s};
	http_set_state(req, s);
	enum cairn_status status = cairn_shard_upload_begin(s->app->cas, &who, http_content_length(req),
							    footer_may_be_cut, &s->upload, &diag);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &diag);
}

static void shards_head_plain(struct http_request *req)
{
	shards_head(req, false, false);
}

static void shards_head_framed(struct http_request *req)
{
	shards_head(req, true, false);
}

/* hf_xet 1.1.8 to 1.2 send shards without the footer that their header announces, and only to this path. */
static void shards_head_older(struct http_request *req)
{
	shards_head(req, false, true);
}

/* The hash in the path is of the shard with its footer, which was cut off, so it is neither checked nor stored. */
static void shards_head_named(struct http_request *req)
{
	struct cairn_hash shard;
	if (route_prefix(req, "default-merkledb") && route_hash(req, &shard))
		shards_head_older(req);
}

static void shards_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct shard_request *s = http_state(req);
	bool waits = cairn_shard_upload_waits(s->upload);
	enum cairn_status status = route_piece_take(&s->piece, req, bytes, len, waits);
	if (status != CAIRN_OK)
		http_reply_status(req, status, &s->piece.diag);
}

/* Replies with a plain status. Call with the lock held. */
static void shards_reply_plain(struct http_request *req, struct shard_request *s)
{
	if (s->status == CAIRN_OK)
		http_reply_json(req, 200, s->added ? "{\"result\":1}" : "{\"result\":0}");
	else if (s->verified)
		http_reply_status(req, s->status, &s->diag);
	else
		route_reply_refused(req, s->status, &s->diag);
}

/* Opens the stream, once the verification has succeeded or takes long. Call with the lock held. */
static void shards_begin_stream(struct http_request *req, struct shard_request *s)
{
	s->stream = http_reply_stream(req, "application/x-ndjson");
	if (!s->stream)
		return;
	shard_send_validating(s);
	if (s->verified)
		shard_send_committing(s);
	if (s->ended)
		shard_send_result(s);
}

/* Must the client's user read the reason? Clients show the message of a frame, but only the number of a status. A retry
 * does not help if the registration was refused, or if a client's cache is wrong about xorbs. */
static bool shard_must_say_why(const struct shard_request *s)
{
	if (shard_can_retry(s->status, s->verified))
		return false;
	return s->verified || cairn_diag_has(&s->diag, "term.unknown_xorb");
}

static void shards_resumed(struct http_request *req)
{
	struct shard_request *s = http_state(req);
	pthread_mutex_lock(&s->lock);
	if (s->begun)
		http_note_queued(req, s->work.queued_us);
	/* A failure before the first frame is replied as a status, which clients handle better. */
	if (s->framed && (!s->ended || s->status == CAIRN_OK || shard_must_say_why(s)))
		shards_begin_stream(req, s);
	else
		shards_reply_plain(req, s);
	pthread_mutex_unlock(&s->lock);
	streams_watch(s);
}

static void shards_done(struct http_request *req)
{
	struct shard_request *s = http_state(req);
	uint64_t turn = http_turn(req); /* read now, while this thread owns the request */
	if (route_piece_end(&s->piece) != CAIRN_OK) {
		http_reply_status(req, s->piece.status, &s->piece.diag);
		return;
	}
	s->req = req;
	s->refs++;
	s->frame_at_ms = cairn_clock_mono_ms();
	if (!http_suspend(req, shards_resumed)) {
		s->refs--;
		return;
	}
	s->work = (struct cairn_work){.run = shard_work, .lane = CAIRN_LANE_HEAVY, .turn = turn};
	if (cairn_workers_submit(s->app->workers, &s->work) != CAIRN_OK)
		shard_end(s, CAIRN_E_BUSY, false, NULL);
}

#define SHARDS_POST(path, label, needs, begin)                                                                         \
	{                                                                                                              \
		.method = "POST", .pattern = (path), .name = (label), .scope = (needs),                                \
		.body_max_of = shards_body_max, .head = (begin), .body = shards_body, .done = shards_done,             \
		.free = shards_free                                                                                    \
	}

const struct http_route ROUTES_SHARDS[] = {
	SHARDS_POST("/v1/shards", "shards-v1", CAIRN_TOKEN_WRITE, shards_head_plain),
	SHARDS_POST("/v2/shards", "shards-v2", CAIRN_TOKEN_WRITE, shards_head_framed),
	SHARDS_POST("/shards", "shards-older", CAIRN_TOKEN_WRITE, shards_head_older),
	SHARDS_POST("/shard/{prefix}/{hash}", "shards-older", CAIRN_TOKEN_WRITE, shards_head_named),
	{0},
};
