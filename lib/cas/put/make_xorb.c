/* Stores a xorb made here. Its chunks were cut and hashed here, so it need not be verified. */
#include "cas/put/make_xorb.h"
#include "cas/internal.h"
#include "cas/put/put_work.h"
#include "chunk/chunker.h"
#include "xorb/format.h"
#include "xorb/writer.h"

#include <stdlib.h>

enum { MAKING_WINDOW_BYTES = 512 * 1024 }; /* bytes written together */

struct cairn_xorb_making {
	struct cairn_cas *cas;
	const struct cairn_cas_who *who; /* borrowed */
	struct cairn_xorb_writer *writer;
	struct cairn_store_put *put; /* NULL when it was handed on */
	struct cairn_use use;
	uint64_t bytes; /* bytes written */
};

uint64_t cairn_xorb_making_bytes_max(uint64_t content_bytes)
{
	uint64_t n_chunks = content_bytes / CAIRN_CHUNK_CUT_BYTES_MIN + 1;
	uint64_t bytes = content_bytes + n_chunks * CAIRN_XORB_CHUNK_HEADER_BYTES;
	return bytes < CAIRN_XORB_SERIALIZED_BYTES_MAX ? bytes : CAIRN_XORB_SERIALIZED_BYTES_MAX;
}

void cairn_xorb_making_free(struct cairn_xorb_making *m)
{
	if (!m)
		return;
	cairn_xorb_writer_free(m->writer);
	cairn_store_put_abort(m->put);
	cairn_use_end(&m->use);
	free(m);
}

enum cairn_status cairn_xorb_making_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
					  struct cairn_xorb_making **out)
{
	*out = NULL;
	struct cairn_xorb_making *m = calloc(1, sizeof(*m));
	if (!m)
		return CAIRN_E_NOMEM;
	m->cas = cas;
	m->who = who;
	m->writer = cairn_xorb_writer_new();
	enum cairn_status status = m->writer ? CAIRN_OK : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = cairn_use_borrow(&m->use, who->room);
	if (status == CAIRN_OK)
		status = cairn_store_put_begin(cas->store, &m->put);
	if (status != CAIRN_OK) {
		cairn_xorb_making_free(m);
		return status;
	}
	*out = m;
	return CAIRN_OK;
}

static enum cairn_status making_flush(struct cairn_xorb_making *m, struct cairn_diag *diag)
{
	size_t len;
	const uint8_t *bytes = cairn_xorb_writer_bytes(m->writer, &len);
	enum cairn_status status = cairn_use_add(&m->use, len, diag);
	if (status == CAIRN_OK)
		status = cas_put_write(m->cas, m->put, bytes, len);
	cairn_xorb_writer_drained(m->writer);
	m->bytes += len;
	return status;
}

enum cairn_status cairn_xorb_making_add(struct cairn_xorb_making *m, const struct cairn_hash *chunk, const uint8_t *raw,
					size_t len, struct cairn_diag *diag)
{
	size_t waiting;
	enum cairn_status status = cairn_xorb_writer_add(m->writer, raw, len, chunk);
	(void)cairn_xorb_writer_bytes(m->writer, &waiting);
	return status == CAIRN_OK && waiting >= MAKING_WINDOW_BYTES ? making_flush(m, diag) : status;
}

enum cairn_status cairn_xorb_making_end(struct cairn_xorb_making *m, const struct cairn_hash *hash,
					struct cairn_diag *diag)
{
	enum cairn_status status = making_flush(m, diag);
	if (status != CAIRN_OK)
		return status;
	struct cairn_store_put *put = m->put;
	m->put = NULL;
	struct cairn_xorb_upload *u =
		cas_xorb_upload_of_made(m->cas, m->who, hash, cairn_xorb_writer_list(m->writer), m->bytes, put);
	if (!u)
		return CAIRN_E_NOMEM;
	status = cairn_xorb_upload_store(u, diag);
	if (status == CAIRN_OK)
		status = cas_xorb_upload_register(u, diag);
	cairn_xorb_upload_free(u);
	return status == CAIRN_E_CONFLICT ? CAIRN_E_BUSY : status;
}
