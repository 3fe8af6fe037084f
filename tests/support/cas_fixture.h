/* An open data folder, and captured uploads put into it. Every call that returns no status ends the running Check
 * test if it fails. */
#ifndef CAIRN_TESTS_SUPPORT_CAS_FIXTURE_H
#define CAIRN_TESTS_SUPPORT_CAS_FIXTURE_H

#include "cas/cas.h"
#include "cas/put/put_xorb.h"
#include "data_dir/data_dir.h"
#include "support/tempdir.h"
#include "support/vectors.h"

/** The hash of the xorb that shards/medium describes. */
#define CAS_FIXTURE_XORB "4f6fc39d818d6ee9aac654dfb78bdc06d0926ae03fe97ba4bb2dbb77bf6811e8"

struct cas_fixture {
	struct tempdir dir;
	struct cairn_data_dir *data;
	struct cairn_cas *cas;
};

/** The identity of uploads without a repository. */
extern const struct cairn_cas_who CAS_OPERATOR;

/** Opens the folder and the cas over it. @return the first failure; nothing is open then */
enum cairn_status cas_open_folder(const char *path, const struct cairn_cas_options *options,
				  struct cairn_data_dir **data, struct cairn_cas **cas, struct cairn_diag *diag);

/** Makes a new folder, and opens it with the defaults but without a reserve of free space. */
struct cas_fixture cas_fixture_new(void);
/** Closes the folder and opens it again; change, if not NULL, first changes the options. */
void cas_fixture_reopen(struct cas_fixture *f, void (*change)(struct cairn_cas_options *options));
/** Closes the fixture; the folder stays. */
void cas_fixture_close(struct cas_fixture *f);
void cas_fixture_fini(struct cas_fixture *f);

/** Returns the path of an object, owned by the caller, CLEANUP(tempdir_textp). */
char *cas_object_path(const struct cas_fixture *f, const struct cairn_hash *xorb);
/** Flips a bit in byte `at` of an object. */
void cas_flip_bit(const struct cas_fixture *f, const struct cairn_hash *xorb, off_t at);

/** Verifies and stores an upload whose body is complete. @return the status of the first failing step */
enum cairn_status cas_verify_and_store(struct cairn_xorb_upload *u, struct cairn_diag *diag);

/** Uploads the body of a xorb under a hash in text form. @return the status of the first failing step */
enum cairn_status cas_put_xorb(struct cairn_cas *cas, const char *hash, const struct vec_bytes *body, bool *inserted,
			       struct cairn_diag *diag);

/** Uploads a shard. */
enum cairn_status cas_put_shard(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct vec_bytes *body,
				bool *added, struct cairn_diag *diag);

/** Uploads the captured shard of that name ("shards/medium.shard"). */
enum cairn_status cas_put_captured(struct cairn_cas *cas, const struct cairn_cas_who *who, const char *name,
				   bool *added, struct cairn_diag *diag);

/** Uploads shards/medium and its xorb. */
void cas_put_medium(struct cairn_cas *cas, const struct cairn_cas_who *who);

#endif
