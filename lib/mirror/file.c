/* Fetches files. Reads a short file whole into memory, compares it with the tree, and stores it. */
#include "base/percent.h"
#include "hub/lfs.h"
#include "mirror/hub/ask_refused.h"
#include "mirror/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MS = 60000 }; /* deadline of a short file */

/* --- storing ------------------------------------------------------------------------------------------------------ */

/* Compares the bytes with the SHA-256 or the id in the tree. @param[out] sha256  SHA-256 of the bytes */
static enum cairn_status file_prove(const struct mirror_fetch *f, uint8_t sha256[static CAIRN_SHA256_BYTES],
				    struct cairn_diag *diag)
{
	const struct cairn_index_entry *entry = &f->what.entry;
	const struct cairn_buf *body = &f->call.body;
	struct cairn_git_oid oid;
	if (body->len != entry->size_bytes)
		return mirror_wrong_bytes(f->what.path, diag);
	enum cairn_status status = cairn_sha256_of(sha256, body->bytes, body->len);
	if (status == CAIRN_OK && entry->kind == CAIRN_INDEX_XET)
		return memcmp(sha256, entry->sha256, CAIRN_SHA256_BYTES) == 0 ? CAIRN_OK
									      : mirror_wrong_bytes(f->what.path, diag);
	if (status == CAIRN_OK)
		status = cairn_git_blob(&oid, body->bytes, body->len);
	return status == CAIRN_OK && !cairn_git_oid_equal(&oid, &entry->oid) ? mirror_wrong_bytes(f->what.path, diag)
									     : status;
}

static void file_ingest_freep(struct cairn_hub_ingest **in)
{
	cairn_hub_ingest_free(*in);
}

/* Puts the bytes into the store, as a file of the mirrored repository. */
static enum cairn_status file_store(const struct mirror_fetch *f, const uint8_t sha256[static CAIRN_SHA256_BYTES],
				    struct cairn_diag *diag)
{
	CLEANUP(file_ingest_freep) struct cairn_hub_ingest *in = NULL;
	const struct cairn_buf *body = &f->call.body;
	enum cairn_status status = mirror_receive(f->m, &f->what, sha256, &in, diag);
	for (size_t at = 0, room; status == CAIRN_OK && at < body->len; at += room) {
		uint8_t *to = cairn_hub_ingest_room(in, &room);
		room = room < body->len - at ? room : body->len - at;
		memcpy(to, body->bytes + at, room);
		cairn_hub_ingest_put(in, room);
		status = cairn_hub_ingest_work(in, diag);
	}
	return status == CAIRN_OK ? cairn_hub_ingest_end(in, diag) : status;
}

static enum cairn_status file_keep(const struct mirror_fetch *f, struct cairn_diag *diag)
{
	const struct cairn_buf *body = &f->call.body;
	bool is_inline = f->what.entry.kind != CAIRN_INDEX_XET && body->len <= CAIRN_INDEX_INLINE_MAX;
	struct cairn_index_fill_content fill = {.repo = f->what.repo, .content = f->what.entry.content};
	enum cairn_status status = file_prove(f, fill.sha256, diag);
	if (status == CAIRN_OK && !is_inline)
		status = file_store(f, fill.sha256, diag);
	if (status != CAIRN_OK)
		return status;
	if (is_inline) {
		fill.bytes = body->len > 0 ? body->bytes : (const uint8_t *)"";
		fill.len = body->len;
	}
	status = cairn_index_fill_content(f->m->hub->index, &fill);
	*diag = fill.write.diag;
	return status;
}

/* --- fetching ----------------------------------------------------------------------------------------------------- */

static void file_send(struct mirror_fetch *f);

static bool file_is_redirected(const struct mirror_fetch *f)
{
	unsigned code = f->call.code;
	return (code == 301 || code == 302 || code == 303 || code == 307 || code == 308) && f->call.location[0];
}

/* Follows a redirect by hand, because libcurl must not. @return false: the fetch has ended */
static enum cairn_status file_follow(struct mirror_fetch *f, struct cairn_diag *diag)
{
	struct mirror_hop before = f->hop;
	if (f->n_hops == MIRROR_HOPS_MAX)
		return cairn_fail(diag, CAIRN_E_FORMAT, "mirror.redirect", CAIRN_NO_OFFSET,
				  "the upstream redirects more than %d times for a file", MIRROR_HOPS_MAX);
	enum cairn_status status =
		mirror_hop_judge(&f->hop, &f->m->upstream, f->n_hops > 0 ? &before : NULL, f->call.location, diag);
	f->n_hops++;
	f->call.hop = &f->hop;
	return status;
}

