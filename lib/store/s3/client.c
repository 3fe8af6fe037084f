#include "store/s3/client.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/percent.h"
#include "hash/crypto.h"
#include "hash/hash.h"
#include "store/s3/credentials.h"
#include "store/s3/http.h"
#include "store/s3/sigv4.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	CLIENT_PATH_BYTES = 64 + S3_PLACE_TEXT_BYTES + S3_NAME_BYTES,
	CLIENT_QUERY_BYTES = 3 * CLIENT_PATH_BYTES,
	CLIENT_URL_BYTES = S3_PLACE_TEXT_BYTES + CLIENT_PATH_BYTES + CLIENT_QUERY_BYTES,
	CLIENT_LINE_BYTES = S3_TOKEN_TEXT_BYTES + 64,
	CLIENT_HEADERS_MAX = 6,
	CLIENT_CLOCKS_DIFFER_S = 60,       /* allowed lag of the service's clock */
	CLIENT_LIFE_MAX_S = 7 * 24 * 3600, /* of an address; all services refuse more */
	CLIENT_RENEW_S = 300,              /* credentials are renewed this long before they expire */
	CLIENT_RENEW_AGAIN_S = 10,         /* delay after a failed renewal */
};

struct s3_client {
	struct s3_place place;
	struct s3_http *http;
	const char *credentials_from; /* borrowed */
	pthread_mutex_t lock;         /* guards all below */
	struct s3_credentials credentials;
	int64_t renew_unix_s; /* when to renew the credentials; INT64_MAX: never */
	uint64_t generation;  /* of the credentials; rises with each change */
	struct sigv4_key key; /* for who and key_day; kept, since making it costs as much as five signatures */
	char key_day[8 + 1];  /* empty: no key */
	struct cairn_store_traffic traffic;
};

/* The credentials and key for one request. Plain value; secret. */
struct client_signer {
	struct s3_credentials who;
	struct sigv4_key key;
	uint64_t generation; /* of who */
};

/* A request, and the buffers of its texts. */
struct client_request {
	const char *method;
	const char *name;  /* below the prefix; "": the bucket itself */
	const char *query; /* "" for none */
	const char *range; /* value of the header Range; NULL: none */
	const char *sha256;
	bool only_new; /* a PUT that must not replace an object */
	enum cairn_store_request kind;
	uint64_t generation; /* of the credentials that signed it */
	struct s3_http_call call;
	struct cairn_buf answer;
	char url[CLIENT_URL_BYTES], lines[CLIENT_HEADERS_MAX][CLIENT_LINE_BYTES];
};

/* Renews credentials some minutes before they expire: a request signed with them must still be valid on arrival. */
static int64_t client_renew_unix_s(const struct s3_credentials *who)
{
	if (who->ends_unix_s == 0)
		return INT64_MAX;
	int64_t left_s = who->ends_unix_s - (int64_t)time(NULL);
	return who->ends_unix_s - (left_s / 4 < CLIENT_RENEW_S ? left_s / 4 : CLIENT_RENEW_S);
}

enum cairn_status s3_client_new(struct s3_client **out, const struct s3_place *place, const char *credentials,
				struct cairn_diag *diag)
{
	*out = NULL;
	struct s3_client *c = calloc(1, sizeof(*c));
	if (!c)
		return CAIRN_E_NOMEM;
	c->place = *place;
	c->credentials_from = credentials;
	pthread_mutex_init(&c->lock, NULL);
	enum cairn_status status = s3_credentials_read(&c->credentials, credentials, diag);
	c->renew_unix_s = client_renew_unix_s(&c->credentials);
	if (status == CAIRN_OK)
		c->http = s3_http_new(c->place.ca);
	if (status == CAIRN_OK && !c->http)
		status = CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		*out = c;
	else
		s3_client_free(c);
	return status;
}

void s3_client_free(struct s3_client *c)
{
	if (!c)
		return;
	s3_http_free(c->http);
	pthread_mutex_destroy(&c->lock);
	explicit_bzero(&c->credentials, sizeof(c->credentials));
	free(c);
}

