/* A token; claims ("{"), which are signed first, so that they are read; or a key in PEM ("-"). An accepted token says
 * who may do what until when. A token with a changed signature is never accepted. */
#include "base/base64.h"
#include "base/json.h"
#include "fuzz/files.h"
#include "fuzz/fuzz.h"
#include "hash/crypto.h"
#include "token/token.h"
#include "token/token_pem.h"

#include <openssl/hmac.h>

static const int64_t NOW_UNIX_S = 1700000000;
static const struct cairn_token_binding TOKEN_BINDING = {CAIRN_TOKEN_ANY, NULL};
static struct cairn_token_keys *token_keys; /* HS256, and the public halves of the other keys; loaded once */

static void token_load_keys(void)
{
	static const char *const NAMES[] = {"HS256", "RS256", "ES256", "EdDSA"};
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(1 << 20);
	CLEANUP(cairn_json_freep) struct cairn_json *data = NULL;
	const char *folder = files_folder();
	files_add_data(&text, "tokens/tokens.json");
	fuzz_must(cairn_json_parse(&data, (const char *)text.bytes, text.len) == CAIRN_OK);
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		const struct cairn_json *forms = cairn_json_get(cairn_json_get(data, "keys"), NAMES[i]);
		const char *key = cairn_json_string(cairn_json_at(forms, cairn_json_count(forms) - 1));
		files_write(NAMES[i], key, strlen(key));
	}
	fuzz_must(cairn_token_keys_load(&token_keys, folder, NULL) == CAIRN_OK);
	files_remove();
}

static bool token_verify(const char *token, struct cairn_diag *diag)
{
	struct cairn_token_claims claims;
	enum cairn_status status = cairn_token_verify(token_keys, &TOKEN_BINDING, token, NOW_UNIX_S, &claims, diag);
	fuzz_must(status == CAIRN_OK || (status == CAIRN_E_DENIED && diag->rule));
	if (status != CAIRN_OK)
		return false;
	fuzz_must(claims.scopes != 0 && claims.scopes <= (CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE | CAIRN_TOKEN_ADMIN));
	fuzz_must(claims.scopes & CAIRN_TOKEN_READ);
	fuzz_must(claims.expires_unix_s > NOW_UNIX_S - 60);
	fuzz_must(memchr(claims.repo, '\0', sizeof(claims.repo)) &&
		  memchr(claims.subject, '\0', sizeof(claims.subject)));
	fuzz_must(!claims.has_dedupe || claims.dedupe == CAIRN_DEDUPE_GLOBAL || claims.repo[0]);
	return true;
}

static void token_add(struct cairn_buf *out, const uint8_t *bytes, size_t len)
{
	char *text = (char *)cairn_buf_extend(out, CAIRN_BASE64URL_CHARS(len) + 1);
	fuzz_must(text != NULL);
	cairn_base64url_encode(text, bytes, len);
}

/* Signs claims and verifies the token. The signature is right, so a refusal is about the claims. If any byte of the
 * signature is changed, it is wrong. */
static void token_sign(const uint8_t *claims, size_t len)
{
	static const char HEADER[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
	static const char SECRET[] = "_tvKKeV50ngGzJqZlSU8ka4YuCx_2--aKSO7eqxeSkI";
	CLEANUP(cairn_buf_fini) struct cairn_buf token = cairn_buf_init(16384);
	uint8_t secret[CAIRN_SHA256_BYTES], mac[CAIRN_SHA256_BYTES];
	size_t n;
	if (len > 4096)
		return;
	fuzz_must(cairn_base64url_decode(secret, sizeof(secret), &n, SECRET, sizeof(SECRET) - 1) == CAIRN_OK);
	token_add(&token, (const uint8_t *)HEADER, sizeof(HEADER) - 1);
	token.bytes[token.len - 1] = '.';
	token_add(&token, claims, len);
	fuzz_must(HMAC(EVP_sha256(), secret, sizeof(secret), token.bytes, token.len - 1, mac, NULL) != NULL);
	token.bytes[token.len - 1] = '.';
	size_t signature = token.len;
	token_add(&token, mac, sizeof(mac));
	struct cairn_diag diag = {0};
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	bool readable = cairn_json_parse(&json, (const char *)claims, len) == CAIRN_OK;
	if (!token_verify((const char *)token.bytes, &diag)) /* the library that checks signatures needs JSON, too */
		fuzz_must(!readable || strcmp(diag.rule, "token.signature") != 0);
	token.bytes[signature + len % 42] ^= 1; /* another letter, usually of the same alphabet */
	diag = (struct cairn_diag){0};
	fuzz_must(!token_verify((const char *)token.bytes, &diag) && strcmp(diag.rule, "token.signature") == 0);
}

static void token_pem(const uint8_t *text, size_t len)
{
	struct cairn_token_pem *pem = NULL;
	struct cairn_diag diag = {0};
	if (cairn_token_pem_parse(&pem, (const char *)text, len, &diag) == CAIRN_OK)
		fuzz_must(cairn_token_pem_public(pem) &&
			  !cairn_token_pem_is_private(pem) == !cairn_token_pem_private(pem));
	else
		fuzz_must(diag.rule != NULL);
	cairn_token_pem_free(pem);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return 0;
	if (!token_keys)
		token_load_keys();
	if (bytes[0] == '{') {
		token_sign(bytes, len);
	} else if (bytes[0] == '-') {
		token_pem(bytes, len);
	} else {
		CLEANUP(fuzz_textp) char *token = fuzz_text(bytes, len);
		struct cairn_diag diag = {0};
		(void)token_verify(token, &diag);
	}
	return 0;
}
