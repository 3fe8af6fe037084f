#include "hub/device.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cas/service/public_id.h"

#include <ctype.h>
#include <string.h>

/* Only consonants: no code is a word, and no letter looks like another or like a digit. */
static const char DEVICE_LETTERS[] = "BCDFGHJKLMNPQRSTVWXZ";
enum {
	DEVICE_N_LETTERS = sizeof(DEVICE_LETTERS) - 1,
	/* random bytes from here on would prefer some letters */
	DEVICE_RANDOM_MAX = 256 / DEVICE_N_LETTERS * DEVICE_N_LETTERS,
	DEVICE_POOL_BYTES = 64,
	DEVICE_HALF = (CAIRN_HUB_USER_CODE_CHARS - 1) / 2,
	DEVICE_DAY_S = 86400,
	/* bytes of the digest's input: a client's id, a blank, a code */
	DEVICE_BOUND_BYTES = CAIRN_HUB_CLIENT_ID_MAX + 1 + CAIRN_HUB_DEVICE_CODE_CHARS + 1,
};

bool cairn_hub_user_code(const char *typed, char out[static CAIRN_HUB_USER_CODE_CHARS + 1])
{
	unsigned n = 0;
	for (const char *p = typed; *p; p++) {
		char letter = (char)toupper((unsigned char)*p);
		if (*p == ' ' || *p == '-')
			continue;
		if (n == CAIRN_HUB_USER_CODE_CHARS || !strchr(DEVICE_LETTERS, letter))
			return false;
		if (n == DEVICE_HALF)
			out[n++] = '-';
		out[n++] = letter;
	}
	out[n] = '\0';
	return n == CAIRN_HUB_USER_CODE_CHARS;
}

/* Writes random letters. Skips bytes that would make some letters likelier. */
static enum cairn_status device_draw_user_code(char out[static CAIRN_HUB_USER_CODE_CHARS + 1])
{
	uint8_t pool[DEVICE_POOL_BYTES];
	char letters[CAIRN_HUB_USER_CODE_CHARS];
	enum cairn_status status = CAIRN_OK;
	size_t n = 0;
	for (size_t at = sizeof(pool); n < sizeof(letters) - 1 && status == CAIRN_OK;) {
		if (at == sizeof(pool)) {
			status = cairn_random(pool, sizeof(pool));
			at = 0;
		} else if (pool[at++] < DEVICE_RANDOM_MAX) {
			letters[n++] = DEVICE_LETTERS[pool[at - 1] % DEVICE_N_LETTERS];
		}
	}
	letters[n] = '\0';
	explicit_bzero(pool, sizeof(pool));
	return status == CAIRN_OK && !cairn_hub_user_code(letters, out) ? CAIRN_E_IO : status;
}

static enum cairn_status device_draw_codes(struct cairn_hub_device_codes *out)
{
	uint8_t random[32];
	enum cairn_status status = cairn_random(random, sizeof(random));
	if (status != CAIRN_OK)
		return status;
	cairn_base64url_encode(out->device, random, sizeof(random));
	explicit_bzero(random, sizeof(random));
	return device_draw_user_code(out->user);
}

/* Computes the digest of a device code and its client, so that the code is valid only with this client. */
static enum cairn_status device_digest(const struct cairn_hub *hub, const char *client_id, const char *device_code,
				       uint8_t out[static CAIRN_SHA256_BYTES], struct cairn_diag *diag)
{
	char bound[DEVICE_BOUND_BYTES] = "";
	size_t id_len = strlen(client_id), code_len = strlen(device_code);
	if (id_len == 0 || id_len > CAIRN_HUB_CLIENT_ID_MAX)
		return cairn_fail(diag, CAIRN_E_USAGE, "device.client", CAIRN_NO_OFFSET,
				  "send a client_id of 1 to %d bytes", CAIRN_HUB_CLIENT_ID_MAX);
	if (code_len != CAIRN_HUB_DEVICE_CODE_CHARS)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "device.ended", CAIRN_NO_OFFSET,
				  "this is no device code of this server");
	memcpy(bound, client_id, id_len);
	bound[id_len] = ' ';
	memcpy(bound + id_len + 1, device_code, code_len);
	cairn_code_digest(hub->cas, bound, out);
	explicit_bzero(bound, sizeof(bound));
	return CAIRN_OK;
}

/* Refuses before the transaction if too many programs wait already: strangers must not keep the index's writer busy. */
static enum cairn_status device_check_room(const struct cairn_hub *hub, const struct cairn_index_add_device *add,
					   struct cairn_diag *diag)
{
	uint32_t n, n_of_one;
	enum cairn_status status = cairn_index_count_devices(hub->index, add->sender, add->now_unix_s, &n, &n_of_one);
	if (status != CAIRN_OK || (n < add->n_max && n_of_one < add->n_of_one_max))
		return status;
	return cairn_fail(diag, CAIRN_E_BUSY, "device.many", CAIRN_NO_OFFSET,
			  "too many programs wait to be let in with a browser%s; confirm one, or try again in some "
			  "minutes",
			  n_of_one < add->n_of_one_max ? "" : " from this address");
}

