#include "cas/cas.h"

#include "base/crash_point.h"
#include "base/fd.h"
#include "cas/internal.h"
#include "hash/crypto.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const struct cairn_cas_options CAIRN_CAS_DEFAULTS = {
	.shard_bytes_max = UINT64_C(64) << 20,
	.xorb_bytes_max = CAIRN_XORB_SERIALIZED_BYTES_MAX,
	.xorb_chunks_max = CAIRN_XORB_CHUNKS_MAX,
	.files_max = 500000,
	.terms_max = 1000000,
	.xorbs_max = 16384,
	.term_chunks_max = UINT64_C(1) << 25,
	.spool_bytes_max = UINT64_C(8) << 30,
	.reserve_bytes = UINT64_C(256) << 20,
	.answer_bytes_max = UINT64_C(1) << 20,
	.cache_bytes_max = UINT64_C(64) << 20,
	.epoch_s = 7 * 24 * 3600,
	.gc_grace_s = 14 * 24 * 3600,
};

/* cairn_restore() leaves this mark until all is there. */
static enum cairn_status cas_refuse_half_restored(const struct cairn_cas *cas, struct cairn_diag *diag)
{
	char path[4200];
	int n = snprintf(path, sizeof(path), "%s/restore", cas->data_dir);
	if (n < 0 || (size_t)n >= sizeof(path) || access(path, F_OK) != 0)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_CONFLICT, "data_dir.restoring", CAIRN_NO_OFFSET,
			  "the data folder %s is half of a backup: run cairn restore again to complete it",
			  cas->data_dir);
}

