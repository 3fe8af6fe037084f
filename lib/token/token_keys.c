#include "token/token_keys.h"

#include "base/base64.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"
#include "hash/crypto.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	TOKEN_KEY_FILE_BYTES_MAX = 16 * 1024,
	TOKEN_KEY_NEW_BYTES = 32,
};

const char *cairn_token_alg_name(enum cairn_token_alg alg)
{
	switch (alg) {
	case CAIRN_TOKEN_HS256:
		return "HS256";
	case CAIRN_TOKEN_RS256:
		return "RS256";
	case CAIRN_TOKEN_ES256:
		return "ES256";
	case CAIRN_TOKEN_EDDSA:
		return "EdDSA";
	}
	assert(!"an algorithm without a name");
	return "";
}

/* Wipe secrets: they must not stay in freed memory. */
static void token_keys_wipe(void *bytes, size_t len)
{
	explicit_bzero(bytes, len);
}

static enum cairn_status token_keys_fail_errno(struct cairn_diag *diag, const char *path, int error)
{
	return cairn_fail(diag, error == ENOENT ? CAIRN_E_USAGE : CAIRN_E_IO, "token.key", CAIRN_NO_OFFSET,
			  "cannot read the token key %s: %s; make one with: cairn token --new-key %s", path,
			  strerror(error), path);
}

static enum cairn_status token_keys_secret(struct cairn_token_key *key, const char *text, size_t len, const char *path,
					   struct cairn_diag *diag)
{
	key->alg = CAIRN_TOKEN_HS256;
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
		len--;
	enum cairn_status status =
		cairn_base64url_decode(key->secret, sizeof(key->secret), &key->secret_len, text, len);
	if (status == CAIRN_OK && key->secret_len >= CAIRN_TOKEN_SECRET_BYTES_MIN)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
			 "%s is neither a PEM key nor a secret of %d to %d bytes in base64url; make one with: "
			 "cairn token --new-key PATH",
			 path, CAIRN_TOKEN_SECRET_BYTES_MIN, CAIRN_TOKEN_SECRET_BYTES_MAX);
	return CAIRN_E_USAGE;
}

static enum cairn_status token_keys_pem(struct cairn_token_key *key, const char *text, size_t len, const char *path,
					struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status = cairn_token_pem_parse(&key->pem, text, len, &why);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "token.key", CAIRN_NO_OFFSET, "%.80s: %.160s", path, why.text);
	key->alg = cairn_token_pem_alg(key->pem);
	return CAIRN_OK;
}

static enum cairn_status token_keys_parse(struct cairn_token_key *key, const char *text, size_t len, mode_t mode,
					  const char *path, struct cairn_diag *diag)
{
	bool is_pem = memmem(text, len, "-----BEGIN ", 11) != NULL;
	enum cairn_status status =
		is_pem ? token_keys_pem(key, text, len, path, diag) : token_keys_secret(key, text, len, path, diag);
	if (status != CAIRN_OK)
		return status;
	bool secret = !is_pem || cairn_token_pem_is_private(key->pem);
	if (secret && (mode & S_IRWXO) != 0)
		return cairn_fail(
			diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
			"the secret key %s can be used by everybody (mode %04o); take that away with: chmod o= %s",
			path, (unsigned)mode & 07777, path);
	return CAIRN_OK;
}

static enum cairn_status token_keys_add(struct cairn_token_keys *keys, const char *path, struct cairn_diag *diag)
{
	if (keys->n == CAIRN_TOKEN_KEYS_MAX)
		return cairn_fail(diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
				  "more than %d token keys; remove those that sign no tokens any more",
				  CAIRN_TOKEN_KEYS_MAX);
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	struct stat st;
	char text[TOKEN_KEY_FILE_BYTES_MAX + 1];
	size_t len = 0;
	if (fd < 0 || cairn_sys_fstat(fd, &st) < 0 || cairn_fd_read_upto(fd, text, sizeof(text), &len) != CAIRN_OK)
		return token_keys_fail_errno(diag, path, errno);
	if (len > TOKEN_KEY_FILE_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
				  "%s is longer than %d bytes: not a key", path, TOKEN_KEY_FILE_BYTES_MAX);
	/* Count the key first, so that a key whose parsing failed is released, too. */
	enum cairn_status status = token_keys_parse(&keys->key[keys->n++], text, len, st.st_mode, path, diag);
	token_keys_wipe(text, sizeof(text));
	return status;
}

static bool token_keys_visible(const char *name)
{
	return name[0] != '.';
}

static enum cairn_status token_keys_add_entry(struct cairn_token_keys *keys, const char *folder, const char *name,
					      struct cairn_diag *diag)
{
	char path[4096];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return token_keys_fail_errno(diag, folder, ENAMETOOLONG);
	if (cairn_sys_stat(path, &st) < 0)
		return token_keys_fail_errno(diag, path, errno);
	return S_ISREG(st.st_mode) ? token_keys_add(keys, path, diag) : CAIRN_OK;
}

