#include "token/token_claims.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN_LEEWAY_S = 60 };

static const struct {
	const char *name;
	unsigned bit, with_implied;
} TOKEN_SCOPES[] = {
	{"read", CAIRN_TOKEN_READ, CAIRN_TOKEN_READ},
	{"write", CAIRN_TOKEN_WRITE, CAIRN_TOKEN_WRITE | CAIRN_TOKEN_READ},
	{"admin", CAIRN_TOKEN_ADMIN, CAIRN_TOKEN_ADMIN | CAIRN_TOKEN_WRITE | CAIRN_TOKEN_READ},
};
enum { TOKEN_N_SCOPES = sizeof(TOKEN_SCOPES) / sizeof(TOKEN_SCOPES[0]) };

static const char *const TOKEN_DEDUPE[] = {
	[CAIRN_DEDUPE_GLOBAL] = "global",
	[CAIRN_DEDUPE_NAMESPACE] = "namespace",
	[CAIRN_DEDUPE_REPOSITORY] = "repository",
};
enum { TOKEN_N_DEDUPE = sizeof(TOKEN_DEDUPE) / sizeof(TOKEN_DEDUPE[0]) };

static enum cairn_status token_malformed(struct cairn_diag *diag, const char *claim, const char *want)
{
	return cairn_fail(diag, CAIRN_E_DENIED, "token.malformed", CAIRN_NO_OFFSET,
			  "the token's claim \"%s\" must be %s; get a new token", claim, want);
}

/* --- repository names --------------------------------------------------------------------------------------------- */

static bool token_is_name(const char *text, size_t len)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	return len > 0 && strspn(text, allowed) >= len && !(len == 1 && text[0] == '.') &&
	       !(len == 2 && text[0] == '.' && text[1] == '.');
}

/* "[models|datasets|spaces/]namespace/name" */
static bool token_is_repo(const char *text)
{
	static const char *const types[] = {"models/", "datasets/", "spaces/"};
	const char *slash = strchr(text, '/');
	if (slash && strchr(slash + 1, '/')) {
		const char *rest = NULL;
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			if (strncmp(text, types[i], strlen(types[i])) == 0)
				rest = text + strlen(types[i]);
		}
		if (!rest)
			return false;
		text = rest;
		slash = strchr(text, '/');
	}
	return slash && token_is_name(text, (size_t)(slash - text)) && token_is_name(slash + 1, strlen(slash + 1));
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Ignores unknown words, which belong to other services. */
static unsigned token_scopes_in(const char *text)
{
	unsigned scopes = 0;
	while (*text) {
		size_t len = strcspn(text, " ");
		for (size_t i = 0; i < TOKEN_N_SCOPES; i++) {
			if (strlen(TOKEN_SCOPES[i].name) == len && strncmp(TOKEN_SCOPES[i].name, text, len) == 0)
				scopes |= TOKEN_SCOPES[i].with_implied;
		}
		text += len;
		text += strspn(text, " ");
	}
	return scopes;
}

static enum cairn_status token_read_scopes(struct cairn_token_claims *out, const struct cairn_json *claim,
					   struct cairn_diag *diag)
{
	if (cairn_json_string(claim))
		out->scopes = token_scopes_in(cairn_json_string(claim));
	for (size_t i = 0; i < cairn_json_count(claim); i++) {
		const char *text = cairn_json_string(cairn_json_at(claim, i));
		if (!text)
			return token_malformed(diag, "scope", "a text or an array of texts");
		out->scopes |= token_scopes_in(text);
	}
	if (out->scopes == 0)
		return cairn_fail(diag, CAIRN_E_DENIED, "token.scope", CAIRN_NO_OFFSET,
				  "the token grants none of read, write, admin; get one with the claim \"scope\"");
	return CAIRN_OK;
}

/* Reads a text claim that may be absent. The caller decides whether an empty text is valid. */
static bool token_read_text(char *out, size_t size, const struct cairn_json *claims, const char *name)
{
	const struct cairn_json *claim = cairn_json_get(claims, name);
	const char *text = cairn_json_string(claim);
	if (!claim)
		return true;
	if (!text || strlen(text) >= size)
		return false;
	memcpy(out, text, strlen(text) + 1);
	return true;
}

static bool token_read_dedupe(struct cairn_token_claims *out, const struct cairn_json *claims)
{
	char text[16] = "";
	if (!token_read_text(text, sizeof(text), claims, "dedupe"))
		return false;
	out->has_dedupe = cairn_json_get(claims, "dedupe") != NULL;
	for (unsigned i = 0; out->has_dedupe && i < TOKEN_N_DEDUPE; i++) {
		if (strcmp(TOKEN_DEDUPE[i], text) == 0) {
			out->dedupe = (enum cairn_dedupe_scope)i;
			return true;
		}
	}
	return !out->has_dedupe;
}

