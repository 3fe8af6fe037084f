#include "server/http/tls.h"

#include "base/clock.h"
#include "base/sys.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	TLS_CHAIN_MAX = 16,
	TLS_FILE_BYTES_MAX = 1 << 20,
	TLS_KEPT_MS = 3600 * 1000, /* longer than any handshake takes: the setting head_timeout is at most an hour */
};

struct tls_pair {
	struct tls_pair *older; /* the previous pair, which a handshake may still use */
	int64_t retired_ms;
	unsigned n;
	gnutls_pcert_st chain[TLS_CHAIN_MAX];
	gnutls_privkey_t key;
};

struct tls {
	char *certificate, *key;
	pthread_mutex_t lock; /* guards current */
	struct tls_pair *current;
	_Atomic int64_t expires_unix_s;
};

static _Atomic(struct tls *) tls_of_process;

static void tls_pair_free(struct tls_pair *pair)
{
	while (pair) {
		struct tls_pair *older = pair->older;
		for (unsigned i = 0; i < pair->n; i++)
			gnutls_pcert_deinit(&pair->chain[i]);
		if (pair->key)
			gnutls_privkey_deinit(pair->key);
		free(pair);
		pair = older;
	}
}

static void tls_pair_freep(struct tls_pair **pair)
{
	tls_pair_free(*pair);
}

static void tls_datum_fini(gnutls_datum_t *d)
{
	if (d->data)
		gnutls_memset(d->data, 0, d->size);
	gnutls_free(d->data);
}

static enum cairn_status tls_fail(struct cairn_diag *diag, const char *path, int rc)
{
	if (rc == GNUTLS_E_MEMORY_ERROR)
		return CAIRN_E_NOMEM;
	return cairn_fail(diag, CAIRN_E_FORMAT, "tls.format", CAIRN_NO_OFFSET, "%s: %s", path, gnutls_strerror(rc));
}

static enum cairn_status tls_read(const char *path, bool secret, gnutls_datum_t *out, struct cairn_diag *diag)
{
	struct stat st;
	if (cairn_sys_stat(path, &st) != 0)
		return cairn_fail(diag, CAIRN_E_IO, "tls.read", CAIRN_NO_OFFSET, "cannot read %s: %s", path,
				  strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > TLS_FILE_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tls.format", CAIRN_NO_OFFSET,
				  "%s is not a file of at most %d bytes", path, TLS_FILE_BYTES_MAX);
	if (secret && (st.st_mode & S_IRWXO) != 0)
		return cairn_fail(diag, CAIRN_E_DENIED, "tls.mode", CAIRN_NO_OFFSET,
				  "%s can be read by everybody: chmod o= it", path);
	if (gnutls_load_file(path, out) != 0)
		return cairn_fail(diag, CAIRN_E_IO, "tls.read", CAIRN_NO_OFFSET,
				  "cannot read %s: the daemon's user may not, or the disk fails", path);
	return CAIRN_OK;
}

