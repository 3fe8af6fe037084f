/* Serves the bytes of files by their paths: HEAD and GET /buckets/{namespace}/{name}/resolve/{path}, and
 * [/{type}]/{namespace}/{name}/resolve/{revision}/{path} and …/raw/… of repositories, where models have no type. */
#include "base/percent.h"
#include "mirror/evict.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/hub_reply.h"
#include "server/hub/hub_bytes.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct resolve_object {
	struct hub_bytes bytes;
	struct cairn_index_object object;
};

static void resolve_open_object(struct hub_bytes *b)
{
	struct resolve_object *o = (struct resolve_object *)b;
	struct hub_call *call = &b->repo.call;
	call->status = cairn_hub_open_object(&call->job.app->hub, &b->repo.repo, &o->object, &b->range, &b->extent,
					     &b->reader, &call->diag);
}

static void resolve_find_object(struct hub_call *call)
{
	struct resolve_object *o = (struct resolve_object *)call;
	struct hub_bytes *b = &o->bytes;
	const struct cairn_hub *hub = &call->job.app->hub;
	if (!hub_repo_find(&b->repo, CAIRN_HUB_READ))
		return;
	call->status = cairn_hub_find_object(hub, &b->repo.repo, b->path, &o->object, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	b->size_bytes = o->object.size_bytes;
	b->type = o->object.type;
	cairn_hash_text(b->hash, &o->object.file);
	(void)snprintf(b->etag, sizeof(b->etag), "\"%s\"", b->hash);
	(void)snprintf(b->refresh, sizeof(b->refresh), "/xet-read-token");
	b->open = hub_bytes_wanted(b) ? resolve_open_object : NULL;
}

static void resolve_get_object(struct http_request *req)
{
	struct resolve_object *o = hub_bytes_new(req, sizeof(*o), CAIRN_INDEX_BUCKET, resolve_find_object);
	if (!o)
		return;
	/* an invalid path matches no file */
	(void)cairn_percent_decode(o->bytes.path, sizeof(o->bytes.path), http_path_arg(req, "path"));
	route_job_ask(req);
}

struct resolve_entry {
	struct hub_bytes bytes;
	const char *raw; /* revision and path, as in the address; borrowed from the request */
	bool as_in_git;  /* for a file whose bytes are in the store, send its pointer */
	struct cairn_index_entry entry;
};

static const char *resolve_type_of(const struct resolve_entry *e)
{
	static const struct {
		const char *ending, *type;
	} TYPES[] = {{".png", "image/png"},        {".jpg", "image/jpeg"},  {".jpeg", "image/jpeg"},
		     {".gif", "image/gif"},        {".webp", "image/webp"}, {".pdf", "application/pdf"},
		     {".json", "application/json"}};
	size_t len = strlen(e->bytes.path);
	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
		size_t ending_len = strlen(TYPES[i].ending);
		if (len > ending_len && strcasecmp(e->bytes.path + len - ending_len, TYPES[i].ending) == 0)
			return TYPES[i].type;
	}
	return e->entry.kind == CAIRN_INDEX_INLINE ? "text/plain; charset=utf-8" : "application/octet-stream";
}

static void resolve_open_entry(struct hub_bytes *b)
{
	struct resolve_entry *e = (struct resolve_entry *)b;
	struct hub_call *call = &b->repo.call;
	call->status = cairn_hub_open_entry(&call->job.app->hub, &b->repo.repo, &e->entry, &b->range, &b->extent,
					    &b->reader, &call->diag);
}

/* Finds a file whose bytes are kept in the store. */
static void resolve_stored(struct resolve_entry *e)
{
	struct hub_bytes *b = &e->bytes;
	struct hub_call *call = &b->repo.call;
	char sha256[2 * sizeof(e->entry.sha256) + 1];
	cairn_hex_text(sha256, e->entry.sha256, sizeof(e->entry.sha256));
	(void)snprintf(b->etag, sizeof(b->etag), "\"%s\"", sha256);
	if (e->entry.has_file)
		cairn_hash_text(b->hash, &e->entry.file);
	(void)snprintf(b->refresh, sizeof(b->refresh), "/xet-read-token/%s", call->commit);
	b->open = hub_bytes_wanted(b) ? resolve_open_entry : NULL;
}

static void resolve_kept(struct resolve_entry *e)
{
	struct hub_bytes *b = &e->bytes;
	struct hub_call *call = &b->repo.call;
	uint8_t *bytes;
	size_t len;
	if (!hub_bytes_wanted(b))
		return;
	call->status = cairn_hub_read_inline(&call->job.app->hub, &e->entry, &bytes, &len, &call->diag);
	if (call->status == CAIRN_OK)
		hub_bytes_keep(b, bytes);
}

static void resolve_pointer(struct resolve_entry *e)
{
	char text[CAIRN_LFS_POINTER_BYTES_MAX];
	struct hub_bytes *b = &e->bytes;
	b->size_bytes = cairn_lfs_pointer(text, e->entry.sha256, e->entry.size_bytes);
	b->type = "text/plain; charset=utf-8";
	if (!hub_bytes_wanted(b))
		return;
	uint8_t *bytes = (uint8_t *)strdup(text);
	if (bytes)
		hub_bytes_keep(b, bytes);
	else
		b->repo.call.status = CAIRN_E_NOMEM;
}

