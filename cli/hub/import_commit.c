#include "cli/hub/import_commit.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/hub/import_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COMMIT_BODY_BYTES_MAX = 60 * 1024 * 1024, /* below the server's limit, 64 MiB */
	COMMIT_BYTES = 32 * 1024 * 1024,          /* after this many bytes another commit begins */
	COMMIT_FILES = 10000,
	COMMIT_ASK_FILES = 250, /* files in one request */
	COMMIT_SAMPLE_BYTES = 512,
	COMMIT_INLINE_BYTES_MAX = 1024 * 1024, /* limit of a file inside a commit; the server usually says less */
	COMMIT_PATTERNS_BYTES_MAX = 65536,
	COMMIT_SIBLINGS = 60000, /* most files of a revision that the server lists */
};

/* How a file is committed. */
struct commit_file {
	bool is_ignored, is_inline;
	uint8_t sha256[CAIRN_SHA256_BYTES];
	uint64_t bytes;
};

static const struct manifest *commit_manifest(const struct import_commit *c)
{
	return &c->files->folder.manifest;
}

/* Appends bytes as base64 without padding, which the server accepts. */
static void commit_put_base64(struct cairn_json_out *w, const char *member, const void *bytes, size_t n)
{
	char *text = malloc(CAIRN_BASE64URL_CHARS(n) + 1);
	if (!text) {
		w->buf->status = CAIRN_E_NOMEM;
		return;
	}
	cairn_base64url_encode(text, bytes, n);
	for (char *p = text; *p; p++)
		*p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
	cairn_json_put_text(w, member, text);
	free(text);
}

/* Reads the first bytes of a file. @param out  room for max bytes; *n are read */
static enum cairn_status commit_read(const struct import_commit *c, size_t i, void *out, size_t max, size_t *n,
				     struct import_file *file, struct cairn_diag *diag)
{
	enum cairn_status status = import_files_open(c->files, i, file, diag);
	if (status == CAIRN_OK && cairn_fd_read_upto(file->fd, out, max, n) != CAIRN_OK)
		status = cairn_fail(diag, CAIRN_E_IO, "file.read", CAIRN_NO_OFFSET, "cannot read %.150s: %s",
				    commit_manifest(c)->files[i].path, strerror(errno));
	cairn_fd_closep(&file->fd);
	return status;
}

static enum cairn_status commit_put_sample(struct cairn_json_out *w, const struct import_commit *c, size_t i,
					   struct cairn_diag *diag)
{
	uint8_t bytes[COMMIT_SAMPLE_BYTES];
	struct import_file file;
	size_t n = 0;
	enum cairn_status status = commit_read(c, i, bytes, sizeof(bytes), &n, &file, diag);
	if (status == CAIRN_OK)
		commit_put_base64(w, "sample", bytes, n);
	return status;
}

/* Puts a file into the commit. Checks its announced length, and the hash in the name of its blob. */
static enum cairn_status commit_put_content(struct cairn_json_out *w, const struct import_commit *c, size_t i,
					    struct cairn_diag *diag)
{
	const struct manifest_file *announced = &commit_manifest(c)->files[i];
	struct import_file file;
	size_t n = 0;
	uint8_t *bytes = malloc(COMMIT_INLINE_BYTES_MAX);
	if (!bytes)
		return CAIRN_E_NOMEM;
	enum cairn_status status = commit_read(c, i, bytes, COMMIT_INLINE_BYTES_MAX, &n, &file, diag);
	if (status == CAIRN_OK && n != announced->size_bytes)
		status = cairn_fail(diag, CAIRN_E_FORMAT, "import.changed", CAIRN_NO_OFFSET,
				    "%.150s had %" PRIu64 " bytes and has %zu now: import again", announced->path,
				    announced->size_bytes, n);
	if (status == CAIRN_OK)
		status = import_file_judge_bytes(&file, announced->path, bytes, n, diag);
	if (status == CAIRN_OK)
		commit_put_base64(w, "content", bytes, n);
	free(bytes);
	return status;
}

/* Sends the patterns of the .gitattributes among the files, which apply to this commit, too. */
static enum cairn_status commit_put_patterns(struct cairn_json_out *w, const char *member,
					     const struct import_commit *c, const char *name, struct cairn_diag *diag)
{
	const struct manifest *m = commit_manifest(c);
	size_t i = 0, n = 0;
	while (i < m->n && strcmp(m->files[i].path, name) != 0)
		i++;
	if (i == m->n)
		return CAIRN_OK;
	struct import_file file;
	char *text = calloc(1, COMMIT_PATTERNS_BYTES_MAX + 1);
	enum cairn_status status =
		text ? commit_read(c, i, text, COMMIT_PATTERNS_BYTES_MAX, &n, &file, diag) : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		cairn_json_put_text(w, member, text);
	free(text);
	return status;
}

