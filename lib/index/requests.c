/* Requests that write, each with its function. */
#include "index/backend.h"

enum {
	REQUEST_CHUNK_BYTES = 40,   /* bytes of a chunk list for each chunk */
	REQUEST_OBJECT_BYTES = 200, /* Estimated bytes of one row of a write request, such as an object with its owner
				       or a file of a commit. */
};

static uint64_t request_xorb_bytes(const struct cairn_index_write *write)
{
	return (uint64_t)((const struct cairn_index_put_xorb *)write)->list->n * REQUEST_CHUNK_BYTES;
}

static uint64_t request_shard_bytes(const struct cairn_index_write *write)
{
	return ((const struct cairn_index_put_shard *)write)->records_bytes;
}

static uint64_t request_changes_bytes(const struct cairn_index_write *write)
{
	return (uint64_t)((const struct cairn_index_change_objects *)write)->n * REQUEST_OBJECT_BYTES;
}

static uint64_t request_adopted_bytes(const struct cairn_index_write *write)
{
	return (uint64_t)((const struct cairn_index_adopt_files *)write)->n * REQUEST_OBJECT_BYTES;
}

/* The size of a write of any number of rows, such as a deletion or copy of a folder. It gets its own transaction. */
static const uint64_t REQUEST_ANY_BYTES = (uint64_t)CAIRN_INDEX_COMMIT_ROWS_MAX * REQUEST_OBJECT_BYTES;

static uint64_t request_operation_bytes(const struct cairn_index_operation *operation)
{
	bool deletes = operation->kind == CAIRN_INDEX_DELETE || operation->kind == CAIRN_INDEX_DELETE_FOLDER;
	return deletes ? REQUEST_ANY_BYTES : REQUEST_OBJECT_BYTES + operation->len;
}

static uint64_t request_operations_bytes(const struct cairn_index_operation *operations, uint32_t n)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < n; i++)
		bytes += request_operation_bytes(&operations[i]);
	return bytes;
}

static uint64_t request_commit_bytes(const struct cairn_index_write *write)
{
	const struct cairn_index_add_commit *commit = (const struct cairn_index_add_commit *)write;
	return request_operations_bytes(commit->operations, commit->n);
}

static uint64_t request_repo_bytes(const struct cairn_index_write *write)
{
	const struct cairn_index_add_repo *add = (const struct cairn_index_add_repo *)write;
	return request_operations_bytes(add->operations, add->n);
}

static uint64_t request_ref_bytes(const struct cairn_index_write *write)
{
	const struct cairn_index_add_ref *add = (const struct cairn_index_add_ref *)write;
	return add->kind == CAIRN_INDEX_TAG ? 0 : REQUEST_ANY_BYTES; /* a branch may copy rows */
}

static uint64_t request_fill_bytes(const struct cairn_index_write *write)
{
	return REQUEST_OBJECT_BYTES + ((const struct cairn_index_fill_content *)write)->len;
}

static uint64_t request_places_bytes(const struct cairn_index_write *write)
{
	return (uint64_t)((const struct cairn_index_keep_places *)write)->n * REQUEST_OBJECT_BYTES;
}

static uint64_t request_squash_bytes(const struct cairn_index_write *write)
{
	(void)write;
	return REQUEST_ANY_BYTES;
}

static uint64_t request_outcomes_bytes(const struct cairn_index_write *write)
{
	return (uint64_t)((const struct cairn_index_record_outcomes *)write)->n * REQUEST_OBJECT_BYTES;
}

/* Defines the function of a request and its kind for the writer. The request's struct begins with the write. */
#define REQUEST(name, bytes_of, frees_room) REQUEST_OF(name, bytes_of, frees_room, false)
#define REQUEST_OF(name, bytes_of, frees_room, is_shard)                                                               \
	static enum cairn_status request_##name(struct cairn_index *ix, struct cairn_index_write *write)               \
	{                                                                                                              \
		return ix->backend->name(ix, (struct cairn_index_##name *)write);                                      \
	}                                                                                                              \
	REQUEST_CALL(name, bytes_of, frees_room, is_shard)
/* Does what REQUEST() does, for writes that records.h implements. */
#define RECORD(name, frees_room) RECORD_OF(name, NULL, frees_room)
#define RECORD_OF(name, bytes_of, frees_room)                                                                          \
	static enum cairn_status request_##name(struct cairn_index *ix, struct cairn_index_write *write)               \
	{                                                                                                              \
		return cairn_records_##name(ix->backend->tx(ix), (struct cairn_index_##name *)write);                  \
	}                                                                                                              \
	REQUEST_CALL(name, bytes_of, frees_room, false)
#define REQUEST_CALL(name, bytes_of, frees_room, is_shard)                                                             \
	enum cairn_status cairn_index_##name(struct cairn_index *ix, struct cairn_index_##name *request)               \
	{                                                                                                              \
		static const struct cairn_index_kind KIND = {                                                          \
			.apply = request_##name, .bytes = (bytes_of), .frees = (frees_room), .shards = (is_shard)};    \
		return cairn_writer_submit(&ix->writer, &request->write, &KIND);                                       \
	}

REQUEST(put_xorb, request_xorb_bytes, false)
REQUEST_OF(put_shard, request_shard_bytes, false, true)
REQUEST(forget_file, NULL, true)
REQUEST(record_outcomes, request_outcomes_bytes, false)
REQUEST(prove_file, NULL, false)
REQUEST(gc_mark, NULL, true)
REQUEST(gc_sweep, NULL, true)
REQUEST(find_dead, NULL, true)
REQUEST(bury, NULL, true)
REQUEST(write_off, NULL, true)
REQUEST(begin_lease, NULL, false)
REQUEST(end_lease, NULL, true)
REQUEST(put_note, NULL, false)
REQUEST(begin_session, NULL, false)
REQUEST(end_session, NULL, true)
REQUEST(add_commit, request_commit_bytes, false)
REQUEST(adopt_files, request_adopted_bytes, false)
REQUEST(add_ref, request_ref_bytes, false)
REQUEST(squash, request_squash_bytes, false)
REQUEST(drop_ref, NULL, true)
REQUEST(sweep_repos, NULL, true)
REQUEST(change_objects, request_changes_bytes, false)
CAIRN_RECORD_WRITES(RECORD)
RECORD_OF(add_repo, request_repo_bytes, false)
RECORD_OF(fill_content, request_fill_bytes, false)
RECORD_OF(keep_places, request_places_bytes, false)

/* Succeeds at once: with an engine on this machine, all that readers see is durable. */
static enum cairn_status request_confirmed(struct cairn_index_write *write)
{
	write->status = CAIRN_OK;
	if (write->done)
		write->done(write);
	return CAIRN_OK;
}

static enum cairn_status request_confirm(struct cairn_index *ix, struct cairn_index_write *write)
{
	(void)write;
	return cairn_records_probe(ix->backend->tx(ix));
}

enum cairn_status cairn_index_confirm(struct cairn_index *ix, struct cairn_index_confirm *confirm)
{
	static const struct cairn_index_kind KIND = {.apply = request_confirm, .probes = true};
	if (ix->backend->remote)
		return cairn_writer_submit(&ix->writer, &confirm->write, &KIND);
	return request_confirmed(&confirm->write);
}

enum cairn_status cairn_index_confirm_shard(struct cairn_index *ix, struct cairn_index_confirm_shard *confirm)
{
	static const struct cairn_index_kind KIND = {.settles = true};
	if (ix->backend->settle)
		return cairn_writer_submit(&ix->writer, &confirm->write, &KIND);
	return request_confirmed(&confirm->write);
}
