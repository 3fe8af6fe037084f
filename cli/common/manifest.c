#include "cli/common/manifest.h"

#include "base/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void manifest_fini(struct manifest *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->files[i].path);
	free(m->files);
	*m = (struct manifest){0};
}

enum cairn_status manifest_add(struct manifest *m, const struct manifest_file *file, struct cairn_diag *diag)
{
	if (m->n == MANIFEST_FILES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "manifest.files", CAIRN_NO_OFFSET,
				  "more than %d files; make a manifest of each folder in it", MANIFEST_FILES_MAX);
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 64;
		struct manifest_file *more = realloc(m->files, cap * sizeof(*more));
		if (!more)
			return CAIRN_E_NOMEM;
		m->files = more;
		m->cap = cap;
	}
	m->files[m->n] = *file;
	m->files[m->n].path = strdup(file->path);
	if (!m->files[m->n].path)
		return CAIRN_E_NOMEM;
	m->n++;
	return CAIRN_OK;
}

bool manifest_path_is_safe(const char *path)
{
	size_t len = strlen(path);
	if (len == 0 || len > MANIFEST_PATH_BYTES_MAX)
		return false;
	for (const char *name = path;; name++) {
		size_t n = strcspn(name, "/");
		if (n == 0 || n > MANIFEST_NAME_BYTES_MAX || (n == 1 && name[0] == '.') ||
		    (n == 2 && name[0] == '.' && name[1] == '.'))
			return false;
		name += n;
		if (!*name)
			return true;
	}
}

bool manifest_path_is_writable(const char *path)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(UINT64_C(8) * MANIFEST_PATH_BYTES_MAX);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	if (!manifest_path_is_safe(path))
		return false;
	/* refuse a path that is not UTF-8, because JSON would change it */
	cairn_buf_add(&text, "[", 1);
	cairn_json_text(&text, path, SIZE_MAX);
	cairn_buf_add(&text, "]", 1);
	if (text.status != CAIRN_OK || cairn_json_parse(&json, (const char *)text.bytes, text.len) != CAIRN_OK)
		return false;
	const char *back = cairn_json_string(cairn_json_at(json, 0));
	return back && strcmp(back, path) == 0;
}

static int manifest_by_path(const void *pa, const void *pb)
{
	const struct manifest_file *a = pa, *b = pb;
	return strcmp(a->path, b->path);
}

void manifest_sort(struct manifest *m)
{
	if (m->n > 0)
		qsort(m->files, m->n, sizeof(*m->files), manifest_by_path);
}

void manifest_write(struct cairn_buf *out, const struct manifest *m)
{
	struct cairn_json_out w = cairn_json_out_init(out);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_u64(&w, "version", 1);
	cairn_json_open_array(&w, "files");
	for (size_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];
		char hash[CAIRN_HASH_TEXT_BYTES], sha256[2 * CAIRN_SHA256_BYTES + 1], mode[8];
		cairn_hash_text(hash, &f->hash);
		cairn_hex_text(sha256, f->sha256, sizeof(f->sha256));
		(void)snprintf(mode, sizeof(mode), "%04o", f->mode & 0777U);
		cairn_json_open_object(&w, NULL);
		cairn_json_put_text(&w, "path", f->path);
		cairn_json_put_text(&w, "hash", hash);
		cairn_json_put_u64(&w, "size", f->size_bytes);
		cairn_json_put_text(&w, "sha256", sha256);
		cairn_json_put_text(&w, "mode", mode);
		cairn_json_close(&w);
		cairn_buf_add(out, "\n", 1);
	}
	cairn_json_close(&w);
	cairn_json_close(&w);
	cairn_buf_add(out, "\n", 1);
}

static bool manifest_read_mode(const char *text, unsigned *out)
{
	*out = 0;
	size_t n = text ? strspn(text, "01234567") : 0;
	if (n == 0 || n > 4 || text[n])
		return false;
	for (size_t i = 0; i < n; i++)
		*out = *out * 8 + (unsigned)(text[i] - '0');
	return *out <= 0777;
}

static enum cairn_status manifest_wrong(struct cairn_diag *diag, const char *rule, size_t i, const char *what)
{
	return cairn_fail(diag, CAIRN_E_FORMAT, rule, CAIRN_NO_OFFSET, "file %zu of the manifest %s", i, what);
}

static enum cairn_status manifest_read_file(struct manifest *out, const struct cairn_json *json, size_t i,
					    struct cairn_diag *diag)
{
	struct manifest_file f = {0};
	const char *path = cairn_json_text_of(json, "path"), *hash = cairn_json_text_of(json, "hash"),
		   *sha256 = cairn_json_text_of(json, "sha256");
	int64_t size = -1;
	if (!path || !manifest_path_is_safe(path)) {
		(void)manifest_wrong(diag, "manifest.path", i,
				     "has no path, or one that may lead out of the folder; it must be relative, "
				     "without empty parts, . and ..");
		cairn_diag_values(diag, "", path ? path : "");
		return CAIRN_E_FORMAT;
	}
	if (out->n > 0 && strcmp(out->files[out->n - 1].path, path) >= 0)
		return manifest_wrong(diag, "manifest.order", i, "does not follow the one before by its path");
	if (!hash || cairn_hash_parse(&f.hash, hash, strlen(hash)) != CAIRN_OK || !sha256 ||
	    cairn_hex_parse(f.sha256, sizeof(f.sha256), sha256, strlen(sha256)) != CAIRN_OK)
		return manifest_wrong(diag, "manifest.hash", i, "has no hash or sha256 of 64 hexadecimal digits");
	if (!cairn_json_i64_of(json, "size", &size) || size < 0)
		return manifest_wrong(diag, "manifest.size", i, "has no size");
	if (!manifest_read_mode(cairn_json_text_of(json, "mode"), &f.mode))
		return manifest_wrong(diag, "manifest.mode", i, "has no mode of 0000 to 0777");
	f.size_bytes = (uint64_t)size;
	char *copy = strdup(path);
	if (!copy)
		return CAIRN_E_NOMEM;
	f.path = copy;
	enum cairn_status status = manifest_add(out, &f, diag);
	free(copy);
	return status;
}

enum cairn_status manifest_read(struct manifest *out, const uint8_t *json, size_t len, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *root = NULL;
	int64_t version = 0;
	*out = (struct manifest){0};
	if (len == 0 || cairn_json_parse_some(&root, (const char *)json, len, MANIFEST_VALUES_MAX) != CAIRN_OK ||
	    !cairn_json_i64_of(root, "version", &version) || !cairn_json_is_array(cairn_json_get(root, "files")))
		return cairn_fail(diag, CAIRN_E_FORMAT, "manifest.json", CAIRN_NO_OFFSET,
				  "is neither a hash of 64 digits nor a manifest with version and files");
	if (version != 1)
		return cairn_fail(diag, CAIRN_E_FORMAT, "manifest.version", CAIRN_NO_OFFSET,
				  "is a manifest of another version than 1");
	const struct cairn_json *files = cairn_json_get(root, "files");
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < cairn_json_count(files) && status == CAIRN_OK; i++)
		status = manifest_read_file(out, cairn_json_at(files, i), i, diag);
	if (status != CAIRN_OK)
		manifest_fini(out);
	return status;
}
