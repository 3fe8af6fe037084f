/* Makes the signed S3 requests of a store. */
#ifndef CAIRN_STORE_S3_CLIENT_H
#define CAIRN_STORE_S3_CLIENT_H

#include "base/buf.h"
#include "store/s3/place.h"
#include "store/s3/xml.h"
#include "store/store.h"

enum { S3_NAME_BYTES = S3_PLACE_TEXT_BYTES + 192, S3_HEX_SHA256_BYTES = 64 + 1 };

/** A bucket and the credentials for it. Any thread. */
struct s3_client;

/** Creates a client; sends nothing to the store. @param credentials  as s3_credentials_read(); borrowed while the
 * client lives. Credentials that expire are renewed before  @return CAIRN_OK; as s3_credentials_read() */
CAIRN_MUST_USE enum cairn_status s3_client_new(struct s3_client **out, const struct s3_place *place,
					       const char *credentials, struct cairn_diag *diag);
void s3_client_free(struct s3_client *c);

/** Reads the credentials again; on failure the current ones stay. @return as s3_credentials_read() */
CAIRN_MUST_USE enum cairn_status s3_client_reload(struct s3_client *c, struct cairn_diag *diag);

/** See cairn_store_traffic(). */
void s3_client_traffic(struct s3_client *c, struct cairn_store_traffic *out);

/* Names are relative to the prefix of the place. Besides the statuses it lists, every request may return: CAIRN_E_BUSY
 * the state is unknown: the service is silent (store.silent), overloaded (store.busy), refuses us (store.refused), or
 * does not answer as S3 does (store.answer). Conclude nothing about stored objects CAIRN_E_LIMIT  the request is too
 * long, because of its region, key or name CAIRN_E_NOT_FOUND  the bucket does not exist; or, when reading, the object
 * CAIRN_E_NOMEM */

/** The version of an object when the service answered. A change of its bytes changes at least one of the fields. */
struct s3_state {
	uint64_t bytes;
	uint64_t etag;     /* hash of the ETag; 0: not known */
	uint64_t modified; /* hash of the time of the last change; 0: not known, as just after a PUT */
};

/** Returns whether both can be the same version of an object. Fields that either does not know are not compared. */
bool s3_state_agrees(const struct s3_state *a, const struct s3_state *b);

/** Stores an object. @param bytes  NULL: the content of fd, from its beginning  @param sha256  of the bytes; if it
 * differs, the service stores nothing  @param[out] state  may be NULL
 * @return CAIRN_OK; CAIRN_E_MISMATCH the bytes do not match sha256 */
CAIRN_MUST_USE enum cairn_status s3_put(struct s3_client *c, const char *name, const uint8_t *bytes, int fd,
					uint64_t len, const char sha256[static S3_HEX_SHA256_BYTES],
					struct s3_state *state, struct cairn_diag *diag);

/** Stores an object under a new name. A service that does not support (501) or ignores the condition replaces an
 * existing object: read it back.
 * @return as s3_put(); CAIRN_E_CONFLICT the name exists, maybe from an unanswered attempt of this call */
CAIRN_MUST_USE enum cairn_status s3_put_new(struct s3_client *c, const char *name, const uint8_t *bytes, uint64_t len,
					    const char sha256[static S3_HEX_SHA256_BYTES], struct cairn_diag *diag);

/** Reads exactly len bytes, at least 1. @param expected  NULL: any version
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_CONFLICT the object is not as expected; CAIRN_E_IO the object is
 *         shorter */
CAIRN_MUST_USE enum cairn_status s3_get(struct s3_client *c, const char *name, const struct s3_state *expected,
					uint64_t offset, uint8_t *out, size_t len, struct cairn_diag *diag);

/** Returns an object's current version. Reads a byte, as lists may be stale. @return CAIRN_OK; CAIRN_E_NOT_FOUND */
CAIRN_MUST_USE enum cairn_status s3_read_state(struct s3_client *c, const char *name, struct s3_state *out,
					       struct cairn_diag *diag);

/** Appends an address at which anybody may for a while read bytes first to last of an object: by GET, with the header
 * "Range: bytes=FIRST-LAST" and no other range. Sends no request. Addresses made soon after each other are equal.
 * @param life_s  the least lifetime; the address may live a quarter longer  @return CAIRN_OK; CAIRN_E_NOT_FOUND the
 *         signing key expires before; CAIRN_E_LIMIT; CAIRN_E_NOMEM; nothing else */
CAIRN_MUST_USE enum cairn_status s3_add_address(struct s3_client *c, struct cairn_buf *out, const char *name,
						uint64_t first, uint64_t last, uint64_t life_s);

/** Deletes an object. @return CAIRN_OK, also if the object or the bucket did not exist */
CAIRN_MUST_USE enum cairn_status s3_delete(struct s3_client *c, const char *name, struct cairn_diag *diag);

/** Reads one page of the names that begin with prefix and come after `after`, in their order. A page with other names
 * is refused (store.answer), after some may have been visited.
 * @param after  "" for the first page; shorter than S3_NAME_BYTES  @param n_max  of names, at most 1000
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the bucket does not exist */
CAIRN_MUST_USE enum cairn_status s3_list(struct s3_client *c, const char *prefix, const char *after, unsigned n_max,
					 struct s3_xml_list *list, struct cairn_diag *diag);

#endif
