#include "server/http/auth.h"

#include "base/clock.h"
#include "cas/service/keys.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { AUTH_TOKEN_BYTES_MAX = 8192 };

/* --- keys --------------------------------------------------------------------------------------------------------- */

struct auth_keys {
	/* Guards current. Checks of tokens lock it for reading, a replacement of keys locks it for writing. Writers
	 * come first: otherwise a flood of tokens would delay SIGHUP, and SIGTERM after it. */
	pthread_rwlock_t lock;
	struct cairn_token_keys *current;
	char *path;
};

enum cairn_status auth_keys_open(struct auth_keys **out, const char *path, struct cairn_diag *diag)
{
	*out = NULL;
	struct auth_keys *keys = calloc(1, sizeof(*keys));
	if (!keys)
		return CAIRN_E_NOMEM;
	pthread_rwlockattr_t writer_first;
	pthread_rwlockattr_init(&writer_first);
	pthread_rwlockattr_setkind_np(&writer_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&keys->lock, &writer_first);
	pthread_rwlockattr_destroy(&writer_first);
	keys->path = strdup(path);
	enum cairn_status status = keys->path ? cairn_token_keys_load(&keys->current, path, diag) : CAIRN_E_NOMEM;
	if (status != CAIRN_OK) {
		auth_keys_free(keys);
		return status;
	}
	*out = keys;
	return CAIRN_OK;
}

enum cairn_status auth_keys_reload(struct auth_keys *keys, struct cairn_diag *diag)
{
	struct cairn_token_keys *fresh = NULL;
	enum cairn_status status = cairn_token_keys_load(&fresh, keys->path, diag);
	if (status != CAIRN_OK)
		return status;
	pthread_rwlock_wrlock(&keys->lock);
	struct cairn_token_keys *old = keys->current;
	keys->current = fresh;
	pthread_rwlock_unlock(&keys->lock);
	cairn_token_keys_free(old);
	return CAIRN_OK;
}

void auth_keys_free(struct auth_keys *keys)
{
	if (!keys)
		return;
	cairn_token_keys_free(keys->current);
	pthread_rwlock_destroy(&keys->lock);
	free(keys->path);
	free(keys);
}

static enum cairn_status auth_verify(const struct auth_options *options, const char *token,
				     struct cairn_token_claims *claims, struct cairn_diag *diag)
{
	struct auth_keys *keys = options->keys;
	pthread_rwlock_rdlock(&keys->lock);
	enum cairn_status status =
		cairn_token_verify(keys->current, &options->binding, token, cairn_clock_unix_s(), claims, diag);
	pthread_rwlock_unlock(&keys->lock);
	/* a token is valid only as long as the API key with which it was obtained */
	return status == CAIRN_OK && claims->api_key ? cairn_cas_check_key_id(options->cas, claims->api_key, diag)
						     : status;
}

enum cairn_status auth_mint(const struct auth_options *options, const struct cairn_token_claims *claims,
			    int64_t now_unix_s, char **token, struct cairn_diag *diag)
{
	struct auth_keys *keys = options->keys;
	pthread_rwlock_rdlock(&keys->lock);
	enum cairn_status status = cairn_token_mint(keys->current, &options->binding, claims, now_unix_s, token, diag);
	pthread_rwlock_unlock(&keys->lock);
	return status;
}

/* --- the header --------------------------------------------------------------------------------------------------- */

/* Parses the token of "Bearer TOKEN" (RFC 6750; the case of the scheme does not matter). */
static bool auth_parse_bearer(const char *header, char out[static AUTH_TOKEN_BYTES_MAX + 1], struct cairn_diag *diag)
{
	static const char TOKEN_CHARACTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";
	if (strncasecmp(header, "Bearer", 6) != 0 || (header[6] != ' ' && header[6] != 0)) {
		(void)cairn_fail(
			diag, CAIRN_E_DENIED, "auth.scheme", CAIRN_NO_OFFSET,
			"the Authorization header is not of the Bearer scheme; send \"Authorization: Bearer TOKEN\"");
		return false;
	}
	const char *token = header + 6 + strspn(header + 6, " ");
	size_t len = strspn(token, TOKEN_CHARACTERS);
	if (len > AUTH_TOKEN_BYTES_MAX) {
		(void)cairn_fail(diag, CAIRN_E_DENIED, "auth.length", CAIRN_NO_OFFSET,
				 "the token is longer than %d bytes; ask for one with fewer claims",
				 AUTH_TOKEN_BYTES_MAX);
		return false;
	}
	if (len == 0 || token[len + strspn(token + len, " \t")] != 0) {
		(void)cairn_fail(diag, CAIRN_E_DENIED, "auth.malformed", CAIRN_NO_OFFSET,
				 "the Authorization header is not \"Bearer\" and one token");
		return false;
	}
	memcpy(out, token, len);
	out[len] = 0;
	return true;
}

