/* The requests of S3 that a store makes, each signed. */
#ifndef CAIRN_STORE_S3_CLIENT_H
#define CAIRN_STORE_S3_CLIENT_H

#include "base/buf.h"
#include "store/s3/place.h"
#include "store/s3/xml.h"
#include "store/store.h"

enum { S3_NAME_BYTES = S3_PLACE_TEXT_BYTES + 192, S3_HEX_SHA256_BYTES = 64 + 1 };

/** A bucket and who may use it. Any thread. */
struct s3_client;

/** @param credentials  as s3_credentials_read(); borrowed for as long as the client lives. Those that end are had anew
 *  before. Sends nothing to the store  @return CAIRN_OK; as s3_credentials_read() */
CAIRN_MUST_USE enum cairn_status s3_client_new(struct s3_client **out, const struct s3_place *place,
					       const char *credentials, struct cairn_diag *diag);
void s3_client_free(struct s3_client *c);

/** Read the credentials again. Those in use stay when they cannot be read. @return as s3_credentials_read() */
CAIRN_MUST_USE enum cairn_status s3_client_reload(struct s3_client *c, struct cairn_diag *diag);

/** As cairn_store_traffic(). */
void s3_client_traffic(struct s3_client *c, struct cairn_store_traffic *out);

/* Names are those below the prefix of the place. What all requests answer besides what they say themselves:
 * CAIRN_E_BUSY   nothing is known: the service is silent (store.silent), has too much to do (store.busy), refuses us
 *                (store.refused), or what answers is no service of S3 (store.answer). What is stored must not be judged
 *                by that
 * CAIRN_E_LIMIT  the request is longer than any of ours: a region, a key or a name is
 * CAIRN_E_NOT_FOUND  there is no such bucket, or, where something is read, no such object
 * CAIRN_E_NOMEM */

/** How an object was when the service answered. Whoever changes its bytes changes at least one of these. */
struct s3_state {
	uint64_t bytes;
	uint64_t etag;     /* hash of the ETag; 0: not known */
	uint64_t modified; /* hash of the time of the last change; 0: not known, as just after a PUT */
};

/** Can both be the same object with the same bytes? What one of them does not know is not compared. */
bool s3_state_agrees(const struct s3_state *a, const struct s3_state *b);

/** Store an object. @param bytes  NULL: what is in fd, from its beginning  @param sha256  of it, which the service
 *  compares: nothing is stored when it differs  @param[out] state  may be NULL
 *  @return CAIRN_OK; CAIRN_E_MISMATCH the bytes are others than sha256 says */
CAIRN_MUST_USE enum cairn_status s3_put(struct s3_client *c, const char *name, const uint8_t *bytes, int fd,
					uint64_t len, const char sha256[static S3_HEX_SHA256_BYTES],
					struct s3_state *state, struct cairn_diag *diag);

/** Store an object of a name that nothing has. A service that does not know how (501) or passes the condition over
 *  replaces what is there: read it back.
 *  @return as s3_put(); CAIRN_E_CONFLICT there is one, maybe by an attempt of this call that was not answered */
CAIRN_MUST_USE enum cairn_status s3_put_new(struct s3_client *c, const char *name, const uint8_t *bytes, uint64_t len,
					    const char sha256[static S3_HEX_SHA256_BYTES], struct cairn_diag *diag);

/** Read exactly len bytes, more than none. @param expected  NULL: however the object is
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_CONFLICT the object is not as expected; CAIRN_E_IO it is shorter */
CAIRN_MUST_USE enum cairn_status s3_get(struct s3_client *c, const char *name, const struct s3_state *expected,
					uint64_t offset, uint8_t *out, size_t len, struct cairn_diag *diag);

/** How an object is now. Reads its first byte, as a list may show it late, or still. @return CAIRN_OK;
 *  CAIRN_E_NOT_FOUND */
CAIRN_MUST_USE enum cairn_status s3_look(struct s3_client *c, const char *name, struct s3_state *out,
					 struct cairn_diag *diag);

/** Append an address at which anybody may read bytes first to last of an object, for a while: by GET, with the header
 *  "Range: bytes=FIRST-LAST" and no other range. Asks nobody. Addresses that are made soon after each other are equal.
 *  @param life_s  how long at least; it is up to a quarter longer  @return CAIRN_OK; CAIRN_E_NOT_FOUND the key that
 * would sign it ends before; CAIRN_E_LIMIT; CAIRN_E_NOMEM; nothing else */
CAIRN_MUST_USE enum cairn_status s3_add_address(struct s3_client *c, struct cairn_buf *out, const char *name,
						uint64_t first, uint64_t last, uint64_t life_s);

/** Delete an object. @return CAIRN_OK also when it, or the bucket, was not there */
CAIRN_MUST_USE enum cairn_status s3_delete(struct s3_client *c, const char *name, struct cairn_diag *diag);

/** One page of the names that begin with prefix and come after another, in their order; a list that has others is no
 *  answer (store.answer), and some may have been visited.
 *  @param after  "" for the first page; shorter than S3_NAME_BYTES  @param n_max  of names, at most 1000
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such bucket */
CAIRN_MUST_USE enum cairn_status s3_list(struct s3_client *c, const char *prefix, const char *after, unsigned n_max,
					 struct s3_xml_list *list, struct cairn_diag *diag);

#endif
