/* Which files are registered, and for whom. */
#ifndef CAIRN_CAS_FILE_H
#define CAIRN_CAS_FILE_H

#include "cas/cas.h"

struct cairn_cas_file {
	struct cairn_hash hash;
	uint64_t size_bytes;
};

/** @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or not this viewer's to read; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_cas_file(struct cairn_cas *cas, const struct cairn_cas_who *who,
						const struct cairn_hash *hash, struct cairn_cas_file *out);

/** The file of which an uploader said that it has this SHA-256: the word of the viewer's repository counts, else the
 *  operator's, and nobody else's. @param sha256  plain byte order  @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_cas_file_by_sha256(struct cairn_cas *cas, const struct cairn_cas_who *who,
							  const uint8_t sha256[static 32], struct cairn_cas_file *out);

#endif