static enum cairn_status file_refused(const struct mirror_fetch *f, struct cairn_diag *diag)
{
	if (f->call.code == 404 && strcmp(f->call.error_code, "EntryNotFound") == 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "mirror.unknown", CAIRN_NO_OFFSET,
				  "the upstream no longer has \"%.120s\"", f->what.path);
	return mirror_read_refused(&f->call, diag);
}

static void file_answered(struct mirror_fetch *f)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = CAIRN_OK;
	if (file_is_redirected(f)) {
		status = file_follow(f, &diag);
		if (status == CAIRN_OK) {
			file_send(f);
			return;
		}
	} else {
		f->fetched_bytes = f->call.body.len;
		status = f->call.code == 200 ? file_keep(f, &diag) : file_refused(f, &diag);
	}
	mirror_fetch_end(f, status, &diag);
}

/* Sends the request. Allows an answer of the file's length, but at least some bytes for an error or a redirect. */
static void file_send(struct mirror_fetch *f)
{
	enum { WORDS_BYTES_MAX = 65536 };
	size_t size = (size_t)f->what.entry.size_bytes;
	f->call.body_bytes_max = size > WORDS_BYTES_MAX ? size : WORDS_BYTES_MAX;
	f->call.deadline_ms = FILE_MS;
	f->step = file_answered;
	mirror_fetch_send(f);
}

static void file_begin(struct mirror_fetch *f)
{
	char path[3 * CAIRN_INDEX_PATH_MAX + 1], commit[CAIRN_GIT_OID_CHARS + 1];
	cairn_percent_encode(path, f->what.path, CAIRN_PERCENT_PATH);
	cairn_git_oid_text(commit, &f->what.commit);
	bool is_model = f->what.kind == CAIRN_INDEX_MODEL; /* addresses of models have no type */
	(void)snprintf(f->path, sizeof(f->path), "%s%s/%s/resolve/%s/%s", is_model ? "" : "/",
		       is_model ? "" : cairn_mirror_type(f->what.kind), f->what.name, commit, path);
	if (mirror_fetch_is_long(f)) {
		mirror_stream_begin(f);
		return;
	}
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_room_promise(f->m, &f, &f->what, 0, &diag);
	if (status == CAIRN_OK)
		file_send(f);
	else
		mirror_fetch_end(f, status, &diag);
}

void mirror_file_key(char out[static MIRROR_FILE_KEY_BYTES], int64_t repo, int64_t content)
{
	(void)snprintf(out, MIRROR_FILE_KEY_BYTES, "file/%" PRId64 "/%" PRId64, repo, content);
}

void cairn_mirror_want_file(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	char key[MIRROR_FILE_KEY_BYTES];
	cairn_diag_clear(&want->diag);
	if (want->entry.size_bytes > CAIRN_MIRROR_SHORT_BYTES_MAX && want->entry.kind != CAIRN_INDEX_XET) {
		want->status = cairn_fail(
			&want->diag, CAIRN_E_DENIED, "mirror.large", CAIRN_NO_OFFSET,
			"\"%.120s\" has %" PRIu64 " bytes and no SHA-256 in the tree, and this mirror "
			"fetches such files up to %" PRIu64 " MiB; get it from %.100s",
			want->path, want->entry.size_bytes, CAIRN_MIRROR_SHORT_BYTES_MAX >> 20, mirror->upstream.url);
		want->done(want);
		return;
	}
	if (!mirror_take_rule(mirror, want)) {
		want->status = cairn_fail(&want->diag, CAIRN_E_DENIED, "mirror.denied", CAIRN_NO_OFFSET,
					  "the rules of this mirror deny %.120s", want->name);
		want->done(want);
		return;
	}
	/* Files of a public repository are fetched without the asker's token. If the upstream has put up a gate
	 * meanwhile, it refuses them. */
	if (!want->is_alone) {
		want->token[0] = '\0';
		want->rule = 0;
	}
	mirror_file_key(key, want->repo, want->entry.content);
	mirror_join(mirror, want, key, true, file_begin);
}
