/* Objects of Git LFS. The claims of their own repository find them, and signed addresses transfer them. */
#ifndef CAIRN_HUB_LFS_H
#define CAIRN_HUB_LFS_H

#include "cas/serve/file_reader.h"
#include "hub/ingest.h"
#include "hub/repo.h"
#include "index/hub/mirror_files.h"

enum { CAIRN_HUB_LFS_QUERY_BYTES = 256 };

/** Permission to send or to fetch one object until a time. Plain value. */
struct cairn_hub_lfs_grant {
	bool upload; /* else download */
	bool alone;  /* of an upload: it shares dedupe with its own repository only */
	int64_t repo;
	uint8_t sha256[CAIRN_SHA256_BYTES];
	uint64_t size_bytes;
	int64_t expires_unix_s;
	int64_t account, key; /* for whom it was signed; 0: none. Both 0: for anybody */
};

/** Signs a grant. @param[out] out  the query of the address, after the "?" */
void cairn_hub_lfs_sign(const struct cairn_hub *hub, const struct cairn_hub_lfs_grant *grant,
			char out[static CAIRN_HUB_LFS_QUERY_BYTES]);

/** The parts of a signed address. Borrowed; NULL: the address lacks this part. */
struct cairn_hub_lfs_address {
	bool upload;
	const char *repo, *sha256, *size, *expires, *alone, *by, *signature;
};

/** Checks the signature, which covers every part of the address, and the expiry. @param[out] out  set with CAIRN_OK
 *  @return CAIRN_OK; CAIRN_E_DENIED (lfs.signature, lfs.expired) */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_check(const struct cairn_hub *hub,
						     const struct cairn_hub_lfs_address *address, int64_t now_unix_s,
						     struct cairn_hub_lfs_grant *out, struct cairn_diag *diag);

/** Finds an object by the repository's own claims. @param[out] out  hash and size
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_find(const struct cairn_hub *hub, int64_t repo,
						    const uint8_t sha256[static CAIRN_SHA256_BYTES],
						    struct cairn_index_file *out);

/** Finds an object of a mirrored repository whose bytes are not here.
 * @return as cairn_index_find_absent() */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_find_absent(const struct cairn_hub *hub, int64_t repo,
							   const uint8_t sha256[static CAIRN_SHA256_BYTES],
							   struct cairn_index_absent *out);

/** Begins to receive the object of a grant, for its repository. @param sender  as in struct cairn_cas_who
 *  @return as cairn_hub_ingest_begin() */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_receive(const struct cairn_hub *hub,
						       const struct cairn_hub_lfs_grant *grant,
						       const struct cairn_hash *sender, struct cairn_hub_ingest **out,
						       struct cairn_diag *diag);

/** Opens an object to read all of it or a range. For workers.
 * @return as cairn_file_reader_open(); CAIRN_E_NOT_FOUND also if the repository does not have the object */
CAIRN_MUST_USE enum cairn_status cairn_hub_lfs_open(const struct cairn_hub *hub, int64_t repo,
						    const uint8_t sha256[static CAIRN_SHA256_BYTES],
						    const struct cairn_byte_range *range,
						    struct cairn_file_extent *extent, struct cairn_file_reader **out,
						    struct cairn_diag *diag);

#endif
