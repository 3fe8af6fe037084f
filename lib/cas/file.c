#include "cas/file.h"

#include "cas/internal.h"

static void file_tell(struct cairn_cas_file *out, const struct cairn_index_file *row)
{
	*out = (struct cairn_cas_file){.hash = row->hash, .size_bytes = row->size_bytes};
}

enum cairn_status cairn_cas_file(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *hash,
				 struct cairn_cas_file *out)
{
	struct cairn_index_file row;
	enum cairn_status status = cairn_index_file(cas->index, hash, who->viewer, false, &row);
	if (status == CAIRN_OK)
		file_tell(out, &row);
	return status;
}

enum cairn_status cairn_cas_file_by_sha256(struct cairn_cas *cas, const struct cairn_cas_who *who,
					   const uint8_t sha256[static 32], struct cairn_cas_file *out)
{
	struct cairn_index_file row;
	enum cairn_status status = cairn_index_file_by_sha256(cas->index, sha256, who->viewer, &row);
	if (status == CAIRN_OK)
		file_tell(out, &row);
	return status;
}