enum cairn_status s3_client_reload(struct s3_client *c, struct cairn_diag *diag)
{
	struct s3_credentials read;
	enum cairn_status status = s3_credentials_read(&read, c->credentials_from, diag);
	if (status != CAIRN_OK)
		return status;
	pthread_mutex_lock(&c->lock);
	c->generation += strcmp(read.id, c->credentials.id) != 0 || strcmp(read.secret, c->credentials.secret) != 0 ||
			 strcmp(read.token, c->credentials.token) != 0;
	c->credentials = read;
	c->renew_unix_s = client_renew_unix_s(&read);
	c->key_day[0] = '\0';
	pthread_mutex_unlock(&c->lock);
	explicit_bzero(&read, sizeof(read));
	return CAIRN_OK;
}

/* Lets one thread renew the credentials while the current ones are still valid, and again after a failure. */
static void client_renew(struct s3_client *c)
{
	int64_t now_unix_s = (int64_t)time(NULL);
	pthread_mutex_lock(&c->lock);
	bool due = now_unix_s >= c->renew_unix_s;
	if (due)
		c->renew_unix_s = now_unix_s + CLIENT_RENEW_AGAIN_S;
	pthread_mutex_unlock(&c->lock);
	if (due)
		(void)!s3_client_reload(c, NULL);
}

static enum cairn_status client_signer_take(struct s3_client *c, const char *date, struct client_signer *out)
{
	enum cairn_status status = CAIRN_OK;
	client_renew(c);
	pthread_mutex_lock(&c->lock);
	if (strncmp(c->key_day, date, sizeof(c->key_day) - 1) != 0) {
		status = sigv4_key_make(&c->key, c->credentials.secret, c->place.region, date);
		(void)snprintf(c->key_day, sizeof(c->key_day), "%.8s", status == CAIRN_OK ? date : "");
	}
	out->who = c->credentials;
	out->generation = c->generation;
	out->key = c->key;
	pthread_mutex_unlock(&c->lock);
	return status;
}

static void client_signer_fini(struct client_signer *signer)
{
	explicit_bzero(signer, sizeof(*signer));
}

/* --- a request ---------------------------------------------------------------------------------------------------- */

/* Writes the request's path; bucket, prefix and names need no escaping. */
static void client_path(const struct s3_client *c, const char *name, char *out, size_t out_len)
{
	if (*name)
		(void)snprintf(out, out_len, "/%s/%s%s", c->place.bucket, c->place.prefix, name);
	else
		(void)snprintf(out, out_len, "/%s", c->place.bucket);
}

static void client_add_line(struct client_request *r, const char *lines[CLIENT_HEADERS_MAX], const char *name,
			    const char *value)
{
	size_t n = r->call.n_headers++;
	(void)snprintf(r->lines[n], sizeof(r->lines[n]), "%s: %s", name, value);
	lines[n] = r->lines[n];
}

/* Signs a request with these credentials and the current time. */
static enum cairn_status client_sign(struct s3_client *c, struct client_request *r,
				     const char *lines[CLIENT_HEADERS_MAX])
{
	char date[CAIRN_TIME_BASIC_BYTES], path[CLIENT_PATH_BYTES];
	CLEANUP(client_signer_fini) struct client_signer signer;
	CLEANUP(cairn_buf_fini) struct cairn_buf value = cairn_buf_init(CLIENT_LINE_BYTES);
	(void)cairn_time_basic(date, (int64_t)time(NULL)); /* not the test clock, which the service does not share */
	client_path(c, r->name, path, sizeof(path));
	struct sigv4_header headers[CLIENT_HEADERS_MAX] = {
		{"host", c->place.host}, {"x-amz-content-sha256", r->sha256}, {"x-amz-date", date}};
	struct sigv4_request request = {r->method, path, r->query, headers, 3, r->sha256, date};
	enum cairn_status status = client_signer_take(c, date, &signer);
	r->generation = signer.generation;
	if (signer.who.token[0])
		headers[request.n_headers++] = (struct sigv4_header){"x-amz-security-token", signer.who.token};
	if (status == CAIRN_OK)
		status = sigv4_add_authorization(&value, signer.who.id, &signer.key, &request);
	cairn_buf_add(&value, "", 1);
	if (status != CAIRN_OK || value.status != CAIRN_OK)
		return status == CAIRN_OK ? value.status : status;
	(void)snprintf(r->url, sizeof(r->url), "%s%s%s%s", c->place.endpoint, path, *r->query ? "?" : "", r->query);
	r->call.n_headers = 0;
	for (size_t i = 1; i < request.n_headers; i++)
		client_add_line(r, lines, headers[i].name, headers[i].value);
	if (r->range)
		client_add_line(r, lines, "range", r->range);
	if (r->only_new)
		client_add_line(r, lines, "if-none-match", "*");
	client_add_line(r, lines, "authorization", (const char *)value.bytes);
	return CAIRN_OK;
}

