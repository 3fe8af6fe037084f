#include "hub/lfs.h"

#include "cas/object/fetch_grant.h"
#include "hash/crypto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LFS_MESSAGE_BYTES = 256 };

/* No part can contain a newline, so no two grants have the same message. No message of a fetch grant begins so. */
static enum cairn_status lfs_mac(const struct cairn_hub *hub, const struct cairn_hub_lfs_address *a,
				 char out[static CAIRN_FETCH_SIGNATURE_TEXT_BYTES])
{
	char message[LFS_MESSAGE_BYTES];
	int n = snprintf(message, sizeof(message), "lfs\n%s\n%s\n%s\n%s\n%s\n%s\n%s", a->upload ? "PUT" : "GET",
			 a->repo, a->sha256, a->size, a->expires, a->alone, a->by);
	if (n < 0 || (size_t)n >= sizeof(message))
		return CAIRN_E_LIMIT;
	cairn_fetch_mac(hub->cas, message, (size_t)n, out);
	return CAIRN_OK;
}

void cairn_hub_lfs_sign(const struct cairn_hub *hub, const struct cairn_hub_lfs_grant *grant,
			char out[static CAIRN_HUB_LFS_QUERY_BYTES])
{
	char repo[24], sha256[2 * CAIRN_SHA256_BYTES + 1], size[24], expires[24], by[24];
	char signature[CAIRN_FETCH_SIGNATURE_TEXT_BYTES] = "";
	const char *alone = grant->alone ? "1" : "0";
	(void)snprintf(repo, sizeof(repo), "%" PRId64, grant->repo);
	cairn_hex_text(sha256, grant->sha256, CAIRN_SHA256_BYTES);
	(void)snprintf(size, sizeof(size), "%" PRIu64, grant->size_bytes);
	(void)snprintf(expires, sizeof(expires), "%" PRId64, grant->expires_unix_s);
	(void)snprintf(by, sizeof(by), "%c%" PRId64, grant->account ? 'u' : 'k',
		       grant->account ? grant->account : grant->key);
	const struct cairn_hub_lfs_address address = {.upload = grant->upload,
						      .repo = repo,
						      .sha256 = sha256,
						      .size = size,
						      .expires = expires,
						      .alone = alone,
						      .by = by};
	(void)lfs_mac(hub, &address, signature); /* cannot fail: all parts are short enough */
	(void)snprintf(out, CAIRN_HUB_LFS_QUERY_BYTES, "size=%s&exp=%s&alone=%s&by=%s&sig=%s", size, expires, alone, by,
		       signature);
}

static enum cairn_status lfs_refuse(struct cairn_diag *diag, const char *rule, const char *text)
{
	return cairn_fail(diag, CAIRN_E_DENIED, rule, CAIRN_NO_OFFSET, "%s", text);
}

enum cairn_status cairn_hub_lfs_check(const struct cairn_hub *hub, const struct cairn_hub_lfs_address *a,
				      int64_t now_unix_s, struct cairn_hub_lfs_grant *out, struct cairn_diag *diag)
{
	char wanted[CAIRN_FETCH_SIGNATURE_TEXT_BYTES];
	bool whole = a->size && a->expires && a->alone && a->by && a->signature;
	if (!whole || lfs_mac(hub, a, wanted) != CAIRN_OK || strlen(a->signature) != sizeof(wanted) - 1 ||
	    !cairn_secret_equal(a->signature, wanted, sizeof(wanted) - 1))
		return lfs_refuse(diag, "lfs.signature",
				  "this address was not signed here, or was changed; ask for the object again");
	/* signed, so these are the values that were printed above */
	*out = (struct cairn_hub_lfs_grant){.upload = a->upload,
					    .alone = a->alone[0] == '1',
					    .repo = strtoll(a->repo, NULL, 10),
					    .size_bytes = strtoull(a->size, NULL, 10),
					    .expires_unix_s = strtoll(a->expires, NULL, 10)};
	*(a->by[0] == 'u' ? &out->account : &out->key) = strtoll(a->by + 1, NULL, 10);
	if (cairn_hex_parse(out->sha256, CAIRN_SHA256_BYTES, a->sha256, strlen(a->sha256)) != CAIRN_OK)
		return lfs_refuse(diag, "lfs.signature", "this address names no object");
	if (now_unix_s >= out->expires_unix_s)
		return lfs_refuse(diag, "lfs.expired", "this address has expired; ask for the object again");
	return CAIRN_OK;
}

enum cairn_status cairn_hub_lfs_find(const struct cairn_hub *hub, int64_t repo,
				     const uint8_t sha256[static CAIRN_SHA256_BYTES], struct cairn_index_file *out)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo);
	return cairn_index_file_by_sha256(hub->index, sha256, owner, out);
}

enum cairn_status cairn_hub_lfs_find_absent(const struct cairn_hub *hub, int64_t repo,
					    const uint8_t sha256[static CAIRN_SHA256_BYTES],
					    struct cairn_index_absent *out)
{
	return cairn_index_find_absent(hub->index, repo, sha256, out);
}

enum cairn_status cairn_hub_lfs_receive(const struct cairn_hub *hub, const struct cairn_hub_lfs_grant *grant,
					const struct cairn_hash *sender, struct cairn_hub_ingest **out,
					struct cairn_diag *diag)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_hub_ingest_file file = {.size_bytes = grant->size_bytes};
	struct cairn_cas_who who = {.scope = grant->alone ? owner : "", .owner = owner, .sender = *sender};
	cairn_index_repo_owner(owner, grant->repo);
	memcpy(file.sha256, grant->sha256, sizeof(file.sha256));
	return cairn_hub_ingest_begin(hub, &who, &file, out, diag);
}

enum cairn_status cairn_hub_lfs_open(const struct cairn_hub *hub, int64_t repo,
				     const uint8_t sha256[static CAIRN_SHA256_BYTES],
				     const struct cairn_byte_range *range, struct cairn_file_extent *extent,
				     struct cairn_file_reader **out, struct cairn_diag *diag)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_index_file file;
	cairn_index_repo_owner(owner, repo);
	enum cairn_status status = cairn_hub_lfs_find(hub, repo, sha256, &file);
	if (status == CAIRN_OK)
		status = cairn_file_reader_open(hub->cas, owner, &file.hash, range, extent, out, diag);
	return status;
}
