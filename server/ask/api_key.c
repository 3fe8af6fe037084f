#include "server/ask/api_key.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "cas/service/keys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	API_KEY_TEXT_BYTES = 512, /* longest "user:key" after base64 is decoded */
	API_KEYS = 4096,          /* slots, in 224 KiB; a later key overwrites an earlier one in its slot */
};

/* Decodes "user:key" from base64. @return the key; NULL: there is none, or it contains a zero byte */
static const char *api_key_basic(const char *text, char out[static API_KEY_TEXT_BYTES])
{
	char url[API_KEY_TEXT_BYTES];
	size_t len = strcspn(text, "= "), n = 0;
	if (len >= sizeof(url))
		return NULL;
	for (size_t i = 0; i < len; i++)
		url[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
	enum cairn_status status = cairn_base64url_decode((uint8_t *)out, API_KEY_TEXT_BYTES - 1, &n, url, len);
	explicit_bzero(url, len);
	out[status == CAIRN_OK ? n : 0] = '\0';
	char *colon = strlen(out) == n ? strchr(out, ':') : NULL;
	return colon ? colon + 1 : NULL;
}

/* @param text  room for the key of a "Basic" header @return the key; NULL: there is none */
static const char *api_key_find(const char *header, char text[static API_KEY_TEXT_BYTES])
{
	static const char BEARER[] = "Bearer ", BASIC[] = "Basic ";
	if (strncasecmp(header, BEARER, sizeof(BEARER) - 1) == 0)
		return header + sizeof(BEARER) - 1;
	if (strncasecmp(header, BASIC, sizeof(BASIC) - 1) == 0)
		return api_key_basic(header + sizeof(BASIC) - 1, text);
	return NULL;
}

enum cairn_status api_key_take(const char *header, uint8_t digest[static CAIRN_SHA256_BYTES])
{
	char text[API_KEY_TEXT_BYTES];
	const char *key = api_key_find(header, text);
	enum cairn_status status = key ? cairn_key_digest(key, digest) : CAIRN_E_FORMAT;
	explicit_bzero(text, sizeof(text));
	return status;
}

bool api_key_copy(const char *header, char *out, size_t size)
{
	char text[API_KEY_TEXT_BYTES];
	const char *key = api_key_find(header, text);
	bool fits = key && strlen(key) < size;
	if (fits)
		memcpy(out, key, strlen(key) + 1);
	explicit_bzero(text, sizeof(text));
	return fits;
}

struct api_key_known {
	uint8_t digest[CAIRN_SHA256_BYTES];
	int64_t key, account; /* both 0: the slot is free */
};

struct api_keys {
	pthread_mutex_t lock;
	struct api_key_known all[API_KEYS];
};

struct api_keys *api_keys_new(void)
{
	struct api_keys *keys = calloc(1, sizeof(*keys));
	if (keys)
		pthread_mutex_init(&keys->lock, NULL);
	return keys;
}

void api_keys_free(struct api_keys *keys)
{
	if (!keys)
		return;
	pthread_mutex_destroy(&keys->lock);
	free(keys);
}

static struct api_key_known *api_keys_place(struct api_keys *keys, const uint8_t digest[static CAIRN_SHA256_BYTES])
{
	return &keys->all[cairn_get_u64le(digest) % API_KEYS];
}

void api_keys_note(struct api_keys *keys, const uint8_t digest[static CAIRN_SHA256_BYTES], int64_t key, int64_t account)
{
	struct api_key_known *place = api_keys_place(keys, digest);
	pthread_mutex_lock(&keys->lock);
	memcpy(place->digest, digest, sizeof(place->digest));
	place->key = key;
	place->account = account;
	pthread_mutex_unlock(&keys->lock);
}

static bool api_keys_find(struct api_keys *keys, const uint8_t digest[static CAIRN_SHA256_BYTES],
			  struct auth_identity *out)
{
	const struct api_key_known *place = api_keys_place(keys, digest);
	pthread_mutex_lock(&keys->lock);
	bool known = place->key + place->account != 0 && memcmp(place->digest, digest, sizeof(place->digest)) == 0;
	if (known) {
		out->api_key = place->key;
		out->account = place->account;
	}
	pthread_mutex_unlock(&keys->lock);
	return known;
}

bool api_keys_recognise(struct api_keys *keys, const char *header, struct auth_identity *out)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	return api_key_take(header, digest) == CAIRN_OK && api_keys_find(keys, digest, out);
}

void api_keys_note_browser(struct api_keys *keys, const char *text, int64_t key, int64_t account)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	if (cairn_sha256_of(digest, text, strlen(text)) == CAIRN_OK)
		api_keys_note(keys, digest, key, account);
}

bool api_keys_recognise_browser(struct api_keys *keys, const char *text, struct auth_identity *out)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	return cairn_sha256_of(digest, text, strlen(text)) == CAIRN_OK && api_keys_find(keys, digest, out);
}