/* Reports an answer that does not come from an S3 service, or not for this request. */
static enum cairn_status client_strange(const struct client_request *r, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "store.answer", CAIRN_NO_OFFSET,
			  "the answer to a %s (%u) is not one of an S3 service: check the store's endpoint, "
			  "and proxies on the way",
			  r->method, r->call.code);
}

static enum cairn_status client_send_once(struct s3_client *c, struct client_request *r, struct cairn_diag *diag)
{
	const char *lines[CLIENT_HEADERS_MAX];
	enum cairn_status status = client_sign(c, r, lines);
	if (status != CAIRN_OK)
		return status;
	r->call.method = r->method;
	r->call.url = r->url;
	r->call.headers = lines;
	r->call.answer = &r->answer;
	status = s3_http_send(c->http, &r->call, diag);
	return status == CAIRN_E_LIMIT ? client_strange(r, diag) : status;
}

/* Returns whether the refused credentials have been replaced meanwhile. Services have several codes for an expired or
 * deleted key; one of them also means that a key lacks a permission. */
static bool client_has_others(struct s3_client *c, const struct client_request *r, const char *code)
{
	if (r->call.code != 403 && strcmp(code, "ExpiredToken") != 0)
		return false;
	if (s3_client_reload(c, NULL) != CAIRN_OK)
		return false;
	pthread_mutex_lock(&c->lock);
	bool others = c->generation != r->generation;
	pthread_mutex_unlock(&c->lock);
	return others;
}

/* Returns whether a conditional PUT collided with another for the same name: undecided, so send it again. */
static bool client_met_another(const struct client_request *r)
{
	return r->only_new && r->call.code == 409;
}

/* Maps a failure to a status. A 404 counts only from the service: a proxy's says nothing about an object. */
static enum cairn_status client_judge(const struct client_request *r, const char *code, struct cairn_diag *diag)
{
	if (r->call.code == 404)
		return strncmp(code, "NoSuch", 6) == 0 ? CAIRN_E_NOT_FOUND : client_strange(r, diag);
	if ((r->call.code == 412 || r->call.code == 304) && r->only_new)
		return CAIRN_E_CONFLICT;
	if (strcmp(code, "XAmzContentSHA256Mismatch") == 0 || strcmp(code, "BadDigest") == 0 ||
	    strcmp(code, "InvalidDigest") == 0) /* Garage's word */
		return CAIRN_E_MISMATCH;
	bool busy = r->call.code >= 500 || r->call.code == 429 || client_met_another(r);
	const char *rule = busy ? "store.busy" : "store.refused";
	return cairn_fail(diag, CAIRN_E_BUSY, rule, CAIRN_NO_OFFSET, "the object store answered %u %s", r->call.code,
			  code);
}

/* Sends a request, and repeats it once if the answer may be temporary. */
static enum cairn_status client_exchange(struct s3_client *c, struct client_request *r, struct cairn_diag *diag)
{
	char code[S3_XML_TEXT_BYTES] = "";
	r->answer = cairn_buf_init(S3_XML_BYTES_MAX);
	enum cairn_status status = CAIRN_OK;
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		status = client_send_once(c, r, diag);
		if (status != CAIRN_OK || r->call.code / 100 == 2)
			return status;
		s3_xml_read_error(code, r->answer.bytes, r->answer.len);
		if (!client_has_others(c, r, code) && r->call.code < 500 && !client_met_another(r))
			break;
	}
	return client_judge(r, code, diag);
}

static enum cairn_status client_send(struct s3_client *c, struct client_request *r, struct cairn_diag *diag)
{
	int64_t began_ms = cairn_clock_mono_ms();
	enum cairn_status status = client_exchange(c, r, diag);
	pthread_mutex_lock(&c->lock);
	c->traffic.requests[r->kind].n++;
	c->traffic.requests[r->kind].ms += (uint64_t)(cairn_clock_mono_ms() - began_ms);
	c->traffic.requests[r->kind].n_failed += status == CAIRN_E_BUSY || status == CAIRN_E_IO;
	pthread_mutex_unlock(&c->lock);
	return status;
}

