#include "server/check.h"

#include "base/clock.h"
#include "data_dir/data_dir.h"
#include "server/http/auth.h"
#include "server/http/tls.h"
#include "server/privileges.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Rates a failure as a start would rate it. Only failures before anything is opened can be the fault of a setting. */
static void check_note(enum check_result *worst, bool early, enum cairn_status status, const struct cairn_diag *diag)
{
	if (status == CAIRN_OK)
		return;
	enum check_result found = early && status == CAIRN_E_USAGE ? CHECK_WRONG_SETTINGS : CHECK_CANNOT_START;
	log_refusal(diag->text[0] ? diag->text : cairn_status_name(status));
	if (found > *worst)
		*worst = found;
}

enum cairn_status check_tokens(const struct config *config, const struct listen_address *bound, struct cairn_diag *diag)
{
	char text[LISTEN_TEXT_BYTES];
	if (listen_is_loopback(bound) || config->token_key || config->insecure_no_auth)
		return CAIRN_OK;
	listen_text(bound, text);
	return cairn_fail(diag, CAIRN_E_USAGE, "auth.needed", CAIRN_NO_OFFSET,
			  "%s is not loopback, so clients must show tokens: make a key with \"cairn token --new-key "
			  "FILE\" and give it with --token-key FILE (or --insecure-no-auth to let everybody write)",
			  text);
}

/* Checks the address to listen on. Does not try the port, because the daemon that will be replaced may still use it. */
static enum cairn_status check_listen(const struct config *config, struct cairn_diag *diag)
{
	struct listen_address wanted;
	enum cairn_status status = listen_parse(config->listen, &wanted, diag);
	if (status == CAIRN_OK)
		status = check_tokens(config, &wanted, diag);
	if (status == CAIRN_OK)
		(void)printf("listen: %s\n", config->listen);
	return status;
}

static enum cairn_status check_keys(const struct config *config, struct cairn_diag *diag)
{
	struct auth_keys *keys = NULL;
	enum cairn_status status = config->token_key ? auth_keys_open(&keys, config->token_key, diag) : CAIRN_OK;
	if (status == CAIRN_OK && keys)
		(void)printf("token_key: %s can be read\n", config->token_key);
	else if (status == CAIRN_OK)
		(void)printf("token_key: none, so no tokens are needed\n");
	auth_keys_free(keys);
	return status;
}

static enum cairn_status check_certificate(const struct config *config, struct cairn_diag *diag)
{
	struct tls *tls = NULL;
	char when[CAIRN_TIME_TEXT_BYTES];
	if (!config->tls_certificate)
		return CAIRN_OK;
	enum cairn_status status = tls_open(&tls, config->tls_certificate, config->tls_key, diag);
	if (status != CAIRN_OK)
		return status;
	int64_t expires_unix_s = tls_expires_unix_s(tls);
	tls_free(tls);
	(void)printf("tls_certificate: %s, %s %s\n", config->tls_certificate,
		     expires_unix_s <= cairn_clock_unix_s() ? "expired at" : "good until",
		     cairn_time_text(when, expires_unix_s));
	return CAIRN_OK;
}

static enum cairn_status check_folder(const struct config *config, bool as_root, struct cairn_diag *diag)
{
	struct cairn_data_dir_sight sight;
	char index[96] = "without an index, which is made at the start";
	enum cairn_status status =
		cairn_data_dir_inspect(config->data_dir, config->secret_file, config->index, as_root, &sight, diag);
	if (status != CAIRN_OK)
		return status;
	if (config->index)
		(void)printf("index: %s can be reached\n", config->index);
	if (!sight.exists) {
		(void)printf("data_dir: %s is not there, and is made at the start\n", config->data_dir);
		return CAIRN_OK;
	}
	if (sight.version > 0 && sight.version < sight.latest)
		(void)snprintf(index, sizeof(index), "index of version %d, migrated to %d at the start", sight.version,
			       sight.latest);
	else if (sight.version > 0)
		(void)snprintf(index, sizeof(index), "index of version %d", sight.version);
	(void)printf("data_dir: %s, %s, %s\n", config->data_dir, index,
		     sight.in_use ? "in use by another process" : "not in use");
	return CAIRN_OK;
}

enum check_result check_run(const struct config *config)
{
	struct cairn_diag user = {0}, listen = {0}, keys = {0}, certificate = {0}, folder = {0};
	enum check_result worst = CHECK_GOOD;
	bool as_root = geteuid() == 0;
	check_note(&worst, true, privileges_drop(config->user, config->group, NULL, 0, &user), &user);
	check_note(&worst, true, check_listen(config, &listen), &listen);
	check_note(&worst, false, check_keys(config, &keys), &keys);
	check_note(&worst, false, check_certificate(config, &certificate), &certificate);
	check_note(&worst, false, check_folder(config, as_root, &folder), &folder);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return worst;
	log_refusal("cannot write to standard output");
	return CHECK_FAILED;
}