static enum cairn_status commit_take_modes(const struct manifest *m, size_t first, size_t end,
					   const struct cairn_json *json, bool ignores, struct commit_file *files,
					   struct cairn_diag *diag)
{
	const struct cairn_json *answers = cairn_json_get(json, "files");
	if (cairn_json_count(answers) != end - first)
		return import_repo_not_a_hub(diag, "files");
	for (size_t i = first; i < end; i++) { /* Cairn answers in the order of the request */
		const struct cairn_json *one = cairn_json_at(answers, i - first);
		const char *path = cairn_json_text_of(one, "path"), *mode = cairn_json_text_of(one, "uploadMode");
		if (!path || !mode || strcmp(path, m->files[i].path) != 0)
			return import_repo_not_a_hub(diag, "uploadMode");
		files[i].is_inline = strcmp(mode, "regular") == 0;
		(void)cairn_json_bool_of(one, "shouldIgnore", &files[i].is_ignored);
		files[i].is_ignored &= ignores;
	}
	return CAIRN_OK;
}

static enum cairn_status commit_ask_modes(struct import_repo *r, const struct import_commit *c, size_t first,
					  struct commit_file *files, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(COMMIT_BODY_BYTES_MAX);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	const struct manifest *m = commit_manifest(c);
	size_t end = first + COMMIT_ASK_FILES < m->n ? first + COMMIT_ASK_FILES : m->n;
	struct cairn_json_out w = cairn_json_out_init(&body);
	cairn_json_open_object(&w, NULL);
	enum cairn_status status = commit_put_patterns(&w, "gitAttributes", c, ".gitattributes", diag);
	if (status == CAIRN_OK)
		status = commit_put_patterns(&w, "gitIgnore", c, ".gitignore", diag);
	cairn_json_open_array(&w, "files");
	for (size_t i = first; i < end && status == CAIRN_OK; i++) {
		cairn_json_open_object(&w, NULL);
		cairn_json_put_text(&w, "path", m->files[i].path);
		cairn_json_put_u64(&w, "size", m->files[i].size_bytes);
		status = commit_put_sample(&w, c, i, diag);
		cairn_json_close(&w);
	}
	cairn_json_close(&w);
	cairn_json_close(&w);
	if (status == CAIRN_OK)
		status = import_repo_ask_about(r, CLIENT_POST, "preupload", c->branch, &body, &json, diag);
	return status == CAIRN_OK ? commit_take_modes(m, first, end, json, !c->is_exact, files, diag) : status;
}

/* Begins a push with a temporary token. @param[out] until_ms  monotonic time; files after it need another token */
static enum cairn_status commit_begin_push(struct import_repo *r, const struct import_commit *c, struct push *p,
					   int64_t *until_ms, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	int64_t expires_unix_s = 0;
	enum cairn_status status =
		import_repo_ask_about(r, CLIENT_GET, "xet-write-token", c->branch, NULL, &json, diag);
	if (status != CAIRN_OK)
		return status;
	struct server_options store = {.url = cairn_json_text_of(json, "casUrl"),
				       .token = cairn_json_text_of(json, "accessToken"),
				       .retries = r->server->retries,
				       .verbose = r->server->verbose};
	if (!store.url || !store.token || !cairn_json_i64_of(json, "exp", &expires_unix_s))
		return import_repo_not_a_hub(diag, "accessToken");
	int64_t left_s = expires_unix_s - cairn_clock_unix_s();
	*until_ms = cairn_clock_mono_ms() + (left_s > 0 ? left_s * 1000 / 2 : 0);
	status = push_open(p, &store, r->jobs, diag);
	p->progress = c->progress;
	p->read_bytes = c->read_bytes;
	return status;
}

struct commit_push {
	const struct import_commit *c;
	const struct commit_file *files;
};

static bool commit_is_pushed(const struct commit_file *file)
{
	return !file->is_ignored && !file->is_inline;
}

static int commit_open_file(void *ctx, size_t i)
{
	const struct commit_push *pushed = ctx;
	struct cairn_diag diag = {0};
	struct import_file file;
	if (!commit_is_pushed(&pushed->files[i]) || import_files_open(pushed->c->files, i, &file, &diag) != CAIRN_OK)
		return -1;
	return file.fd;
}