/* Does the key belong to the certificate? GnuTLS compares them when both are put into credentials. */
static enum cairn_status tls_check(const struct tls *tls, const gnutls_datum_t *chain, const gnutls_datum_t *key,
				   struct cairn_diag *diag)
{
	gnutls_certificate_credentials_t credentials;
	if (gnutls_certificate_allocate_credentials(&credentials) != 0)
		return CAIRN_E_NOMEM;
	int rc = gnutls_certificate_set_x509_key_mem2(credentials, chain, key, GNUTLS_X509_FMT_PEM, NULL, 0);
	gnutls_certificate_free_credentials(credentials);
	if (rc == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return cairn_fail(diag, CAIRN_E_MISMATCH, "tls.pair", CAIRN_NO_OFFSET, "%s is not the key of %s",
				  tls->key, tls->certificate);
	return rc < 0 ? tls_fail(diag, tls->key, rc) : CAIRN_OK;
}

static int64_t tls_expiry(const gnutls_datum_t *chain)
{
	gnutls_x509_crt_t first;
	int64_t expires_unix_s = 0;
	if (gnutls_x509_crt_init(&first) != 0)
		return 0;
	if (gnutls_x509_crt_import(first, chain, GNUTLS_X509_FMT_PEM) == 0)
		expires_unix_s = (int64_t)gnutls_x509_crt_get_expiration_time(first);
	gnutls_x509_crt_deinit(first);
	return expires_unix_s;
}

static enum cairn_status tls_load(struct tls *tls, struct tls_pair **out, int64_t *expires_unix_s,
				  struct cairn_diag *diag)
{
	CLEANUP(tls_datum_fini) gnutls_datum_t chain = {0};
	CLEANUP(tls_datum_fini) gnutls_datum_t key = {0};
	enum cairn_status status = tls_read(tls->certificate, false, &chain, diag);
	if (status == CAIRN_OK)
		status = tls_read(tls->key, true, &key, diag);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(tls_pair_freep) struct tls_pair *pair = calloc(1, sizeof(*pair));
	if (!pair)
		return CAIRN_E_NOMEM;
	unsigned n = TLS_CHAIN_MAX;
	int rc = gnutls_pcert_list_import_x509_raw(pair->chain, &n, &chain, GNUTLS_X509_FMT_PEM, 0);
	if (rc < 0)
		return tls_fail(diag, tls->certificate, rc);
	pair->n = n;
	rc = gnutls_privkey_init(&pair->key);
	if (rc == 0)
		rc = gnutls_privkey_import_x509_raw(pair->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (rc < 0)
		return tls_fail(diag, tls->key, rc);
	status = tls_check(tls, &chain, &key, diag);
	if (status != CAIRN_OK)
		return status;
	*expires_unix_s = tls_expiry(&chain);
	*out = pair;
	pair = NULL;
	return CAIRN_OK;
}

/* Frees old pairs that no handshake can still use. */
static void tls_forget_old(struct tls_pair *current, int64_t now_ms)
{
	struct tls_pair **link = &current->older;
	while (*link && now_ms - (*link)->retired_ms < TLS_KEPT_MS)
		link = &(*link)->older;
	tls_pair_free(*link);
	*link = NULL;
}

enum cairn_status tls_reload(struct tls *tls, struct cairn_diag *diag)
{
	struct tls_pair *pair = NULL;
	int64_t expires_unix_s = 0, now_ms = cairn_clock_mono_ms();
	enum cairn_status status = tls_load(tls, &pair, &expires_unix_s, diag);
	if (status != CAIRN_OK)
		return status;
	assert(pair);
	pthread_mutex_lock(&tls->lock);
	pair->older = tls->current;
	tls->current = pair;
	pthread_mutex_unlock(&tls->lock);
	atomic_store(&tls->expires_unix_s, expires_unix_s);
	if (pair->older)
		pair->older->retired_ms = now_ms;
	tls_forget_old(pair, now_ms);
	return CAIRN_OK;
}

enum cairn_status tls_open(struct tls **out, const char *certificate, const char *key, struct cairn_diag *diag)
{
	*out = NULL;
	struct tls *tls = calloc(1, sizeof(*tls));
	if (!tls)
		return CAIRN_E_NOMEM;
	pthread_mutex_init(&tls->lock, NULL);
	tls->certificate = strdup(certificate);
	tls->key = strdup(key);
	enum cairn_status status = tls->certificate && tls->key ? tls_reload(tls, diag) : CAIRN_E_NOMEM;
	if (status != CAIRN_OK) {
		tls_free(tls);
		return status;
	}
	atomic_store(&tls_of_process, tls);
	*out = tls;
	return CAIRN_OK;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	struct tls *mine = tls;
	(void)atomic_compare_exchange_strong(&tls_of_process, &mine, NULL);
	tls_pair_free(tls->current);
	pthread_mutex_destroy(&tls->lock);
	free(tls->certificate);
	free(tls->key);
	free(tls);
}

int64_t tls_expires_unix_s(const struct tls *tls)
{
	return atomic_load(&tls->expires_unix_s);
}

/* Is a gnutls_certificate_retrieve_function2, called for each handshake. The pair that it returns stays ours. */
static int tls_on_handshake(gnutls_session_t session, const gnutls_datum_t *issuers, int n_issuers,
			    const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **chain,
			    unsigned *n, gnutls_privkey_t *key)
{
	struct tls *tls = atomic_load(&tls_of_process);
	(void)session;
	(void)issuers;
	(void)n_issuers;
	(void)algorithms;
	(void)n_algorithms;
	if (!tls)
		return -1;
	pthread_mutex_lock(&tls->lock);
	*chain = tls->current->chain;
	*n = tls->current->n;
	*key = tls->current->key;
	pthread_mutex_unlock(&tls->lock);
	return 0;
}

bool tls_send(void *session, const void *bytes, size_t len)
{
	return gnutls_record_send(session, bytes, len) == (ssize_t)len;
}

void (*tls_retrieve(void))(void)
{
	return (void (*)(void))tls_on_handshake;
}

static size_t tls_ask_session(gnutls_session_t session, const void *bytes, size_t len, char *reply, size_t reply_max)
{
	size_t n = 0;
	int rc;
	do
		rc = gnutls_handshake(session);
	while (rc != 0 && rc != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(rc));
	if (rc != 0 || gnutls_record_send(session, bytes, len) != (ssize_t)len)
		return 0;
	while (n < reply_max) {
		ssize_t got = gnutls_record_recv(session, reply + n, reply_max - n);
		if (got <= 0 && (got == 0 || got == GNUTLS_E_AGAIN || gnutls_error_is_fatal((int)got)))
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	return n;
}

size_t tls_ask(int fd, const void *bytes, size_t len, char *reply, size_t reply_max)
{
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;
	size_t n = 0;
	if (gnutls_certificate_allocate_credentials(&credentials) != 0)
		return 0;
	if (gnutls_init(&session, GNUTLS_CLIENT) == 0) {
		gnutls_transport_set_int(session, fd);
		if (gnutls_set_default_priority(session) == 0 &&
		    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) == 0)
			n = tls_ask_session(session, bytes, len, reply, reply_max);
		gnutls_deinit(session);
	}
	gnutls_certificate_free_credentials(credentials);
	return n;
}
