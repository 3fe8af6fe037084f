/* Reads an object of the bucket that is open: the bytes of one version of one copy. */
#ifndef CAIRN_STORE_S3_OBJECT_H
#define CAIRN_STORE_S3_OBJECT_H

#include "store/backend.h"
#include "store/s3/client.h"
#include "store/s3/names.h"

/** Opens a copy. Sends no request.
 * @param client  borrowed until the object is freed, as names
 * @param copy  with the state that the service showed: reads refuse the bytes of another version
 * @param[out] out  for the other calls here; one thread at a time
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status s3_object_open(struct s3_client *client, struct s3_names *names,
						const struct s3_copy *copy, struct cairn_store_object **out);

/* The calls of a store's backend for an open object. Reading returns as s3_get(); CAIRN_E_NOT_FOUND also: the object is
 * no longer the opened version. */
CAIRN_MUST_USE enum cairn_status s3_object_read(struct cairn_store_object *object, uint64_t offset, uint8_t *out,
						size_t len);
CAIRN_MUST_USE enum cairn_status s3_object_prepare(struct cairn_store_object *object, uint64_t offset, uint64_t len);
void s3_object_free(struct cairn_store_object *object);

#endif