/* Does the client want bytes that have not yet come from the mirrored hub? A HEAD is answered without the bytes. */
static bool resolve_is_lacking(struct resolve_entry *e)
{
	bool is_pointer = e->as_in_git && e->entry.kind == CAIRN_INDEX_XET;
	return e->bytes.repo.repo.is_mirrored && e->entry.is_absent && !is_pointer;
}

/* Notes that a file was read. A HEAD counts, too: clients that speak Xet then read the xorbs. */
static void resolve_note_use(const struct resolve_entry *e)
{
	struct cairn_mirror *mirror = e->bytes.repo.call.job.app->mirror;
	if (mirror && e->bytes.repo.repo.is_mirrored && e->entry.has_file)
		cairn_mirror_note_use(mirror, e->entry.content);
}

static void resolve_present(struct resolve_entry *e)
{
	struct hub_bytes *b = &e->bytes;
	resolve_note_use(e);
	if (e->entry.kind == CAIRN_INDEX_INLINE)
		resolve_kept(e);
	else if (e->entry.kind == CAIRN_INDEX_PLAIN)
		b->open = hub_bytes_wanted(b) ? resolve_open_entry : NULL;
	else if (e->as_in_git)
		resolve_pointer(e);
	else
		resolve_stored(e);
}

/* Opens a file that is being fetched from the mirrored hub. If it has arrived meanwhile, opens it as usual. */
static void resolve_stream(struct resolve_entry *e)
{
	struct hub_bytes *b = &e->bytes;
	struct hub_call *call = &b->repo.call;
	call->status = hub_stream_open(&b->stream, &b->repo, &b->range, &b->extent);
	if (call->status == CAIRN_E_LIMIT)
		call->status = CAIRN_OK; /* past the end: without a stream, the reply refuses the range */
	if (call->status != CAIRN_E_NOT_FOUND)
		return;
	cairn_diag_clear(&call->diag);
	call->status = cairn_hub_find_entry(&call->job.app->hub, &b->repo.commit, b->path, &e->entry, &call->diag);
	call->is_fetching = e->entry.is_absent;
	if (call->status == CAIRN_OK && e->entry.is_absent)
		(void)hub_mirror_want_file(&b->repo, b->path, &e->entry);
	else if (call->status == CAIRN_OK)
		resolve_present(e);
}

/* Replies for a file whose bytes are not here yet. A request for its headers does not fetch the bytes. */
static void resolve_absent(struct resolve_entry *e)
{
	struct hub_bytes *b = &e->bytes;
	if (e->entry.kind == CAIRN_INDEX_XET)
		resolve_stored(e);
	b->open = NULL;
	if (hub_bytes_wanted(b) && hub_mirror_want_file(&b->repo, b->path, &e->entry))
		resolve_stream(e);
}

static void resolve_find_entry(struct hub_call *call)
{
	struct resolve_entry *e = (struct resolve_entry *)call;
	struct hub_bytes *b = &e->bytes;
	char oid[CAIRN_GIT_OID_CHARS + 1];
	if (!hub_repo_find_place(&b->repo, CAIRN_HUB_READ, e->raw, b->path))
		return;
	call->status = cairn_hub_find_entry(&call->job.app->hub, &b->repo.commit, b->path, &e->entry, &call->diag);
	/* Clients take a failed HEAD for a lost connection. After a failed GET they show the message. */
	if (call->status == CAIRN_OK && !b->head)
		call->status = cairn_hub_believe_entry(&e->entry, &call->diag);
	if (call->status == CAIRN_OK && e->entry.kind == CAIRN_INDEX_FOLDER)
		call->status =
			cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
	if (call->status != CAIRN_OK)
		return;
	cairn_git_oid_text(oid, &e->entry.oid);
	b->size_bytes = e->entry.size_bytes;
	b->type = resolve_type_of(e);
	b->for_good = strncmp(e->raw, call->commit, CAIRN_GIT_OID_CHARS) == 0;
	(void)snprintf(b->etag, sizeof(b->etag), "\"%s\"", oid);
	call->is_fetching = resolve_is_lacking(e);
	if (call->is_fetching)
		resolve_absent(e);
	else
		resolve_present(e);
}

static void resolve_begin(struct http_request *req, bool as_in_git)
{
	struct resolve_entry *e = hub_bytes_new(req, sizeof(*e), hub_kind_of_pattern(req), resolve_find_entry);
	if (!e)
		return;
	e->raw = http_path_arg(req, "place");
	e->as_in_git = as_in_git;
	route_job_ask(req);
}

static void resolve_get(struct http_request *req)
{
	resolve_begin(req, false);
}

static void resolve_get_raw(struct http_request *req)
{
	resolve_begin(req, true);
}

const struct http_route ROUTES_RESOLVE[] = {
	HUB_GET("/buckets/{namespace}/{name}/resolve/{path*}", "bucket-resolve", resolve_get_object, hub_bytes_free),
	HUB_EACH_KIND(HUB_GET, "/resolve/{place*}", "repo-resolve", resolve_get, hub_bytes_free),
	HUB_EACH_KIND(HUB_GET, "/raw/{place*}", "repo-raw", resolve_get_raw, hub_bytes_free),
	{0},
};
