/* Signing in with a browser, as programs do it (RFC 8628): POST /oauth/device gives the codes, and POST /oauth/token
 * the key, once a person has confirmed the code on the page /login/device. */
#include "base/clock.h"
#include "hub/device.h"
#include "server/ask/form.h"
#include "server/ask/hub_reply.h"
#include "server/ask/route_body.h"
#include "server/http/rate.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEVICE_BODY_BYTES_MAX = 4096,
	DEVICE_ANSWER_BYTES_MAX = 8192,
	DEVICE_BASE_BYTES = 1024,
	/* A second less than programs are asked to wait, because neither their clocks nor the network are exact. */
	DEVICE_POLL_EVERY_S = CAIRN_HUB_DEVICE_INTERVAL_S - 1,
};

static const char DEVICE_GRANT[] = "urn:ietf:params:oauth:grant-type:device_code";
static const char DEVICE_NO_KEYS[] = "Nobody needs a key here, so there is nothing to sign in to: leave HF_TOKEN out";

/* State of a request of either route. */
struct device {
	struct route_job job;
	struct route_body body;
	struct form form;
	char base[DEVICE_BASE_BYTES];
	struct cairn_hash sender;
	char address[CAIRN_INDEX_DEVICE_ADDRESS_MAX + 1];
	struct cairn_hub_device_codes codes;
	char key[CAIRN_KEY_TEXT_BYTES];
	int64_t expires_unix_s;
	const char *error; /* error code of OAuth; NULL: none */
	enum cairn_status status;
	struct cairn_diag diag;
};

static void device_free(void *state)
{
	struct device *d = state;
	if (!d)
		return;
	explicit_bzero(d->key, sizeof(d->key));
	explicit_bzero(&d->codes, sizeof(d->codes));
	form_fini(&d->form);
	route_body_fini(&d->body);
	free(d);
}

static void device_begin(struct http_request *req, void (*run)(struct route_job *job),
			 void (*reply)(struct http_request *req, struct route_job *job))
{
	if (!app_of(req)->auth.keys) {
		hub_reply_left_out(req, DEVICE_NO_KEYS);
		return;
	}
	struct device *d = route_job_new(req, sizeof(*d), run, reply);
	if (!d)
		return;
	http_base_url(req, d->base, sizeof(d->base));
	http_sender(req, &d->sender);
	(void)snprintf(d->address, sizeof(d->address), "%s", http_client_address(req));
	(void)route_body_begin(req, &d->body);
}

static void device_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct device *d = http_state(req);
	route_body_add(req, &d->body, bytes, len);
}

static void device_done(struct http_request *req)
{
	struct device *d = http_state(req);
	if (form_read(&d->form, (const char *)d->body.in.bytes, d->body.in.len))
		route_job_start(req);
	else
		http_reply_error(req, 400, "form.body", "send a form: client_id=…", NULL);
}

static void device_reply_json(struct http_request *req, unsigned code, struct cairn_buf *answer)
{
	http_reply_header(req, "Cache-Control", "no-store");
	if (answer->status == CAIRN_OK)
		http_reply_buf(req, code, "application/json", answer);
	else
		http_reply_status(req, answer->status, NULL);
	cairn_buf_fini(answer);
}

static void device_codes_run(struct route_job *job)
{
	struct device *d = (struct device *)job;
	d->status = cairn_hub_begin_device(&job->app->hub, form_value(&d->form, "client_id"), &d->sender, d->address,
					   &d->codes, &d->diag);
}

static void device_codes_reply(struct http_request *req, struct route_job *job)
{
	struct device *d = (struct device *)job;
	if (d->status == CAIRN_E_BUSY && cairn_diag_has(&d->diag, "device.many")) {
		http_reply_header(req, "Retry-After", "60");
		hub_reply_error(req, 429, NULL, d->diag.rule, d->diag.text);
		return;
	}
	if (d->status != CAIRN_OK) {
		http_reply_status(req, d->status, &d->diag);
		return;
	}
	struct cairn_buf answer = cairn_buf_init(DEVICE_ANSWER_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&answer);
	char page[DEVICE_BASE_BYTES + 64];
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "device_code", d->codes.device);
	cairn_json_put_text(&w, "user_code", d->codes.user);
	(void)snprintf(page, sizeof(page), "%s/login/device", d->base);
	cairn_json_put_text(&w, "verification_uri", page);
	(void)snprintf(page, sizeof(page), "%s/login/device?user_code=%s", d->base, d->codes.user);
	cairn_json_put_text(&w, "verification_uri_complete", page);
	cairn_json_put_u64(&w, "expires_in", CAIRN_HUB_DEVICE_LIFE_S);
	cairn_json_put_u64(&w, "interval", CAIRN_HUB_DEVICE_INTERVAL_S);
	cairn_json_close(&w);
	device_reply_json(req, 200, &answer);
}

static void device_codes_head(struct http_request *req)
{
	device_begin(req, device_codes_run, device_codes_reply);
}