static enum cairn_status token_read_times(struct cairn_token_claims *out, const struct cairn_json *claims,
					  int64_t now_unix_s, struct cairn_diag *diag)
{
	const struct cairn_json *nbf = cairn_json_get(claims, "nbf");
	int64_t not_before_unix_s = 0;
	if (!cairn_json_i64_of(claims, "exp", &out->expires_unix_s) || out->expires_unix_s < 0)
		return token_malformed(diag, "exp", "seconds since 1970");
	if (nbf && !cairn_json_i64(nbf, &not_before_unix_s))
		return token_malformed(diag, "nbf", "seconds since 1970");
	/* The leeway is subtracted from the clock, not added to "exp", which could overflow. */
	if (now_unix_s - TOKEN_LEEWAY_S >= out->expires_unix_s) {
		(void)cairn_fail(diag, CAIRN_E_DENIED, "token.expired", CAIRN_NO_OFFSET,
				 "the token expired at %" PRId64 " (it is %" PRId64 " now); get a new one",
				 out->expires_unix_s, now_unix_s);
		return CAIRN_E_DENIED;
	}
	if (now_unix_s + TOKEN_LEEWAY_S < not_before_unix_s)
		return cairn_fail(diag, CAIRN_E_DENIED, "token.not_yet", CAIRN_NO_OFFSET,
				  "the token is valid from %" PRId64 " on (it is %" PRId64 " now); check the clocks",
				  not_before_unix_s, now_unix_s);
	return CAIRN_OK;
}

/* --- the binding -------------------------------------------------------------------------------------------------- */

static bool token_is_named(const char *wanted)
{
	return wanted && strcmp(wanted, CAIRN_TOKEN_ANY) != 0;
}

/* Returns whether a claim, a text or an array of texts, contains the wanted text. */
static bool token_has_text(const struct cairn_json *claim, const char *wanted)
{
	const char *text = cairn_json_string(claim);
	if (text)
		return strcmp(text, wanted) == 0;
	for (size_t i = 0; i < cairn_json_count(claim); i++) {
		text = cairn_json_string(cairn_json_at(claim, i));
		if (text && strcmp(text, wanted) == 0)
			return true;
	}
	return false;
}

/* Returns the first text of a refused claim, for the message; "" if it has none. */
static const char *token_first_text(const struct cairn_json *claim)
{
	const char *text = cairn_json_string(cairn_json_is_array(claim) ? cairn_json_at(claim, 0) : claim);
	return text ? text : "";
}

static enum cairn_status token_check_binding(const struct cairn_token_binding *binding, const struct cairn_json *claims,
					     struct cairn_diag *diag)
{
	const struct cairn_json *aud = cairn_json_get(claims, "aud"), *iss = cairn_json_get(claims, "iss");
	if (!binding->audience && aud) {
		(void)cairn_fail(diag, CAIRN_E_DENIED, "token.audience", CAIRN_NO_OFFSET,
				 "the token names a service (\"aud\"), and this daemon has no name: set "
				 "token_audience, or get a token without \"aud\"");
		cairn_diag_values(diag, "", token_first_text(aud));
		return CAIRN_E_DENIED;
	}
	if (token_is_named(binding->audience) && !token_has_text(aud, binding->audience)) {
		(void)cairn_fail(diag, CAIRN_E_DENIED, "token.audience", CAIRN_NO_OFFSET,
				 "the token is not for this service; get one whose \"aud\" names it");
		cairn_diag_values(diag, binding->audience, token_first_text(aud));
		return CAIRN_E_DENIED;
	}
	if (token_is_named(binding->issuer) &&
	    !token_has_text(cairn_json_is_array(iss) ? NULL : iss, binding->issuer)) {
		(void)cairn_fail(diag, CAIRN_E_DENIED, "token.issuer", CAIRN_NO_OFFSET,
				 "the token is not of the issuer (\"iss\") whose tokens this service accepts "
				 "(token_issuer); get one of that issuer");
		cairn_diag_values(diag, binding->issuer, token_first_text(iss));
		return CAIRN_E_DENIED;
	}
	return CAIRN_OK;
}

/* Reads the number of a row in the index; 0 if the claim is absent. */
static bool token_read_number(int64_t *out, const struct cairn_json *claim)
{
	return !claim || (cairn_json_i64(claim, out) && *out > 0);
}

/* --- all claims of a token ---------------------------------------------------------------------------------------- */

