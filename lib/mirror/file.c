/* Fetches a file: a short one whole, into memory, and keeps it once it is what the tree says. */
#include "base/percent.h"
#include "hub/lfs.h"
#include "mirror/hub/ask_refused.h"
#include "mirror/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MS = 60000 }; /* for all of its bytes */

/* --- keeping ------------------------------------------------------------------------------------------------------ */

/* Compares the bytes with what the tree says. @param[out] sha256  of the bytes */
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

/* Makes a file of the store, which belongs to the mirrored repository. */
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

/* Follows a redirect, which libcurl must not. @return false: the fetch has ended */
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
		status = f->call.code == 200 ? file_keep(f, &diag) : file_refused(f, &diag);
	}
	mirror_fetch_end(f, status, &diag);
}

/* The answer must not be longer than the file. The words of a refusal, or of a redirect, may be. */
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
	bool is_model = f->what.kind == CAIRN_INDEX_MODEL; /* its type is left out */
	(void)snprintf(f->path, sizeof(f->path), "%s%s/%s/resolve/%s/%s", is_model ? "" : "/",
		       is_model ? "" : cairn_mirror_type(f->what.kind), f->what.name, commit, path);
	if (mirror_fetch_is_long(f))
		mirror_stream_begin(f);
	else
		file_send(f);
}

void cairn_mirror_want_file(struct cairn_mirror *mirror, struct cairn_mirror_want *want)
{
	char key[64];
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
	if (!mirror_lets_in(mirror, want)) {
		want->status = cairn_fail(&want->diag, CAIRN_E_DENIED, "mirror.denied", CAIRN_NO_OFFSET,
					  "the rules of this mirror leave %.120s out", want->name);
		want->done(want);
		return;
	}
	(void)snprintf(key, sizeof(key), "file/%" PRId64 "/%" PRId64, want->repo, want->entry.content);
	mirror_join(mirror, want, key, true, file_begin);
}