/* Does the program keep the interval between polls? The times of polls are in memory, so that a stranger's poll writes
 * nothing. rate_take() gives one request a second, so its clock is slowed down by the interval. */
static bool device_polls_in_time(const struct app *app, const char *device_code)
{
	int64_t now_us = cairn_clock_mono_ms() * 1000 / DEVICE_POLL_EVERY_S;
	return rate_take(app->device_polls, device_code, strlen(device_code), now_us) == 0;
}

static const char *device_judge(struct device *d, const char *client_id, const char *device_code)
{
	struct cairn_index_device device;
	if (strcmp(form_value(&d->form, "grant_type"), DEVICE_GRANT) != 0)
		return "unsupported_grant_type";
	if (strlen(device_code) != CAIRN_HUB_DEVICE_CODE_CHARS)
		return "invalid_grant";
	if (!device_polls_in_time(d->job.app, device_code))
		return "slow_down";
	d->status = cairn_hub_device(&d->job.app->hub, client_id, device_code, &device, &d->diag);
	if (d->status == CAIRN_E_USAGE)
		return "invalid_request";
	if (d->status == CAIRN_E_NOT_FOUND)
		return "expired_token";
	if (d->status != CAIRN_OK || device.state == CAIRN_INDEX_DEVICE_ALLOWED)
		return NULL;
	return device.state == CAIRN_INDEX_DEVICE_DENIED ? "access_denied" : "authorization_pending";
}

static const char *device_take(struct device *d, const char *client_id, const char *device_code)
{
	d->status =
		cairn_hub_take_device(&d->job.app->hub, client_id, device_code, d->key, &d->expires_unix_s, &d->diag);
	if (d->status == CAIRN_E_NOT_FOUND)
		return "expired_token";
	return d->status == CAIRN_E_CONFLICT || d->status == CAIRN_E_DENIED ? "invalid_grant" : NULL;
}

static void device_token_run(struct route_job *job)
{
	struct device *d = (struct device *)job;
	const char *client_id = form_value(&d->form, "client_id"), *device_code = form_value(&d->form, "device_code");
	d->error = device_judge(d, client_id, device_code);
	if (!d->error && d->status == CAIRN_OK)
		d->error = device_take(d, client_id, device_code);
}

static const char *device_describe(const struct device *d)
{
	static const struct {
		const char *error, *text;
	} TEXTS[] = {
		{"unsupported_grant_type", "this server gives keys for device codes alone, and keys are not renewed"},
		{"invalid_grant", "this is no device code of this server"},
		{"slow_down", "ask again in 5 seconds"},
		{"access_denied", "the sign-in was denied in the browser"},
		{"authorization_pending", "nobody has confirmed the code in a browser yet"},
	};
	if (d->diag.text[0])
		return d->diag.text;
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
		if (strcmp(TEXTS[i].error, d->error) == 0)
			return TEXTS[i].text;
	return "";
}

static void device_reply_key(struct http_request *req, const struct device *d)
{
	struct cairn_buf answer = cairn_buf_init(DEVICE_ANSWER_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&answer);
	int64_t left_s = d->expires_unix_s - cairn_clock_unix_s();
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "access_token", d->key);
	cairn_json_put_text(&w, "token_type", "bearer");
	if (d->expires_unix_s != 0)
		cairn_json_put_u64(&w, "expires_in", left_s > 0 ? (uint64_t)left_s : 1);
	cairn_json_close(&w);
	device_reply_json(req, 200, &answer);
}

static void device_token_reply(struct http_request *req, struct route_job *job)
{
	struct device *d = (struct device *)job;
	if (!d->error && d->status == CAIRN_OK) {
		device_reply_key(req, d);
		return;
	}
	if (!d->error) { /* no "error" in this reply, so that clients continue to poll */
		http_reply_status(req, d->status, &d->diag);
		return;
	}
	struct cairn_buf answer = cairn_buf_init(DEVICE_ANSWER_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "error", d->error);
	cairn_json_put_text(&w, "error_description", device_describe(d));
	cairn_json_close(&w);
	device_reply_json(req, 400, &answer);
}

static void device_token_head(struct http_request *req)
{
	device_begin(req, device_token_run, device_token_reply);
}

/* Clients take any member "error" for an OAuth error, and end the sign-in. Errors in Git LFS's form have none. */
const struct http_route ROUTES_DEVICE[] = {
	{.method = "POST",
	 .pattern = "/oauth/device",
	 .name = "device",
	 .errors = HTTP_ERRORS_HUB,
	 .body_max = DEVICE_BODY_BYTES_MAX,
	 .head = device_codes_head,
	 .body = device_body,
	 .done = device_done,
	 .free = device_free},
	{.method = "POST",
	 .pattern = "/oauth/token",
	 .name = "device-token",
	 .errors = HTTP_ERRORS_LFS,
	 .body_max = DEVICE_BODY_BYTES_MAX,
	 .head = device_token_head,
	 .body = device_body,
	 .done = device_done,
	 .free = device_free},
	{0},
};