/* Does the identity have an account or a key of the index? */
static bool auth_has_number(const struct auth_identity *identity)
{
	return identity->account != 0 || identity->api_key != 0;
}

bool auth_is_somebody(const struct auth_identity *identity)
{
	return auth_has_number(identity) || (identity->by_token && strcmp(identity->subject, CAIRN_TOKEN_ANYBODY) != 0);
}

/* Hashes a name of a sender. @param kind  keeps the hashes of repositories, subjects, tokens and keys apart */
static void auth_name(uint8_t kind, const void *name, size_t len, struct cairn_hash *out)
{
	cairn_hash_mac(out, (const uint8_t[CAIRN_HASH_BYTES]){kind}, name, len);
}

void auth_bearer(const struct auth_identity *identity, const char *header, struct cairn_hash *out)
{
	if (identity->account != 0) {
		auth_name('u', &identity->account, sizeof(identity->account), out);
		return;
	}
	if (identity->api_key != 0) {
		auth_name('k', &identity->api_key, sizeof(identity->api_key), out);
		return;
	}
	const char *token = header + strcspn(header, " ");
	token += strspn(token, " ");
	const char *dot = strchr(token, '.'), *signature = dot ? strchr(dot + 1, '.') : NULL;
	/* A daemon that needs no tokens accepts any text as header, even one without a signature. */
	auth_name('t', token, signature ? (size_t)(signature - token) : strlen(token), out);
}

/* --- claims ------------------------------------------------------------------------------------------------------- */

/* Is this "hub/NUMBER", the only name that a repository of the hub has here? */
static bool auth_is_hub(const char *repo)
{
	static const char HUB[] = "hub/";
	const char *number = repo + sizeof(HUB) - 1;
	return strncmp(repo, HUB, sizeof(HUB) - 1) == 0 && *number && number[strspn(number, "0123456789")] == '\0';
}

/* Normalises a repository to its full form, so that "a/b" and "models/a/b" are equal. The claim was checked when the
 * token was verified: "[models/|datasets/|spaces/]namespace/name". */
static void auth_set_repo(struct auth_identity *out, const char *claim)
{
	const char *slash = strchr(claim, '/');
	bool has_type = (slash && strchr(slash + 1, '/')) || auth_is_hub(claim);
	(void)snprintf(out->repo, sizeof(out->repo), "%s%s", *claim && !has_type ? "models/" : "", claim);
}

/* Sets the dedupe scope. A token whose scope is narrower than global names a repository; that was checked with the
 * token. A hub number contains no namespace, so a repository of the hub is a scope of its own. */
static void auth_set_dedupe(struct auth_identity *out, enum cairn_dedupe_scope scope)
{
	const char *slash = strchr(out->repo, '/');
	const char *namespace = slash ? slash + 1 : "";
	if (scope == CAIRN_DEDUPE_NAMESPACE && auth_is_hub(out->repo))
		scope = CAIRN_DEDUPE_REPOSITORY;
	switch (scope) {
	case CAIRN_DEDUPE_GLOBAL:
		return;
	case CAIRN_DEDUPE_NAMESPACE:
		(void)snprintf(out->dedupe, sizeof(out->dedupe), "%.*s", (int)strcspn(namespace, "/"), namespace);
		break;
	case CAIRN_DEDUPE_REPOSITORY:
		memcpy(out->dedupe, out->repo, sizeof(out->dedupe));
		break;
	}
	assert(out->dedupe[0] != 0);
}

static void auth_set_identity(const struct auth_options *options, const struct cairn_token_claims *claims,
			      struct auth_identity *out)
{
	*out = (struct auth_identity){
		.scopes = claims->scopes, .by_token = true, .api_key = claims->api_key, .account = claims->account};
	memcpy(out->subject, claims->subject, sizeof(out->subject));
	auth_set_repo(out, claims->repo);
	enum cairn_dedupe_scope unsaid = claims->repo[0] ? options->dedupe : CAIRN_DEDUPE_GLOBAL;
	auth_set_dedupe(out, claims->has_dedupe ? claims->dedupe : unsaid);
}

