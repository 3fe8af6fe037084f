#include "hash/git_object.h"

#include "base/buf.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GIT_TREE_BYTES_MAX = 64 * 1024 * 1024, /* most bytes of a folder's entries */
	GIT_COMMIT_BYTES_MAX = 1024 * 1024,
	GIT_POINTER_BYTES_MIN = 100, /* no pointer is shorter */
};

_Static_assert((int)CAIRN_GIT_OID_BYTES == (int)CAIRN_SHA1_BYTES, "an id is a SHA-1");

/* --- ids ---------------------------------------------------------------------------------------------------------- */

void cairn_git_oid_text(char out[static CAIRN_GIT_OID_CHARS + 1], const struct cairn_git_oid *oid)
{
	cairn_hex_text(out, oid->b, sizeof(oid->b));
}

/* Reads digits. @return whether text begins with 2 * n lower-case digits */
static bool git_hex(const char *text, uint8_t *out, size_t n)
{
	static const char DIGITS[] = "0123456789abcdef";
	for (size_t i = 0; i < 2 * n; i++) {
		const char *at = text[i] ? strchr(DIGITS, text[i]) : NULL;
		if (!at)
			return false;
		unsigned digit = (unsigned)(at - DIGITS), high = i % 2 == 0 ? digit << 4 : out[i / 2];
		out[i / 2] = (uint8_t)(i % 2 == 0 ? high : high | digit);
	}
	return true;
}

bool cairn_git_oid_parse(const char *text, struct cairn_git_oid *out)
{
	return git_hex(text, out->b, CAIRN_GIT_OID_BYTES) && text[CAIRN_GIT_OID_CHARS] == '\0';
}

bool cairn_git_oid_equal(const struct cairn_git_oid *a, const struct cairn_git_oid *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static enum cairn_status git_id(struct cairn_git_oid *out, const char *type, const void *bytes, size_t len)
{
	char head[32];
	int n = snprintf(head, sizeof(head), "%s %zu", type, len);
	return cairn_sha1(out->b, head, (size_t)n + 1, bytes, len);
}

enum cairn_status cairn_git_blob(struct cairn_git_oid *out, const void *bytes, size_t len)
{
	return git_id(out, "blob", bytes, len);
}

enum cairn_status cairn_git_blob_read(struct cairn_git_oid *out,
				      enum cairn_status (*read)(void *ctx, uint8_t *out, size_t len), void *ctx,
				      uint64_t len)
{
	char head[32];
	int n = snprintf(head, sizeof(head), "blob %" PRIu64, len);
	return cairn_sha1_read(out->b, head, (size_t)n + 1, read, ctx, len);
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

/* An entry within the bytes: mode, name, zero, id. */
struct git_entry {
	const struct cairn_git_tree *tree;
	size_t start, name, len; /* len: length of the name */
	bool is_folder;
};

struct cairn_git_tree {
	struct cairn_buf bytes;
	struct git_entry *entries; /* owned */
	size_t n, cap;
	bool sorted;
	enum cairn_status status;
};

struct cairn_git_tree *cairn_git_tree_new(void)
{
	struct cairn_git_tree *tree = calloc(1, sizeof(*tree));
	if (!tree)
		return NULL;
	tree->bytes = cairn_buf_init(GIT_TREE_BYTES_MAX);
	cairn_git_tree_begin(tree);
	return tree;
}

void cairn_git_tree_begin(struct cairn_git_tree *tree)
{
	tree->bytes.len = 0;
	tree->bytes.status = CAIRN_OK;
	tree->n = 0;
	tree->sorted = true;
	tree->status = CAIRN_OK;
}

/* Returns a byte of a name as git compares it: with a slash after a folder's name. */
static int git_entry_byte(const struct git_entry *e, size_t at)
{
	if (at < e->len)
		return e->tree->bytes.bytes[e->name + at];
	return at == e->len && e->is_folder ? '/' : 0;
}

static int git_entry_compare(const void *one, const void *other)
{
	const struct git_entry *a = one, *b = other;
	size_t len = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->tree->bytes.bytes + a->name, b->tree->bytes.bytes + b->name, len);
	if (order != 0)
		return order;
	return git_entry_byte(a, len) - git_entry_byte(b, len);
}

static bool git_tree_room(struct cairn_git_tree *tree)
{
	if (tree->n < tree->cap)
		return true;
	size_t cap = tree->cap ? tree->cap * 2 : 64;
	struct git_entry *entries = realloc(tree->entries, cap * sizeof(*entries));
	if (!entries)
		return false;
	tree->entries = entries;
	tree->cap = cap;
	return true;
}

void cairn_git_tree_add(struct cairn_git_tree *tree, const char *name, bool is_folder, const struct cairn_git_oid *oid)
{
	const char *mode = is_folder ? "40000 " : "100644 ";
	if (tree->status == CAIRN_OK && !git_tree_room(tree))
		tree->status = CAIRN_E_NOMEM;
	if (tree->status != CAIRN_OK)
		return;
	struct git_entry *e = &tree->entries[tree->n];
	*e = (struct git_entry){.tree = tree, .start = tree->bytes.len, .len = strlen(name), .is_folder = is_folder};
	e->name = e->start + strlen(mode);
	cairn_buf_add(&tree->bytes, mode, strlen(mode));
	cairn_buf_add(&tree->bytes, name, e->len + 1);
	cairn_buf_add(&tree->bytes, oid->b, sizeof(oid->b));
	tree->status = tree->bytes.status;
	if (tree->status == CAIRN_OK && tree->n++ > 0 && git_entry_compare(e - 1, e) > 0)
		tree->sorted = false;
}

static enum cairn_status git_tree_sort(struct cairn_git_tree *tree)
{
	struct cairn_buf sorted = cairn_buf_init(GIT_TREE_BYTES_MAX);
	qsort(tree->entries, tree->n, sizeof(*tree->entries), git_entry_compare);
	for (size_t i = 0; i < tree->n; i++) {
		const struct git_entry *e = &tree->entries[i];
		size_t len = e->name - e->start + e->len + 1 + CAIRN_GIT_OID_BYTES;
		cairn_buf_add(&sorted, tree->bytes.bytes + e->start, len);
	}
	if (sorted.status != CAIRN_OK) {
		cairn_buf_fini(&sorted);
		return CAIRN_E_NOMEM;
	}
	cairn_buf_fini(&tree->bytes);
	tree->bytes = sorted;
	return CAIRN_OK;
}

enum cairn_status cairn_git_tree_end(struct cairn_git_tree *tree, struct cairn_git_oid *out)
{
	enum cairn_status status = tree->status == CAIRN_OK ? CAIRN_OK : CAIRN_E_NOMEM;
	if (status == CAIRN_OK && !tree->sorted)
		status = git_tree_sort(tree);
	tree->n = 0;
	return status == CAIRN_OK
		       ? git_id(out, "tree", tree->bytes.len ? (void *)tree->bytes.bytes : "", tree->bytes.len)
		       : status;
}

void cairn_git_tree_freep(struct cairn_git_tree **tree)
{
	if (*tree) {
		cairn_buf_fini(&(*tree)->bytes);
		free((*tree)->entries);
		free(*tree);
	}
	*tree = NULL;
}

/* --- commits ------------------------------------------------------------------------------------------------------ */

/* Appends a name or an email without characters that would end it in git. */
static void git_add_person(struct cairn_buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p != '<' && *p != '>' && *p != '\n')
			cairn_buf_add(out, p, 1);
	}
}

