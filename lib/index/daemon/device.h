/* Programs that wait for a person to allow them to sign in with a browser (RFC 8628). A program shows its device code
 * with each request; the person types the user code. Only digests of both are stored. */
#ifndef CAIRN_INDEX_DAEMON_DEVICE_H
#define CAIRN_INDEX_DAEMON_DEVICE_H

#include "index/daemon/keys.h"

enum { CAIRN_INDEX_DEVICE_ADDRESS_MAX = 63 }; /* bytes of an address, as text */

enum cairn_index_device_state {
	CAIRN_INDEX_DEVICE_WAITS = 0,
	CAIRN_INDEX_DEVICE_ALLOWED = 1, /* its key can be collected */
	CAIRN_INDEX_DEVICE_DENIED = 2,
};

/** A program that waits. Plain value. */
struct cairn_index_device {
	int64_t id;
	int64_t made_unix_s, ends_unix_s;
	enum cairn_index_device_state state;
	char address[CAIRN_INDEX_DEVICE_ADDRESS_MAX + 1]; /* address from which the program asked */
};

/** Finds the program with this device code, if its time has not ended.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_device(struct cairn_index *ix,
						    const uint8_t device[static CAIRN_SHA256_BYTES], int64_t now_unix_s,
						    struct cairn_index_device *out);
/** Finds the program with this user code, as cairn_index_device() does with a device code. */
CAIRN_MUST_USE enum cairn_status cairn_index_device_by_code(struct cairn_index *ix,
							    const uint8_t code[static CAIRN_SHA256_BYTES],
							    int64_t now_unix_s, struct cairn_index_device *out);
/** Counts programs whose time has not ended. @param[out] n_of_one  programs of this sender. @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_count_devices(struct cairn_index *ix,
							   const uint8_t sender[static CAIRN_SHA256_BYTES],
							   int64_t now_unix_s, uint32_t *n, uint32_t *n_of_one);

/** Stores a program that waits, and removes programs whose time has ended. CAIRN_E_BUSY: too many programs wait, of
 * this sender or of all, or one of the codes is in use (device.many). */
struct cairn_index_add_device {
	struct cairn_index_write write;
	uint8_t device[CAIRN_SHA256_BYTES], code[CAIRN_SHA256_BYTES], sender[CAIRN_SHA256_BYTES];
	const char *address; /* borrowed; at most CAIRN_INDEX_DEVICE_ADDRESS_MAX bytes */
	int64_t now_unix_s, ends_unix_s;
	uint32_t n_max;        /* most programs of all senders, with this one */
	uint32_t n_of_one_max; /* most programs of one sender, with this one */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_device(struct cairn_index *ix, struct cairn_index_add_device *add);

/** Records the person's answer. Only the first counts. CAIRN_E_NOT_FOUND: no program has this code (device.unknown). */
struct cairn_index_answer_device {
	struct cairn_index_write write;
	uint8_t code[CAIRN_SHA256_BYTES];
	int64_t now_unix_s;
	bool allowed;              /* false: denied, and the other members are ignored */
	int64_t account;           /* account that gets the key */
	int64_t parent;            /* key that made the session; 0: none */
	const char *name, *scopes; /* name and scopes of the key, as in struct cairn_index_key; borrowed */
	int64_t expires_unix_s;    /* when the key ends; 0: never */
};
CAIRN_MUST_USE enum cairn_status cairn_index_answer_device(struct cairn_index *ix,
							   struct cairn_index_answer_device *answer);

/** Removes a program that was allowed, and adds its key in one transaction, so it gets one key. CAIRN_E_NOT_FOUND: no
 * allowed program has this device code (device.ended). If cairn_index_add_key() fails, the program stays. */
struct cairn_index_take_device {
	struct cairn_index_write write;
	uint8_t device[CAIRN_SHA256_BYTES];
	uint8_t digest[CAIRN_SHA256_BYTES]; /* of the new key */
	int64_t now_unix_s;
	uint32_t good_max, kept_max; /* as in struct cairn_index_add_key */
	int64_t expires_unix_s;      /* result; 0: never */
};
CAIRN_MUST_USE enum cairn_status cairn_index_take_device(struct cairn_index *ix, struct cairn_index_take_device *take);

#endif