static enum cairn_status cas_lock_folder(struct cairn_cas *cas, struct cairn_diag *diag)
{
	char path[4200];
	bool made;
	if (cairn_fd_make_folder(cas->data_dir, &made) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.make", CAIRN_NO_OFFSET,
				  "cannot make the data folder %s: %s", cas->data_dir, strerror(errno));
	int n = snprintf(path, sizeof(path), "%s/lock", cas->data_dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(diag, CAIRN_E_USAGE, "data_dir.path", CAIRN_NO_OFFSET,
				  "the data folder's path is too long");
	cas->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (cas->lock_fd < 0)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.lock", CAIRN_NO_OFFSET, "cannot open %s: %s", path,
				  strerror(errno));
	if (flock(cas->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return cairn_fail(
			diag, CAIRN_E_CONFLICT, "data_dir.in_use", CAIRN_NO_OFFSET,
			"the data folder %s is in use by another process; stop it, or give --data-dir another folder",
			cas->data_dir);
	cairn_crash_point(CAIRN_CRASH_FOLDER_LOCKED);
	return cas_refuse_half_restored(cas, diag);
}

static enum cairn_status cas_load_secret(struct cairn_cas *cas, const char *given, struct cairn_diag *diag)
{
	char path[4200];
	int n = snprintf(path, sizeof(path), "%s/secret", cas->data_dir);
	if (!given && (n < 0 || (size_t)n >= sizeof(path)))
		return cairn_fail(diag, CAIRN_E_USAGE, "data_dir.path", CAIRN_NO_OFFSET,
				  "the data folder's path is too long");
	enum cairn_status status = cairn_secret_load(&cas->secret, given ? given : path, !given, diag);
	static const char LABEL[] = "cairn fetch key 2";
	if (status == CAIRN_OK)
		status = cairn_hkdf_sha256(cas->fetch_key, sizeof(cas->fetch_key), cas->secret.bytes, cas->secret.len,
					   LABEL, sizeof(LABEL));
	return status;
}

enum cairn_status cairn_cas_open(struct cairn_cas **out, const struct cairn_cas_options *options,
				 struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(cairn_cas_freep) struct cairn_cas *cas = calloc(1, sizeof(*cas));
	if (!cas)
		return CAIRN_E_NOMEM;
	cas->lock_fd = -1;
	cairn_guards_init(&cas->guards);
	cas->options = *options;
	cas->options.data_dir = cas->options.secret_file = NULL;
	cas->data_dir = strdup(options->data_dir);
	if (asprintf(&cas->tmp_dir, "%s/tmp", options->data_dir) < 0)
		cas->tmp_dir = NULL;
	cas->cache = cairn_answer_cache_new(options->cache_bytes_max);
	cas->proved = calloc(CAS_PROVED_MAX, sizeof(*cas->proved));
	if (!cas->data_dir || !cas->tmp_dir || !cas->cache || !cas->proved)
		return CAIRN_E_NOMEM;

	if (options->gc_grace_s / 2 < options->epoch_s) {
		(void)cairn_fail(diag, CAIRN_E_USAGE, "gc_grace", CAIRN_NO_OFFSET,
				 "gc_grace must be at least two epochs, or xorbs could go that answers still offer");
		return CAIRN_E_USAGE;
	}
	enum cairn_status status = cas_lock_folder(cas, diag);
	if (status == CAIRN_OK)
		status = cas_load_secret(cas, options->secret_file, diag);
	if (status == CAIRN_OK)
		status = cairn_store_open_fs(&cas->store, cas->data_dir, diag);
	if (status == CAIRN_OK)
		status = cairn_index_open(&cas->index, cas->data_dir, NULL, diag);
	if (status != CAIRN_OK)
		return status;
	*out = cas;
	cas = NULL;
	return CAIRN_OK;
}

void cairn_cas_free(struct cairn_cas *cas)
{
	if (!cas)
		return;
	cairn_index_free(cas->index);
	cairn_store_free(cas->store);
	cairn_answer_cache_free(cas->cache);
	if (cas->lock_fd >= 0)
		close(cas->lock_fd);
	cairn_guards_fini(&cas->guards);
	free(cas->proved);
	free(cas->data_dir);
	free(cas->tmp_dir);
	explicit_bzero(&cas->secret, sizeof(cas->secret));
	free(cas);
}

void cairn_cas_freep(struct cairn_cas **cas)
{
	cairn_cas_free(*cas);
	*cas = NULL;
}

const struct cairn_cas_options *cairn_cas_options_of(const struct cairn_cas *cas)
{
	return &cas->options;
}

struct cairn_index *cairn_cas_index(struct cairn_cas *cas)
{
	return cas->index;
}

struct cairn_store *cairn_cas_store(struct cairn_cas *cas)
{
	return cas->store;
}

const char *cairn_cas_tmp_dir(const struct cairn_cas *cas)
{
	return cas->tmp_dir;
}

enum cairn_status cas_check_space(struct cairn_cas *cas, uint64_t in_flight, struct cairn_diag *diag)
{
	uint64_t free_bytes = cairn_store_free_bytes(cas->store);
	uint64_t reserve = cas->options.reserve_bytes;
	if (free_bytes >= reserve && free_bytes - reserve >= in_flight)
		return CAIRN_OK;
	(void)cairn_fail(diag, CAIRN_E_FULL, "disk.reserve", CAIRN_NO_OFFSET,
			 "the disk is full: %" PRIu64 " bytes are free, %" PRIu64
			 " are kept in reserve; free some space",
			 free_bytes, reserve);
	cairn_diag_numbers(diag, reserve + in_flight, free_bytes);
	return CAIRN_E_FULL;
}

enum cairn_status cairn_cas_ready(struct cairn_cas *cas, struct cairn_diag *diag)
{
	enum cairn_status status = cas_check_space(cas, 0, diag);
	if (status == CAIRN_OK)
		status = cairn_index_folds(cas->index, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_writable(cas->index);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "index.not_writable", CAIRN_NO_OFFSET,
				  "the index cannot be written: %s", cairn_status_name(status));
	return CAIRN_OK;
}

enum cairn_status cas_reserve_bytes(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag)
{
	uint64_t before = atomic_fetch_add(&cas->spool_bytes, bytes);
	enum cairn_status status = CAIRN_OK;
	if (before + bytes > cas->options.spool_bytes_max) {
		status = cairn_fail(diag, CAIRN_E_BUSY, "spool.full", CAIRN_NO_OFFSET,
				    "too many uploads are in flight; try again in a moment");
		cairn_diag_numbers(diag, cas->options.spool_bytes_max, before + bytes);
	} else {
		status = cas_check_space(cas, before + bytes, diag);
	}
	if (status != CAIRN_OK)
		cas_release_bytes(cas, bytes);
	return status;
}

void cas_release_bytes(struct cairn_cas *cas, uint64_t bytes)
{
	atomic_fetch_sub(&cas->spool_bytes, bytes);
}

void cairn_cas_stats(struct cairn_cas *cas, struct cairn_cas_stats *out)
{
	*out = (struct cairn_cas_stats){
		.spool_bytes = atomic_load(&cas->spool_bytes),
		.chunks_verified = atomic_load(&cas->chunks_verified),
		.xorbs_stored = atomic_load(&cas->xorbs_stored),
		.xorb_bytes_stored = atomic_load(&cas->xorb_bytes_stored),
	};
	cairn_answer_cache_stats(cas->cache, out);
}