enum cairn_status cairn_hub_begin_device(const struct cairn_hub *hub, const char *client_id,
					 const struct cairn_hash *sender, const char *address,
					 struct cairn_hub_device_codes *out, struct cairn_diag *diag)
{
	int64_t now_unix_s = cairn_clock_unix_s();
	struct cairn_index_add_device add = {
		.address = address,
		.now_unix_s = now_unix_s,
		.ends_unix_s = now_unix_s + CAIRN_HUB_DEVICE_LIFE_S,
		.n_max = CAIRN_HUB_DEVICES_MAX,
		.n_of_one_max = CAIRN_HUB_DEVICES_OF_ONE_MAX,
	};
	memcpy(add.sender, sender->b, sizeof(add.sender));
	enum cairn_status status = device_draw_codes(out);
	if (status == CAIRN_OK)
		status = device_digest(hub, client_id, out->device, add.device, diag);
	if (status == CAIRN_OK)
		status = device_check_room(hub, &add, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_code_digest(hub->cas, out->user, add.code);
	status = cairn_index_add_device(hub->index, &add);
	*diag = add.write.diag;
	return status;
}

enum cairn_status cairn_hub_device(const struct cairn_hub *hub, const char *client_id, const char *device_code,
				   struct cairn_index_device *out, struct cairn_diag *diag)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	enum cairn_status status = device_digest(hub, client_id, device_code, digest, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_device(hub->index, digest, cairn_clock_unix_s(), out);
	return status == CAIRN_E_NOT_FOUND ? cairn_fail(diag, status, "device.ended", CAIRN_NO_OFFSET,
							"this device code was used or has expired: begin again")
					   : status;
}

enum cairn_status cairn_hub_take_device(const struct cairn_hub *hub, const char *client_id, const char *device_code,
					char text[static CAIRN_KEY_TEXT_BYTES], int64_t *expires_unix_s,
					struct cairn_diag *diag)
{
	struct cairn_index_take_device take = {.now_unix_s = cairn_clock_unix_s(),
					       .good_max = CAIRN_HUB_OWN_KEYS_MAX,
					       .kept_max = CAIRN_HUB_KEPT_KEYS_MAX};
	enum cairn_status status = device_digest(hub, client_id, device_code, take.device, diag);
	if (status == CAIRN_OK)
		status = cairn_key_new_text(text, take.digest);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_take_device(hub->index, &take);
	*diag = take.write.diag;
	*expires_unix_s = take.expires_unix_s;
	return status;
}

static enum cairn_status device_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "device.unknown", CAIRN_NO_OFFSET,
			  "no program waits with this code: it was answered already, has expired, or is "
			  "mistyped");
}

enum cairn_status cairn_hub_find_device(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					const char *user_code, struct cairn_index_device *out, struct cairn_diag *diag)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	enum cairn_status status = cairn_hub_check_own_keys(asker, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_code_digest(hub->cas, user_code, digest);
	status = cairn_index_device_by_code(hub->index, digest, cairn_clock_unix_s(), out);
	bool waits = status == CAIRN_OK && out->state == CAIRN_INDEX_DEVICE_WAITS;
	return status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && !waits) ? device_unknown(diag) : status;
}

static bool device_is_text(const char *name)
{
	size_t left = strlen(name), n;
	for (const uint8_t *p = (const uint8_t *)name; left > 0; p += n, left -= n) {
		n = cairn_utf8_sequence(p, left);
		if (n == 0)
			return false;
	}
	return true;
}

/* Returns when the key expires: with the session's key at the latest, like keys made on the page of keys. */
static int64_t device_end_of(const struct cairn_hub_asker *asker, unsigned days, int64_t now_unix_s)
{
	int64_t wanted = days ? now_unix_s + (int64_t)days * DEVICE_DAY_S : INT64_MAX;
	int64_t most = asker->key_expires_unix_s ? asker->key_expires_unix_s : INT64_MAX;
	int64_t ends = wanted < most ? wanted : most;
	return ends == INT64_MAX ? 0 : ends;
}

enum cairn_status cairn_hub_answer_device(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
					  const char *user_code, const struct cairn_hub_device_key *key,
					  struct cairn_diag *diag)
{
	struct cairn_index_answer_device answer = {.now_unix_s = cairn_clock_unix_s(), .allowed = key != NULL};
	enum cairn_status status = cairn_hub_check_own_keys(asker, diag);
	if (status != CAIRN_OK)
		return status;
	if (key && (!key->name[0] || strlen(key->name) > CAIRN_KEY_NAME_MAX || !device_is_text(key->name)))
		return cairn_fail(diag, CAIRN_E_USAGE, "key.name", CAIRN_NO_OFFSET,
				  "a key needs a name of 1 to %d bytes, by which you know it again",
				  CAIRN_KEY_NAME_MAX);
	if (key) {
		answer.account = asker->account.id;
		answer.parent = asker->key;
		answer.name = key->name;
		answer.scopes = key->writing ? "write" : "read";
		answer.expires_unix_s = device_end_of(asker, key->days, answer.now_unix_s);
	}
	cairn_code_digest(hub->cas, user_code, answer.code);
	status = cairn_index_answer_device(hub->index, &answer);
	*diag = answer.write.diag;
	return status;
}
