/* Programs that wait for a person to allow them to sign in. Only digests of their codes are stored. */
#include "index/daemon/device.h"
#include "index/backend.h"
#include "index/records.h"

#include <string.h>

#define DEVICE "SELECT id, made, ends, state, address FROM device_code WHERE "

CAIRN_SQL(DEVICE_FIND, DEVICE "device = $1 AND ends > $2");
CAIRN_SQL(DEVICE_FIND_CODE, DEVICE "code = $1 AND ends > $2");
CAIRN_SQL(DEVICE_COUNT, "SELECT (SELECT count(*) FROM device_code WHERE ends > $2),"
			" (SELECT count(*) FROM device_code WHERE sender = $1 AND ends > $2)");
CAIRN_SQL(DEVICE_DROP_ENDED, "DELETE FROM device_code WHERE ends <= $1");
CAIRN_SQL(DEVICE_ADD, "INSERT INTO device_code(device, code, sender, address, made, ends)"
		      " VALUES($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id");
CAIRN_SQL(DEVICE_ANSWER, "UPDATE device_code SET state = $3, account = $4, parent = $5, name = $6, scopes = $7,"
			 " expires = $8 WHERE code = $1 AND state = 0 AND ends > $2");
CAIRN_SQL(DEVICE_TAKE, "DELETE FROM device_code WHERE device = $1 AND state = 1 AND ends > $2"
		       " RETURNING account, parent, name, scopes, expires");

static enum cairn_status device_one(struct cairn_index *ix, const struct cairn_sql *sql,
				    const uint8_t digest[static CAIRN_SHA256_BYTES], int64_t now_unix_s,
				    struct cairn_index_device *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	enum cairn_status status = cairn_records_find(
		ix, &row, sql, CAIRN_ARGS(cairn_db_bytes(digest, CAIRN_SHA256_BYTES), cairn_db_int(now_unix_s)));
	if (status != CAIRN_OK)
		return status;
	*out = (struct cairn_index_device){
		.id = cairn_db_get_int(&row, 0),
		.made_unix_s = cairn_db_get_int(&row, 1),
		.ends_unix_s = cairn_db_get_int(&row, 2),
		.state = (enum cairn_index_device_state)cairn_db_get_int(&row, 3),
	};
	cairn_db_get_text(&row, 4, out->address, sizeof(out->address));
	return cairn_db_whole(&row);
}

enum cairn_status cairn_index_device(struct cairn_index *ix, const uint8_t device[static CAIRN_SHA256_BYTES],
				     int64_t now_unix_s, struct cairn_index_device *out)
{
	return device_one(ix, &DEVICE_FIND, device, now_unix_s, out);
}

enum cairn_status cairn_index_device_by_code(struct cairn_index *ix, const uint8_t code[static CAIRN_SHA256_BYTES],
					     int64_t now_unix_s, struct cairn_index_device *out)
{
	return device_one(ix, &DEVICE_FIND_CODE, code, now_unix_s, out);
}

enum cairn_status cairn_index_count_devices(struct cairn_index *ix, const uint8_t sender[static CAIRN_SHA256_BYTES],
					    int64_t now_unix_s, uint32_t *n, uint32_t *n_of_one)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	enum cairn_status status =
		cairn_records_find(ix, &row, &DEVICE_COUNT,
				   CAIRN_ARGS(cairn_db_bytes(sender, CAIRN_SHA256_BYTES), cairn_db_int(now_unix_s)));
	*n = status == CAIRN_OK ? (uint32_t)cairn_db_get_int(&row, 0) : 0;
	*n_of_one = status == CAIRN_OK ? (uint32_t)cairn_db_get_int(&row, 1) : 0;
	return status;
}

static enum cairn_status device_many(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "device.many", CAIRN_NO_OFFSET,
			  "too many programs wait to be let in with a browser; confirm one, or try again in some "
			  "minutes");
}