enum cairn_status cairn_token_claims_read(struct cairn_token_claims *out, const struct cairn_token_binding *binding,
					  const char *json, size_t len, int64_t now_unix_s, struct cairn_diag *diag)
{
	CLEANUP(cairn_json_freep) struct cairn_json *claims = NULL;
	memset(out, 0, sizeof(*out));
	if (cairn_json_parse(&claims, json, len) != CAIRN_OK || !cairn_json_is_object(claims))
		return cairn_fail(diag, CAIRN_E_DENIED, "token.malformed", CAIRN_NO_OFFSET,
				  "the token's claims are not a JSON object; get a new token");
	enum cairn_status status = token_read_times(out, claims, now_unix_s, diag);
	if (status == CAIRN_OK)
		status = token_check_binding(binding, claims, diag);
	if (status != CAIRN_OK)
		return status;
	/* Refuse an empty name: somebody failed to fill it in. Treating it as absent would open every repository. */
	if (!token_read_text(out->repo, sizeof(out->repo), claims, "repo") ||
	    (cairn_json_get(claims, "repo") && !token_is_repo(out->repo)))
		return token_malformed(diag, "repo", "[models|datasets|spaces/]namespace/name of at most 199 bytes");
	if (!token_read_text(out->subject, sizeof(out->subject), claims, "sub"))
		return token_malformed(diag, "sub", "a text of at most 127 bytes");
	if (!token_read_number(&out->api_key, cairn_json_get(claims, "cairn_key")))
		return token_malformed(diag, "cairn_key", "the number of an API key");
	if (!token_read_number(&out->account, cairn_json_get(claims, "cairn_account")))
		return token_malformed(diag, "cairn_account", "the number of an account");
	if (!token_read_dedupe(out, claims))
		return token_malformed(diag, "dedupe", "global, namespace or repository");
	if (out->has_dedupe && out->dedupe != CAIRN_DEDUPE_GLOBAL && !out->repo[0])
		return token_malformed(diag, "repo", "there when \"dedupe\" is not global");
	return token_read_scopes(out, cairn_json_get(claims, "scope"), diag);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static enum cairn_status token_check_claims(const struct cairn_token_claims *claims, int64_t now_unix_s,
					    struct cairn_diag *diag)
{
	const char *wrong = NULL;
	if (token_scopes_in("admin") < claims->scopes || claims->scopes == 0)
		wrong = "the scope must be one or more of read, write, admin";
	else if (claims->repo[0] && !token_is_repo(claims->repo))
		wrong = "the repository must be [models|datasets|spaces/]namespace/name";
	else if (claims->has_dedupe && claims->dedupe != CAIRN_DEDUPE_GLOBAL && !claims->repo[0])
		wrong = "a dedupe scope other than global needs a repository";
	else if (claims->expires_unix_s <= now_unix_s)
		wrong = "the token would have expired already; give a longer lifetime";
	return wrong ? cairn_fail(diag, CAIRN_E_USAGE, "token.claim", CAIRN_NO_OFFSET, "%s", wrong) : CAIRN_OK;
}

enum cairn_status cairn_token_claims_write(struct cairn_buf *buf, const struct cairn_token_binding *binding,
					   const struct cairn_token_claims *claims, int64_t now_unix_s,
					   struct cairn_diag *diag)
{
	enum cairn_status status = token_check_claims(claims, now_unix_s, diag);
	if (status != CAIRN_OK)
		return status;
	char scope[32] = "";
	struct cairn_json_out w = cairn_json_out_init(buf);
	cairn_json_open_object(&w, NULL);
	for (size_t i = 0; i < TOKEN_N_SCOPES; i++) {
		size_t len = strlen(scope);
		if (claims->scopes & TOKEN_SCOPES[i].bit)
			(void)snprintf(scope + len, sizeof(scope) - len, "%s%s", len ? " " : "", TOKEN_SCOPES[i].name);
	}
	cairn_json_put_text(&w, "scope", scope);
	cairn_json_put_u64(&w, "iat", (uint64_t)now_unix_s);
	cairn_json_put_u64(&w, "exp", (uint64_t)claims->expires_unix_s);
	if (token_is_named(binding->audience))
		cairn_json_put_text(&w, "aud", binding->audience);
	if (token_is_named(binding->issuer))
		cairn_json_put_text(&w, "iss", binding->issuer);
	if (claims->subject[0])
		cairn_json_put_text(&w, "sub", claims->subject);
	if (claims->api_key > 0)
		cairn_json_put_u64(&w, "cairn_key", (uint64_t)claims->api_key);
	if (claims->account > 0)
		cairn_json_put_u64(&w, "cairn_account", (uint64_t)claims->account);
	if (claims->repo[0])
		cairn_json_put_text(&w, "repo", claims->repo);
	if (claims->has_dedupe)
		cairn_json_put_text(&w, "dedupe", TOKEN_DEDUPE[claims->dedupe]);
	cairn_json_close(&w);
	cairn_buf_add(buf, "", 1);
	return buf->status == CAIRN_OK ? CAIRN_OK : CAIRN_E_NOMEM;
}
