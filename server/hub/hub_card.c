/* POST /api/validate-yaml: checks a README.md. It reads no stored data, so it needs no key. */
#include "hub/card.h"
#include "server/app.h"
#include "server/ask/hub_reply.h"
#include "server/ask/route_body.h"
#include "server/ask/route_job.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARD_BODY_BYTES_MAX = 4 << 20, CARD_ANSWER_BYTES_MAX = 4096 };

struct card_request {
	struct route_job job;
	struct route_body body;
	struct cairn_hub_card card;
	bool is_read; /* the body is valid and can be checked */
};

static void card_free(void *state)
{
	struct card_request *c = state;
	if (c)
		route_body_fini(&c->body);
	free(c);
}

/* Checks the card. Runs on a worker, because 4 MiB take long. */
static void card_judge(struct route_job *job)
{
	struct card_request *c = (struct card_request *)job;
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&c->body);
	const char *content = cairn_json_text_of(json, "content");
	c->is_read = content != NULL;
	if (content)
		cairn_hub_card_judge(&c->card, content);
}

static void card_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct card_request *c = http_state(req);
	route_body_add(req, &c->body, bytes, len);
}

static void card_done(struct http_request *req)
{
	struct card_request *c = http_state(req);
	route_body_start(req, &c->body);
}

static void card_put(struct cairn_json_out *w, const char *member, const char *message)
{
	cairn_json_open_array(w, member);
	if (message) {
		cairn_json_open_object(w, NULL);
		cairn_json_put_text(w, "message", message);
		cairn_json_close(w);
	}
	cairn_json_close(w);
}

/* Replies as JSON, or as one line for each finding: huggingface_hub expects either in its place. */
static void card_reply(struct http_request *req, const struct cairn_hub_card *card)
{
	const char *accept = http_header(req, "Accept");
	bool lines = accept && strncmp(accept, "text/plain", 10) == 0;
	struct cairn_buf answer = cairn_buf_init(CARD_ANSWER_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&answer);
	if (lines) {
		if (card->error)
			cairn_buf_printf(&answer, "- Error: %s\n", card->error);
		if (card->warning)
			cairn_buf_printf(&answer, "- Warning: %s\n", card->warning);
	} else {
		cairn_json_open_object(&w, NULL);
		card_put(&w, "errors", card->error);
		card_put(&w, "warnings", card->warning);
		cairn_json_close(&w);
	}
	if (answer.status != CAIRN_OK) {
		cairn_buf_fini(&answer);
		http_reply_status(req, answer.status, NULL);
		return;
	}
	http_reply_bytes(req, card->error ? 400 : 200, lines ? "text/plain; charset=utf-8" : "application/json",
			 answer.bytes, answer.len, free, answer.bytes);
}

static void card_answer(struct http_request *req, struct route_job *job)
{
	struct card_request *c = (struct card_request *)job;
	if (c->is_read)
		card_reply(req, &c->card);
	else
		hub_reply_error(req, 400, NULL, "repo.body", "send {\"content\":TEXT,\"repoType\":TYPE}");
}

static void card_head(struct http_request *req)
{
	struct card_request *c = route_job_new(req, sizeof(*c), card_judge, card_answer);
	if (!c)
		return;
	c->job.for_reply = true;
	c->job.work.lane = CAIRN_LANE_HEAVY;
	(void)route_body_begin(req, &c->body);
}

const struct http_route ROUTES_CARD[] = {
	{.method = "POST",
	 .pattern = "/api/validate-yaml",
	 .name = "validate-yaml",
	 .errors = HTTP_ERRORS_HUB,
	 .body_max = CARD_BODY_BYTES_MAX,
	 .head = card_head,
	 .body = card_body,
	 .done = card_done,
	 .free = card_free},
	{0},
};