/* Pushes one file. A blob must match its name before any file is committed. */
static enum cairn_status commit_push_file(const struct import_commit *c, size_t i, struct push *p,
					  struct cairn_diag *diag)
{
	struct import_file file;
	struct cairn_diag why = {0};
	const char *path = commit_manifest(c)->files[i].path;
	enum cairn_status status = import_files_open(c->files, i, &file, diag);
	if (status != CAIRN_OK)
		return status;
	status = import_file_judge_oid(&file, path, diag);
	if (status != CAIRN_OK) {
		cairn_fd_closep(&file.fd);
		return status;
	}
	p->progress.name = path;
	status = push_fd(p, file.fd, &why);
	if (status == CAIRN_OK)
		return import_file_judge(&file, path, p->placer.files[p->placer.n_files - 1].sha256, diag);
	if (p->broken)
		*diag = why;
	else
		(void)cairn_fail(diag, status, why.rule, why.offset, "%.120s: %.120s", path, why.text);
	return status;
}

/* Pushes files until the end, or until the token expires. @param[in,out] at  files */
static enum cairn_status commit_push_some(struct import_repo *r, struct import_commit *c, struct commit_file *files,
					  size_t *at, struct cairn_diag *diag)
{
	struct commit_push all = {.c = c, .files = files};
	CLEANUP(push_fini) struct push p;
	int64_t until_ms = 0;
	size_t first = *at;
	push_init(&p, true);
	enum cairn_status status = commit_begin_push(r, c, &p, &until_ms, diag);
	if (status == CAIRN_OK)
		status = push_ask_ahead(&p, commit_manifest(c)->n, commit_open_file, &all);
	for (bool again = true; status == CAIRN_OK && again && *at < commit_manifest(c)->n; ++*at) {
		if (!commit_is_pushed(&files[*at]))
			continue;
		push_next(&p, *at);
		status = commit_push_file(c, *at, &p, diag);
		again = cairn_clock_mono_ms() < until_ms;
	}
	if (status == CAIRN_OK)
		status = push_end(&p, diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_placer_file *pushed = p.placer.files;
	for (size_t i = first; i < *at; i++) {
		if (!commit_is_pushed(&files[i]))
			continue;
		memcpy(files[i].sha256, pushed->sha256, sizeof(files[i].sha256));
		files[i].bytes = pushed++->bytes;
		r->bytes += files[i].bytes;
	}
	r->sent_bytes += push_sent_bytes(&p);
	c->read_bytes = p.read_bytes;
	return CAIRN_OK;
}

static void commit_end_line(struct cairn_json_out *w)
{
	cairn_json_close(w);
	cairn_json_close(w);
	cairn_buf_add(w->buf, "\n", 1);
	w->comma = false;
}

static void commit_begin_line(struct cairn_json_out *w, const char *key)
{
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "key", key);
	cairn_json_open_object(w, "value");
}

static enum cairn_status commit_put_file(struct import_repo *r, const struct import_commit *c, struct cairn_json_out *w,
					 size_t i, const struct commit_file *file, struct cairn_diag *diag)
{
	char sha256[2 * CAIRN_SHA256_BYTES + 1];
	size_t before = w->buf->len;
	commit_begin_line(w, file->is_inline ? "file" : "lfsFile");
	cairn_json_put_text(w, "path", commit_manifest(c)->files[i].path);
	if (file->is_inline) {
		enum cairn_status status = commit_put_content(w, c, i, diag);
		if (status != CAIRN_OK)
			return status;
		cairn_json_put_text(w, "encoding", "base64");
		r->sent_bytes += w->buf->len - before;
	} else {
		cairn_hex_text(sha256, file->sha256, sizeof(file->sha256));
		cairn_json_put_text(w, "algo", "sha256");
		cairn_json_put_text(w, "oid", sha256);
		cairn_json_put_u64(w, "size", file->bytes);
	}
	commit_end_line(w);
	return w->buf->status;
}

static int commit_compare(const void *key, const void *file)
{
	return strcmp(key, ((const struct manifest_file *)file)->path);
}