void s3_client_traffic(struct s3_client *c, struct cairn_store_traffic *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->traffic;
	pthread_mutex_unlock(&c->lock);
}

static void client_request_fini(struct client_request **r)
{
	if (*r)
		cairn_buf_fini(&(*r)->answer);
	free(*r);
}

/* Allocates a request: its texts are too long for the stack. */
static struct client_request *client_request_new(enum cairn_store_request kind, const char *name)
{
	static const char *const METHODS[CAIRN_STORE_REQUESTS] = {"PUT", "GET", "GET", "DELETE"};
	static const char EMPTY[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	struct client_request *r = malloc(sizeof(*r));
	if (!r)
		return NULL;
	memset(r, 0, offsetof(struct client_request, url));
	r->kind = kind;
	r->method = METHODS[kind];
	r->name = name;
	r->query = "";
	r->sha256 = EMPTY;
	return r;
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

/* Appends all parameters except the signature, sorted by name. */
static void client_add_grant(struct cairn_buf *out, const struct client_signer *signer, const char *date,
			     uint64_t life_s)
{
	cairn_buf_printf(out, "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=");
	cairn_percent_add(out, signer->who.id, CAIRN_PERCENT_UNRESERVED);
	cairn_buf_printf(out, "%%2F");
	cairn_percent_add(out, signer->key.scope, CAIRN_PERCENT_UNRESERVED);
	cairn_buf_printf(out, "&X-Amz-Date=%s&X-Amz-Expires=%" PRIu64, date, life_s);
	if (signer->who.token[0]) {
		cairn_buf_printf(out, "&X-Amz-Security-Token=");
		cairn_percent_add(out, signer->who.token, CAIRN_PERCENT_UNRESERVED);
	}
	cairn_buf_printf(out, "&X-Amz-SignedHeaders=host%%3Brange");
	cairn_buf_add(out, "", 1);
}

enum cairn_status s3_add_address(struct s3_client *c, struct cairn_buf *out, const char *name, uint64_t first,
				 uint64_t last, uint64_t life_s)
{
	char date[CAIRN_TIME_BASIC_BYTES], path[CLIENT_PATH_BYTES], range[64], signature[SIGV4_SIGNATURE_BYTES];
	CLEANUP(client_signer_fini) struct client_signer signer;
	CLEANUP(cairn_buf_fini) struct cairn_buf grant = cairn_buf_init(CLIENT_LINE_BYTES + 3 * S3_TOKEN_TEXT_BYTES);
	int64_t step_s = (int64_t)life_s / 4 + 1, from_s = (int64_t)time(NULL) - CLIENT_CLOCKS_DIFFER_S;
	uint64_t all_s = life_s + (uint64_t)step_s + CLIENT_CLOCKS_DIFFER_S;
	(void)cairn_time_basic(date, from_s - from_s % step_s);
	enum cairn_status status = client_signer_take(c, date, &signer);
	/* An address expires with the session of its key: refuse one that would expire too soon. */
	if (status == CAIRN_OK && signer.who.ends_unix_s != 0 &&
	    signer.who.ends_unix_s < (int64_t)time(NULL) + (int64_t)life_s)
		return CAIRN_E_NOT_FOUND;
	client_add_grant(&grant, &signer, date, all_s < CLIENT_LIFE_MAX_S ? all_s : CLIENT_LIFE_MAX_S);
	if (status != CAIRN_OK || grant.status != CAIRN_OK)
		return status == CAIRN_OK ? grant.status : status;
	client_path(c, name, path, sizeof(path));
	(void)snprintf(range, sizeof(range), "bytes=%" PRIu64 "-%" PRIu64, first, last);
	const char *query = (const char *)grant.bytes;
	const struct sigv4_header headers[] = {{"host", c->place.host}, {"range", range}};
	const struct sigv4_request request = {"GET", path, query, headers, 2, "UNSIGNED-PAYLOAD", date};
	status = sigv4_sign(signature, &signer.key, &request);
	if (status == CAIRN_OK)
		cairn_buf_printf(out, "%s%s?%s&X-Amz-Signature=%s", c->place.endpoint, path, query, signature);
	return status;
}

/* --- the requests ------------------------------------------------------------------------------------------------- */

/* Does what client_strange() does, for an answer that arrived whole and was counted as a success. */
static enum cairn_status client_wrong(struct s3_client *c, const struct client_request *r, struct cairn_diag *diag)
{
	pthread_mutex_lock(&c->lock);
	c->traffic.requests[r->kind].n_failed++;
	pthread_mutex_unlock(&c->lock);
	return client_strange(r, diag);
}

/* @return 0 for a header that is not there */
static uint64_t client_header_hash(const char *value)
{
	struct cairn_hash hash;
	if (!*value)
		return 0;
	cairn_hash_chunk(&hash, value, strlen(value));
	return cairn_get_u64le(hash.b) | 1;
}

bool s3_state_agrees(const struct s3_state *a, const struct s3_state *b)
{
	return a->bytes == b->bytes && (a->etag == b->etag || !a->etag || !b->etag) &&
	       (a->modified == b->modified || !a->modified || !b->modified);
}

/* Requires an ETag: every service sends one for a stored object, while an error page of a proxy has none. */
static enum cairn_status client_put(struct s3_client *c, struct client_request *r, struct s3_state *state,
				    struct cairn_diag *diag)
{
	enum cairn_status status = client_send(c, r, diag);
	if (status == CAIRN_OK && !r->call.etag[0])
		return client_wrong(c, r, diag);
	if (status == CAIRN_OK && state)
		*state = (struct s3_state){.bytes = r->call.body_bytes, .etag = client_header_hash(r->call.etag)};
	return status;
}

enum cairn_status s3_put(struct s3_client *c, const char *name, const uint8_t *bytes, int fd, uint64_t len,
			 const char sha256[static S3_HEX_SHA256_BYTES], struct s3_state *state, struct cairn_diag *diag)
{
	CLEANUP(client_request_fini) struct client_request *r = client_request_new(CAIRN_STORE_PUT, name);
	if (!r)
		return CAIRN_E_NOMEM;
	r->sha256 = sha256;
	r->call.body = bytes;
	r->call.body_fd = fd;
	r->call.body_bytes = len;
	return client_put(c, r, state, diag);
}

enum cairn_status s3_put_new(struct s3_client *c, const char *name, const uint8_t *bytes, uint64_t len,
			     const char sha256[static S3_HEX_SHA256_BYTES], struct cairn_diag *diag)
{
	CLEANUP(client_request_fini) struct client_request *r = client_request_new(CAIRN_STORE_PUT, name);
	if (!r)
		return CAIRN_E_NOMEM;
	r->sha256 = sha256;
	r->only_new = true;
	r->call.body = bytes;
	r->call.body_bytes = len;
	enum cairn_status status = client_put(c, r, NULL, diag);
	return status == CAIRN_E_BUSY && r->call.code == 501 ? s3_put(c, name, bytes, -1, len, sha256, NULL, diag)
							     : status;
}

/* "bytes 0-4/5" */
struct client_range {
	uint64_t first, last, all;
};

static bool client_range_parse(struct client_range *out, const char *text)
{
	if (strncmp(text, "bytes ", 6) != 0)
		return false;
	text += 6;
	return cairn_decimal_read(&text, &out->first) && *text++ == '-' && cairn_decimal_read(&text, &out->last) &&
	       *text++ == '/' && cairn_decimal_parse(text, 1, UINT64_MAX, &out->all) && out->first <= out->last &&
	       out->last < out->all;
}

/* @param[out] state  of the object; zero if the range has none of its bytes
 * @return as s3_get(), and CAIRN_OK if bytes at the end of the range do not exist */
static enum cairn_status client_get(struct s3_client *c, const char *name, uint64_t offset, uint8_t *out, size_t len,
				    struct s3_state *state, struct cairn_diag *diag)
{
	char text[64];
	struct client_range range;
	CLEANUP(client_request_fini) struct client_request *r = client_request_new(CAIRN_STORE_GET, name);
	if (!r)
		return CAIRN_E_NOMEM;
	(void)snprintf(text, sizeof(text), "bytes=%" PRIu64 "-%" PRIu64, offset, offset + len - 1);
	r->range = text;
	r->call.into = out;
	r->call.into_bytes = len;
	enum cairn_status status = client_send(c, r, diag);
	*state = (struct s3_state){0};
	if (status == CAIRN_E_BUSY && r->call.code == 416)
		return CAIRN_OK;
	if (status != CAIRN_OK)
		return status;
	/* The answer must be exactly the existing bytes of the range. */
	if (r->call.code != 206 || !client_range_parse(&range, r->call.range) || range.first != offset ||
	    range.last - range.first + 1 != r->call.n_into || (r->call.n_into != len && range.last + 1 != range.all))
		return client_wrong(c, r, diag);
	*state = (struct s3_state){.bytes = range.all,
				   .etag = client_header_hash(r->call.etag),
				   .modified = client_header_hash(r->call.modified)};
	return CAIRN_OK;
}

enum cairn_status s3_get(struct s3_client *c, const char *name, const struct s3_state *expected, uint64_t offset,
			 uint8_t *out, size_t len, struct cairn_diag *diag)
{
	struct s3_state state;
	enum cairn_status status = client_get(c, name, offset, out, len, &state, diag);
	if (status != CAIRN_OK)
		return status;
	if (expected && !s3_state_agrees(expected, &state))
		return CAIRN_E_CONFLICT;
	return state.bytes < offset || state.bytes - offset < len ? CAIRN_E_IO : CAIRN_OK;
}

enum cairn_status s3_read_state(struct s3_client *c, const char *name, struct s3_state *out, struct cairn_diag *diag)
{
	uint8_t first;
	return client_get(c, name, 0, &first, 1, out, diag);
}

enum cairn_status s3_delete(struct s3_client *c, const char *name, struct cairn_diag *diag)
{
	CLEANUP(client_request_fini) struct client_request *r = client_request_new(CAIRN_STORE_DELETE, name);
	if (!r)
		return CAIRN_E_NOMEM;
	enum cairn_status status = client_send(c, r, diag);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Strips the prefix of the place from names for the caller's visit. */
struct client_names {
	const struct s3_xml_list *list;
	const char *place, *prefix;    /* every listed name begins with both */
	char after[S3_XML_TEXT_BYTES]; /* the previous name, without the place */
	bool wrong;
};

/* Returns whether a name belongs to the requested list. A cache that ignores the query could return another list. Its
 * copies would be taken for those of this xorb, and deleted. */
static bool client_name_is_listed(const struct client_names *names, const char *key)
{
	size_t place = strlen(names->place), prefix = strlen(names->prefix);
	return strncmp(key, names->place, place) == 0 && strncmp(key + place, names->prefix, prefix) == 0 &&
	       strcmp(key + place, names->after) > 0;
}

static void client_visit(void *ctx, const char *key, uint64_t bytes)
{
	struct client_names *names = ctx;
	if (names->wrong || !client_name_is_listed(names, key)) {
		names->wrong = true;
		return;
	}
	const char *name = key + strlen(names->place);
	memcpy(names->after, name, strlen(name) + 1);
	names->list->visit(names->list->ctx, name, bytes);
}

enum cairn_status s3_list(struct s3_client *c, const char *prefix, const char *after, unsigned n_max,
			  struct s3_xml_list *list, struct cairn_diag *diag)
{
	CLEANUP(client_request_fini) struct client_request *r = client_request_new(CAIRN_STORE_LIST, "");
	CLEANUP(cairn_buf_fini) struct cairn_buf query = cairn_buf_init(CLIENT_QUERY_BYTES);
	if (!r)
		return CAIRN_E_NOMEM;
	cairn_buf_printf(&query, "list-type=2&max-keys=%u&prefix=", n_max);
	cairn_percent_add(&query, c->place.prefix, CAIRN_PERCENT_UNRESERVED);
	cairn_percent_add(&query, prefix, CAIRN_PERCENT_UNRESERVED);
	if (*after) {
		cairn_buf_printf(&query, "&start-after=");
		cairn_percent_add(&query, c->place.prefix, CAIRN_PERCENT_UNRESERVED);
		cairn_percent_add(&query, after, CAIRN_PERCENT_UNRESERVED);
	}
	cairn_buf_add(&query, "", 1);
	if (query.status != CAIRN_OK)
		return query.status;
	r->query = (const char *)query.bytes;
	enum cairn_status status = client_send(c, r, diag);
	if (status != CAIRN_OK)
		return status;
	struct client_names names = {.list = list, .place = c->place.prefix, .prefix = prefix};
	memcpy(names.after, after, strlen(after) + 1);
	struct s3_xml_list all = {.visit = client_visit, .ctx = &names};
	status = s3_xml_read_list(&all, r->answer.bytes, r->answer.len);
	list->truncated = all.truncated;
	if (status == CAIRN_E_FORMAT || (status == CAIRN_OK && names.wrong))
		return client_wrong(c, r, diag);
	return status;
}