/* No race: writes run one after the other. */
static enum cairn_status device_check_room(struct cairn_index_tx *tx, struct cairn_index_add_device *add)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	cairn_db_queue(tx->db, NULL, &DEVICE_DROP_ENDED, CAIRN_ARGS(cairn_db_int(add->now_unix_s)));
	enum cairn_status status = cairn_db_find(
		tx->db, &row, &DEVICE_COUNT,
		CAIRN_ARGS(cairn_db_bytes(add->sender, sizeof(add->sender)), cairn_db_int(add->now_unix_s)));
	bool has_room = status != CAIRN_OK ||
			(cairn_db_get_int(&row, 0) < add->n_max && cairn_db_get_int(&row, 1) < add->n_of_one_max);
	return has_room ? status : device_many(&add->write.diag);
}

enum cairn_status cairn_records_add_device(struct cairn_index_tx *tx, struct cairn_index_add_device *add)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	enum cairn_status status = device_check_room(tx, add);
	if (status != CAIRN_OK)
		return status;
	status = cairn_db_find(tx->db, &row, &DEVICE_ADD,
			       CAIRN_ARGS(cairn_db_bytes(add->device, sizeof(add->device)),
					  cairn_db_bytes(add->code, sizeof(add->code)),
					  cairn_db_bytes(add->sender, sizeof(add->sender)), cairn_db_text(add->address),
					  cairn_db_int(add->now_unix_s), cairn_db_int(add->ends_unix_s)));
	/* One of the codes is in use already, which is rare: the client asks again. */
	return status == CAIRN_E_NOT_FOUND ? device_many(&add->write.diag) : status;
}

enum cairn_status cairn_records_answer_device(struct cairn_index_tx *tx, struct cairn_index_answer_device *answer)
{
	int64_t n;
	bool allowed = answer->allowed;
	enum cairn_index_device_state state = allowed ? CAIRN_INDEX_DEVICE_ALLOWED : CAIRN_INDEX_DEVICE_DENIED;
	enum cairn_status status = cairn_db_run(
		tx->db, &DEVICE_ANSWER,
		CAIRN_ARGS(cairn_db_bytes(answer->code, sizeof(answer->code)), cairn_db_int(answer->now_unix_s),
			   cairn_db_int((int64_t)state), cairn_db_int_or_null(allowed ? answer->account : 0),
			   cairn_db_int_or_null(allowed ? answer->parent : 0),
			   cairn_db_text(allowed ? answer->name : ""), cairn_db_text(allowed ? answer->scopes : ""),
			   cairn_db_int_or_null(allowed ? answer->expires_unix_s : 0)),
		&n);
	return status != CAIRN_OK || n > 0
		       ? status
		       : cairn_fail(&answer->write.diag, CAIRN_E_NOT_FOUND, "device.unknown", CAIRN_NO_OFFSET,
				    "no program waits with this code: it was answered already, or has expired");
}

enum cairn_status cairn_records_take_device(struct cairn_index_tx *tx, struct cairn_index_take_device *take)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows row = {0};
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1], scopes[CAIRN_INDEX_KEY_SCOPES_MAX + 1];
	enum cairn_status status = cairn_db_find(
		tx->db, &row, &DEVICE_TAKE,
		CAIRN_ARGS(cairn_db_bytes(take->device, sizeof(take->device)), cairn_db_int(take->now_unix_s)));
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(&take->write.diag, CAIRN_E_NOT_FOUND, "device.ended", CAIRN_NO_OFFSET,
				  "this device code was used or has expired");
	if (status != CAIRN_OK)
		return status;
	struct cairn_index_add_key add = {
		.name = name,
		.repo = "",
		.scopes = scopes,
		.account = cairn_db_get_int(&row, 0),
		.parent = cairn_db_get_int(&row, 1),
		.expires_unix_s = cairn_db_get_int(&row, 4),
		.good_max = take->good_max,
		.kept_max = take->kept_max,
	};
	memcpy(add.digest, take->digest, sizeof(add.digest));
	cairn_db_get_text(&row, 2, name, sizeof(name));
	cairn_db_get_text(&row, 3, scopes, sizeof(scopes));
	status = cairn_db_whole(&row);
	if (status == CAIRN_OK)
		status = cairn_records_add_key(tx, &add);
	take->write.diag = add.write.diag;
	take->expires_unix_s = add.expires_unix_s;
	return status;
}