/* Compares names by their bytes in every locale, because the order decides which key mints. */
static enum cairn_status token_keys_add_folder(struct cairn_token_keys *keys, const char *folder,
					       struct cairn_diag *diag)
{
	CLEANUP(cairn_folder_names_fini) struct cairn_folder_names names = {0};
	enum cairn_status status = cairn_folder_list(
		&names, cairn_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), token_keys_visible);
	if (status != CAIRN_OK)
		return token_keys_fail_errno(diag, folder, errno);
	for (size_t i = 0; i < names.n && status == CAIRN_OK; i++)
		status = token_keys_add_entry(keys, folder, names.items[i], diag);
	if (status == CAIRN_OK && keys->n == 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "token.key", CAIRN_NO_OFFSET,
				  "the folder %s has no token key; make one with: cairn token --new-key %s/first.key",
				  folder, folder);
	return status;
}

enum cairn_status cairn_token_keys_load(struct cairn_token_keys **out, const char *path, struct cairn_diag *diag)
{
	*out = NULL;
	struct stat st;
	if (cairn_sys_stat(path, &st) < 0)
		return token_keys_fail_errno(diag, path, errno);
	CLEANUP(cairn_token_keys_freep) struct cairn_token_keys *keys = calloc(1, sizeof(*keys));
	if (!keys)
		return CAIRN_E_NOMEM;
	enum cairn_status status =
		S_ISDIR(st.st_mode) ? token_keys_add_folder(keys, path, diag) : token_keys_add(keys, path, diag);
	if (status != CAIRN_OK)
		return status;
	*out = keys;
	keys = NULL;
	return CAIRN_OK;
}

void cairn_token_keys_free(struct cairn_token_keys *keys)
{
	if (!keys)
		return;
	for (size_t i = 0; i < keys->n; i++)
		cairn_token_pem_free(keys->key[i].pem);
	token_keys_wipe(keys, sizeof(*keys));
	free(keys);
}

void cairn_token_keys_freep(struct cairn_token_keys **keys)
{
	cairn_token_keys_free(*keys);
	*keys = NULL;
}

/* Writes a hidden file beside path and renames it once it is durable. So half a key is never taken for a key, and
 * loading a folder of keys skips it. A killed process leaves the hidden file behind. */
static enum cairn_status token_keys_write(const char *path, const char *text, size_t len)
{
	char part[PATH_MAX];
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	int n = snprintf(part, sizeof(part), "%.*s.%s.XXXXXX", (int)(name - path), path, name);
	if (n < 0 || (size_t)n >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return CAIRN_E_CONFLICT;
	}
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_mkostemp(part, O_CLOEXEC); /* mode 0600 */
	const char *made = part;
	if (fd < 0)
		return cairn_fd_make_status(errno);
	enum cairn_status status = cairn_fd_write_all(fd, text, len);
	if (status == CAIRN_OK && cairn_sys_fsync(fd) < 0)
		status = CAIRN_E_IO;
	if (status == CAIRN_OK && cairn_fd_rename_new(AT_FDCWD, part, AT_FDCWD, path) != CAIRN_OK)
		status = cairn_fd_make_status(errno);
	if (status == CAIRN_OK) {
		made = path;
		status = cairn_fd_sync_parent(path);
	}
	if (status != CAIRN_OK) {
		int error = errno;
		(void)cairn_sys_unlink(made);
		errno = error;
	}
	return status;
}

enum cairn_status cairn_token_key_make(const char *path, struct cairn_diag *diag)
{
	uint8_t secret[TOKEN_KEY_NEW_BYTES];
	char text[CAIRN_BASE64URL_CHARS(TOKEN_KEY_NEW_BYTES) + 2];
	enum cairn_status status = cairn_random(secret, sizeof(secret));
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "token.key", CAIRN_NO_OFFSET, "the system gives no random bytes");
	cairn_base64url_encode(text, secret, sizeof(secret));
	size_t len = strlen(text);
	text[len++] = '\n';
	status = token_keys_write(path, text, len);
	int error = errno;
	token_keys_wipe(secret, sizeof(secret));
	token_keys_wipe(text, sizeof(text));
	if (status == CAIRN_E_CONFLICT && error == EEXIST)
		return cairn_fail(diag, status, "token.key", CAIRN_NO_OFFSET,
				  "%s exists already and is not overwritten; choose another name", path);
	return status == CAIRN_OK ? CAIRN_OK
				  : cairn_fail(diag, status, "token.key", CAIRN_NO_OFFSET, "cannot make %s: %s", path,
					       strerror(error));
}