static bool auth_refuse(unsigned *code, unsigned as, struct cairn_diag *diag, const char *rule, const char *text)
{
	*code = as;
	(void)cairn_fail(diag, CAIRN_E_DENIED, rule, CAIRN_NO_OFFSET, "%s", text);
	return false;
}

static const char *auth_scope_name(unsigned scope)
{
	if (scope & CAIRN_TOKEN_ADMIN)
		return "admin";
	return scope & CAIRN_TOKEN_WRITE ? "write" : "read";
}

void auth_clear(struct auth_identity *identity)
{
	identity->scopes = 0;
	identity->api_key = identity->account = 0;
	identity->by_token = false;
	identity->subject[0] = identity->repo[0] = identity->dedupe[0] = '\0';
}

static void auth_set_operator(struct auth_identity *out)
{
	static const char SUBJECT[] = "operator";
	out->scopes = CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE | CAIRN_TOKEN_ADMIN;
	memcpy(out->subject, SUBJECT, sizeof(SUBJECT));
}

/* Does the token permit the scope that a route needs? */
static bool auth_permits(const struct auth_identity *who, unsigned scope, unsigned *code, struct cairn_diag *diag)
{
	*code = 403;
	if ((who->scopes & scope) != scope) {
		(void)auth_refuse(code, 403, diag, "token.scope",
				  "the token's scope is too narrow for this; ask for one with more");
		cairn_diag_values(diag, auth_scope_name(scope), auth_scope_name(who->scopes));
		return false;
	}
	if (!(scope & CAIRN_TOKEN_ADMIN) || !who->repo[0])
		return true;
	(void)cairn_fail(diag, CAIRN_E_DENIED, "token.repo", CAIRN_NO_OFFSET,
			 "the token is for %s, and this concerns all repositories; ask for one without repo",
			 who->repo);
	return false;
}

/* A sender who may do everything may name the repository of a request in a header, without a token. */
static void auth_take_named_repo(struct auth_identity *out, const char *header)
{
	static const char SAID[] = "Bearer " AUTH_SAID;
	const char *repo = header ? header + sizeof(SAID) - 1 : "";
	if (header && strncasecmp(header, SAID, sizeof(SAID) - 1) == 0 && strlen(repo) < sizeof(out->repo) &&
	    auth_is_hub(repo))
		(void)snprintf(out->repo, sizeof(out->repo), "%s", repo);
}

bool auth_check(const struct auth_options *options, const char *header, unsigned scope, struct auth_identity *out,
		unsigned *code, struct cairn_diag *diag)
{
	auth_clear(out);
	if (!options->keys) {
		auth_set_operator(out);
		auth_take_named_repo(out, header);
	}
	if (!options->keys || scope == 0)
		return true;
	*code = 401;
	if (!header)
		return auth_refuse(code, 401, diag, "auth.missing",
				   "a token is needed; send \"Authorization: Bearer TOKEN\" (cairn token makes one)");
	char token[AUTH_TOKEN_BYTES_MAX + 1];
	struct cairn_token_claims claims;
	struct cairn_diag why = {0};
	if (!auth_parse_bearer(header, token, diag))
		return false;
	enum cairn_status status = auth_verify(options, token, &claims, &why);
	if (diag && !diag->rule)
		*diag = why;
	if (status != CAIRN_OK) {
		bool no_scope = cairn_diag_has(&why, "token.scope");
		bool later = status == CAIRN_E_NOMEM || status == CAIRN_E_BUSY;
		*code = later ? 503 : status != CAIRN_E_DENIED ? 500 : no_scope ? 403 : 401;
		return false;
	}
	auth_set_identity(options, &claims, out);
	return auth_permits(out, scope, code, diag);
}

void auth_sender(const struct auth_identity *identity, const char *header, struct cairn_hash *out)
{
	if (auth_has_number(identity))
		auth_bearer(identity, header, out);
	else if (identity->subject[0])
		auth_name('s', identity->subject, strlen(identity->subject), out);
	else if (identity->repo[0])
		auth_name('r', identity->repo, strlen(identity->repo), out);
	else
		auth_bearer(identity, header, out);
}

struct cairn_cas_who auth_cas_identity(const struct auth_identity *identity)
{
	return (struct cairn_cas_who){
		.scope = identity->dedupe,
		.owner = identity->repo,
		.viewer = identity->repo[0] ? identity->repo : NULL,
	};
}
