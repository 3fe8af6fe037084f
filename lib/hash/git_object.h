/* Computes git's ids of blobs, trees and commits, and the pointers of Git LFS that stand for a file. */
#ifndef CAIRN_HASH_GIT_OBJECT_H
#define CAIRN_HASH_GIT_OBJECT_H

#include "hash/hash.h"

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_GIT_OID_BYTES = 20,
	CAIRN_GIT_OID_CHARS = 40,          /* digits of its text, without a terminating zero */
	CAIRN_LFS_POINTER_BYTES_MAX = 160, /* bytes of a pointer's text, with a terminating zero */
};

/** The id of an object of git. Plain value. */
struct cairn_git_oid {
	uint8_t b[CAIRN_GIT_OID_BYTES];
};

/** Writes 40 lower-case digits and a zero. */
void cairn_git_oid_text(char out[static CAIRN_GIT_OID_CHARS + 1], const struct cairn_git_oid *oid);
/** Parses 40 lower-case digits. @return false: the text is anything else */
bool cairn_git_oid_parse(const char *text, struct cairn_git_oid *out);
bool cairn_git_oid_equal(const struct cairn_git_oid *a, const struct cairn_git_oid *b);

/** Computes the id of a file's content. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_git_blob(struct cairn_git_oid *out, const void *bytes, size_t len);

/** Does what cairn_git_blob() does, but reads the content bit by bit. @param read  fills out with the next len bytes
 * @return CAIRN_OK; CAIRN_E_NOMEM; the status of read() */
CAIRN_MUST_USE enum cairn_status cairn_git_blob_read(struct cairn_git_oid *out,
						     enum cairn_status (*read)(void *ctx, uint8_t *out, size_t len),
						     void *ctx, uint64_t len);

/** Computes the id of a folder from its entries. Sorts them as git does: by the bytes of their names, a folder's with a
 * slash at its end; fastest if they are almost sorted. For one thread at a time. */
struct cairn_git_tree;

/** Makes an empty tree. @return NULL: no memory */ struct cairn_git_tree *cairn_git_tree_new(void);
/** Empties the tree, also for reuse. */
void cairn_git_tree_begin(struct cairn_git_tree *tree);
/** Adds an entry: a folder, or a file that is not executable. @param name  copied */
void cairn_git_tree_add(struct cairn_git_tree *tree, const char *name, bool is_folder, const struct cairn_git_oid *oid);
/** Computes the id. @return CAIRN_OK; CAIRN_E_NOMEM an entry was dropped: out of memory, or the tree is too large */
CAIRN_MUST_USE enum cairn_status cairn_git_tree_end(struct cairn_git_tree *tree, struct cairn_git_oid *out);
void cairn_git_tree_freep(struct cairn_git_tree **tree);

/** The content of a commit. Borrowed. */
struct cairn_git_commit {
	struct cairn_git_oid root;
	const struct cairn_git_oid *parent; /* NULL: this is the first */
	const char *author, *email;         /* also used as the committer */
	int64_t at_unix_s;                  /* in UTC */
	const char *title, *message;        /* an empty message is omitted */
};

/** Computes the id of a commit whose text is the title, and then, if there is a message, an empty line and the message;
 * with a newline at the end. Omits "<", ">" and newlines from the author and the email.
 * @return CAIRN_OK; CAIRN_E_NOMEM, also if its text is too long */
CAIRN_MUST_USE enum cairn_status cairn_git_commit(struct cairn_git_oid *out, const struct cairn_git_commit *commit);

/** Writes the LFS pointer of a file that is stored elsewhere. @return its length, without the zero */
size_t cairn_lfs_pointer(char out[static CAIRN_LFS_POINTER_BYTES_MAX], const uint8_t sha256[static CAIRN_SHA256_BYTES],
			 uint64_t size_bytes);
/** Parses an LFS pointer; accepts only the exact text of cairn_lfs_pointer(). */
bool cairn_lfs_pointer_parse(const void *bytes, size_t len, uint8_t sha256[static CAIRN_SHA256_BYTES],
			     uint64_t *size_bytes);

#endif
