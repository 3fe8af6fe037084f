/* Sign-in of programs with a browser (RFC 8628): the program asks for two codes, the person confirms the short one on a
 * page, and the program gets a key of the person's account for the long one. */
#ifndef CAIRN_HUB_DEVICE_H
#define CAIRN_HUB_DEVICE_H

#include "hub/own_key.h"
#include "index/daemon/device.h"

enum {
	CAIRN_HUB_DEVICE_LIFE_S = 600,     /* time from the codes to the key */
	CAIRN_HUB_DEVICE_INTERVAL_S = 5,   /* time between two requests of a program */
	CAIRN_HUB_DEVICES_MAX = 4096,      /* programs that wait, in all */
	CAIRN_HUB_DEVICES_OF_ONE_MAX = 16, /* programs that wait, of one address or key */
	CAIRN_HUB_DEVICE_CODE_CHARS = CAIRN_BASE64URL_CHARS(32),
	CAIRN_HUB_USER_CODE_CHARS = 9,   /* eight letters, with a hyphen in the middle: 34 bits */
	CAIRN_HUB_CLIENT_ID_MAX = 127,   /* bytes of a client's id */
	CAIRN_HUB_DEVICE_DAYS_MAX = 365, /* most days of a key that expires */
};

/** The codes of a program. */
struct cairn_hub_device_codes {
	char device[CAIRN_HUB_DEVICE_CODE_CHARS + 1]; /* for the program: 256 bits */
	char user[CAIRN_HUB_USER_CODE_CHARS + 1];     /* for the person */
};

/** Begins the sign-in of a program, which a person must confirm. Waits for the index's writer.
 * @param client_id  id of the program's client; the device code is valid only with it
 * @param sender     number of the sender, for the limit of each
 * @param address    address of the sender, for the person
 * @return CAIRN_OK; CAIRN_E_USAGE client_id is missing or too long (device.client); CAIRN_E_BUSY too many programs wait
 *         (device.many); CAIRN_E_IO there are no random bytes; as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_begin_device(const struct cairn_hub *hub, const char *client_id,
							const struct cairn_hash *sender, const char *address,
							struct cairn_hub_device_codes *out, struct cairn_diag *diag);

/** Returns the state of a program's sign-in: pending, denied or allowed. @return CAIRN_OK; CAIRN_E_USAGE as
 * cairn_hub_begin_device(); CAIRN_E_NOT_FOUND the code has expired, its key was collected, or no program has it
 * (device.ended); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_device(const struct cairn_hub *hub, const char *client_id,
						  const char *device_code, struct cairn_index_device *out,
						  struct cairn_diag *diag);

/** Returns the key of a program that was allowed, once. Waits for the index's writer.
 * @param[out] text  the key, which is not stored
 * @param[out] expires_unix_s  when it expires; 0: never
 * @return CAIRN_OK; as cairn_hub_device(); CAIRN_E_CONFLICT the account has too many keys (key.many); CAIRN_E_DENIED
 *         the key of the session that confirmed the code was revoked (key.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_take_device(const struct cairn_hub *hub, const char *client_id,
						       const char *device_code, char text[static CAIRN_KEY_TEXT_BYTES],
						       int64_t *expires_unix_s, struct cairn_diag *diag);

/* --- for the person ----------------------------------------------------------------------------------------------- */

/** Parses a code as people type it, ignoring case, blanks and hyphens. @return false: not a user code */
bool cairn_hub_user_code(const char *typed, char out[static CAIRN_HUB_USER_CODE_CHARS + 1]);

/** Finds the program that waits with a user code. @return CAIRN_OK; CAIRN_E_DENIED the asker may not make keys
 * (key.own); CAIRN_E_NOT_FOUND no program waits with this code, or it was answered (device.unknown); as index and
 * store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_device(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						       const char *user_code, struct cairn_index_device *out,
						       struct cairn_diag *diag);

/** The key that a person grants. Borrowed. */
struct cairn_hub_device_key {
	const char *name; /* for people; not empty */
	bool writing;     /* the key may also write */
	unsigned days;    /* days until it expires; 0: never */
};

/** Allows a program to sign in. Its key expires no later than the key of the request, and is revoked with it. Waits for
 * the index's writer. @param key  NULL: denies it instead
 * @return as cairn_hub_find_device(); CAIRN_E_USAGE the name is empty, too long or not text (key.name); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_answer_device(const struct cairn_hub *hub,
							 const struct cairn_hub_asker *asker, const char *user_code,
							 const struct cairn_hub_device_key *key,
							 struct cairn_diag *diag);

#endif
