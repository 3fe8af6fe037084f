#include "hub/put.h"

#include "base/utf8.h"
#include "hash/crypto.h"
#include "hub/commit.h"
#include "hub/lfs.h"
#include "hub/pattern.h"

#include <stdlib.h>
#include <string.h>

static bool put_is_text(const uint8_t *bytes, size_t len)
{
	for (size_t at = 0, n; at < len; at += n) {
		n = bytes[at] == 0 ? 0 : cairn_utf8_sequence(bytes + at, len - at);
		if (n == 0)
			return false;
	}
	return true;
}

static void put_ingest_freep(struct cairn_hub_ingest **in)
{
	cairn_hub_ingest_free(*in);
}

static enum cairn_status put_store(const struct cairn_hub *hub, const struct cairn_hub_put *put,
				   const struct cairn_hub_put_file *file, uint8_t sha256[static CAIRN_SHA256_BYTES],
				   struct cairn_diag *diag)
{
	CLEANUP(put_ingest_freep) struct cairn_hub_ingest *in = NULL;
	struct cairn_hub_lfs_grant grant = {
		.upload = true, .alone = put->alone, .repo = put->repo->id, .size_bytes = file->len};
	enum cairn_status status = cairn_sha256_of(grant.sha256, file->bytes, file->len);
	memcpy(sha256, grant.sha256, sizeof(grant.sha256));
	if (cairn_cas_options_of(hub->cas)->xorbs_external)
		return cairn_fail(diag, CAIRN_E_USAGE, "xorbs.external", CAIRN_NO_OFFSET,
				  "this server keeps an index only: it takes text of at most %d bytes by form",
				  CAIRN_INDEX_INLINE_MAX);
	if (status == CAIRN_OK)
		status = cairn_hub_lfs_receive(hub, &grant, put->sender, &in, diag);
	for (size_t at = 0; status == CAIRN_OK && at < file->len;) {
		size_t room;
		uint8_t *to = cairn_hub_ingest_room(in, &room);
		room = room < file->len - at ? room : file->len - at;
		memcpy(to, file->bytes + at, room);
		cairn_hub_ingest_put(in, room);
		at += room;
		status = cairn_hub_ingest_work(in, diag);
	}
	return status == CAIRN_OK ? cairn_hub_ingest_end(in, diag) : status;
}

static enum cairn_status put_file(const struct cairn_hub *hub, const struct cairn_hub_put *put,
				  const struct cairn_hub_put_file *file, struct cairn_hub_patterns *attributes,
				  struct cairn_index_operation *out, struct cairn_diag *diag)
{
	bool is_inline =
		file->len == 0 || (file->len <= CAIRN_INDEX_INLINE_MAX && put_is_text(file->bytes, file->len) &&
				   !cairn_hub_pattern_is_lfs(attributes, file->path));
	uint64_t pointed_bytes;
	uint8_t pointed[CAIRN_SHA256_BYTES];
	*out = (struct cairn_index_operation){.kind = CAIRN_INDEX_PUT_FILE, .path = file->path};
	/* The text of a pointer would stand for the file that it names, so it is stored as a file of its own. */
	if (!is_inline || cairn_lfs_pointer_parse(file->bytes, file->len, pointed, &pointed_bytes))
		return put_store(hub, put, file, out->sha256, diag);
	out->kind = CAIRN_INDEX_PUT_INLINE;
	out->bytes = file->bytes;
	out->len = file->len;
	return cairn_git_blob(&out->oid, file->bytes, file->len);
}

enum cairn_status cairn_hub_put(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
				const struct cairn_hub_put *put, struct cairn_git_oid *oid, struct cairn_diag *diag)
{
	struct cairn_index_operation operations[CAIRN_HUB_PUT_FILES_MAX];
	const struct cairn_hub_commit commit = {
		.title = put->title, .message = "", .n = put->n, .operations = operations};
	struct cairn_hub_patterns attributes;
	uint8_t *text = NULL;
	enum cairn_status status = cairn_hub_read_patterns(hub, put->head, ".gitattributes", &text, &attributes);
	for (unsigned i = 0; i < put->n && status == CAIRN_OK; i++)
		status = put_file(hub, put, &put->files[i], &attributes, &operations[i], diag);
	free(text);
	return status == CAIRN_OK ? cairn_hub_commit(hub, asker, put->repo, put->branch, &commit, oid, diag) : status;
}
