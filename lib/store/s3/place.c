#include "store/s3/place.h"

#include "base/decimal.h"

#include <stdio.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static enum cairn_status place_refuse(struct cairn_diag *diag, const char *what)
{
	return cairn_fail(diag, CAIRN_E_USAGE, "store.url", CAIRN_NO_OFFSET,
			  "%s; an S3 store is s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME&ca=FILE", what);
}

/* Copies a part of the URL that has only legal characters. @return false: empty, too long, or other characters */
static bool place_take(char *out, size_t out_len, const char *text, size_t len, const char *legal)
{
	if (len == 0 || len >= out_len || strspn(text, legal) < len)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

static bool place_take_prefix(struct s3_place *out, const char *text, size_t len)
{
	while (len > 0 && text[len - 1] == '/')
		len--;
	if (len == 0)
		return true;
	if (!place_take(out->prefix, sizeof(out->prefix) - 1, text, len, LOWER UPPER "-_./"))
		return false;
	memcpy(out->prefix + len, "/", 2);
	return true;
}

static bool place_is_loopback(const char *host, size_t len)
{
	static const char *const NAMES[] = {"localhost", "127.0.0.1", "[::1]"};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strlen(NAMES[i]) == len && strncmp(host, NAMES[i], len) == 0)
			return true;
	return false;
}

static enum cairn_status place_take_endpoint(struct s3_place *out, const char *text, size_t len,
					     struct cairn_diag *diag)
{
	bool tls = len > 8 && strncmp(text, "https://", 8) == 0;
	size_t scheme = tls ? 8 : len > 7 && strncmp(text, "http://", 7) == 0 ? 7 : 0;
	if (len > 0 && text[len - 1] == '/')
		len--;
	if (scheme == 0 || !place_take(out->endpoint, sizeof(out->endpoint), text, len, LOWER UPPER "-._:/[]") ||
	    !place_take(out->host, sizeof(out->host), text + scheme, len - scheme, LOWER UPPER "-._:[]"))
		return place_refuse(diag, "its endpoint is not https://HOST or https://HOST:PORT");
	const char *bracket = strchr(out->host, ']'), *colon = strchr(bracket ? bracket : out->host, ':');
	size_t name = colon ? (size_t)(colon - out->host) : strlen(out->host);
	uint64_t usual = tls ? 443 : 80, port = usual;
	if (name == 0 || (colon && !cairn_decimal_parse(colon + 1, 1, UINT16_MAX, &port)))
		return place_refuse(diag, "the port of its endpoint is not a number from 1 to 65535");
	if (colon && port == usual) { /* clients omit the default port from Host, which is signed */
		out->endpoint[strlen(out->endpoint) - strlen(colon)] = '\0';
		out->host[name] = '\0';
	}
	if (!tls && !place_is_loopback(out->host, name))
		return cairn_fail(diag, CAIRN_E_USAGE, "store.insecure", CAIRN_NO_OFFSET,
				  "the endpoint %s has no TLS, and is not this machine; use https", out->endpoint);
	out->port = (uint16_t)port;
	return CAIRN_OK;
}

static enum cairn_status place_take_option(struct s3_place *out, const char *text, size_t len, struct cairn_diag *diag)
{
	static const char ENDPOINT[] = "endpoint=", REGION[] = "region=", CA[] = "ca=";
	if (len > sizeof(ENDPOINT) - 1 && strncmp(text, ENDPOINT, sizeof(ENDPOINT) - 1) == 0)
		return place_take_endpoint(out, text + sizeof(ENDPOINT) - 1, len - (sizeof(ENDPOINT) - 1), diag);
	if (len > sizeof(REGION) - 1 && strncmp(text, REGION, sizeof(REGION) - 1) == 0 &&
	    place_take(out->region, sizeof(out->region), text + sizeof(REGION) - 1, len - (sizeof(REGION) - 1),
		       LOWER "-"))
		return CAIRN_OK;
	if (len > sizeof(CA) && strncmp(text, CA, sizeof(CA) - 1) == 0 && text[sizeof(CA) - 1] == '/' &&
	    place_take(out->ca, sizeof(out->ca), text + sizeof(CA) - 1, len - (sizeof(CA) - 1), LOWER UPPER "-_./"))
		return CAIRN_OK;
	return place_refuse(diag,
			    "it has options other than endpoint, region and ca, which is the whole path of a file");
}

enum cairn_status s3_place_parse(struct s3_place *out, const char *rest, struct cairn_diag *diag)
{
	*out = (struct s3_place){.region = "us-east-1"};
	if (strncmp(rest, "//", 2) != 0)
		return place_refuse(diag, "it does not begin with s3://");
	const char *bucket = rest + 2, *options = bucket + strcspn(bucket, "?");
	size_t len = strcspn(bucket, "/?");
	if (!place_take(out->bucket, sizeof(out->bucket), bucket, len, LOWER "-."))
		return place_refuse(diag, "its bucket does not have the name of one");
	if (bucket[len] == '/' && !place_take_prefix(out, bucket + len + 1, (size_t)(options - (bucket + len + 1))))
		return place_refuse(diag, "its prefix may only have letters, digits and \"-_./\" alone");
	while (*options) {
		const char *text = options + 1;
		options = text + strcspn(text, "&");
		enum cairn_status status = place_take_option(out, text, (size_t)(options - text), diag);
		if (status != CAIRN_OK)
			return status;
	}
	if (out->endpoint[0])
		return CAIRN_OK;
	char endpoint[S3_PLACE_TEXT_BYTES];
	int n = snprintf(endpoint, sizeof(endpoint), "https://s3.%s.amazonaws.com", out->region);
	return place_take_endpoint(out, endpoint, (size_t)n, diag);
}