static void git_add_by(struct cairn_buf *out, const char *what, const struct cairn_git_commit *commit)
{
	cairn_buf_printf(out, "%s ", what);
	git_add_person(out, commit->author);
	cairn_buf_printf(out, " <");
	git_add_person(out, commit->email);
	cairn_buf_printf(out, "> %" PRId64 " +0000\n", commit->at_unix_s);
}

enum cairn_status cairn_git_commit(struct cairn_git_oid *out, const struct cairn_git_commit *commit)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(GIT_COMMIT_BYTES_MAX);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, &commit->root);
	cairn_buf_printf(&text, "tree %s\n", oid);
	if (commit->parent) {
		cairn_git_oid_text(oid, commit->parent);
		cairn_buf_printf(&text, "parent %s\n", oid);
	}
	git_add_by(&text, "author", commit);
	git_add_by(&text, "committer", commit);
	cairn_buf_printf(&text, "\n");
	cairn_buf_add(&text, commit->title, strlen(commit->title));
	if (commit->message[0]) {
		cairn_buf_printf(&text, "\n\n");
		cairn_buf_add(&text, commit->message, strlen(commit->message));
	}
	cairn_buf_printf(&text, "\n");
	return text.status == CAIRN_OK ? git_id(out, "commit", text.bytes, text.len) : CAIRN_E_NOMEM;
}

/* --- pointers ----------------------------------------------------------------------------------------------------- */

#define GIT_POINTER_START "version https://git-lfs.github.com/spec/v1\noid sha256:"
#define GIT_POINTER_SIZE  "\nsize "

size_t cairn_lfs_pointer(char out[static CAIRN_LFS_POINTER_BYTES_MAX], const uint8_t sha256[static CAIRN_SHA256_BYTES],
			 uint64_t size_bytes)
{
	char hex[65];
	cairn_hex_text(hex, sha256, CAIRN_SHA256_BYTES);
	return (size_t)snprintf(out, CAIRN_LFS_POINTER_BYTES_MAX,
				GIT_POINTER_START "%s" GIT_POINTER_SIZE "%" PRIu64 "\n", hex, size_bytes);
}

bool cairn_lfs_pointer_parse(const void *bytes, size_t len, uint8_t sha256[static CAIRN_SHA256_BYTES],
			     uint64_t *size_bytes)
{
	char text[CAIRN_LFS_POINTER_BYTES_MAX], again[CAIRN_LFS_POINTER_BYTES_MAX];
	const size_t start = sizeof(GIT_POINTER_START) - 1, size = start + 64 + sizeof(GIT_POINTER_SIZE) - 1;
	if (len < GIT_POINTER_BYTES_MIN || len >= sizeof(text))
		return false;
	memcpy(text, bytes, len);
	text[len] = '\0';
	if (!git_hex(text + start, sha256, CAIRN_SHA256_BYTES))
		return false;
	*size_bytes = 0;
	for (const char *p = text + size; *p >= '0' && *p <= '9' && *size_bytes < UINT64_MAX / 10 - 1; p++)
		*size_bytes = *size_bytes * 10 + (uint64_t)(*p - '0');
	/* Write the pointer again, and accept only an identical text. */
	return cairn_lfs_pointer(again, sha256, *size_bytes) == len && memcmp(again, bytes, len) == 0;
}