/* Removes files of the branch that the folder lacks. */
static enum cairn_status commit_put_deletions(struct import_repo *r, const struct import_commit *c,
					      struct cairn_json_out *w, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	const struct manifest *m = commit_manifest(c);
	enum cairn_status status = import_repo_ask_about(r, CLIENT_GET, "revision", c->branch, NULL, &json, diag);
	const struct cairn_json *siblings = cairn_json_get(json, "siblings");
	if (status == CAIRN_OK && cairn_json_count(siblings) >= COMMIT_SIBLINGS)
		return cairn_fail(diag, CAIRN_E_LIMIT, "import.siblings", CAIRN_NO_OFFSET,
				  "the branch %.100s has more than %d files, too many to compare with the snapshot: "
				  "import to another repository",
				  c->branch, COMMIT_SIBLINGS - 1);
	for (size_t i = 0; i < cairn_json_count(siblings) && status == CAIRN_OK; i++) {
		const char *path = cairn_json_text_of(cairn_json_at(siblings, i), "rfilename");
		if (!path || (m->n > 0 && bsearch(path, m->files, m->n, sizeof(*m->files), commit_compare)))
			continue;
		commit_begin_line(w, "deletedFile");
		cairn_json_put_text(w, "path", path);
		commit_end_line(w);
	}
	return status;
}

static enum cairn_status commit_send(struct import_repo *r, const struct import_commit *c, const struct cairn_buf *body,
				     char id[static IMPORT_ID_CHARS + 1], struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	enum cairn_status status = import_repo_ask_about(r, CLIENT_POST, "commit", c->branch, body, &json, diag);
	if (status != CAIRN_OK)
		return status;
	const char *oid = cairn_json_text_of(json, "commitOid");
	if (!oid || strlen(oid) != IMPORT_ID_CHARS)
		return import_repo_not_a_hub(diag, "commitOid");
	memcpy(id, oid, IMPORT_ID_CHARS + 1);
	return CAIRN_OK;
}

/* Returns how many files, from this one on, go into one commit. A file in the store takes one line of the commit. */
static size_t commit_end_of_some(const struct import_commit *c, const struct commit_file *files, size_t first)
{
	const struct manifest *m = commit_manifest(c);
	uint64_t bytes = 0;
	size_t i = first;
	for (; i < m->n && i - first < COMMIT_FILES && bytes < COMMIT_BYTES; i++)
		bytes += 512 + strlen(m->files[i].path) + (files[i].is_inline ? m->files[i].size_bytes * 4 / 3 : 0);
	return i;
}

static enum cairn_status commit_some(struct import_repo *r, const struct import_commit *c,
				     const struct commit_file *files, size_t *at, char id[static IMPORT_ID_CHARS + 1],
				     struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(COMMIT_BODY_BYTES_MAX);
	const struct manifest *m = commit_manifest(c);
	size_t end = commit_end_of_some(c, files, *at);
	bool is_first = *at == 0;
	struct cairn_json_out w = cairn_json_out_init(&body);
	enum cairn_status status = CAIRN_OK;
	commit_begin_line(&w, "header");
	cairn_json_put_text(&w, "summary", c->title);
	if (c->id && end == m->n)
		cairn_json_put_text(&w, "commitId", c->id);
	if (c->snapshot)
		import_trace_note(&w, c->snapshot, end == m->n);
	if (is_first && c->parent && c->parent[0])
		cairn_json_put_text(&w, "parentCommit", c->parent);
	commit_end_line(&w);
	if (c->is_exact && is_first)
		status = commit_put_deletions(r, c, &w, diag);
	for (; *at < end && status == CAIRN_OK; ++*at) {
		const struct commit_file *file = &files[*at];
		r->n_ignored += file->is_ignored;
		r->n_files += !file->is_ignored;
		r->bytes += file->is_inline && !file->is_ignored ? m->files[*at].size_bytes : 0;
		if (!file->is_ignored)
			status = commit_put_file(r, c, &w, *at, file, diag);
	}
	return status == CAIRN_OK ? commit_send(r, c, &body, id, diag) : status;
}

enum cairn_status import_commit_send(struct import_repo *r, struct import_commit *c,
				     char id[static IMPORT_ID_CHARS + 1], struct cairn_diag *diag)
{
	size_t n = commit_manifest(c)->n;
	struct commit_file *files = calloc(n + 1, sizeof(*files));
	enum cairn_status status = files ? CAIRN_OK : CAIRN_E_NOMEM;
	for (size_t i = 0; i < n && status == CAIRN_OK; i += COMMIT_ASK_FILES)
		status = commit_ask_modes(r, c, i, files, diag);
	for (size_t at = 0; at < n && status == CAIRN_OK;)
		status = commit_push_some(r, c, files, &at, diag);
	size_t at = 0;
	do {
		if (status == CAIRN_OK)
			status = commit_some(r, c, files, &at, id, diag);
	} while (status == CAIRN_OK && at < n);
	free(files);
	return status;
}
